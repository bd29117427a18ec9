//! The doctor's clients, one for each API that callers speak. They are written by hand: a judge shares no code with
//! the judged.

mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use serde_json::{Value, json};

use super::post::Letter;

/// One call of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

/// An answer as a client reads it.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    /// The simulator that gave it.
    pub(super) sim: &'static str,
    /// The API over which it came.
    pub(super) wire: &'static str,
    pub(super) thought: String,
    pub(super) opaque: Vec<String>,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    /// What goes into the history for it.
    pub(super) native: Vec<Value>,
    /// The end that the API announces was there.
    pub(super) is_whole: bool,
    /// Somebody else asked for it than the conversation's own client.
    pub(super) is_strangers: bool,
}

/// What a request asks for.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    pub(super) model: &'a str,
    pub(super) system: Option<&'a str>,
    pub(super) history: Vec<Value>,
    /// Further fields at the top.
    pub(super) extra: &'a Value,
    pub(super) credential: &'a str,
    pub(super) stream: bool,
    /// The tokens are to be counted, nothing else.
    pub(super) count: bool,
}

/// An API as a client speaks it.
pub(super) trait Caller: Sync {
    fn wire(&self) -> &'static str;
    /// What the user says, perhaps with an image.
    fn user(&self, text: &str, image: Option<&str>) -> Value;
    /// What the tools gave.
    fn results(&self, results: &[(Call, String)]) -> Vec<Value>;
    /// An answer without its thoughts, whoever gave it.
    fn visible(&self, text: &str, calls: &[Call]) -> Vec<Value>;
    /// What a client that knows nothing of thoughts keeps of its history.
    fn forget(&self, history: &mut Vec<Value>);
    fn request(&self, ask: Ask<'_>) -> Letter;
    fn read(&self, body: &str, stream: bool) -> Answer;
}

/// The client of an API.
pub(super) fn caller(wire: &str) -> Option<&'static dyn Caller> {
    let all: [&'static dyn Caller; 5] =
        [&chat::Chat, &messages::Messages, &responses::Responses, &gemini::Gemini, &ollama::Ollama];
    let wire = if wire == "mistral-chat" { "chat-completions" } else { wire };
    all.into_iter().find(|caller| caller.wire() == wire)
}

/// The tools that all clients offer, as (name, description, schema).
fn tools() -> [(&'static str, &'static str, Value); 3] {
    let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    [
        ("list", "List the entries of a directory", one("path")),
        ("read", "Read a text file", one("path")),
        ("get_weather", "Current weather for a city", one("city")),
    ]
}

/// Runs a tool: it says something that depends on its arguments.
pub(super) fn run_tool(call: &Call) -> String {
    match call.name.as_str() {
        "list" => "Cargo.toml\nREADME.md\nsrc/".to_owned(),
        "read" => format!("contents of {}", call.arguments),
        _ => format!("{} says 21 degrees", call.arguments),
    }
}

/// The JSON of every `data:` line of a stream, what is no JSON left out.
fn events(body: &str) -> impl Iterator<Item = Value> {
    body.lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str(data.trim()).ok())
}

/// The items of a list, of nothing where it is none.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A text, empty where it is none.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// JSON that a model wrote as a text.
fn parsed(value: &Value) -> Value {
    serde_json::from_str(text(value)).unwrap_or(Value::Null)
}

/// Adds a piece to the text at a key.
fn join(object: &mut Value, key: &str, piece: &Value) {
    use crate::json::Keyed;
    if let Some(piece) = piece.as_str() {
        let joined = format!("{}{piece}", text(object.at(key)));
        object.set(key, json!(joined));
    }
}

/// Takes keys off an object.
fn remove(object: &mut Value, keys: &[&str]) {
    if let Some(map) = object.as_object_mut() {
        map.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// Puts the further fields at the top of a body, then its history, which stands last.
/// A request with `messages`, the system's first, and tools that are functions.
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
