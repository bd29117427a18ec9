//! Small clients that do everything right, one for each wire. The tests break their histories on
//! purpose.

mod bedrock;
mod chat;
mod cohere;
mod gemini;
mod interactions;
mod messages;
mod ollama;
mod responses;

use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, SimResponse, Simulator, list};

pub(crate) use bedrock::BedrockClient;
pub(crate) use chat::ChatClient;
pub(crate) use cohere::CohereClient;
pub(crate) use gemini::GeminiClient;
pub(crate) use interactions::InteractionsClient;
pub(crate) use messages::MessagesClient;
pub(crate) use ollama::OllamaClient;
pub(crate) use responses::ResponsesClient;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// An answer as a client reads it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Turn {
    pub(crate) thought: String,
    pub(crate) opaque: Vec<String>,
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) finish: String,
    pub(crate) usage: Value,
    /// Its entries for the history.
    pub(crate) echo: Vec<Value>,
}

/// A client of one wire.
pub(crate) trait Client {
    /// The items of the history.
    fn history(&mut self) -> &mut Vec<Value>;
    /// More top-level fields of every request.
    fn extra(&mut self) -> &mut Value;
    fn user(&mut self, text: &str);
    fn result(&mut self, call: &Call, text: &str);
    fn request(&self, stream: bool) -> SimRequest;
    fn read(&self, response: &SimResponse, stream: bool) -> Turn;
}

/// The client for a simulator.
pub(crate) fn client(id: &str) -> Box<dyn Client> {
    let row = list().into_iter().find(|row| row.id == id).unwrap();
    match row.wire {
        "chat-completions" | "mistral-chat" => Box::new(ChatClient::new(id, row.model)),
        "cohere-chat" => Box::new(CohereClient::new(row.model)),
        "converse" => Box::new(BedrockClient::new(row.model)),
        "ollama-chat" => Box::new(OllamaClient::new(row.model)),
        "interactions" => Box::new(InteractionsClient::new(row.model)),
        "generate-content" => Box::new(GeminiClient::new(row.model)),
        "messages" => Box::new(MessagesClient::new(id, row.model)),
        "responses" => Box::new(ResponsesClient::new(id, row.model)),
        other => panic!("no client for {other}"),
    }
}

/// Sends the history and adds the answer to it.
pub(crate) fn step(simulator: &Simulator, client: &mut dyn Client, stream: bool) -> Turn {
    let response = simulator.handle(&client.request(stream));
    assert_eq!(response.status, 200, "{}: {}", simulator.id(), response.text());
    let turn = client.read(&response, stream);
    let echo = turn.echo.clone();
    client.history().extend(echo);
    turn
}

/// Runs the calls of an answer. Every result depends on the arguments.
pub(crate) fn run_tools(client: &mut dyn Client, turn: &Turn) {
    for call in &turn.calls {
        let text = match call.name.as_str() {
            "list" => "Cargo.toml\nREADME.md\nsrc/".to_owned(),
            "read" => format!("contents of {}", call.arguments["path"]),
            _ => format!("{} says 21 degrees", call.arguments),
        };
        client.result(call, &text);
    }
}

/// The tools of all clients, as (name, description, schema).
pub(crate) fn tools() -> Vec<(&'static str, &'static str, Value)> {
    let path =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let city =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    vec![
        ("list", "List the entries of a directory", path.clone()),
        ("read", "Read a text file", path),
        ("get_weather", "Current weather for a city", city),
    ]
}

/// The JSON of every `data:` line of a stream, without `[DONE]`.
pub(crate) fn events(body: &str) -> Vec<Value> {
    body.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}
