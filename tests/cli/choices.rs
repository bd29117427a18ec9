//! Several choices of one answer stay apart: from the simulators straight to `think parse`, and
//! through the gateway.

use crate::program::think;
use crate::server::{Server, body};
use serde_json::{Value, json};

fn question(model: &str, stream: bool) -> String {
    let messages = json!([{"role": "user", "content": "Hello there!"}]);
    let options = json!({"include_usage": true});
    let mut question = json!({"model": model, "n": 3, "stream": stream, "messages": messages});
    if stream && !model.contains("mistral") {
        question["stream_options"] = options;
    }
    question.to_string()
}

/// Thought and text of each of three choices, as `think parse` reads them.
fn read(wire: &str, answer: &str) -> Vec<(String, String)> {
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let first = think(&["parse", "--wire", wire], body(answer).as_bytes()).json();
    assert_eq!(first["problems"], json!([]), "{answer}");
    let further = first["choices"].as_array().cloned().unwrap_or_default();
    let all: Vec<Value> = [first].into_iter().chain(further).collect();
    let said: Vec<_> = all.iter().map(|choice| (thought(choice), text(&choice["text"]))).collect();
    assert_eq!(said.len(), 3, "{answer}");
    for at in 0..3 {
        let (thought, text) = &said[at];
        let (next_thought, next_text) = &said[(at + 1) % 3];
        assert!(thought != next_thought && text != next_text, "{said:?}");
        assert!(!thought.is_empty() && !text.is_empty(), "{said:?}");
        assert_eq!(text.matches("other words").count(), usize::from(at > 0), "{said:?}");
    }
    said
}

fn thought(choice: &Value) -> String {
    let blocks = choice["blocks"].as_array().unwrap().iter();
    blocks.filter(|it| it["type"] == "thinking").map(|it| text(&it["thought"])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn choices_of_every_provider_that_documents_them_are_kept_apart_whole_and_streamed() {
    let sim = Server::start("sim", &[]);
    for (id, wire) in [
        ("default", "chat-completions"),
        ("kimi-k2", "chat-completions"),
        ("mistral", "mistral-chat"),
        ("vllm", "chat-completions"),
        ("xai-chat", "chat-completions"),
    ] {
        let path = format!("/{id}/v1/chat/completions");
        let whole = read(wire, &sim.ask(&path, &question(id, false)));
        assert_eq!(read(wire, &sim.ask(&path, &question(id, true))), whole, "{id}");
    }
}

#[test]
fn the_gateway_keeps_choices_apart() {
    let gateway = Server::start("serve", &[]);
    for id in ["default", "kimi-k2", "vllm", "xai-chat"] {
        let model = format!("sim/{id}");
        let ask = |stream| gateway.ask("/v1/chat/completions", &question(&model, stream));
        let whole = read("chat-completions", &ask(false));
        assert_eq!(read("chat-completions", &ask(true)), whole, "{id}");
    }
}
