//! The reasons for a request, in the terminal.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::{PATIENCE, Server};
use crate::upstream::calling;
use serde_json::{Value, json};
use std::time::Instant;

fn ask(gateway: &Server, messages: &Value) -> (String, Value) {
    let asked = json!({"model": "m", "messages": messages}).to_string();
    let answer = gateway.ask("/v1/chat/completions", &asked);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let id = head.split("trace=").nth(1).unwrap().split(['\r', ';']).next().unwrap();
    (id.to_owned(), serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn adr_trace_what_was_put_back_and_why_is_shown_in_the_terminal() {
    let (place, upstream) = (Place::new("traces-why"), calling());
    let config = format!(
        "[providers.own]\nextends = \"deepseek\"\nbase_url = \"{}\"\napi_key = \"k\"\n\
         [models.m]\nprovider = \"own\"\nmodel = \"deepseek-v4-pro\"\n[store]\nurl = \"sqlite:kept.db\"\n",
        upstream.url
    );
    let gateway = serve(&place, &config);
    let user = json!({"role": "user", "content": "What is here?"});
    let (first, answer) = ask(&gateway, &json!([user]));
    let mut said = answer["choices"][0]["message"].clone();
    said.as_object_mut().unwrap().remove("reasoning_content");
    let id = said["tool_calls"][0]["id"].clone();
    let result = json!({"role": "tool", "tool_call_id": id, "content": "a"});
    let (second, _) = ask(&gateway, &json!([user, said, result]));
    let file = place.file("config.toml");
    let show = |id: &str, more: &[&str]| {
        let began = Instant::now();
        loop {
            let args = [&["traces", "show", id, "--config", &file][..], more].concat();
            let ran = place.think(&args);
            if ran.code == Some(0) {
                return ran.out;
            }
            assert!(began.elapsed() < PATIENCE, "{}", ran.err);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    };
    let why = |page: &str| page.split_once("\nwhy:\n").map(|(_, why)| why.to_owned()).unwrap();
    let shown = show(&second, &[]);
    let lines: Vec<String> = why(&shown).lines().map(str::to_owned).collect();
    let record: Value = serde_json::from_str(&show(&second, &["--json"])).unwrap();
    let record = record["why"]["answers"][0]["evidence"][0]["record"].as_str().unwrap().to_owned();
    let known = format!(
        "    known by its anchor, an id that no other answer has, with 1 call: record {record}"
    );
    for line in [
        "  thoughts of earlier answers: 1 restored",
        "  message 1, turn 1: restored: it is known, and the client dropped it",
        &known,
        "  message 1, block 0: added thinking, 7 bytes",
        "    + I look.",
        "  set model to \"deepseek-v4-pro\"",
        "  message 1, block 0: restore: the client dropped it; `deepseek-v4-pro` demands the thoughts of turns with tool calls (deepseek deepseek-v4*)",
    ] {
        assert!(lines.iter().any(|it| it == line), "{line}: {shown}");
    }
    assert!(!why(&show(&first, &[])).contains("restored"));
    // A configuration that hides thoughts hides them here, too.
    place.write("config.toml", &(config + "[reasoning]\nincludeInResponse = false\n"));
    let hidden = why(&show(&second, &[]));
    assert!(hidden.contains("added thinking") && !hidden.contains("I look."), "{hidden}");
    let listed = place.think(&["traces", "list", "--config", &file]).out;
    assert!(listed.contains("(thoughts are not shown)") && !listed.contains("I look."), "{listed}");
}
