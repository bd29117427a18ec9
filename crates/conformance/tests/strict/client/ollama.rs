use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, SimResponse};

use super::{Call, Client, Turn, tools};

/// A client of Ollama's chat. It sends back `thinking`.
pub(crate) struct OllamaClient {
    model: String,
    messages: Vec<Value>,
    extra: Value,
}

impl OllamaClient {
    pub(crate) fn new(model: &str) -> Self {
        Self { model: model.into(), messages: Vec::new(), extra: json!({}) }
    }
}

impl Client for OllamaClient {
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
        self.messages.push(json!({"role": "tool", "tool_name": call.name, "content": text}));
    }

    fn request(&self, stream: bool) -> SimRequest {
        let tools: Vec<Value> = tools()
            .into_iter()
            .map(|(name, description, schema)| {
                json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
            })
            .collect();
        let mut body = json!({"model": self.model, "messages": self.messages, "tools": tools, "stream": stream});
        for (key, value) in self.extra.as_object().unwrap() {
            body[key] = value.clone();
        }
        SimRequest::post("/api/chat", "key", &body)
    }

    fn read(&self, response: &SimResponse, _: bool) -> Turn {
        let mut turn = Turn::default();
        let mut calls = Vec::new();
        for line in response.text().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            turn.thought.push_str(line["message"]["thinking"].as_str().unwrap_or_default());
            turn.text.push_str(line["message"]["content"].as_str().unwrap());
            for call in line["message"]["tool_calls"].as_array().into_iter().flatten() {
                calls.push(call.clone());
                turn.calls.push(Call {
                    id: call["id"].as_str().unwrap().into(),
                    name: call["function"]["name"].as_str().unwrap().into(),
                    arguments: call["function"]["arguments"].clone(),
                });
            }
            if line["done"] == true {
                turn.finish = line["done_reason"].as_str().unwrap().into();
                turn.usage = json!([line["prompt_eval_count"], line["eval_count"]]);
            }
        }
        let mut echo = json!({"role": "assistant", "content": turn.text, "thinking": turn.thought});
        if !calls.is_empty() {
            echo["tool_calls"] = json!(calls);
        }
        turn.echo = vec![echo];
        turn
    }
}
