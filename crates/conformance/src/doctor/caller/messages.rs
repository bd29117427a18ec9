//! The client of Messages.

use serde_json::{Value, json};

use super::{Answer, Ask, Call, Caller, bearer, events, finish, items, join, text, tools};
use crate::doctor::post::Letter;
use crate::json::Keyed;

pub(super) struct Messages;

impl Caller for Messages {
    fn wire(&self) -> &'static str {
        "messages"
    }

    fn user(&self, text: &str, image: Option<&str>) -> Value {
        match image.and_then(|url| url.strip_prefix("data:image/png;base64,")) {
            None => json!({"role": "user", "content": text}),
            Some(data) => json!({"role": "user", "content": [
                {"type": "text", "text": text},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
            ]}),
        }
    }

    fn results(&self, results: &[(Call, String)]) -> Vec<Value> {
        let one = |(call, text): &(Call, String)| json!({"type": "tool_result", "tool_use_id": call.id, "content": text});
        vec![json!({"role": "user", "content": results.iter().map(one).collect::<Vec<_>>()})]
    }

    fn visible(&self, text: &str, calls: &[Call]) -> Vec<Value> {
        let mut blocks = Vec::new();
        if !text.is_empty() {
            blocks.push(json!({"type": "text", "text": text}));
        }
        for call in calls {
            blocks.push(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}));
        }
        vec![json!({"role": "assistant", "content": blocks})]
    }

    fn forget(&self, history: &mut Vec<Value>) {
        for message in history.iter_mut().filter(|message| *message.at("role") == "assistant") {
            if let Some(blocks) = message.get_mut("content").and_then(Value::as_array_mut) {
                blocks.retain(|block| !text(block.at("type")).ends_with("thinking"));
            }
        }
    }

    fn request(&self, ask: Ask<'_>) -> Letter {
        let offered = tools().map(|(name, description, schema)| {
            json!({"name": name, "description": description, "input_schema": schema})
        });
        let mut body = json!({"model": ask.model, "tools": offered});
        if !ask.count {
            body.set("max_tokens", json!(4096));
            body.set("stream", json!(ask.stream));
        }
        if let Some(system) = ask.system {
            body.set("system", json!(system));
        }
        let mut headers = bearer(ask.credential);
        headers.push(("anthropic-version", "2023-06-01".to_owned()));
        let path = if ask.count { "/v1/messages/count_tokens" } else { "/v1/messages" };
        Letter {
            path: path.to_owned(),
            headers,
            body: finish(body, ask.extra, "messages", ask.history),
        }
    }

    fn read(&self, body: &str, stream: bool) -> Answer {
        let message =
            if stream { streamed(body) } else { serde_json::from_str(body).unwrap_or_default() };
        let mut answer =
            Answer { is_whole: message.at("stop_reason").is_string(), ..Answer::default() };
        answer.is_whole &= !stream || events(body).any(|event| *event.at("type") == "message_stop");
        for block in items(message.at("content")) {
            answer.thought.push_str(text(block.at("thinking")));
            for key in ["signature", "data"] {
                answer.opaque.extend(block.at(key).as_str().map(str::to_owned));
            }
            answer.text.push_str(text(block.at("text")));
            if *block.at("type") == "tool_use" {
                answer.calls.push(Call {
                    id: text(block.at("id")).to_owned(),
                    name: text(block.at("name")).to_owned(),
                    arguments: block.at("input").clone(),
                });
            }
        }
        answer.native = vec![json!({"role": "assistant", "content": message.at("content")})];
        answer
    }
}

fn streamed(body: &str) -> Value {
    let (mut message, mut blocks, mut partial) = (json!({}), Vec::new(), String::new());
    for event in events(body) {
        match text(event.at("type")) {
            "content_block_start" => {
                blocks.push(event.at("content_block").clone());
                partial.clear();
            }
            "content_block_delta" => {
                let delta = event.at("delta");
                partial.push_str(text(delta.at("partial_json")));
                if let Some(block) = blocks.last_mut() {
                    for key in ["thinking", "signature", "text"] {
                        join(block, key, delta.at(key));
                    }
                }
            }
            "content_block_stop" if !partial.is_empty() => {
                if let Some(block) = blocks.last_mut() {
                    block.set("input", serde_json::from_str(&partial).unwrap_or_default());
                }
                partial.clear();
            }
            "message_delta" => {
                message.set("stop_reason", event.at("delta").at("stop_reason").clone());
            }
            _ => {}
        }
    }
    message.set("content", json!(blocks));
    message
}
