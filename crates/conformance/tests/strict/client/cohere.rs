use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, SimResponse};

use super::{Call, Client, Turn, events, tools};

/// A client of Cohere's chat. It sends back thinking content.
pub(crate) struct CohereClient {
    model: String,
    messages: Vec<Value>,
    extra: Value,
}

impl CohereClient {
    pub(crate) fn new(model: &str) -> Self {
        Self { model: model.into(), messages: Vec::new(), extra: json!({}) }
    }
}

impl Client for CohereClient {
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
        let document = json!({"type": "document", "document": {"data": text}});
        self.messages.push(json!({"role": "tool", "tool_call_id": call.id, "content": [document]}));
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
        SimRequest::post("/v2/chat", "key", &body)
    }

    fn read(&self, response: &SimResponse, stream: bool) -> Turn {
        let body = if stream { streamed(&response.text()) } else { response.json() };
        let message = &body["message"];
        let mut turn = Turn {
            finish: body["finish_reason"].as_str().unwrap().into(),
            usage: body["usage"].clone(),
            ..Turn::default()
        };
        for part in message["content"].as_array().into_iter().flatten() {
            turn.thought.push_str(part["thinking"].as_str().unwrap_or_default());
            turn.text.push_str(part["text"].as_str().unwrap_or_default());
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            turn.calls.push(Call {
                id: call["id"].as_str().unwrap().into(),
                name: call["function"]["name"].as_str().unwrap().into(),
                arguments: serde_json::from_str(call["function"]["arguments"].as_str().unwrap())
                    .unwrap(),
            });
        }
        let mut echo = message.clone();
        echo.as_object_mut().unwrap().remove("citations");
        if turn.calls.is_empty() {
            echo.as_object_mut().unwrap().remove("tool_calls");
        }
        turn.echo = vec![echo];
        turn
    }
}

fn grow(slot: &mut Value, part: &Value) {
    let joined = format!("{}{}", slot.as_str().unwrap(), part.as_str().unwrap());
    *slot = json!(joined);
}

fn streamed(body: &str) -> Value {
    let mut out = Value::Null;
    for event in events(body) {
        let delta = &event["delta"]["message"];
        let index = usize::try_from(event["index"].as_u64().unwrap_or(0)).unwrap();
        match event["type"].as_str().unwrap() {
            "message-start" => out = json!({"message": delta}),
            "content-start" => {
                out["message"]["content"].as_array_mut().unwrap().push(delta["content"].clone());
            }
            "content-delta" => {
                let (key, part) = delta["content"].as_object().unwrap().iter().next().unwrap();
                grow(&mut out["message"]["content"][index][key], part);
            }
            "tool-plan-delta" => grow(&mut out["message"]["tool_plan"], &delta["tool_plan"]),
            "tool-call-start" => out["message"]["tool_calls"]
                .as_array_mut()
                .unwrap()
                .push(delta["tool_calls"].clone()),
            "tool-call-delta" => grow(
                &mut out["message"]["tool_calls"][index]["function"]["arguments"],
                &delta["tool_calls"]["function"]["arguments"],
            ),
            "message-end" => {
                out["finish_reason"] = event["delta"]["finish_reason"].clone();
                out["usage"] = event["delta"]["usage"].clone();
            }
            "content-end" | "tool-call-end" => {}
            other => panic!("event {other}"),
        }
    }
    out
}
