//! Traces of an agent: its question, tool calls and results, and a refusal, from a gateway to `think traces` and the
//! viewer's API.

use crate::place::Place;
use crate::server::{PATIENCE, Server, body};
use crate::upstream::Upstream;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A key in a known format. It is in two parts so that secret scanners ignore this file.
const AWS: [&str; 2] = ["AKIA", "Q3EGRX7TNM2VLPZW"];
const REFUSED: &str = "this model takes no more than 8 messages";
const ALICE: &str = "tt-alice-0123456789-abcdef";
const BOB: &str = "tt-bob-0123456789-abcdefgh";

fn secret() -> String {
    AWS.concat()
}

/// Calls a tool first, then answers, and refuses a request of the model `none`.
fn upstream() -> Upstream {
    Upstream::answering(|asked| {
        let asked: Value = serde_json::from_str(asked).unwrap();
        if asked["model"] == "none" {
            return json!({"error": {"message": format!("{REFUSED}, {}", secret()), "type": "invalid_request_error"}})
                .to_string();
        }
        let last = asked["messages"].as_array().unwrap().last().unwrap();
        let message = match last["role"] == "tool" {
            true => {
                json!({"role": "assistant", "reasoning_content": "found it", "content": "It is line 7."})
            }
            false => {
                let arguments = json!({"word": "midnight", "token": secret()}).to_string();
                let call = json!({"id": "call_1", "type": "function", "function": {"name": "grep", "arguments": arguments}});
                json!({"role": "assistant", "reasoning_content": "look it up", "content": null, "tool_calls": [call]})
            }
        };
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        json!({"id": "r", "model": "m-2026", "choices": [choice]}).to_string()
    })
}

/// A gateway with two keys before this upstream.
fn gateway(place: &Place, upstream: &Upstream, traces: &str) -> Server {
    let url = &upstream.url;
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{url}/v1\"\napi_key = \"sk-there\"\n\
         [models.agent]\nprovider = \"there\"\nmodel = \"m\"\n[models.none]\nprovider = \"there\"\nmodel = \"none\"\n\
         [store]\nurl = \"sqlite:kept.db\"\n{traces}\n[keys.alice]\nkey = {{ env = \"ALICE\" }}\n[keys.bob]\nkey = {{ env = \"BOB\" }}\n"
    );
    let config = place.write("config.toml", &config);
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--config", &config]);
    command.envs([("ALICE", ALICE), ("BOB", BOB)]);
    Server::run(command)
}

/// Sends these messages. Returns the id of the trace, and the answer.
fn ask(gateway: &Server, model: &str, messages: &Value) -> (String, Value) {
    let asked = json!({"model": model, "reasoning_effort": "high", "messages": messages});
    let headers = format!(
        "content-type: application/json\r\nauthorization: Bearer {ALICE}\r\nuser-agent: editor/1.0\r\n\
         x-thinkthrough-session: nightly\r\n"
    );
    let answer = gateway.request("POST", "/v1/chat/completions", &headers, &asked.to_string());
    let line = answer.lines().find(|line| line.starts_with("x-thinkthrough:")).unwrap();
    let (_, id) = line.split_once("trace=").unwrap();
    let id = id.split(';').next().unwrap().trim().to_owned();
    (id, serde_json::from_str(&body(&answer)).unwrap())
}

/// The trace as its caller reads it, as soon as it is stored.
fn stored(gateway: &Server, id: &str) -> Value {
    let began = Instant::now();
    loop {
        let headers = format!("authorization: Bearer {ALICE}\r\n");
        let answer = gateway.request("GET", &format!("/v1/traces/{id}"), &headers, "");
        let trace: Value = serde_json::from_str(&body(&answer)).unwrap();
        if trace["state"] == "stored" {
            return trace["trace"].clone();
        }
        assert!(began.elapsed() < PATIENCE, "{answer}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A question with a call, a result and an answer, and a refused request. Returns the ids of the three traces.
fn work(gateway: &Server) -> [String; 3] {
    let question = format!("Where is midnight? My key is {}. {}", secret(), "x ".repeat(9_000));
    let mut messages = json!([{"role": "user", "content": question}]);
    let (first, answer) = ask(gateway, "agent", &messages);
    let result = json!({"role": "tool", "tool_call_id": "call_1", "content": format!("line 7, {}", secret())});
    let all = messages.as_array_mut().unwrap();
    all.extend([answer["choices"][0]["message"].clone(), result]);
    let (second, _) = ask(gateway, "agent", &messages);
    let (third, _) = ask(gateway, "none", &json!([{"role": "user", "content": "And now?"}]));
    [first, second, third]
}

fn kinds(trace: &Value) -> Vec<&str> {
    let items = trace["items"].as_array().into_iter().flatten();
    items.map(|item| item["type"].as_str().unwrap()).collect()
}

#[test]
fn an_agents_turn_is_in_its_traces_in_order_masked_capped_and_sealed() {
    let (place, upstream) = (Place::new("items"), upstream());
    let gateway = gateway(&place, &upstream, "");
    let ids = work(&gateway);
    let traces = ids.each_ref().map(|id| stored(&gateway, id));
    let [first, second, third] = &traces;
    assert_eq!(kinds(first), ["question", "call"]);
    assert_eq!(kinds(second), ["result"]);
    assert_eq!(kinds(third), ["question", "refusal"]);
    let question = &first["items"][0];
    let text = question["text"].as_str().unwrap();
    assert!(text.starts_with("Where is midnight? My key is [masked:") && text.len() <= 16 << 10);
    assert_eq!(question["is_cut"], true);
    let call = &first["items"][1];
    assert_eq!((&call["name"], &call["call_id"]), (&json!("grep"), &json!("call_1")));
    assert!(call["text"].as_str().unwrap().contains("midnight"), "{call}");
    assert_eq!(second["items"][0]["name"], "grep", "the call names the tool of its result");
    assert_eq!(
        (&first["reasoning_text"], &second["response_text"]),
        (&json!("look it up"), &json!("It is line 7."))
    );
    assert!(third["items"][1]["text"].as_str().unwrap().starts_with(REFUSED), "{third}");
    assert_eq!(
        (&first["metadata"]["effort"], &first["metadata"]["asked"]),
        (&json!("high"), &json!("agent"))
    );
    assert_eq!(first["model"], "m");
    for trace in &traces {
        assert!(!trace.to_string().contains(AWS[1]), "{trace}");
        let shown = trace["items"].to_string().matches("[masked:").count();
        assert!(shown >= 1, "{trace}");
    }

    // The command shows them as well, in the order in which they came.
    let file = place.file("config.toml");
    let think = |args: &[&str]| {
        let mut command = place.command(&[args, &["--config", &file]].concat());
        command.envs([("ALICE", ALICE), ("BOB", BOB)]);
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    let page = think(&["traces", "show", &ids[0]]);
    let places = [
        "asked    agent",
        "effort   high",
        "\nquestion (the first 16 KiB):",
        "\nthought:",
        "\ncall grep:",
    ];
    let places = places.map(|it| page.find(it).unwrap_or_else(|| panic!("{it}: {page}")));
    assert!(places.is_sorted(), "{page}");
    let shown: Value =
        serde_json::from_str(&think(&["traces", "show", &ids[2], "--json"])).unwrap();
    assert_eq!(shown["items"], third["items"]);
    let lines = think(&["traces", "export"]);
    let exported: Vec<Value> = lines.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    assert_eq!(
        exported.iter().map(kinds).collect::<Vec<_>>(),
        traces.iter().map(kinds).collect::<Vec<_>>()
    );
    assert!(think(&["traces", "export", "--format", "md"]).contains("> [!note] call grep\n> "));

    // Another tenant gets none of it, and the file shows none of it.
    let headers = format!("authorization: Bearer {BOB}\r\n");
    let other = gateway.request("GET", &format!("/v1/traces/{}", ids[0]), &headers, "");
    assert!(other.starts_with("HTTP/1.1 404"), "{other}");
    gateway.stop();
    let bytes = std::fs::read(place.file("kept.db")).unwrap();
    for text in ["Where is midnight", "takes no more than 8 messages", "line 7, "] {
        assert!(!bytes.windows(text.len()).any(|it| it == text.as_bytes()), "{text}");
    }

    // They go with their traces.
    let connection = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    let count = || -> i64 {
        connection.query_row("SELECT count(*) FROM trace_items", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count(), 3);
    think(&["erase", "--yes", "--tenant", "alice"]);
    assert_eq!(count(), 0);
}

#[test]
fn pruned_traces_take_their_items_along_and_thoughts_alone_have_none() {
    let (place, upstream) = (Place::new("items-none"), upstream());
    let gateway = gateway(&place, &upstream, "[traces]\ncontent = \"thoughts\"\n");
    let ids = work(&gateway);
    for id in &ids {
        let trace = stored(&gateway, id);
        assert_eq!(trace["items"], Value::Null, "{trace}");
        assert_eq!(trace["metadata"]["effort"], "high");
    }
    gateway.stop();
    let gateway = self::gateway(&place, &upstream, "");
    let ids = work(&gateway);
    ids.iter().for_each(|id| assert_ne!(stored(&gateway, id)["items"], Value::Null));
    gateway.stop();
    let connection = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    let count = || -> i64 {
        connection.query_row("SELECT count(*) FROM trace_items", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count(), 3, "the first three have none");
    let file = place.file("config.toml");
    let mut prune =
        place.command(&["traces", "prune", "--until", "0m", "--yes", "--config", &file]);
    prune.envs([("ALICE", ALICE), ("BOB", BOB)]);
    let ran = prune.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(count(), 0);
}

#[test]
fn the_answer_of_a_fallback_clears_the_refusal_before_it() {
    let (place, upstream) = (Place::new("items-fallback"), upstream());
    let down = Server::start("sim", &["--fault", "status=503"]);
    let more = format!(
        "[providers.down]\nwire = \"chat-completions\"\nbase_url = \"http://{}/kimi-k2/v1\"\napi_key = \"k\"\n\
         [models.falls]\nprovider = \"down\"\nmodel = \"m\"\nfallback = [\"agent\"]\n\
         [models.fails]\nprovider = \"down\"\nmodel = \"m\"\n",
        down.addr
    );
    let gateway = gateway(&place, &upstream, &more);
    let messages = json!([{"role": "user", "content": "Where is midnight?"}]);
    for (model, expected) in [("falls", ["question", "call"]), ("fails", ["question", "refusal"])] {
        let (id, _) = ask(&gateway, model, &messages);
        assert_eq!(kinds(&stored(&gateway, &id)), expected, "{model}");
    }
}
