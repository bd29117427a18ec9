//! The doctor's clients, one for each API of callers. They are written by hand, because a judge
//! must not share the code for wire formats with the gateways that it judges.

mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use serde_json::{Value, json};

use super::post::Letter;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// An answer as a client reads it.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    /// The simulator that made it.
    pub(super) sim: &'static str,
    /// The API of the client.
    pub(super) wire: &'static str,
    pub(super) thought: String,
    pub(super) opaque: Vec<String>,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    /// Its entries for the history.
    pub(super) native: Vec<Value>,
    /// The stream or body has the end that its API announces.
    pub(super) is_whole: bool,
    /// A stranger asked for it, not the client of the conversation.
    pub(super) is_strangers: bool,
}

/// The content of a request.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    pub(super) model: &'a str,
    pub(super) system: Option<&'a str>,
    pub(super) history: Vec<Value>,
    /// More top-level fields.
    pub(super) extra: &'a Value,
    pub(super) credential: &'a str,
    pub(super) stream: bool,
    /// The request only counts tokens.
    pub(super) count: bool,
}

/// A client of one API.
pub(super) trait Caller: Sync {
    fn wire(&self) -> &'static str;
    /// A message of the user, with an image if there is one.
    fn user(&self, text: &str, image: Option<&str>) -> Value;
    /// The history entries for the results of tools.
    fn results(&self, results: &[(Call, String)]) -> Vec<Value>;
    /// The history entries for an answer without its thoughts. Another API may have given it.
    fn visible(&self, text: &str, calls: &[Call]) -> Vec<Value>;
    /// Removes all thoughts from the history, as a client does that does not know them.
    fn forget(&self, history: &mut Vec<Value>);
    fn request(&self, ask: Ask<'_>) -> Letter;
    fn read(&self, body: &str, stream: bool) -> Answer;
}

/// Finds the client of an API.
pub(super) fn caller(wire: &str) -> Option<&'static dyn Caller> {
    let all: [&'static dyn Caller; 5] =
        [&chat::Chat, &messages::Messages, &responses::Responses, &gemini::Gemini, &ollama::Ollama];
    let wire = if wire == "mistral-chat" { "chat-completions" } else { wire };
    all.into_iter().find(|caller| caller.wire() == wire)
}

/// The tools of all clients, as (name, description, schema).
fn tools() -> [(&'static str, &'static str, Value); 3] {
    let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    [
        ("list", "List the entries of a directory", one("path")),
        ("read", "Read a text file", one("path")),
        ("get_weather", "Current weather for a city", one("city")),
    ]
}

/// Runs a tool. The result depends on the arguments.
pub(super) fn run_tool(call: &Call) -> String {
    match call.name.as_str() {
        "list" => "Cargo.toml\nREADME.md\nsrc/".to_owned(),
        "read" => format!("contents of {}", call.arguments),
        _ => format!("{} says 21 degrees", call.arguments),
    }
}

/// The JSON of every `data:` line of a stream. Lines without JSON are skipped.
fn events(body: &str) -> impl Iterator<Item = Value> {
    body.lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str(data.trim()).ok())
}

/// The items of a list. Other values have no items.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A string, or the empty string for other values.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Parses JSON that a model wrote as a string.
fn parsed(value: &Value) -> Value {
    serde_json::from_str(text(value)).unwrap_or(Value::Null)
}

/// Appends a piece to the string at a key.
fn join(object: &mut Value, key: &str, piece: &Value) {
    use crate::json::Keyed;
    if let Some(piece) = piece.as_str() {
        let joined = format!("{}{piece}", text(object.at(key)));
        object.set(key, json!(joined));
    }
}

fn remove(object: &mut Value, keys: &[&str]) {
    if let Some(map) = object.as_object_mut() {
        map.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// Makes a request with `messages` (the system message first) and function tools. `finish` puts the
/// history at the end of the body.
fn letter(path: &str, ask: Ask<'_>) -> Letter {
    let offered = tools().map(|(name, description, schema)| {
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
    });
    let mut history = ask.history;
    if let Some(system) = ask.system {
        history.insert(0, json!({"role": "system", "content": system}));
    }
    let body = json!({"model": ask.model, "tools": offered, "stream": ask.stream});
    Letter {
        path: path.to_owned(),
        headers: bearer(ask.credential),
        body: finish(body, ask.extra, "messages", history),
    }
}

fn finish(mut body: Value, extra: &Value, key: &str, history: Vec<Value>) -> Vec<u8> {
    use crate::json::Keyed;
    for (name, value) in extra.as_object().into_iter().flatten() {
        body.set(name, value.clone());
    }
    body.set(key, Value::Array(history));
    body.to_string().into_bytes()
}

fn bearer(credential: &str) -> Vec<(&'static str, String)> {
    vec![
        ("authorization", format!("Bearer {credential}")),
        ("content-type", "application/json".to_owned()),
    ]
}
