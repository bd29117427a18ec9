//! `think explain --json` has the body that `think serve` sends with the same configuration, store
//! and budget, byte for byte.

use crate::place::Place;
use crate::serve_config::serve;
use crate::serve_shared::IN_A_FILE;
use crate::server::{PATIENCE, Server, body};
use crate::upstream::{Upstream, calling};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Instant;
use thinkthrough_json::Doc;

/// A model of every kind of provider: one of the user's own, and those whose rules change the body
/// most.
const TARGETS: [&str; 7] = [
    "own/m",
    "anth/claude-opus-4-8",
    "anth/claude-sonnet-4-5",
    "deep/deepseek-v4-pro",
    "goo/gemini-3-flash",
    "open/gpt-5.1",
    "kimi/kimi-k2-thinking",
];

fn config(upstream: &Upstream, more: &str) -> String {
    let url = &upstream.url;
    let provider = |name: &str, says: &str| {
        format!("[providers.{name}]\n{says}\nbase_url = \"{url}\"\napi_key = \"k\"\n")
    };
    [
        more.to_owned(),
        provider("own", "wire = \"chat-completions\""),
        provider("anth", "extends = \"anthropic\""),
        provider("deep", "extends = \"deepseek\""),
        provider("goo", "extends = \"google\""),
        provider("open", "extends = \"openai\"\nwire = \"responses\""),
        provider("kimi", "extends = \"moonshotai\""),
    ]
    .concat()
}

/// A provider that refuses every request, so that no records are made and no budget is spent.
fn refusing() -> Upstream {
    Upstream::start(vec![json!({"error": {"message": "not today"}}).to_string()])
}

/// A gateway, and the folder in which `think explain` finds its configuration and its store.
struct Bench {
    place: Place,
    gateway: Server,
    upstream: Upstream,
    /// The tenant for `think explain`.
    tenant: String,
    /// The header lines of the caller.
    headers: &'static str,
}

impl Bench {
    fn new(upstream: Upstream, more: &str) -> Self {
        let place = Place::new("explain-sent");
        let gateway = serve(&place, &config(&upstream, more));
        Bench { place, gateway, upstream, tenant: "local".to_owned(), headers: "" }
    }

    fn with_key(upstream: Upstream, budget: &str) -> Self {
        let key = format!(
            "{IN_A_FILE}[keys.alice]\nkey = \"alice-key-0123456789\"\nbudget = {{ {budget} }}\n"
        );
        let headers = "authorization: Bearer alice-key-0123456789\r\n";
        Bench { tenant: "alice".to_owned(), headers, ..Bench::new(upstream, &key) }
    }

    /// The body that `think explain` shows for a request, or nothing if the gateway refuses it.
    fn explained(&self, model: &str, wire: &str, request: &str) -> Option<String> {
        let file = self.place.write("request.json", request);
        let config = self.place.file("config.toml");
        let mut args = vec!["explain", "--json", "--config", &config, "-m", model];
        args.extend(["--tenant", &self.tenant]);
        // A request that shows its wire needs no option.
        if wire != "messages" || !request.contains("tool_use") {
            args.extend(["--from", wire]);
        }
        args.push(&file);
        let ran = self.place.think(&args);
        let is_refused =
            ran.code != Some(0) || ran.out.contains("the gateway refuses this request");
        (!is_refused).then(|| {
            let doc = Doc::parse_str(&ran.out).unwrap();
            doc.root().some("body").unwrap().raw().to_owned()
        })
    }

    /// The JSON object that the gateway sends for a request, or nothing if it sends none.
    fn sent(&self, model: &str, wire: &str, request: &str) -> Option<String> {
        let before = self.upstream.bodies().len();
        let headers = format!("{}content-type: application/json\r\n", self.headers);
        let path = path(wire, model);
        self.gateway.request_in_time("POST", &path, &headers, request);
        let is_sent = self.upstream.bodies().len() > before;
        is_sent.then(|| self.upstream.last_bytes().trim().to_owned())
    }

    /// Reads the name of a caller that brings a key of the provider, which the store derives from
    /// that key.
    fn find_tenant(&mut self) {
        if self.tenant == "local" {
            return;
        }
        let store = Connection::open(self.place.file("kept.db")).unwrap();
        let name = "SELECT name FROM tenant WHERE name LIKE 'credential:%'";
        self.tenant = store.query_row(name, [], |row| row.get(0)).unwrap_or_default();
    }

    /// Whether both say the same; `false` if the request is refused.
    fn compare(&self, model: &str, wire: &str, request: &str) -> bool {
        let explained = self.explained(model, wire, request);
        let sent = self.sent(model, wire, request);
        assert_eq!(explained, sent, "{wire} to {model}: {request}");
        sent.is_some()
    }
}

fn path(wire: &str, model: &str) -> String {
    match wire {
        "chat-completions" => "/v1/chat/completions".to_owned(),
        "messages" => "/v1/messages".to_owned(),
        "responses" => "/v1/responses".to_owned(),
        "ollama-chat" => "/api/chat".to_owned(),
        _ => format!("/v1beta/models/{}:generateContent", model.replace('/', "%2F")),
    }
}

/// The wires that callers of the gateway speak.
const WIRES: [&str; 5] =
    ["chat-completions", "messages", "responses", "ollama-chat", "generate-content"];

fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The recorded requests of a wire, in the order of their names.
fn recorded(wire: &str) -> Vec<String> {
    let folder = fixtures().join("wires").join(wire);
    let one = folder.join("request.json");
    let many = fs::read_dir(folder.join("requests")).into_iter().flatten();
    let mut files: Vec<_> = many.map(|entry| entry.unwrap().path()).collect();
    files.extend(one.exists().then_some(one));
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// The requests of the matrix, each with one feature of the wire.
fn features(wire: &str) -> Vec<String> {
    let text = fs::read_to_string(fixtures().join(format!("matrix/requests/{wire}.json"))).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let with = |feature: &Value| {
        let mut request = all["base"].as_object().unwrap().clone();
        request.extend(feature["set"].as_object().unwrap().clone());
        Value::Object(request).to_string()
    };
    all["features"].as_object().unwrap().values().map(with).collect()
}

/// The request for a model, with its other bytes as they are.
fn asking(request: &str, wire: &str, model: &str) -> String {
    if wire == "generate-content" {
        return request.to_owned();
    }
    let doc = Doc::parse_str(request).unwrap();
    let span = doc.root().some("model").unwrap().span();
    let (before, after) = (request.get(..span.start).unwrap(), request.get(span.end..).unwrap());
    format!("{before}\"{model}\"{after}")
}

#[test]
fn every_recorded_request_is_explained_as_it_is_sent_to_every_kind_of_provider() {
    let bench = Bench::new(refusing(), IN_A_FILE);
    let mut sent = 0;
    for wire in WIRES {
        for request in recorded(wire) {
            for model in TARGETS {
                sent += usize::from(bench.compare(model, wire, &asking(&request, wire, model)));
            }
        }
    }
    assert!(sent > 60, "only {sent} were sent");
}

#[test]
fn every_feature_of_every_wire_is_explained_as_it_is_sent() {
    let bench = Bench::new(refusing(), IN_A_FILE);
    let mut sent = 0;
    for wire in WIRES {
        for (at, request) in features(wire).iter().enumerate() {
            let model = TARGETS[at % TARGETS.len()];
            sent += usize::from(bench.compare(model, wire, &asking(request, wire, model)));
        }
    }
    assert!(sent > 80, "only {sent} were sent");
}

/// The second request of a loop, without the thought of the first answer.
fn second(wire: &str, model: &str, answer: &str) -> String {
    let answer: Value = serde_json::from_str(&body(answer)).unwrap();
    let question = json!({"role": "user", "content": "What is here?"});
    if wire == "messages" {
        let mut blocks = answer["content"].clone();
        blocks.as_array_mut().unwrap().retain(|block| block["type"] != "thinking");
        let id = &blocks[0]["id"];
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": "nothing"});
        let messages = json!([question, {"role": "assistant", "content": blocks},
            {"role": "user", "content": [result]}]);
        return json!({"model": model, "max_tokens": 900, "messages": messages}).to_string();
    }
    let mut message = answer["choices"][0]["message"].clone();
    message.as_object_mut().unwrap().remove("reasoning_content");
    let id = &message["tool_calls"][0]["id"];
    let result = json!({"role": "tool", "tool_call_id": id, "content": "nothing"});
    json!({"model": model, "messages": [question, message, result]}).to_string()
}

/// Asks twice, and compares the second request, in which the thought of the first answer is put
/// back.
fn compare_second(bench: &mut Bench, wire: &str) {
    let model = "deep/deepseek-v4-pro";
    let first = json!({"model": model, "max_tokens": 900,
        "messages": [{"role": "user", "content": "What is here?"}]});
    let headers = format!("{}content-type: application/json\r\n", bench.headers);
    let path = path(wire, model);
    let answer = bench.gateway.request_in_time("POST", &path, &headers, &first.to_string());
    let request = second(wire, model, &answer);
    // The database takes a record some milliseconds after its answer.
    let began = Instant::now();
    let explained = loop {
        bench.find_tenant();
        let explained = bench.explained(model, wire, &request).unwrap_or_default();
        if explained.contains("I look.") {
            break explained;
        }
        assert!(began.elapsed() < PATIENCE, "{explained}");
    };
    assert_eq!(Some(explained), bench.sent(model, wire, &request), "{wire}");
}

#[test]
fn thoughts_of_the_store_are_explained_as_they_are_put_back() {
    let mut bench = Bench::new(calling(), IN_A_FILE);
    for wire in ["chat-completions", "messages"] {
        compare_second(&mut bench, wire);
    }
}

#[test]
fn a_caller_with_a_key_of_the_provider_is_explained_by_the_name_that_the_store_has() {
    let (place, upstream) = (Place::new("explain-through"), calling());
    let through = format!("[server]\npass_through = true\n{IN_A_FILE}");
    let config = config(&upstream, &through).replace("api_key = \"k\"\n", "");
    let gateway = serve(&place, &config);
    let (tenant, headers) = (String::new(), "authorization: Bearer sk-of-the-caller-0123\r\n");
    compare_second(&mut Bench { place, gateway, upstream, tenant, headers }, "messages");
}

#[test]
fn a_budget_lowers_what_is_explained_as_it_lowers_what_is_sent() {
    for budget in [
        "reasoning_tokens_per_key = 3000, on_exceed = \"block\"",
        "reasoning_tokens_per_session = 1200, on_exceed = \"disable_reasoning\"",
    ] {
        for model in TARGETS {
            let bench = Bench::with_key(refusing(), budget);
            let request = json!({"model": model, "reasoning_effort": "high", "max_tokens": 20_000,
                "messages": [{"role": "user", "content": "Why?"}]});
            assert!(bench.compare(model, "chat-completions", &request.to_string()), "{model}");
        }
    }
}

/// An answer that thought for two thousand tokens.
fn spending() -> Upstream {
    let message = json!({"role": "assistant", "content": "ok"});
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 2000, "total_tokens": 2010,
        "completion_tokens_details": {"reasoning_tokens": 2000}});
    let answer = json!({"id": "c", "model": "m", "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    Upstream::start(vec![answer.to_string()])
}

#[test]
fn what_is_spent_of_a_budget_is_in_what_is_explained() {
    let bench =
        Bench::with_key(spending(), "reasoning_tokens_per_key = 3000, on_exceed = \"block\"");
    let request = json!({"model": "own/m", "messages": [{"role": "user", "content": "Why?"}]});
    let request = request.to_string();
    assert!(bench.compare("own/m", "chat-completions", &request));
    // Gateways report their spending a moment later.
    let began = Instant::now();
    let explained = loop {
        let explained = bench.explained("own/m", "chat-completions", &request).unwrap();
        if explained.contains("\"max_tokens\":1000") {
            break explained;
        }
        assert!(began.elapsed() < PATIENCE, "{explained}");
    };
    assert_eq!(Some(explained), bench.sent("own/m", "chat-completions", &request));
}

#[test]
fn secrets_are_masked_in_what_is_explained_as_in_what_is_sent() {
    let bench = Bench::new(refusing(), &format!("{IN_A_FILE}[masking]\nrequests = true\n"));
    // A key in a known format that belongs to no account.
    let secret = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
    let request = json!({"model": "own/m",
        "messages": [{"role": "user", "content": format!("Use {secret}, please.")}]});
    assert!(bench.compare("own/m", "chat-completions", &request.to_string()));
    assert!(bench.upstream.last_bytes().contains("Use [masked:github-token:"));
}

#[test]
fn a_store_that_is_not_there_yet_knows_the_tenant_without_a_key() {
    let place = Place::new("explain-new");
    let config = place.write("config.toml", &config(&refusing(), IN_A_FILE));
    let request = place
        .write("request.json", r#"{"model":"m","messages":[{"role":"user","content":"Why?"}]}"#);
    let args = ["explain", "--json", "--config", &config, "-m", "own/m", "--tenant"];
    let ran = place.think(&[&args[..], &["local", &request]].concat());
    assert_eq!(ran.json()["body"]["model"], "m");
    assert!(!Path::new(&place.file("kept.db")).exists(), "a store was made");
    let ran = place.think(&[&args[..], &["stranger", &request]].concat());
    assert!(ran.code == Some(1) && ran.err.contains("no tenant `stranger`"), "{ran:?}");
}

#[test]
fn a_request_is_read_as_its_own_wire() {
    let place = Place::new("explain-wire");
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "list", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "nothing"});
    let request = json!({"model": "m", "max_tokens": 900, "tools": [{"name": "list", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "What is here?"},
            {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]});
    let file = place.write("request.json", &request.to_string());
    let explained = place.think(&["explain", "--json", "-m", "openai/gpt-5.1", &file]).json();
    let body = explained["body"].to_string();
    assert!(body.contains("\"name\":\"list\"") && body.contains("nothing"), "{explained}");
    assert_eq!(explained["untranslated"], json!([]), "{explained}");
    let mut both = request;
    both["keep_alive"] = json!("5m");
    let file = place.write("request.json", &both.to_string());
    let ran = place.think(&["explain", "-m", "openai/gpt-5.1", &file]);
    assert!(ran.code == Some(2) && ran.err.contains("`--from messages`"), "{ran:?}");
}
