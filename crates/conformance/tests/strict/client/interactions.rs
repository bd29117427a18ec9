use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, SimResponse};

use super::{Call, Client, Turn, events, tools};

/// An Interactions client. It sends back every step unchanged.
pub(crate) struct InteractionsClient {
    model: String,
    steps: Vec<Value>,
    extra: Value,
}

impl InteractionsClient {
    pub(crate) fn new(model: &str) -> Self {
        let extra = json!({"store": false, "generation_config": {"thinking_summaries": "auto"}});
        Self { model: model.into(), steps: Vec::new(), extra }
    }
}

impl Client for InteractionsClient {
    fn history(&mut self) -> &mut Vec<Value> {
        &mut self.steps
    }

    fn extra(&mut self) -> &mut Value {
        &mut self.extra
    }

    fn user(&mut self, text: &str) {
        self.steps.push(json!({"type": "user_input", "content": [{"type": "text", "text": text}]}));
    }

    fn result(&mut self, call: &Call, text: &str) {
        self.steps.push(json!({"type": "function_result", "call_id": call.id, "name": call.name, "result": text}));
    }

    fn request(&self, stream: bool) -> SimRequest {
        let tools: Vec<Value> = tools()
            .into_iter()
            .map(|(name, description, schema)| {
                json!({"type": "function", "name": name, "description": description, "parameters": schema})
            })
            .collect();
        let mut body =
            json!({"model": self.model, "input": self.steps, "tools": tools, "stream": stream});
        for (key, value) in self.extra.as_object().unwrap() {
            body[key] = value.clone();
        }
        SimRequest::post("/v1beta/interactions", "key", &body)
    }

    fn read(&self, response: &SimResponse, stream: bool) -> Turn {
        let body = if stream { streamed(&response.text()) } else { response.json() };
        let mut turn = Turn {
            finish: body["status"].as_str().unwrap().into(),
            usage: body["usage"].clone(),
            ..Turn::default()
        };
        for step in body["steps"].as_array().unwrap() {
            match step["type"].as_str().unwrap() {
                "thought" => {
                    turn.thought.push_str(step["summary"][0]["text"].as_str().unwrap_or_default());
                    turn.opaque.push(step["signature"].as_str().unwrap().into());
                }
                "model_output" => turn.text.push_str(step["content"][0]["text"].as_str().unwrap()),
                "function_call" => turn.calls.push(Call {
                    id: step["id"].as_str().unwrap().into(),
                    name: step["name"].as_str().unwrap().into(),
                    arguments: step["arguments"].clone(),
                }),
                other => panic!("step {other}"),
            }
        }
        turn.echo = body["steps"].as_array().unwrap().clone();
        turn
    }
}

fn grow(list: &mut Value, text: &Value) {
    let so_far = list[0]["text"].as_str().unwrap_or_default().to_owned();
    *list = json!([{"type": "text", "text": so_far + text.as_str().unwrap()}]);
}

fn streamed(body: &str) -> Value {
    let mut steps: Vec<Value> = Vec::new();
    let mut out = Value::Null;
    for event in events(body) {
        match event["event_type"].as_str().unwrap() {
            "step.start" => steps.push(event["step"].clone()),
            "step.delta" => {
                let step = steps.last_mut().unwrap();
                let delta = &event["delta"];
                match delta["type"].as_str().unwrap() {
                    "thought_summary" => grow(&mut step["summary"], &delta["content"]["text"]),
                    "thought_signature" => step["signature"] = delta["signature"].clone(),
                    "text" => grow(&mut step["content"], &delta["text"]),
                    "arguments_delta" => {
                        step["arguments"] =
                            serde_json::from_str(delta["arguments"].as_str().unwrap()).unwrap();
                    }
                    other => panic!("delta {other}"),
                }
            }
            "interaction.completed" => out = event["interaction"].clone(),
            "interaction.created" | "interaction.status_update" | "step.stop" => {}
            other => panic!("event {other}"),
        }
    }
    out["steps"] = json!(steps);
    out
}
