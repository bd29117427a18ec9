//! Configured models: each key of the configuration changes a request or the reading of an answer.

use crate::place::Place;
use crate::program::Ran;
use crate::serve_config::serve;
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

struct Desk {
    place: Place,
    upstream: Upstream,
}

impl Desk {
    fn new(name: &str, answer: String) -> Self {
        Desk { place: Place::new(name), upstream: Upstream::start(vec![answer]) }
    }

    fn plain(name: &str) -> Self {
        Desk::new(name, chat("", "fine", None))
    }

    fn config(&self, provider: &str, model: &str) -> String {
        format!(
            "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n{provider}\n\
             [models.m]\nprovider = \"own\"\n{model}\n",
            self.upstream.url
        )
    }

    fn ask(&self, provider: &str, model: &str, args: &[&str]) -> Ran {
        let config = self.place.write("config.toml", &self.config(provider, model));
        let all = [&["--config", &config, "-m", "m", "--tools", "off"], args, &["hi"]].concat();
        let ran = self.place.ask(&all);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran
    }

    /// The body of the request with this model and these settings.
    fn sent(&self, model: &str, sets: &[&str]) -> Value {
        let args: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        self.ask("", model, &args);
        self.upstream.last()
    }
}

#[test]
fn a_stream_of_a_provider_of_ones_own_is_asked_for_its_usage() {
    let desk = Desk::new("usage", chat("so", "fine", Some(7)));
    let json = desk.ask("", "", &["--json"]).json();
    assert_eq!(desk.upstream.last()["stream_options"], json!({"include_usage": true}));
    assert_eq!(json["usage"]["reasoningTokens"], 7);
}

/// A server that refuses bodies with this word and answers all others. It stores all bodies.
fn picky(word: &'static str) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&kept);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let (mut length, mut line) = (0, String::from("-"));
            while !line.trim().is_empty() {
                line.clear();
                reader.read_line(&mut line).unwrap();
                let head = line.to_ascii_lowercase();
                length = head
                    .strip_prefix("content-length:")
                    .map_or(length, |it| it.trim().parse().unwrap());
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body = String::from_utf8(body).unwrap();
            let (status, kind, answer) = if body.contains(word) {
                let refusal = json!({"error": {"message": format!("bad: {word}")}});
                ("422 No", "application/json", refusal.to_string())
            } else {
                ("200 OK", "text/event-stream", chat("", "list", None))
            };
            asked.lock().unwrap().push(serde_json::from_str(&body).unwrap());
            let mut stream = reader.into_inner();
            let length = answer.len();
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            stream.write_all((head + &answer).as_bytes()).unwrap();
        }
    });
    (url, kept)
}

fn asks_for_usage(bodies: &[Value]) -> Vec<bool> {
    bodies.iter().map(|body| body.get("stream_options").is_some()).collect()
}

#[test]
fn a_server_that_refuses_the_question_for_usage_is_asked_without_and_that_is_learned() {
    let place = Place::new("usage-refused");
    let (url, kept) = picky("stream_options");
    let config = format!("[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\n");
    let file = place.write("config.toml", &config);
    // The server answers every request with a tool call.
    let ran = place.ask(&["--config", &file, "-m", "own/m", "hi"]);
    assert!(ran.err.contains("calls list {}"), "{}", ran.err);
    let asked = asks_for_usage(&kept.lock().unwrap());
    assert!(asked.len() > 3 && asked[0] && !asked[1..].contains(&true), "{asked:?}");
    // The gateway learns the same for requests of another wire.
    kept.lock().unwrap().clear();
    let gateway = serve(&place, &config);
    let asked = json!({"model": "own/m", "stream": true, "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}]});
    for _ in 0..3 {
        let answer = gateway.ask("/v1/messages", &asked.to_string());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert_eq!(asks_for_usage(&kept.lock().unwrap()), [true, false, false, false]);
    // A refusal for another reason is reported at once.
    let (url, kept) = picky("model");
    let config = format!("[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\n");
    let file = place.write("config.toml", &config);
    let ran = place.ask(&["--config", &file, "-m", "own/m", "--tools", "off", "hi"]);
    assert_eq!((ran.code, kept.lock().unwrap().len()), (Some(1), 1), "{}", ran.err);
    assert!(ran.err.contains("bad"), "{}", ran.err);
}

#[test]
fn the_context_window_of_a_model_is_what_is_configured() {
    let desk = Desk::plain("window");
    let limit = |model: &str| {
        let config = desk.place.write("config.toml", &desk.config("", model));
        let request = desk
            .place
            .write("request.json", r#"{"model":"x","messages":[{"role":"user","content":"hi"}]}"#);
        let explain = ["explain", "--json", "--config", &config, "-m", "m", &request];
        desk.place.think(&explain).json()["tokens"]["limit"].clone()
    };
    assert_eq!(limit(""), Value::Null);
    assert_eq!(limit("context_window = 131072"), 131_072);
}

#[test]
fn headers_of_provider_and_model_go_with_every_request_and_are_nowhere_said() {
    let desk = Desk::plain("headers");
    let provider = "headers = { x-a = \"of the provider\", x-b = \"b\" }";
    let model = "headers = { X-A = \"of the model\", x-c = \"canary-of-a-header\" }";
    let ran = desk.ask(provider, model, &[]);
    let head = desk.upstream.heads().pop().unwrap();
    for line in ["x-a: of the model\n", "x-b: b\n", "x-c: canary-of-a-header\n"] {
        assert!(head.contains(line), "{head}");
    }
    assert!(!head.contains("of the provider"), "{head}");
    assert!(!(ran.out + &ran.err).contains("canary"));
    let gateway = serve(&desk.place, &desk.config(provider, model));
    let asked =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"}]});
    let answer = gateway.ask("/v1/chat/completions", &asked.to_string());
    assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("canary"), "{answer}");
    assert!(desk.upstream.heads().pop().unwrap().contains("x-c: canary-of-a-header\n"));
    assert!(!gateway.stop().contains("canary"));
    for (header, why) in [
        ("content-length = \"1\"", "`models.m.headers.content-length` is set by the connection"),
        ("\"x a\" = \"1\"", "is no name of a header"),
        ("x-a = \"a\\nb\"", "holds a character that no header may have"),
        ("x-a = 1", "must be a string"),
    ] {
        let config = desk.config("", &format!("headers = {{ {header} }}"));
        let config = desk.place.write("config.toml", &config);
        let ran = desk.place.ask(&["--config", &config, "-m", "m", "hi"]);
        assert!(ran.code == Some(1) && ran.err.contains(why), "{header}: {}", ran.err);
    }
    // A header without a value is an error, like a missing key.
    let config = desk.config("", "headers = { x-d = { env = \"NO_SUCH_HEADER\" } }");
    let config = desk.place.write("config.toml", &config);
    let ran = desk.place.ask(&["--config", &config, "-m", "m", "hi"]);
    let why = "`m` needs the header `x-d`; set `NO_SUCH_HEADER`";
    assert!(ran.code == Some(1) && ran.err.contains(why), "{}", ran.err);
}

#[test]
fn tags_take_thoughts_out_of_the_text() {
    let of = |text: &str, model: &str| {
        let desk = Desk::new("tags", chat("", text, None));
        let json = desk.ask("", model, &["--json"]).json();
        let thought = json["blocks"][0]["thought"].as_str().unwrap_or_default().to_owned();
        (thought.trim().to_owned(), json["text"].as_str().unwrap().trim().to_owned())
    };
    let said = |thought: &str, text: &str| (thought.to_owned(), text.to_owned());
    let tagged = "<think>hm</think>so";
    assert_eq!(of(tagged, ""), said("", tagged));
    assert_eq!(of(tagged, "tags = \"think\""), said("hm", "so"));
    assert_eq!(of("[[hm]]so", "tags = { open = \"[[\", close = \"]]\" }"), said("hm", "so"));
    let open = "tags = { open = \"[[\", close = \"]]\", starts_open = true }";
    assert_eq!(of("hm]]so", open), said("hm", "so"));
    let open = "tags = { family = \"think\", starts_open = true }";
    assert_eq!(of("hm</think>so", open), said("hm", "so"));
}

#[test]
fn an_effort_is_said_in_the_models_own_field_and_words() {
    let desk = Desk::plain("effort");
    let sent =
        |model: &str, effort: &str| desk.sent(model, &[&format!("reasoning.effort={effort}")]);
    assert!(sent("", "high").get("reasoning_effort").is_none());
    assert_eq!(sent("effort = \"reasoning_effort\"", "high")["reasoning_effort"], "high");
    assert_eq!(
        sent("effort = \"reasoning.effort\"", "max")["reasoning"],
        json!({"effort": "high"})
    );
    let words = "effort = { field = \"think.depth\", words = { low = \"short\", max = \"long\" } }";
    assert_eq!(sent(words, "high")["think"], json!({"depth": "short"}));
    assert_eq!(sent(words, "max")["think"], json!({"depth": "long"}));
}

#[test]
fn thinking_is_switched_with_the_objects_that_are_configured() {
    let desk = Desk::plain("thinking");
    let both = "thinking = { on = { chat = { think = true, n = 1 } }, off = { chat = { think = false } } }";
    assert_eq!(desk.sent(both, &[])["chat"], json!({"think": true, "n": 1}));
    // Without the `on` object thinking is off, so the request needs no `off` object.
    assert!(desk.sent(both, &["reasoning.enabled=false"]).get("chat").is_none());
    let off = "thinking = { off = { chat = { think = false } } }";
    assert!(desk.sent(off, &[]).get("chat").is_none());
    assert_eq!(desk.sent(off, &["reasoning.enabled=false"])["chat"], json!({"think": false}));
    let on = "thinking = { on = { t = 1 }, off = { t = 0 }, default_on = true }";
    assert!(desk.sent(on, &[]).get("t").is_none());
    assert_eq!(desk.sent(on, &["reasoning.enabled=false"])["t"], 0);
    let show = "thinking = { show = { summary = \"auto\" } }";
    assert_eq!(desk.sent(show, &[])["summary"], "auto");
    let budget = "thinking = { budget = { field = \"think.tokens\", min = 100, max = 2000, with = { think = { kind = \"capped\" } } } }";
    let capped = |tokens: &str| {
        desk.sent(budget, &[&format!("reasoning.maxTokens={tokens}")])["think"].clone()
    };
    assert_eq!(capped("500"), json!({"tokens": 500, "kind": "capped"}));
    assert_eq!(capped("5"), json!({"tokens": 100, "kind": "capped"}));
    assert_eq!(capped("5000"), json!({"tokens": 2000, "kind": "capped"}));
    let below = budget.replace("min = 100", "below_max_tokens = true");
    let sent = desk.sent(&below, &["reasoning.maxTokens=500"]);
    assert!(sent["max_tokens"].as_u64() > Some(500), "{sent}");
    // Other settings in the same table still apply.
    let mode = "thinking = { context_mode = \"strip\", on = { t = 1 } }";
    assert_eq!(desk.sent(mode, &[])["t"], 1);
}

#[test]
fn a_contract_of_none_leaves_out_what_the_models_family_wants_back() {
    let desk = Desk::plain("no-contract");
    // On its own wire the caller's field passes unchanged. Here the thought is translated.
    let request = desk.place.write(
        "request.json",
        r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"T","signature":""},{"type":"text","text":"ho"}]},{"role":"user","content":"and?"}]}"#,
    );
    let kept = |contract: &str| {
        let config = format!(
            "[models.m]\nprovider = \"moonshotai\"\nmodel = \"kimi-k3\"\n{contract}\n[providers.moonshotai]\napi_key = \"k\"\n"
        );
        let config = desk.place.write("config.toml", &config);
        let explain = ["explain", "--json", "--config", &config, "-m", "m", &request];
        desk.place.think(&explain).json()["body"].to_string().contains("reasoning_content")
    };
    assert!(kept(""));
    assert!(!kept("contract = \"none\""));
    assert!(kept("contract = { return = \"all\", field = \"reasoning_content\" }"));
    assert!(!kept(
        "contract = { return = \"all\", field = \"reasoning_content\", older = \"forbidden\" }"
    ));
}

#[test]
fn an_odd_wire_contract_or_word_is_refused_with_the_nearest() {
    let desk = Desk::plain("odd-words");
    for (provider, model, why) in [
        ("[providers.x]\nwire = \"chat-completion\"", "", "did you mean `chat-completions`?"),
        ("", "contract = \"nothing\"", "it is a table, or `none`"),
        ("", "contract = { return = \"all\", older = \"maybe\" }", "allowed: allowed, forbidden"),
        ("", "thoughts = \"all\"", "allowed: as-asked, show"),
    ] {
        let config = desk.place.write("config.toml", &desk.config(provider, model));
        let ran = desk.place.ask(&["--config", &config, "-m", "m", "hi"]);
        assert!(ran.code == Some(1) && ran.err.contains(why), "{provider}{model}: {}", ran.err);
    }
}

#[test]
fn a_caller_that_wants_no_thoughts_sent_back_sends_none_in_any_spelling() {
    let desk = Desk::plain("none-sent");
    let gateway = serve(&desk.place, &desk.config("", ""));
    let asked = json!({"model": "m", "stream": true, "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "ho", "reasoning_details": "canary", "thinking": "canary",
            "thought_signature": "canary", "keeps": 1},
        {"role": "user", "content": "and?"}]});
    let set = "content-type: application/json\r\nx-thinkthrough-set: reasoning.includeInContext=false\r\n";
    let answer = gateway.request("POST", "/v1/chat/completions", set, &asked.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let kept = json!({"role": "assistant", "content": "ho", "keeps": 1});
    assert_eq!(desk.upstream.last()["messages"][1], kept);
}
