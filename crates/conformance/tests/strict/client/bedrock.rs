use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, SimResponse};

use super::{Call, Client, Turn, tools};

/// A Converse client for Claude. It sends back every block unchanged.
pub(crate) struct BedrockClient {
    model: String,
    messages: Vec<Value>,
    extra: Value,
}

impl BedrockClient {
    pub(crate) fn new(model: &str) -> Self {
        let extra = json!({"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}});
        Self { model: model.into(), messages: Vec::new(), extra }
    }
}

impl Client for BedrockClient {
    fn history(&mut self) -> &mut Vec<Value> {
        &mut self.messages
    }

    fn extra(&mut self) -> &mut Value {
        &mut self.extra
    }

    fn user(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": [{"text": text}]}));
    }

    fn result(&mut self, call: &Call, text: &str) {
        let block = json!({"toolResult": {"toolUseId": call.id, "content": [{"text": text}]}});
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
            .map(|(name, description, schema)| {
                json!({"toolSpec": {"name": name, "description": description, "inputSchema": {"json": schema}}})
            })
            .collect();
        let mut body = json!({
            "messages": self.messages, "toolConfig": {"tools": tools}, "inferenceConfig": {"maxTokens": 4096},
        });
        for (key, value) in self.extra.as_object().unwrap() {
            body[key] = value.clone();
        }
        let method = if stream { "converse-stream" } else { "converse" };
        SimRequest::post(
            &format!("/model/{}/{method}", self.model.replace(':', "%3A")),
            "key",
            &body,
        )
    }

    fn read(&self, response: &SimResponse, stream: bool) -> Turn {
        let body = if stream { streamed(&response.bytes()) } else { response.json() };
        let message = &body["output"]["message"];
        let mut turn = Turn {
            finish: body["stopReason"].as_str().unwrap().into(),
            usage: body["usage"].clone(),
            ..Turn::default()
        };
        for block in message["content"].as_array().unwrap() {
            turn.text.push_str(block["text"].as_str().unwrap_or_default());
            let thought = &block["reasoningContent"]["reasoningText"];
            turn.thought.push_str(thought["text"].as_str().unwrap_or_default());
            turn.opaque.extend(thought["signature"].as_str().map(str::to_owned));
            if let Some(id) = block["toolUse"]["toolUseId"].as_str() {
                turn.calls.push(Call {
                    id: id.into(),
                    name: block["toolUse"]["name"].as_str().unwrap().into(),
                    arguments: block["toolUse"]["input"].clone(),
                });
            }
        }
        turn.echo = vec![message.clone()];
        turn
    }
}

/// Event type and payload of every frame. Checks the lengths.
fn frames(mut bytes: &[u8]) -> Vec<(String, Value)> {
    let number = |bytes: &[u8], at: usize| {
        u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    };
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let (frame, rest) = bytes.split_at(number(bytes, 0));
        let head = number(frame, 4);
        let headers = String::from_utf8_lossy(&frame[12..12 + head]).into_owned();
        let payload = serde_json::from_slice(&frame[12 + head..frame.len() - 4]).unwrap();
        out.push((headers, payload));
        bytes = rest;
    }
    out
}

fn grow(slot: &mut Value, part: &Value) {
    let joined = format!("{}{}", slot.as_str().unwrap_or_default(), part.as_str().unwrap());
    *slot = json!(joined);
}

fn streamed(bytes: &[u8]) -> Value {
    let mut out = json!({"output": {"message": {"role": "assistant", "content": []}}});
    let mut input = String::new();
    for (headers, payload) in frames(bytes) {
        let index = usize::try_from(payload["contentBlockIndex"].as_u64().unwrap_or(0)).unwrap();
        let content = out["output"]["message"]["content"].as_array_mut().unwrap();
        if headers.contains("contentBlockStart") {
            content.push(payload["start"].clone());
            input.clear();
        } else if headers.contains("contentBlockDelta") {
            if content.len() == index {
                content.push(json!({}));
            }
            let delta = &payload["delta"];
            let thought = &delta["reasoningContent"];
            if delta["text"].is_string() {
                grow(&mut content[index]["text"], &delta["text"]);
            } else if thought["text"].is_string() {
                grow(
                    &mut content[index]["reasoningContent"]["reasoningText"]["text"],
                    &thought["text"],
                );
            } else if thought["signature"].is_string() {
                content[index]["reasoningContent"]["reasoningText"]["signature"] =
                    thought["signature"].clone();
            } else {
                input.push_str(delta["toolUse"]["input"].as_str().unwrap());
                content[index]["toolUse"]["input"] =
                    serde_json::from_str(&input).unwrap_or(Value::Null);
            }
        } else if headers.contains("messageStop") {
            out["stopReason"] = payload["stopReason"].clone();
        } else if headers.contains("metadata") {
            out["usage"] = payload["usage"].clone();
        }
    }
    out
}
