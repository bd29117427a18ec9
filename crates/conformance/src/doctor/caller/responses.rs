//! The client of Responses.

use serde_json::{Value, json};

use super::{
    Answer, Ask, Call, Caller, bearer, events, finish, items, parsed, remove, text, tools,
};
use crate::doctor::post::Letter;
use crate::json::Keyed;

pub(super) struct Responses;

impl Caller for Responses {
    fn wire(&self) -> &'static str {
        "responses"
    }

    fn user(&self, text: &str, image: Option<&str>) -> Value {
        let mut parts = vec![json!({"type": "input_text", "text": text})];
        parts.extend(image.map(|url| json!({"type": "input_image", "image_url": url})));
        json!({"role": "user", "content": parts})
    }

    fn results(&self, results: &[(Call, String)]) -> Vec<Value> {
        let one = |(call, text): &(Call, String)| json!({"type": "function_call_output", "call_id": call.id, "output": text});
        results.iter().map(one).collect()
    }

    fn visible(&self, text: &str, calls: &[Call]) -> Vec<Value> {
        let mut out = Vec::new();
        if !text.is_empty() {
            out.push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}));
        }
        for call in calls {
            let arguments = call.arguments.to_string();
            out.push(json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}));
        }
        out
    }

    fn forget(&self, history: &mut Vec<Value>) {
        history.retain(|item| *item.at("type") != "reasoning");
        for item in history.iter_mut() {
            remove(item, &["id"]);
        }
    }

    fn request(&self, ask: Ask<'_>) -> Letter {
        let offered = tools().map(|(name, description, schema)| {
            json!({"type": "function", "name": name, "description": description, "parameters": schema})
        });
        let mut body = json!({"model": ask.model, "tools": offered, "stream": ask.stream});
        if let Some(system) = ask.system {
            body.set("instructions", json!(system));
        }
        Letter {
            path: "/v1/responses".to_owned(),
            headers: bearer(ask.credential),
            body: finish(body, ask.extra, "input", ask.history),
        }
    }

    fn read(&self, body: &str, stream: bool) -> Answer {
        let response = if stream {
            let ends = ["response.completed", "response.incomplete"];
            let last = events(body).find(|event| ends.contains(&text(event.at("type"))));
            last.map(|event| event.at("response").clone()).unwrap_or_default()
        } else {
            serde_json::from_str(body).unwrap_or_default()
        };
        let mut answer =
            Answer { is_whole: response.at("status").is_string(), ..Answer::default() };
        for item in items(response.at("output")) {
            for part in items(item.at("summary")).chain(items(item.at("content"))) {
                let is_thought = *item.at("type") == "reasoning";
                let into = if is_thought { &mut answer.thought } else { &mut answer.text };
                into.push_str(text(part.at("text")));
            }
            answer.opaque.extend(item.at("encrypted_content").as_str().map(str::to_owned));
            if *item.at("type") == "function_call" {
                answer.calls.push(Call {
                    id: text(item.at("call_id")).to_owned(),
                    name: text(item.at("name")).to_owned(),
                    arguments: parsed(item.at("arguments")),
                });
            }
            answer.native.push(item.clone());
        }
        answer
    }
}
