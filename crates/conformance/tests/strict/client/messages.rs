use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, SimResponse};

use super::{Call, Client, Turn, events, tools};

/// A Messages client. It sends back every block unchanged.
pub(crate) struct MessagesClient {
    id: String,
    model: String,
    messages: Vec<Value>,
    extra: Value,
}

impl MessagesClient {
    pub(crate) fn new(id: &str, model: &str) -> Self {
        let extra = match id {
            "anthropic-manual" | "vertex-claude" => {
                json!({"thinking": {"type": "enabled", "budget_tokens": 1024}})
            }
            _ => json!({"thinking": {"type": "adaptive"}}),
        };
        Self { id: id.into(), model: model.into(), messages: Vec::new(), extra }
    }
}

impl Client for MessagesClient {
    fn history(&mut self) -> &mut Vec<Value> {
        &mut self.messages
    }

    fn extra(&mut self) -> &mut Value {
        &mut self.extra
    }

    fn user(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
    }

    fn result(&mut self, call: &Call, text: &str) {
        let block = json!({"type": "tool_result", "tool_use_id": call.id, "content": text});
        match self.messages.last_mut() {
            Some(last) if last["role"] == "user" => {
                last["content"].as_array_mut().unwrap().push(block);
            }
            _ => self.messages.push(json!({"role": "user", "content": [block]})),
        }
    }

    fn request(&self, stream: bool) -> SimRequest {
        let tools: Vec<Value> = tools()
            .into_iter()
            .map(|(name, description, schema)| json!({"name": name, "description": description, "input_schema": schema}))
            .collect();
        let mut body = json!({
            "model": self.model, "max_tokens": 4096, "messages": self.messages, "tools": tools, "stream": stream,
        });
        let mut beta = None;
        for (key, value) in self.extra.as_object().unwrap() {
            if key == "anthropic-beta" {
                beta = value.as_str();
            } else {
                body[key] = value.clone();
            }
        }
        if self.id == "vertex-claude" {
            body.as_object_mut().unwrap().remove("model");
            body["anthropic_version"] = json!("vertex-2023-10-16");
            let method = if stream { "streamRawPredict" } else { "rawPredict" };
            let place = "/v1/projects/p/locations/l/publishers/anthropic/models";
            return SimRequest::post(&format!("{place}/{}:{method}", self.model), "key", &body);
        }
        let request = SimRequest::post("/v1/messages", "key", &body)
            .with_header("anthropic-version", "2023-06-01");
        match beta {
            Some(beta) => request.with_header("anthropic-beta", beta),
            None => request,
        }
    }

    fn read(&self, response: &SimResponse, stream: bool) -> Turn {
        let body = if stream { streamed(&response.text()) } else { response.json() };
        let mut turn = Turn {
            finish: body["stop_reason"].as_str().unwrap().into(),
            usage: body["usage"].clone(),
            ..Turn::default()
        };
        for block in body["content"].as_array().unwrap() {
            match block["type"].as_str().unwrap() {
                "thinking" => {
                    turn.thought.push_str(block["thinking"].as_str().unwrap());
                    turn.opaque.push(block["signature"].as_str().unwrap().into());
                }
                "redacted_thinking" => turn.opaque.push(block["data"].as_str().unwrap().into()),
                "text" => turn.text.push_str(block["text"].as_str().unwrap()),
                "tool_use" => turn.calls.push(Call {
                    id: block["id"].as_str().unwrap().into(),
                    name: block["name"].as_str().unwrap().into(),
                    arguments: block["input"].clone(),
                }),
                other => panic!("block {other}"),
            }
        }
        turn.echo = vec![json!({"role": "assistant", "content": body["content"]})];
        turn
    }
}

fn streamed(body: &str) -> Value {
    let mut message = Value::Null;
    let mut partial = String::new();
    let mut ended = false;
    for event in events(body) {
        let index = usize::try_from(event["index"].as_u64().unwrap_or(0)).unwrap();
        match event["type"].as_str().unwrap() {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                message["content"].as_array_mut().unwrap().push(event["content_block"].clone());
                partial.clear();
            }
            "content_block_delta" => {
                let delta = &event["delta"];
                let (key, part) = match delta["type"].as_str().unwrap() {
                    "thinking_delta" => ("thinking", &delta["thinking"]),
                    "signature_delta" => ("signature", &delta["signature"]),
                    "text_delta" => ("text", &delta["text"]),
                    "input_json_delta" => {
                        partial.push_str(delta["partial_json"].as_str().unwrap());
                        continue;
                    }
                    other => panic!("delta {other}"),
                };
                let block = &mut message["content"][index];
                let joined = format!("{}{}", block[key].as_str().unwrap(), part.as_str().unwrap());
                block[key] = json!(joined);
            }
            "content_block_stop" => {
                if !partial.is_empty() {
                    message["content"][index]["input"] = serde_json::from_str(&partial).unwrap();
                }
            }
            "message_delta" => {
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                message["usage"] = event["usage"].clone();
            }
            "message_stop" => ended = true,
            "ping" => {}
            other => panic!("event {other}"),
        }
    }
    assert!(ended);
    message
}
