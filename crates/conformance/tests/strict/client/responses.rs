use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, SimResponse};

use super::{Call, Client, Turn, events, tools};

/// A Responses client. It sends back every output item unchanged.
pub(crate) struct ResponsesClient {
    model: String,
    input: Vec<Value>,
    extra: Value,
}

impl ResponsesClient {
    pub(crate) fn new(id: &str, model: &str) -> Self {
        let extra = match id {
            "responses-stateful" => json!({"reasoning": {"summary": "auto"}}),
            _ => json!({
                "store": false, "include": ["reasoning.encrypted_content"], "reasoning": {"summary": "auto"},
            }),
        };
        Self { model: model.into(), input: Vec::new(), extra }
    }
}

impl Client for ResponsesClient {
    fn history(&mut self) -> &mut Vec<Value> {
        &mut self.input
    }

    fn extra(&mut self) -> &mut Value {
        &mut self.extra
    }

    fn user(&mut self, text: &str) {
        self.input.push(json!({"role": "user", "content": [{"type": "input_text", "text": text}]}));
    }

    fn result(&mut self, call: &Call, text: &str) {
        self.input
            .push(json!({"type": "function_call_output", "call_id": call.id, "output": text}));
    }

    fn request(&self, stream: bool) -> SimRequest {
        let tools: Vec<Value> = tools()
            .into_iter()
            .map(|(name, description, schema)| {
                json!({"type": "function", "name": name, "description": description, "parameters": schema})
            })
            .collect();
        let mut body =
            json!({"model": self.model, "input": self.input, "tools": tools, "stream": stream});
        for (key, value) in self.extra.as_object().unwrap() {
            body[key] = value.clone();
        }
        SimRequest::post("/v1/responses", "key", &body)
    }

    fn read(&self, response: &SimResponse, stream: bool) -> Turn {
        let body = if stream { streamed(&response.text()) } else { response.json() };
        let mut turn = Turn {
            finish: body["status"].as_str().unwrap().into(),
            usage: body["usage"].clone(),
            ..Turn::default()
        };
        for item in body["output"].as_array().unwrap() {
            match item["type"].as_str().unwrap() {
                "reasoning" => {
                    for part in item["summary"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .chain(item["content"].as_array().into_iter().flatten())
                    {
                        turn.thought.push_str(part["text"].as_str().unwrap());
                    }
                    turn.opaque.extend(item["encrypted_content"].as_str().map(str::to_owned));
                }
                "message" => turn.text.push_str(item["content"][0]["text"].as_str().unwrap()),
                "function_call" => turn.calls.push(Call {
                    id: item["call_id"].as_str().unwrap().into(),
                    name: item["name"].as_str().unwrap().into(),
                    arguments: serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap(),
                }),
                other => panic!("item {other}"),
            }
        }
        turn.echo = body["output"].as_array().unwrap().clone();
        turn
    }
}

/// The final response. Checks that the deltas give the same.
fn streamed(body: &str) -> Value {
    let (mut said, mut done, mut last) = (String::new(), Vec::new(), Value::Null);
    for (count, event) in events(body).into_iter().enumerate() {
        assert_eq!(event["sequence_number"], count as u64);
        match event["type"].as_str().unwrap() {
            "response.output_text.delta" => said.push_str(event["delta"].as_str().unwrap()),
            "response.output_item.done" => done.push(event["item"].clone()),
            "response.completed" | "response.incomplete" => last = event["response"].clone(),
            _ => {}
        }
    }
    assert_eq!(json!(done), last["output"]);
    let texts = last["output"].as_array().unwrap().iter().filter(|item| item["type"] == "message");
    let text: String = texts.map(|item| item["content"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(said, text);
    last
}
