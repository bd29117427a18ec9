use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, SimResponse};

use super::{Call, Client, Turn, events, tools};

/// A generateContent client. It sends back every part unchanged, apart from thoughts.
pub(crate) struct GeminiClient {
    model: String,
    contents: Vec<Value>,
    extra: Value,
}

impl GeminiClient {
    pub(crate) fn new(model: &str) -> Self {
        let extra = json!({"generationConfig": {"thinkingConfig": {"includeThoughts": true}}});
        Self { model: model.into(), contents: Vec::new(), extra }
    }
}

impl Client for GeminiClient {
    fn history(&mut self) -> &mut Vec<Value> {
        &mut self.contents
    }

    fn extra(&mut self) -> &mut Value {
        &mut self.extra
    }

    fn user(&mut self, text: &str) {
        self.contents.push(json!({"role": "user", "parts": [{"text": text}]}));
    }

    fn result(&mut self, call: &Call, text: &str) {
        let mut inner = json!({"name": call.name, "response": {"output": text}});
        if !call.id.is_empty() {
            inner["id"] = json!(call.id);
        }
        let part = json!({"functionResponse": inner});
        match self.contents.last_mut() {
            Some(last) if last["role"] == "user" => {
                last["parts"].as_array_mut().unwrap().push(part);
            }
            _ => self.contents.push(json!({"role": "user", "parts": [part]})),
        }
    }

    fn request(&self, stream: bool) -> SimRequest {
        let declarations: Vec<Value> = tools()
            .into_iter()
            .map(|(name, description, schema)| json!({"name": name, "description": description, "parameters": schema}))
            .collect();
        let mut body =
            json!({"contents": self.contents, "tools": [{"functionDeclarations": declarations}]});
        for (key, value) in self.extra.as_object().unwrap() {
            body[key] = value.clone();
        }
        let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        SimRequest::post(&format!("/v1beta/models/{}:{method}", self.model), "key", &body)
    }

    fn read(&self, response: &SimResponse, stream: bool) -> Turn {
        let bodies = if stream { events(&response.text()) } else { vec![response.json()] };
        let mut turn = Turn::default();
        let mut parts: Vec<Value> = Vec::new();
        for body in bodies {
            let candidate = &body["candidates"][0];
            for part in candidate["content"]["parts"].as_array().unwrap() {
                turn.opaque.extend(part["thoughtSignature"].as_str().map(str::to_owned));
                if part["thought"] == true {
                    turn.thought.push_str(part["text"].as_str().unwrap());
                    continue;
                }
                if let Some(text) = part["text"].as_str() {
                    turn.text.push_str(text);
                }
                if let Some(name) = part["functionCall"]["name"].as_str() {
                    turn.calls.push(Call {
                        id: part["functionCall"]["id"].as_str().unwrap_or_default().into(),
                        name: name.into(),
                        arguments: part["functionCall"]["args"].clone(),
                    });
                }
                parts.push(part.clone());
            }
            if let Some(word) = candidate["finishReason"].as_str() {
                turn.finish = word.into();
            }
            turn.usage = body["usageMetadata"].clone();
        }
        turn.echo = vec![json!({"role": "model", "parts": parts})];
        turn
    }
}
