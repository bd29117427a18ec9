//! The client of generateContent.

use serde_json::{Value, json};

use super::{Answer, Ask, Call, Caller, bearer, events, finish, items, remove, text, tools};
use crate::doctor::post::Letter;
use crate::json::Keyed;

pub(super) struct Gemini;

impl Caller for Gemini {
    fn wire(&self) -> &'static str {
        "generate-content"
    }

    fn user(&self, text: &str, image: Option<&str>) -> Value {
        let mut parts = vec![json!({"text": text})];
        let data = image.and_then(|url| url.strip_prefix("data:image/png;base64,"));
        parts.extend(
            data.map(|data| json!({"inlineData": {"mimeType": "image/png", "data": data}})),
        );
        json!({"role": "user", "parts": parts})
    }

    fn results(&self, results: &[(Call, String)]) -> Vec<Value> {
        let one = |(call, text): &(Call, String)| {
            let mut inner = json!({"name": call.name, "response": {"output": text}});
            if !call.id.is_empty() {
                inner.set("id", json!(call.id));
            }
            json!({"functionResponse": inner})
        };
        vec![json!({"role": "user", "parts": results.iter().map(one).collect::<Vec<_>>()})]
    }

    fn visible(&self, text: &str, calls: &[Call]) -> Vec<Value> {
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(json!({"text": text}));
        }
        for call in calls {
            let mut inner = json!({"name": call.name, "args": call.arguments});
            if !call.id.is_empty() {
                inner.set("id", json!(call.id));
            }
            parts.push(json!({"functionCall": inner}));
        }
        vec![json!({"role": "model", "parts": parts})]
    }

    fn forget(&self, history: &mut Vec<Value>) {
        for part in history.iter_mut().filter_map(|content| content.get_mut("parts")) {
            for part in part.as_array_mut().into_iter().flatten() {
                remove(part, &["thoughtSignature"]);
            }
        }
    }

    fn request(&self, ask: Ask<'_>) -> Letter {
        let offered = tools().map(|(name, description, schema)| {
            json!({"name": name, "description": description, "parameters": schema})
        });
        let mut body = json!({"tools": [{"functionDeclarations": offered}]});
        if let Some(system) = ask.system {
            body.set("systemInstruction", json!({"parts": [{"text": system}]}));
        }
        let verb = if ask.stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        Letter {
            path: format!("/v1beta/models/{}:{verb}", ask.model),
            headers: bearer(ask.credential),
            body: finish(body, ask.extra, "contents", ask.history),
        }
    }

    fn read(&self, body: &str, stream: bool) -> Answer {
        let pieces: Vec<Value> = if stream {
            events(body).collect()
        } else {
            serde_json::from_str(body).ok().into_iter().collect()
        };
        let (mut answer, mut parts) = (Answer::default(), Vec::new());
        for piece in &pieces {
            let Some(candidate) = items(piece.at("candidates")).next() else { continue };
            for part in items(candidate.at("content").at("parts")) {
                answer.opaque.extend(part.at("thoughtSignature").as_str().map(str::to_owned));
                if *part.at("thought") == true {
                    answer.thought.push_str(text(part.at("text")));
                    continue;
                }
                answer.text.push_str(text(part.at("text")));
                let call = part.at("functionCall");
                if call.is_object() {
                    answer.calls.push(Call {
                        id: text(call.at("id")).to_owned(),
                        name: text(call.at("name")).to_owned(),
                        arguments: call.at("args").clone(),
                    });
                }
                parts.push(part.clone());
            }
            answer.is_whole |= candidate.at("finishReason").is_string();
        }
        answer.native = vec![json!({"role": "model", "parts": parts})];
        answer
    }
}
