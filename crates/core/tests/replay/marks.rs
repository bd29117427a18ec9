//! What of a request body bears reasoning, and what it stands between.

use serde_json::{Map, Value, json};

/// One piece of a message of the model: a thought with all that is said of it, or something else in its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    /// `thought`, `text`, `call`, or the wire's own word.
    pub(crate) kind: String,
    /// The members that bear reasoning, as they stand; `null` where there are none.
    pub(crate) says: Value,
}

impl Mark {
    fn new(kind: &str, says: Value) -> Self {
        Mark { kind: kind.to_owned(), says }
    }

    /// Whether it is a thought, and not something else with a payload on it.
    pub(crate) fn is_thought(&self) -> bool {
        self.kind == "thought" || self.kind == "reasoning_details" || self.kind == "thinking_blocks"
    }

    /// Whether reasoning stands here.
    pub(crate) fn bears(&self) -> bool {
        !self.says.is_null()
    }
}

/// Reads one message, or one item, of the model; `None` of everybody else.
type Read = fn(&Value) -> Option<Vec<Mark>>;

/// The pieces of each run of messages of the model, in the order of the conversation.
pub(crate) fn runs(wire: &str, body: &Value) -> Vec<Vec<Mark>> {
    let (list, read): (&str, Read) = match wire {
        "chat-completions" | "mistral-chat" => ("messages", chat),
        "cohere-chat" => ("messages", cohere),
        "converse" => ("messages", converse),
        "generate-content" => ("contents", gemini),
        "interactions" => ("input", step),
        "messages" => ("messages", anthropic),
        "ollama-chat" => ("messages", ollama),
        "responses" => ("input", item),
        other => panic!("{other} is not known here"),
    };
    let mut runs: Vec<Vec<Mark>> = Vec::new();
    let mut is_open = false;
    for message in body[list].as_array().into_iter().flatten() {
        let marks = read(message);
        match (marks, runs.last_mut()) {
            (Some(marks), Some(run)) if is_open => run.extend(marks),
            (Some(marks), _) => {
                runs.push(marks);
                is_open = true;
            }
            (None, _) => is_open = false,
        }
    }
    runs.into_iter().map(joined).collect()
}

/// Texts that follow each other are one text, as far as places go.
fn joined(run: Vec<Mark>) -> Vec<Mark> {
    let mut out: Vec<Mark> = Vec::new();
    for mark in run {
        match out.last_mut() {
            Some(last) if last.kind == "text" && !last.bears() && mark.kind == "text" => {
                *last = mark;
            }
            _ => out.push(mark),
        }
    }
    out
}

/// The members of an object under these names that say something.
fn picked(object: &Value, names: &[&str]) -> Value {
    let said = |name: &&str| -> Option<(String, Value)> {
        let value = object.get(name)?;
        (!is_nothing(value)).then(|| ((*name).to_owned(), value.clone()))
    };
    let members: Map<String, Value> = names.iter().filter_map(said).collect();
    if members.is_empty() { Value::Null } else { Value::Object(members) }
}

/// The strings of chat messages that thoughts go back in.
pub(crate) const SIBLINGS: [&str; 2] = ["reasoning", "reasoning_content"];

/// Absent, `null` and empty say the same of reasoning: none.
pub(crate) fn is_nothing(value: &Value) -> bool {
    value.is_null() || value == "" || value == &json!([])
}

fn is_model(message: &Value) -> bool {
    message["role"] == "assistant"
}

/// The strings beside the content, the entries in their order, the parts of the content, the calls.
fn chat(message: &Value) -> Option<Vec<Mark>> {
    if !is_model(message) {
        return None;
    }
    let mut marks = Vec::new();
    let strings = picked(message, &SIBLINGS);
    if !strings.is_null() {
        marks.push(Mark::new("thought", strings));
    }
    for field in ["reasoning_details", "thinking_blocks"] {
        let entries = message[field].as_array().into_iter().flatten();
        marks.extend(entries.map(|entry| Mark::new(field, entry.clone())));
    }
    match &message["content"] {
        Value::String(text) if text.starts_with("<think>") => {
            let (thought, rest) = text.split_once("</think>").unwrap_or((text, ""));
            marks.push(Mark::new("think_tags", json!(thought)));
            marks.extend((!rest.trim().is_empty()).then(|| Mark::new("text", Value::Null)));
        }
        Value::String(text) if !text.is_empty() => marks.push(Mark::new("text", Value::Null)),
        Value::Array(parts) => marks.extend(parts.iter().map(|part| match &part["type"] {
            kind if kind == "thinking" => Mark::new("thought", part.clone()),
            _ => Mark::new("text", Value::Null),
        })),
        _ => {}
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        marks.push(Mark::new("call", picked(call, &["extra_content"])));
    }
    let on_message = picked(message, &["extra_content"]);
    if !on_message.is_null() {
        marks.push(Mark::new("message", on_message));
    }
    Some(marks)
}

/// The plan before the calls is visible text; it has a place, but no thought of the model in it.
fn cohere(message: &Value) -> Option<Vec<Mark>> {
    let mut marks = blocks(message, |block| match block["type"].as_str() {
        Some("thinking") => Mark::new("thought", block.clone()),
        _ => Mark::new("text", Value::Null),
    })?;
    if !is_nothing(&message["tool_plan"]) {
        marks.push(Mark::new("plan", Value::Null));
    }
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    marks.extend(calls.map(|_| Mark::new("call", Value::Null)));
    Some(marks)
}

fn converse(message: &Value) -> Option<Vec<Mark>> {
    blocks(message, |block| {
        let (kind, value) = block.as_object().unwrap().iter().next().unwrap();
        match kind.as_str() {
            "reasoningContent" => Mark::new("thought", value.clone()),
            "toolUse" => Mark::new("call", Value::Null),
            kind => Mark::new(kind, Value::Null),
        }
    })
}

fn anthropic(message: &Value) -> Option<Vec<Mark>> {
    blocks(message, |block| match block["type"].as_str().unwrap() {
        "thinking" | "redacted_thinking" => Mark::new("thought", block.clone()),
        "tool_use" => Mark::new("call", Value::Null),
        kind => Mark::new(kind, Value::Null),
    })
}

/// The blocks of a message of the model; a bare string is one text.
fn blocks(message: &Value, read: fn(&Value) -> Mark) -> Option<Vec<Mark>> {
    if !is_model(message) {
        return None;
    }
    Some(match &message["content"] {
        Value::Array(blocks) => blocks.iter().map(read).collect(),
        Value::String(text) if !text.is_empty() => vec![Mark::new("text", Value::Null)],
        _ => Vec::new(),
    })
}

fn ollama(message: &Value) -> Option<Vec<Mark>> {
    if !is_model(message) {
        return None;
    }
    let mut marks = Vec::new();
    let thought = picked(message, &["thinking"]);
    if !thought.is_null() {
        marks.push(Mark::new("thought", thought));
    }
    if !is_nothing(&message["content"]) {
        marks.push(Mark::new("text", Value::Null));
    }
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    marks.extend(calls.map(|_| Mark::new("call", Value::Null)));
    Some(marks)
}

/// Consecutive parts of one kind are one block, and a signature ends it.
fn gemini(content: &Value) -> Option<Vec<Mark>> {
    if content["role"] != "model" {
        return None;
    }
    let mut marks: Vec<Mark> = Vec::new();
    for part in content["parts"].as_array().into_iter().flatten() {
        // Bytes in JSON may be written in either alphabet of base64; one client reads and writes them anew.
        let mut part = part.clone();
        if let Some(signature) = part["thoughtSignature"].as_str() {
            part["thoughtSignature"] = json!(signature.replace('-', "+").replace('_', "/"));
        }
        let part = &part;
        let signed = picked(part, &["thoughtSignature"]);
        let mark = if part["thought"] == true {
            Mark::new("thought", picked(part, &["text", "thoughtSignature"]))
        } else if part.get("functionCall").is_some() {
            Mark::new("call", signed)
        } else if part.get("text").is_some() {
            Mark::new("text", signed)
        } else {
            let kind = part.as_object().unwrap().keys().find(|key| *key != "thoughtSignature");
            Mark::new(kind.unwrap(), signed)
        };
        let goes_on = marks.last().is_some_and(|last| {
            last.kind == "thought"
                && mark.kind == "thought"
                && last.says["thoughtSignature"].is_null()
        });
        match marks.last_mut() {
            Some(last) if goes_on => {
                let text = |mark: &Mark| mark.says["text"].as_str().unwrap_or_default().to_owned();
                let whole = text(last) + &text(&mark);
                *last = mark;
                last.says["text"] = json!(whole);
            }
            _ => marks.push(mark),
        }
    }
    Some(marks)
}

fn item(item: &Value) -> Option<Vec<Mark>> {
    let kind = item["type"].as_str().unwrap_or("message");
    let mark = match kind {
        "reasoning" => Mark::new("thought", item.clone()),
        "message" if !is_model(item) => return None,
        "message" => Mark::new("text", Value::Null),
        kind if kind.ends_with("_output") => return None,
        kind => Mark::new(kind, Value::Null),
    };
    Some(vec![mark])
}

fn step(step: &Value) -> Option<Vec<Mark>> {
    let kind = step["type"].as_str()?;
    let mark = match kind {
        "user_input" | "text" => return None,
        kind if kind.ends_with("_result") => return None,
        "thought" => Mark::new("thought", step.clone()),
        kind => Mark::new(kind, picked(step, &["signature"])),
    };
    Some(vec![mark])
}
