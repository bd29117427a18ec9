//! A model's name never sends a request to a provider that is not configured, neither in the
//! gateway nor in the clients.
//! The proxy of all tests is a trap, which counts and refuses all connections that leave this
//! machine.

use crate::place::Place;
use crate::program::Ran;
use crate::serve_config::Reserved;
use crate::server::{Server, body};
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};
use thinkthrough_core::provider::{self, Provider};

/// A key that looks real.
const OWN_KEY: &str =
    "content-type: application/json\r\nauthorization: Bearer sk-Zq81mXc73LpQvT55aRwE\r\n";
/// The placeholder key of a client for servers without keys.
const DUMMY: &str = "content-type: application/json\r\nauthorization: Bearer EMPTY\r\n";

/// A proxy that counts and refuses all connections.
struct Trap {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Trap {
    fn set() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut line = String::new();
                // A connection without a request counts, too.
                drop(BufReader::new(&stream).read_line(&mut line));
                kept.lock().unwrap().push(line.trim().to_owned());
                drop(stream.write_all(b"HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n"));
            }
        });
        Trap { url, asked }
    }

    /// The first line of each connection since the last call.
    fn caught(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// A server that accepts any model name.
fn house() -> Upstream {
    let message = json!({"role": "assistant", "content": "here"});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    let whole = json!({"object": "chat.completion", "model": "m", "choices": [choice]}).to_string();
    let stream = chat("", "here", None);
    Upstream::answering(move |asked| {
        if asked.contains("\"stream\":true") { stream.clone() } else { whole.clone() }
    })
}

fn configured(house: &Upstream) -> String {
    let url = &house.url;
    format!("[providers.house]\nwire = \"chat-completions\"\nbase_url = \"{url}/v1\"\n")
}

/// Runs the command behind the trap, without the environment variables of providers.
fn trapped(mut command: Command, trap: &Trap) -> Command {
    for provider in provider::ALL {
        let addresses = provider.address.map_or(&[][..], |it| it.variables);
        for name in provider.keys.iter().chain(addresses) {
            command.env_remove(name);
        }
    }
    let accounts = ["AWS_ACCESS_KEY_ID", "AZURE_CLIENT_SECRET", "GOOGLE_APPLICATION_CREDENTIALS"];
    for name in accounts.into_iter().chain(["NO_PROXY", "no_proxy"]) {
        command.env_remove(name);
    }
    for name in ["http_proxy", "https_proxy", "all_proxy"] {
        command.env(name, &trap.url);
    }
    command
}

/// Adds a key for every provider.
fn with_all_keys(mut command: Command) -> Command {
    for name in provider::ALL.iter().flat_map(|it| it.keys) {
        command.env(name, "sk-Hx81mXc73LpQvT55aRwE");
    }
    command
}

fn gateway(place: &Place, config: Option<&str>, dress: impl Fn(Command) -> Command) -> Server {
    let file = config.map(|config| place.write("reach.toml", config));
    let mut args = vec!["serve", "--listen", "127.0.0.1:0"];
    args.extend(file.iter().flat_map(|file| ["--config", file.as_str()]));
    Server::run(dress(place.command(&args)))
}

/// All routes with a model's name, and a body for each.
fn routes(model: &str) -> Vec<(String, Value)> {
    let user = json!([{"role": "user", "content": "Hello"}]);
    let parts = json!({"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]});
    let messages = json!({"model": model, "max_tokens": 99, "messages": user});
    let lines = json!({"model": model, "stream": false, "messages": user});
    let gemini = |verb: &str| format!("/v1beta/models/{model}:{verb}");
    vec![
        ("/v1/chat/completions".to_owned(), json!({"model": model, "messages": user})),
        ("/v1/responses".to_owned(), json!({"model": model, "input": "Hello"})),
        ("/v1/messages".to_owned(), messages.clone()),
        (gemini("generateContent"), parts.clone()),
        (gemini("streamGenerateContent"), parts.clone()),
        ("/api/chat".to_owned(), lines),
        ("/api/generate".to_owned(), json!({"model": model, "stream": false, "prompt": "Hello"})),
        // The gateway counts tokens itself.
        ("/v1/messages/count_tokens".to_owned(), messages),
        (gemini("countTokens"), parts),
    ]
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}

#[test]
fn a0_a_configuration_is_all_that_any_name_reaches_on_any_route() {
    let (place, trap, house) = (Place::new("reach"), Trap::set(), house());
    let config = configured(&house);
    let server = gateway(&place, Some(&config), |it| with_all_keys(trapped(it, &trap)));
    for provider in provider::ALL {
        let model = format!("{}/gpt-oss-120b", provider.id);
        for (path, body) in routes(&model) {
            let answer = server.request("POST", &path, OWN_KEY, &body.to_string());
            assert_eq!(status(&answer), "200", "{path} {model}: {answer}");
            if !path.contains("ount") {
                assert_eq!(house.last()["model"], json!(model), "{path}");
            }
        }
        for path in ["v1/models", "v1/chat/completions", "chat/completions", "v1/messages"] {
            let path = format!("/p/{}/{path}", provider.id);
            let answer = server.request("POST", &path, OWN_KEY, "{}");
            assert_eq!(status(&answer), "404", "{path}: {answer}");
        }
    }
    assert_eq!(house.bodies().len(), 7 * provider::ALL.len());
    assert_eq!(status(&server.request("POST", "/p/house/v1/x", OWN_KEY, "{}")), "200");
    assert_eq!(trap.caught(), [""; 0]);
}

#[test]
fn a0_behind_keys_a_house_without_one_serves_its_names() {
    let (place, trap, house) = (Place::new("reach-keys"), Trap::set(), house());
    let key = "[keys.alice]\nkey = \"tt-0123456789-abcdef\"\nraw = true\n";
    let config = configured(&house) + key;
    let server = gateway(&place, Some(&config), |it| with_all_keys(trapped(it, &trap)));
    let alice = "content-type: application/json\r\nauthorization: Bearer tt-0123456789-abcdef\r\n";
    for model in ["openai/gpt-oss-120b", "google/gemma-4-27b", "house/m", "m"] {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
        let answer =
            server.request_in_time("POST", "/v1/chat/completions", alice, &body.to_string());
        assert_eq!(status(&answer), "200", "{model}: {answer}");
        assert_eq!(house.last()["model"], json!(model.trim_start_matches("house/")));
    }
    // The caller's key opens only this gateway, and is not forwarded.
    assert!(
        house.heads().iter().all(|head| !head.contains("tt-0123456789")),
        "{:?}",
        house.heads()
    );
    let raw = server.request_in_time("POST", "/p/openai/v1/chat/completions", alice, "{}");
    assert_eq!(status(&raw), "404", "{raw}");
    assert_eq!(trap.caught(), [""; 0]);
}

#[test]
fn a0_fallbacks_and_defaults_lead_to_configured_providers_only() {
    let (place, trap, house) = (Place::new("reach-fallback"), Trap::set(), house());
    let nobody = Reserved::new();
    let config = format!(
        "default_model = \"first\"\n{}[providers.away]\nwire = \"chat-completions\"\n\
         base_url = \"http://127.0.0.1:{}/v1\"\n[models.first]\nprovider = \"away\"\n\
         fallback = [\"openai/gpt-oss-20b\"]\n[models.\"openai/*\"]\nprovider = \"house\"\n",
        configured(&house),
        nobody.port
    );
    let server = gateway(&place, Some(&config), |it| with_all_keys(trapped(it, &trap)));
    // A default name of a coding agent leads to the default model, and from there to its fallback.
    for model in ["first", "claude-haiku-4-5", "gpt-5.6", "claude-opus-5"] {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
        let answer = server.request("POST", "/v1/chat/completions", OWN_KEY, &body.to_string());
        assert_eq!(status(&answer), "200", "{model}: {answer}");
        assert_eq!(house.last()["model"], json!("openai/gpt-oss-20b"), "{model}");
    }
    let lost = json!({"model": "mistral/large", "messages": []}).to_string();
    let lost = server.request("POST", "/v1/chat/completions", OWN_KEY, &lost);
    assert_eq!(status(&lost), "404", "{lost}");
    for says in ["names no provider `mistral`", "house, away", "first"] {
        assert!(body(&lost).contains(says), "{says}: {lost}");
    }
    assert_eq!(trap.caught(), [""; 0]);
    let said = server.stop();
    assert_eq!(said.matches("go to the default model `first`").count(), 1, "{said}");
}

#[test]
fn a0_the_own_clients_ask_nobody_else_either() {
    let (place, trap, house) = (Place::new("reach-own"), Trap::set(), house());
    let file = place.write("reach.toml", &configured(&house));
    let run = |args: &[&str]| {
        let args = [args, &["--config", &file]].concat();
        ran(with_all_keys(trapped(place.command(&args), &trap)))
    };
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).to_string();
    let request = place.write("request.json", &body);
    for provider in provider::ALL {
        let model = format!("{}/gpt-oss-120b", provider.id);
        let explained = run(&["explain", "--json", "-m", &model, &request]).json();
        assert_eq!(explained["provider"], json!("house"), "{model}");
        assert_eq!(explained["body"]["model"], json!(model));
    }
    for model in ["openai/gpt-oss-120b", "ollama/llama3", "anthropic/claude-opus-5"] {
        let asked = run(&["ask", "-m", model, "Hello"]);
        assert_eq!((asked.code, asked.out.as_str()), (Some(0), "here\n"), "{asked:?}");
        assert_eq!(house.last()["model"], json!(model));
    }
    // Without a model's name, a key in the environment adds no provider to configured ones.
    let asked = run(&["ask", "Hello"]);
    assert!(asked.code == Some(1) && asked.err.contains("`house` lists no model"), "{asked:?}");
    assert_eq!(trap.caught(), [""; 0]);
}

#[test]
fn a0_without_a_configuration_a_prefix_counts_for_those_who_bring_a_key() {
    let (place, trap) = (Place::new("reach-open"), Trap::set());
    let server = gateway(&place, None, |it| trapped(it, &trap));
    let needs_key = |it: &&&Provider| it.local_port.is_none() && !it.keys.is_empty();
    for provider in provider::ALL.iter().filter(needs_key) {
        for (path, body) in routes(&format!("{}/m", provider.id)) {
            let answer = server.request("POST", &path, DUMMY, &body.to_string());
            assert_eq!(status(&answer), "404", "{path} {}: {answer}", provider.id);
        }
        let path = format!("/p/{}/v1/models", provider.id);
        assert_eq!(status(&server.request("GET", &path, DUMMY, "")), "404", "{path}");
    }
    assert_eq!(trap.caught(), [""; 0]);
    let body = json!({"model": "openai/m", "messages": [{"role": "user", "content": "Hello"}]});
    for path in ["/v1/chat/completions", "/p/openai/v1/chat/completions"] {
        drop(server.request("POST", path, OWN_KEY, &body.to_string()));
        let caught = trap.caught();
        let is_openai = |line: &String| line.starts_with("CONNECT api.openai.com:443 ");
        assert!(!caught.is_empty() && caught.iter().all(is_openai), "{path}: {caught:?}");
    }
}

fn ran(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the program without a configuration, behind the trap and with these variables.
fn asked(place: &Place, trap: &Trap, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = trapped(place.command(args), trap);
    command.envs(variables.iter().copied());
    ran(command)
}

const KEY: &str = "sk-Hx81mXc73LpQvT55aRwE";

#[test]
fn a0_an_address_in_the_environment_is_obeyed_with_the_key_beside_it() {
    let (place, trap, house) = (Place::new("reach-address"), Trap::set(), house());
    let given = provider::ALL.iter().filter_map(|it| Some((it, it.address?, it.default_model?)));
    for (provider, address, model) in given {
        let [key, variable] = [provider.keys[0], address.variables[0]];
        let variables = [(key, KEY), (variable, house.url.as_str())];
        // The answer may be invalid for this API, so only the address and key of the request are
        // checked.
        let said = asked(&place, &trap, &["ask", "Hello"], &variables).err;
        let (name, url) =
            (format!("model: {}/{model} (`{key}` is set, at ", provider.id), &house.url);
        assert!(said.contains(&name) && said.contains(url.as_str()), "{said}");
        assert!(said.contains(&format!("by `{variable}`)")), "{said}");
        assert!(
            house.heads().last().unwrap().contains(&KEY.to_ascii_lowercase()),
            "{}",
            provider.id
        );
    }
    assert_eq!(house.heads().len(), 13);
    assert_eq!(trap.caught(), [""; 0]);
    let wrong = [("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "house:8000")];
    let refused = asked(&place, &trap, &["ask", "Hello"], &wrong);
    assert!(refused.code == Some(1) && refused.err.contains("`OPENAI_BASE_URL` is no address"));
    assert_eq!(trap.caught(), [""; 0]);
}

#[test]
fn a0_the_configuration_goes_before_an_address_in_the_environment() {
    let (place, trap, house) = (Place::new("reach-before"), Trap::set(), house());
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).to_string();
    let request = place.write("request.json", &body);
    let own = "https://api.anthropic.com/v1/messages";
    let [house, there] =
        [format!("{}/v1/messages", house.url), format!("{}/v1/messages", trap.url)];
    let configured = house.trim_end_matches("/v1/messages");
    for (says, expected) in [
        (String::new(), there.as_str()),
        ("api_key = { env = \"ANTHROPIC_API_KEY\" }\n".to_owned(), there.as_str()),
        (format!("base_url = \"{configured}\"\n"), house.as_str()),
        // With a key from elsewhere, the address in the environment is ignored.
        ("api_key = \"k\"\n".to_owned(), own),
        ("api_key = { env = \"OTHER_KEY\" }\n".to_owned(), own),
    ] {
        let file = place.write("reach.toml", &format!("[providers.anthropic]\n{says}"));
        let args = ["explain", "--json", "-m", "anthropic/m", "--config", &file, &request];
        let variables = [
            ("ANTHROPIC_API_KEY", KEY),
            ("OTHER_KEY", KEY),
            ("ANTHROPIC_BASE_URL", trap.url.as_str()),
        ];
        let explained = asked(&place, &trap, &args, &variables).json();
        assert_eq!(explained["url"], json!(expected), "{says}");
    }
}

#[test]
fn a0_an_address_that_is_the_gateway_itself_is_no_upstream() {
    let (place, trap, house) = (Place::new("reach-circle"), Trap::set(), house());
    let reserved = Reserved::new();
    let listen = format!("127.0.0.1:{}", reserved.port);
    let own = format!("http://localhost:{}/v1", reserved.port);
    let mut command = trapped(place.command(&["serve", "--listen", &listen]), &trap);
    command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", own);
    command.env("GROQ_API_KEY", KEY).env("GROQ_BASE_URL", &house.url);
    let server = Server::run(command);
    for (model, caught) in [("openai/m", 1), ("groq/openai/gpt-oss-120b", 0)] {
        let body = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
        drop(server.request("POST", "/v1/chat/completions", DUMMY, &body.to_string()));
        let lines = trap.caught();
        assert_eq!(lines.is_empty(), caught == 0, "{model}: {lines:?}");
        assert!(lines.iter().all(|it| it.starts_with("CONNECT api.openai.com:443 ")), "{lines:?}");
    }
    assert!(
        house.heads()[0].starts_with("post /openai/v1/chat/completions "),
        "{:?}",
        house.heads()
    );
    let said = server.stop();
    assert!(
        said.contains("`OPENAI_BASE_URL` is the address of this gateway, so `openai`"),
        "{said}"
    );
    assert!(said.contains("`groq` is asked at `") && said.contains("by `GROQ_BASE_URL`"), "{said}");
}

/// Runs a server at the default port of a local server, in a network namespace of its own.
#[cfg(target_os = "linux")]
#[test]
fn a0_a_name_that_a_local_server_lists_goes_there_first() {
    let up = "ip link set lo up";
    let path = "/usr/sbin:/usr/bin:/sbin:/bin";
    let can = Command::new("unshare").args(["-rn", "sh", "-c", up]).env("PATH", path).output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("skipped: `unshare -rn` gives no network of its own here");
        return;
    }
    let place = Place::new("reach-local");
    let entry = "[models.\"openai/gpt-oss-120b\"]\nprovider = \"sim\"\nmodel = \"default\"\n";
    let served = place.write("served.toml", entry);
    let think = crate::program::built();
    let script = format!(
        "{up}; '{think}' serve --config '{served}' --listen 127.0.0.1:8000 >\"$HOME/log\" 2>&1 & id=$!; \
         until grep -qs listening \"$HOME/log\"; do sleep 0.05; done; \
         '{think}' ask -m openai/gpt-oss-120b Hello; kill $id"
    );
    let mut command = Command::new("unshare");
    command.args(["-rn", "sh", "-c", &script]).env("PATH", path).env("OPENAI_API_KEY", KEY);
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(name, place.home());
    }
    let asked = ran(command);
    assert!(asked.err.contains("model: vllm/openai/gpt-oss-120b ("), "{asked:?}");
    assert!(asked.out.contains("simulated model"), "{asked:?}");
}
