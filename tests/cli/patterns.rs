//! Patterns as names of `[models]`: the entry for a name, the name upstream, and the rights of
//! callers.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::body;
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};

const MODELS: &str = r#"
[models.exact]
provider = "own"
model = "from-exact"
[models."*"]
provider = "own"
model = "from-any"
[models."claude-*"]
provider = "own"
[models."claude-opus-*"]
provider = "own"
model = "from-opus"
[models."*-opus-mini"]
provider = "own"
model = "from-mini"
[models."vendor/*"]
provider = "own"
[models."down-*"]
provider = "dead"
fallback = ["claude-sonnet"]
[models."claude-special"]
provider = "own"
model = "from-special"
"#;

struct Desk {
    upstream: Upstream,
    config: String,
    place: Place,
}

impl Desk {
    fn new(name: &str) -> Self {
        let upstream = Upstream::start(vec![chat("", "fine", None)]);
        let provider = |name: &str, url: &str| {
            format!(
                "[providers.{name}]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\napi_key = \"k\"\n"
            )
        };
        let config = provider("own", &upstream.url) + &provider("dead", "http://127.0.0.1:1");
        Desk { upstream, config: config + MODELS, place: Place::new(name) }
    }
}

/// The name that goes upstream, for each name that is asked for.
const ROUTES: [(&str, &str); 9] = [
    ("exact", "from-exact"),
    ("claude-special", "from-special"),
    // The pattern with the most letters wins, at any place of the file.
    ("claude-opus-5", "from-opus"),
    ("claude-opus-mini", "from-opus"),
    ("my-opus-mini", "from-mini"),
    // Without `model`, the name that was asked for.
    ("claude-sonnet", "claude-sonnet"),
    ("vendor/some-model", "vendor/some-model"),
    // A provider that is named goes before the pattern for everything.
    ("own/plain", "plain"),
    ("whatever", "from-any"),
];

#[test]
fn a_name_goes_to_its_own_entry_then_to_the_pattern_with_most_letters() {
    let desk = Desk::new("patterns-ask");
    let config = desk.place.write("config.toml", &desk.config);
    for (asked, sent) in ROUTES {
        let ran = desk.place.ask(&["--config", &config, "-m", asked, "--tools", "off", "hi"]);
        assert_eq!(ran.code, Some(0), "{asked}: {}", ran.err);
        assert_eq!(desk.upstream.last()["model"], sent, "{asked}");
    }
    // A pattern cannot be the default model, so that the first entry with a name answers.
    let first =
        desk.config.replace("[models.exact]\nprovider = \"own\"\nmodel = \"from-exact\"\n", "");
    let config = desk.place.write("config.toml", &first);
    let ran = desk.place.ask(&["--config", &config, "--tools", "off", "hi"]);
    assert_eq!((ran.code, &desk.upstream.last()["model"]), (Some(0), &json!("from-special")));
}

#[test]
fn the_gateway_goes_by_patterns_lists_none_and_holds_to_the_keys_own() {
    let desk = Desk::new("patterns-serve");
    let key = "[keys.alice]\nkey = \"tt-alice-with-claude\"\nmodels = [\"claude-*\", \"down-*\"]\n";
    let gateway = serve(&desk.place, &(desk.config.clone() + key));
    let ask = |model: &str| {
        let messages = json!([{"role": "user", "content": "hi"}]);
        let asked = json!({"model": model, "stream": true, "messages": messages}).to_string();
        let headers =
            "authorization: Bearer tt-alice-with-claude\r\ncontent-type: application/json\r\n";
        gateway.request("POST", "/v1/chat/completions", headers, &asked)
    };
    for (asked, sent) in ROUTES.into_iter().filter(|(asked, _)| asked.starts_with("claude-")) {
        let answer = ask(asked);
        assert!(answer.starts_with("HTTP/1.1 200"), "{asked}: {answer}");
        assert_eq!(desk.upstream.last()["model"], sent, "{asked}");
    }
    // The fallback of a pattern; it goes by a pattern itself.
    let answer = ask("down-under");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("hops=1"), "{answer}");
    assert_eq!(desk.upstream.last()["model"], "claude-sonnet");
    let before = desk.upstream.bodies().len();
    for other in ["exact", "whatever", "my-opus-mini", "vendor/x", "own/plain"] {
        assert!(ask(other).starts_with("HTTP/1.1 404"), "{other}");
    }
    assert_eq!(desk.upstream.bodies().len(), before);
    let headers = "authorization: Bearer tt-alice-with-claude\r\n";
    let list = body(&gateway.request("GET", "/v1/models", headers, ""));
    let list: Value = serde_json::from_str(&list).unwrap();
    let names: Vec<_> =
        list["data"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(names, [json!("claude-special")]);
}
