//! The client of Ollama's chat.

use serde_json::{Value, json};

use super::{Answer, Ask, Call, Caller, items, letter, remove, text};
use crate::doctor::post::Letter;
use crate::json::Keyed;

pub(super) struct Ollama;

impl Caller for Ollama {
    fn wire(&self) -> &'static str {
        "ollama-chat"
    }

    fn user(&self, text: &str, image: Option<&str>) -> Value {
        let mut message = json!({"role": "user", "content": text});
        if let Some(data) = image.and_then(|url| url.strip_prefix("data:image/png;base64,")) {
            message.set("images", json!([data]));
        }
        message
    }

    fn results(&self, results: &[(Call, String)]) -> Vec<Value> {
        let one = |(call, text): &(Call, String)| json!({"role": "tool", "tool_name": call.name, "content": text});
        results.iter().map(one).collect()
    }

    fn visible(&self, text: &str, calls: &[Call]) -> Vec<Value> {
        let mut message = json!({"role": "assistant", "content": text});
        let one =
            |call: &Call| json!({"function": {"name": call.name, "arguments": call.arguments}});
        if !calls.is_empty() {
            message.set("tool_calls", json!(calls.iter().map(one).collect::<Vec<_>>()));
        }
        vec![message]
    }

    fn forget(&self, history: &mut Vec<Value>) {
        for message in history.iter_mut() {
            remove(message, &["thinking"]);
        }
    }

    fn request(&self, ask: Ask<'_>) -> Letter {
        letter("/api/chat", ask)
    }

    fn read(&self, body: &str, _: bool) -> Answer {
        let (mut answer, mut calls) = (Answer::default(), Vec::new());
        for line in body.lines() {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            let message = line.at("message");
            answer.thought.push_str(text(message.at("thinking")));
            answer.text.push_str(text(message.at("content")));
            for call in items(message.at("tool_calls")) {
                calls.push(call.clone());
                answer.calls.push(Call {
                    id: text(call.at("id")).to_owned(),
                    name: text(call.at("function").at("name")).to_owned(),
                    arguments: call.at("function").at("arguments").clone(),
                });
            }
            answer.is_whole |= *line.at("done") == true;
        }
        let mut message =
            json!({"role": "assistant", "content": answer.text, "thinking": answer.thought});
        if !calls.is_empty() {
            message.set("tool_calls", json!(calls));
        }
        answer.native = vec![message];
        answer
    }
}
