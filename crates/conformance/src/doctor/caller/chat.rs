//! The client of Chat Completions.

use serde_json::{Value, json};

use super::{Answer, Ask, Call, Caller, events, items, join, letter, parsed, remove, text};
use crate::doctor::post::Letter;
use crate::json::Keyed;

pub(super) struct Chat;

/// The fields of thoughts next to the content.
const THOUGHTS: [&str; 4] =
    ["reasoning_content", "reasoning", "reasoning_details", "extra_content"];

impl Caller for Chat {
    fn wire(&self) -> &'static str {
        "chat-completions"
    }

    fn user(&self, text: &str, image: Option<&str>) -> Value {
        match image {
            None => json!({"role": "user", "content": text}),
            Some(url) => json!({"role": "user", "content": [
                {"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}},
            ]}),
        }
    }

    fn results(&self, results: &[(Call, String)]) -> Vec<Value> {
        let one = |(call, text): &(Call, String)| json!({"role": "tool", "tool_call_id": call.id, "content": text});
        results.iter().map(one).collect()
    }

    fn visible(&self, text: &str, calls: &[Call]) -> Vec<Value> {
        let mut message = json!({"role": "assistant", "content": text});
        let calls: Vec<Value> = calls.iter().map(written).collect();
        if !calls.is_empty() {
            message.set("tool_calls", json!(calls));
        }
        vec![message]
    }

    fn forget(&self, history: &mut Vec<Value>) {
        for message in history.iter_mut().filter(|message| *message.at("role") == "assistant") {
            remove(message, &THOUGHTS);
            for call in
                message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten()
            {
                remove(call, &THOUGHTS);
            }
            let seen = match message.at("content") {
                Value::Array(parts) => {
                    parts.iter().map(|part| text(part.at("text"))).collect::<String>()
                }
                Value::String(text) => untagged(text).1,
                _ => continue,
            };
            message.set("content", json!(seen));
        }
    }

    fn request(&self, ask: Ask<'_>) -> Letter {
        letter("/v1/chat/completions", ask)
    }

    fn read(&self, body: &str, stream: bool) -> Answer {
        let (message, is_whole) = if stream { streamed(body) } else { whole(body) };
        let mut answer = Answer { is_whole, ..Answer::default() };
        match message.at("content") {
            Value::Array(parts) => {
                for part in parts {
                    items(part.at("thinking"))
                        .for_each(|it| answer.thought.push_str(text(it.at("text"))));
                    answer.text.push_str(text(part.at("text")));
                }
            }
            Value::String(said) => (answer.thought, answer.text) = untagged(said),
            _ => {}
        }
        for key in ["reasoning_content", "reasoning"] {
            if answer.thought.is_empty() {
                text(message.at(key)).clone_into(&mut answer.thought);
            }
        }
        let signature = |holder: &Value| {
            let signature = holder.at("extra_content").at("google").at("thought_signature");
            signature.as_str().map(str::to_owned)
        };
        answer.opaque.extend(signature(&message));
        for call in items(message.at("tool_calls")) {
            answer.opaque.extend(signature(call));
            answer.calls.push(Call {
                id: text(call.at("id")).to_owned(),
                name: text(call.at("function").at("name")).to_owned(),
                arguments: parsed(call.at("function").at("arguments")),
            });
        }
        answer.native = vec![message];
        answer
    }
}

fn written(call: &Call) -> Value {
    let arguments = call.arguments.to_string();
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

/// Splits a text that begins with `<think>` into thought and rest.
fn untagged(text: &str) -> (String, String) {
    let inside =
        text.trim_start().strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
    inside.map_or_else(
        || (String::new(), text.to_owned()),
        |(thought, rest)| {
            (thought.trim_matches('\n').to_owned(), rest.trim_start_matches('\n').to_owned())
        },
    )
}

/// The message of the last choice, and whether it has a finish reason.
fn whole(body: &str) -> (Value, bool) {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let choice = items(body.at("choices")).last().cloned().unwrap_or_default();
    let is_whole = choice.at("finish_reason").is_string();
    (choice.at("message").clone(), is_whole)
}

fn streamed(body: &str) -> (Value, bool) {
    let last = events(body)
        .flat_map(|event| {
            items(event.at("choices"))
                .map(|choice| choice.at("index").as_u64().unwrap_or(0))
                .collect::<Vec<_>>()
        })
        .max();
    let mut message = json!({"role": "assistant", "content": ""});
    let (mut parts, mut calls): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    for event in events(body) {
        let choices = items(event.at("choices"));
        for choice in choices.filter(|choice| choice.at("index").as_u64() == last) {
            let delta = choice.at("delta");
            for key in ["reasoning_content", "reasoning"] {
                join(&mut message, key, delta.at(key));
            }
            match delta.at("content") {
                Value::String(_) if parts.is_empty() => {
                    join(&mut message, "content", delta.at("content"));
                }
                Value::String(said) => add_part(&mut parts, &json!({"type": "text", "text": said})),
                Value::Array(more) => more.iter().for_each(|part| add_part(&mut parts, part)),
                _ => {}
            }
            items(delta.at("tool_calls")).for_each(|call| add_call(&mut calls, call));
            items(delta.at("reasoning_details"))
                .for_each(|detail| add_detail(&mut message, detail));
            if delta.at("extra_content").is_object() {
                message.set("extra_content", delta.at("extra_content").clone());
            }
        }
    }
    if !parts.is_empty() {
        message.set("content", json!(parts));
    }
    if !calls.is_empty() {
        message.set("tool_calls", json!(calls));
    }
    (message, body.trim_end().ends_with("data: [DONE]"))
}

fn add_call(calls: &mut Vec<Value>, piece: &Value) {
    let at = piece.at("index").as_u64().and_then(|at| usize::try_from(at).ok());
    match at.and_then(|at| calls.get_mut(at)) {
        Some(call) => {
            if let Some(function) = call.get_mut("function") {
                join(function, "arguments", piece.at("function").at("arguments"));
            }
        }
        None => {
            let mut call = piece.clone();
            remove(&mut call, &["index"]);
            calls.push(call);
        }
    }
}

/// Joins the pieces of one entry, which have the same index.
fn add_detail(message: &mut Value, piece: &Value) {
    if !message.at("reasoning_details").is_array() {
        message.set("reasoning_details", json!([]));
    }
    let Some(details) = message.get_mut("reasoning_details").and_then(Value::as_array_mut) else {
        return;
    };
    let same = details.iter_mut().find(|detail| detail.at("index") == piece.at("index"));
    match same {
        None => details.push(piece.clone()),
        Some(detail) => {
            join(detail, "text", piece.at("text"));
            if piece.at("signature").is_string() {
                detail.set("signature", piece.at("signature").clone());
            }
        }
    }
}

/// Joins a chunk with the last one if both have the same type.
fn add_part(parts: &mut Vec<Value>, piece: &Value) {
    let is_text = *piece.at("type") == "text";
    match parts.last_mut().filter(|last| last.at("type") == piece.at("type")) {
        Some(last) if is_text => join(last, "text", piece.at("text")),
        Some(last) => {
            let more: String = items(piece.at("thinking")).map(|it| text(it.at("text"))).collect();
            let inner = last.get_mut("thinking").and_then(|list| list.get_mut(0));
            if let Some(inner) = inner {
                join(inner, "text", &json!(more));
            }
        }
        None if is_text && text(piece.at("text")).is_empty() => {}
        None => parts.push(piece.clone()),
    }
}
