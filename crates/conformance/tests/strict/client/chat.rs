use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, SimResponse};

use super::{Call, Client, Turn, events, tools};

/// A Chat Completions client. It sends thoughts back in the form that the simulated provider reads.
pub(crate) struct ChatClient {
    id: String,
    model: String,
    messages: Vec<Value>,
    extra: Value,
    /// The field of a plain-text thought in requests. `None` if thoughts must not come back, or
    /// come back in `content` or `reasoning_details`.
    field: Option<&'static str>,
}

impl ChatClient {
    pub(crate) fn new(id: &str, model: &str) -> Self {
        let field = match id {
            "groq" | "cerebras" | "vllm" => Some("reasoning"),
            "deepseek-r1" | "mistral" | "minimax-tags" | "openrouter" | "gemini-3-chat" => None,
            _ => Some("reasoning_content"),
        };
        // It thinks only on demand.
        let extra =
            if id == "openrouter" { json!({"reasoning": {"enabled": true}}) } else { json!({}) };
        Self { id: id.into(), model: model.into(), messages: Vec::new(), extra, field }
    }
}

impl Client for ChatClient {
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
        self.messages.push(json!({"role": "tool", "tool_call_id": call.id, "content": text}));
    }

    fn request(&self, stream: bool) -> SimRequest {
        let tools: Vec<Value> = tools()
            .into_iter()
            .map(|(name, description, schema)| {
                json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
            })
            .collect();
        let mut body = json!({"model": self.model, "messages": self.messages, "tools": tools, "stream": stream});
        if stream && self.id != "mistral" {
            body["stream_options"] = json!({"include_usage": true});
        }
        for (key, value) in self.extra.as_object().unwrap() {
            body[key] = value.clone();
        }
        SimRequest::post("/v1/chat/completions", "key", &body)
    }

    fn read(&self, response: &SimResponse, stream: bool) -> Turn {
        let (message, finish, usage) =
            if stream { streamed(&response.text()) } else { whole(&response.json()) };
        let mut turn = Turn { finish, usage, ..Turn::default() };
        for key in ["reasoning_content", "reasoning"] {
            turn.thought.push_str(message[key].as_str().unwrap_or_default());
        }
        let mut echo = json!({"role": "assistant", "content": message["content"]});
        match &message["content"] {
            Value::Array(chunks) => {
                for chunk in chunks {
                    turn.thought
                        .push_str(chunk["thinking"][0]["text"].as_str().unwrap_or_default());
                    turn.text.push_str(chunk["text"].as_str().unwrap_or_default());
                }
            }
            Value::String(text) => match text.split_once("</think>\n\n") {
                Some((thought, rest)) => {
                    turn.thought = thought.trim_start_matches("<think>").trim().to_owned();
                    turn.text = rest.to_owned();
                }
                None => turn.text = text.clone(),
            },
            _ => {}
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            turn.calls.push(Call {
                id: call["id"].as_str().unwrap().into(),
                name: call["function"]["name"].as_str().unwrap().into(),
                arguments: serde_json::from_str(call["function"]["arguments"].as_str().unwrap())
                    .unwrap(),
            });
        }
        if !turn.calls.is_empty() {
            echo["tool_calls"] = message["tool_calls"].clone();
            if self.id == "llamacpp-gpt-oss" && !turn.thought.is_empty() {
                echo["content"] = Value::Null;
            }
        }
        let signed = |holder: &Value| {
            holder["extra_content"]["google"]["thought_signature"].as_str().map(str::to_owned)
        };
        turn.opaque.extend(signed(&message));
        turn.opaque
            .extend(message["tool_calls"].as_array().into_iter().flatten().filter_map(signed));
        if message["extra_content"].is_object() {
            echo["extra_content"] = message["extra_content"].clone();
        }
        if let Some(field) = self.field {
            echo[field] = json!(turn.thought);
        }
        if message["reasoning_details"].is_array() {
            echo["reasoning_details"] = message["reasoning_details"].clone();
        }
        turn.echo = vec![echo];
        turn
    }
}

fn whole(body: &Value) -> (Value, String, Value) {
    let choice = &body["choices"][0];
    (
        choice["message"].clone(),
        choice["finish_reason"].as_str().unwrap().into(),
        body["usage"].clone(),
    )
}

fn streamed(body: &str) -> (Value, String, Value) {
    assert!(body.ends_with("data: [DONE]\n\n"));
    let mut message = json!({});
    let (mut text, mut chunks): (String, Vec<Value>) = (String::new(), Vec::new());
    let mut calls: Vec<Value> = Vec::new();
    let (mut finish, mut usage) = (String::new(), Value::Null);
    for event in events(body) {
        let delta = &event["choices"][0]["delta"];
        for key in ["reasoning_content", "reasoning"] {
            if let Some(part) = delta[key].as_str() {
                let so_far = message[key].as_str().unwrap_or_default().to_owned();
                message[key] = json!(so_far + part);
            }
        }
        match &delta["content"] {
            Value::String(part) if chunks.is_empty() => text.push_str(part),
            Value::String(part) => append(&mut chunks, json!({"type": "text", "text": part})),
            Value::Array(parts) => parts.iter().for_each(|part| append(&mut chunks, part.clone())),
            _ => {}
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index =
                call["index"].as_u64().map_or(calls.len(), |index| usize::try_from(index).unwrap());
            if index == calls.len() {
                calls.push(call.clone());
                calls[index].as_object_mut().unwrap().remove("index");
            } else {
                let so_far = calls[index]["function"]["arguments"].as_str().unwrap().to_owned();
                let part = call["function"]["arguments"].as_str().unwrap();
                calls[index]["function"]["arguments"] = json!(so_far + part);
            }
        }
        for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
            match message["reasoning_details"].get_mut(0) {
                None => message["reasoning_details"] = json!([detail]),
                Some(entry) => {
                    let part = detail["text"].as_str().unwrap_or_default();
                    let joined = format!("{}{part}", entry["text"].as_str().unwrap());
                    entry["text"] = json!(joined);
                    if detail["signature"].is_string() {
                        entry["signature"] = detail["signature"].clone();
                    }
                }
            }
        }
        if delta["extra_content"]["google"]["thought_signature"].is_string() {
            message["extra_content"] = delta["extra_content"].clone();
        }
        if let Some(word) = event["choices"][0]["finish_reason"].as_str() {
            finish = word.into();
        }
        if event["usage"].is_object() {
            usage = event["usage"].clone();
        }
    }
    message["content"] = if chunks.is_empty() { json!(text) } else { json!(chunks) };
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    (message, finish, usage)
}

/// Joins a chunk with the last one if both have the same type.
fn append(chunks: &mut Vec<Value>, part: Value) {
    let last = chunks.last_mut().filter(|last| last["type"] == part["type"]);
    match last {
        Some(last) if part["type"] == "text" => {
            let joined =
                format!("{}{}", last["text"].as_str().unwrap(), part["text"].as_str().unwrap());
            last["text"] = json!(joined);
        }
        Some(last) => {
            let tail = part["thinking"][0]["text"].as_str().unwrap();
            let joined = format!("{}{tail}", last["thinking"][0]["text"].as_str().unwrap());
            last["thinking"][0]["text"] = json!(joined);
        }
        None if part["text"] == "" => {}
        None => chunks.push(part),
    }
}
