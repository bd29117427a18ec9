//! A client that keeps what can be seen of an answer and drops every thought, on each of the five APIs.

use crate::town::{Said, Town};
use serde_json::{Value, json};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Parameters};
use thinkthrough_core::event::{Event, Fold, Sink};
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::wire::{self, Dialect};

/// The APIs, by their wires.
pub(crate) const APIS: [&str; 5] =
    ["chat-completions", "responses", "messages", "generate-content", "ollama-chat"];

/// One entry of the history.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    User(String),
    Ai { text: String, calls: Vec<Call> },
    Result { call: Call, text: String },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

#[derive(Clone, Debug)]
pub(crate) struct Naive {
    pub(crate) api: &'static str,
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) history: Vec<Entry>,
    /// Asks for thinking, where the API has a word for it.
    pub(crate) thinks: bool,
    /// Sends the ids of Gemini's calls back; most of its clients do not.
    pub(crate) has_ids: bool,
}

impl Naive {
    /// The same client, which wants a stream, or none.
    pub(crate) fn streams(mut self, stream: bool) -> Self {
        self.stream = stream;
        self
    }

    pub(crate) fn new(api: &'static str, model: &str, stream: bool) -> Self {
        let model = model.to_owned();
        // These models think only when asked to.
        let thinks = ["anthropic", "bedrock", "openrouter", "vertex-claude"]
            .iter()
            .any(|it| model.starts_with(it));
        Naive { api, model, stream, history: Vec::new(), thinks, has_ids: false }
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.history.push(Entry::User(text.to_owned()));
    }

    /// Asks, and takes the answer into the history.
    pub(crate) async fn step(&mut self, town: &Town, base: &str) -> (Said, Vec<Call>) {
        let said = self.ask(town, base, &[]).await;
        assert_eq!(said.status, 200, "{} {}: {}", self.api, self.model, said.text());
        let calls = self.take(&said);
        (said, calls)
    }

    /// As [`Naive::step`], for those who want to know all that goes wrong.
    pub(crate) async fn try_step(&mut self, town: &Town, base: &str) -> Result<Vec<Call>, String> {
        let said = self.ask(town, base, &[]).await;
        if said.status != 200 {
            return Err(format!("{}: {}", said.status, said.text()));
        }
        let answer = read(self.api, &said, self.stream);
        if !answer.problems.is_empty() {
            return Err(format!("{:?}", answer.problems));
        }
        Ok(self.take(&said))
    }

    /// What was said last.
    pub(crate) fn last(&self) -> &str {
        match self.history.last() {
            Some(Entry::Ai { text, .. } | Entry::User(text) | Entry::Result { text, .. }) => text,
            None => "",
        }
    }

    pub(crate) async fn ask(&self, town: &Town, base: &str, headers: &[(&str, &str)]) -> Said {
        let (path, body) = self.request();
        town.post(base, &path, headers, &body.to_string()).await
    }

    /// Takes an answer into the history.
    pub(crate) fn take(&mut self, said: &Said) -> Vec<Call> {
        let answer = read(self.api, said, self.stream);
        assert!(answer.problems.is_empty(), "{}: {:?}", self.model, answer.problems);
        let calls: Vec<Call> = answer.blocks.iter().filter_map(call).collect();
        self.history.push(Entry::Ai { text: answer.text(), calls: calls.clone() });
        calls
    }

    pub(crate) fn run_tools(&mut self, calls: &[Call]) {
        for call in calls {
            let text = match call.name.as_str() {
                "list" => "Cargo.toml\nREADME.md\nsrc/".to_owned(),
                "read" => format!("contents of {}", call.arguments["path"]),
                _ => format!("{} says 21 degrees", call.arguments),
            };
            self.history.push(Entry::Result { call: call.clone(), text });
        }
    }

    /// Path and body of the next request.
    pub(crate) fn request(&self) -> (String, Value) {
        let (mut body, path) = match self.api {
            "chat-completions" => (self.chat(), "/v1/chat/completions".to_owned()),
            "responses" => (self.responses(), "/v1/responses".to_owned()),
            "messages" => (self.messages(), "/v1/messages".to_owned()),
            "ollama-chat" => (self.ollama(), "/api/chat".to_owned()),
            _ => {
                let verb =
                    if self.stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
                (self.generate(), format!("/v1beta/models/{}:{verb}", self.model))
            }
        };
        if self.api != "generate-content" {
            body["model"] = json!(self.model);
            body["stream"] = json!(self.stream);
        }
        (path, body)
    }

    fn chat(&self) -> Value {
        let messages: Vec<Value> = self
            .history
            .iter()
            .map(|entry| match entry {
                Entry::User(text) => json!({"role": "user", "content": text}),
                Entry::Ai { text, calls } if calls.is_empty() => {
                    json!({"role": "assistant", "content": text})
                }
                Entry::Ai { text, calls } => {
                    let calls: Vec<Value> = calls
                        .iter()
                        .map(|call| {
                            json!({"id": call.id, "type": "function", "function": {
                                "name": call.name, "arguments": call.arguments.to_string()}})
                        })
                        .collect();
                    json!({"role": "assistant", "content": text, "tool_calls": calls})
                }
                Entry::Result { call, text } => {
                    json!({"role": "tool", "tool_call_id": call.id, "content": text})
                }
            })
            .collect();
        let mut body = json!({"messages": messages, "tools": functions()});
        if self.thinks {
            body["reasoning_effort"] = json!("high");
        }
        body
    }

    fn ollama(&self) -> Value {
        let messages: Vec<Value> = self
            .history
            .iter()
            .map(|entry| match entry {
                Entry::User(text) => json!({"role": "user", "content": text}),
                Entry::Ai { text, calls } => {
                    let calls: Vec<Value> = calls
                        .iter()
                        .map(|call| json!({"function": {"name": call.name, "arguments": call.arguments}}))
                        .collect();
                    json!({"role": "assistant", "content": text, "tool_calls": calls})
                }
                Entry::Result { call, text } => {
                    json!({"role": "tool", "tool_name": call.name, "content": text})
                }
            })
            .collect();
        let mut body = json!({"messages": messages, "tools": functions()});
        if self.thinks {
            body["think"] = json!(true);
        }
        body
    }

    fn responses(&self) -> Value {
        let mut input = Vec::new();
        for entry in &self.history {
            match entry {
                Entry::User(text) => input.push(json!({"role": "user", "content": text})),
                Entry::Ai { text, calls } => {
                    if !text.is_empty() {
                        input.push(json!({"role": "assistant", "content": text}));
                    }
                    input.extend(calls.iter().map(|call| {
                        json!({"type": "function_call", "call_id": call.id, "name": call.name,
                            "arguments": call.arguments.to_string()})
                    }));
                }
                Entry::Result { call, text } => input.push(
                    json!({"type": "function_call_output", "call_id": call.id, "output": text}),
                ),
            }
        }
        let tools: Vec<Value> = tools()
            .into_iter()
            .map(|(name, about, schema)| {
                json!({"type": "function", "name": name, "description": about, "parameters": schema})
            })
            .collect();
        let mut body = json!({"input": input, "tools": tools, "store": false,
            "include": ["reasoning.encrypted_content"]});
        if self.thinks {
            body["reasoning"] = json!({"effort": "high"});
        }
        body
    }

    fn messages(&self) -> Value {
        let mut messages: Vec<Value> = Vec::new();
        for entry in &self.history {
            match entry {
                Entry::User(text) => messages.push(json!({"role": "user", "content": text})),
                Entry::Ai { text, calls } => {
                    let mut content = Vec::new();
                    if !text.is_empty() {
                        content.push(json!({"type": "text", "text": text}));
                    }
                    content.extend(calls.iter().map(|call| {
                        json!({"type": "tool_use", "id": call.id, "name": call.name,
                            "input": call.arguments})
                    }));
                    messages.push(json!({"role": "assistant", "content": content}));
                }
                Entry::Result { call, text } => {
                    let result =
                        json!({"type": "tool_result", "tool_use_id": call.id, "content": text});
                    match messages.last_mut() {
                        Some(last) if last["content"][0]["type"] == "tool_result" => {
                            last["content"].as_array_mut().unwrap().push(result);
                        }
                        _ => messages.push(json!({"role": "user", "content": [result]})),
                    }
                }
            }
        }
        let tools: Vec<Value> = tools()
            .into_iter()
            .map(|(name, about, schema)| {
                json!({"name": name, "description": about, "input_schema": schema})
            })
            .collect();
        let mut body = json!({"max_tokens": 8000, "messages": messages, "tools": tools});
        if self.thinks {
            body["thinking"] = match self.model.as_str() {
                "anthropic-omitted" | "anthropic-bound" => json!({"type": "adaptive"}),
                _ => json!({"type": "enabled", "budget_tokens": 4000}),
            };
        }
        body
    }

    fn generate(&self) -> Value {
        let mut contents: Vec<Value> = Vec::new();
        for entry in &self.history {
            match entry {
                Entry::User(text) => {
                    contents.push(json!({"role": "user", "parts": [{"text": text}]}));
                }
                Entry::Ai { text, calls } => {
                    let mut parts = Vec::new();
                    if !text.is_empty() {
                        parts.push(json!({"text": text}));
                    }
                    parts.extend(calls.iter().map(|call| {
                        let mut said = json!({"name": call.name, "args": call.arguments});
                        if self.has_ids {
                            said["id"] = json!(call.id);
                        }
                        json!({"functionCall": said})
                    }));
                    contents.push(json!({"role": "model", "parts": parts}));
                }
                Entry::Result { call, text } => {
                    let mut part = json!({"functionResponse": {"name": call.name,
                        "response": {"result": text}}});
                    if self.has_ids {
                        part["functionResponse"]["id"] = json!(call.id);
                    }
                    match contents.last_mut() {
                        Some(last) if last["parts"][0].get("functionResponse").is_some() => {
                            last["parts"].as_array_mut().unwrap().push(part);
                        }
                        _ => contents.push(json!({"role": "user", "parts": [part]})),
                    }
                }
            }
        }
        let tools: Vec<Value> = tools()
            .into_iter()
            .map(|(name, about, schema)| {
                json!({"name": name, "description": about, "parameters": schema})
            })
            .collect();
        let mut body = json!({"contents": contents, "tools": [{"functionDeclarations": tools}]});
        if self.thinks {
            body["generationConfig"] = json!({"thinkingConfig":
                {"includeThoughts": true, "thinkingBudget": 4000}});
        }
        body
    }
}

/// What an answer says.
pub(crate) fn read(api: &str, said: &Said, stream: bool) -> Answer {
    let form = if stream { Form::Stream } else { Form::Whole };
    let mut reader = Reader::new(wire::find(api).unwrap(), &Dialect::PLAIN, form);
    let mut fold = Fold::new();
    let mut sink = |event: Event<'_>| fold.event(event);
    reader.push(&said.body, &mut sink);
    reader.end(&mut sink);
    fold.finish()
}

fn call(block: &Block) -> Option<Call> {
    let Block::ToolCall(call) = block else { return None };
    let arguments = match &call.parameters {
        Parameters::Json(raw) => serde_json::from_str(raw.as_str()).unwrap(),
        Parameters::Invalid(text) | Parameters::Free(text) => panic!("{text}"),
    };
    let id = call.id.clone().unwrap_or_default();
    Some(Call { id, name: call.name.clone(), arguments })
}

fn tools() -> Vec<(&'static str, &'static str, Value)> {
    let of = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    vec![
        ("list", "List the entries of a directory", of("path")),
        ("read", "Read a text file", of("path")),
        ("get_weather", "Current weather for a city", of("city")),
    ]
}

fn functions() -> Vec<Value> {
    let function = |(name, about, schema): (&str, &str, Value)| {
        json!({"type": "function", "function":
            {"name": name, "description": about, "parameters": schema}})
    };
    tools().into_iter().map(function).collect()
}
