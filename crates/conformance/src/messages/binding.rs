//! Prefix binding: what a thought of the newest models is bound to.

use serde_json::Value;

use crate::json::Keyed;
use crate::seal::{Digest, Seal};

/// The digests of the prefix before a block: system, tools and all visible blocks of the messages before it.
/// `None` is the end of the request, where a new answer begins.
pub(super) fn prefix(body: &Value, before: Option<(usize, usize)>) -> Seal {
    let (end_message, end_block) = before.unwrap_or((usize::MAX, 0));
    let mut messages = Digest::new("messages");
    for (place, message) in body.at("messages").as_array().into_iter().flatten().enumerate() {
        if place > end_message {
            break;
        }
        let role = message.at("role").as_str().unwrap_or_default();
        match message.at("content") {
            Value::String(text) if place < end_message => {
                messages = messages.text(role).text("text").text(text);
            }
            Value::Array(blocks) => {
                let limit = if place == end_message { end_block } else { usize::MAX };
                messages = blocks
                    .iter()
                    .take(limit)
                    .fold(messages, |hash, block| visible(hash, role, block));
            }
            Value::String(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Object(_) => {}
        }
    }
    Seal {
        system: system(body.at("system")),
        tools: tools(body.at("tools")),
        messages: messages.finish(),
        ..Seal::default()
    }
}

fn visible(hash: Digest, role: &str, block: &Value) -> Digest {
    match block.at("type").as_str() {
        Some("thinking" | "redacted_thinking") => hash,
        Some("text") => {
            hash.text(role).text("text").text(block.at("text").as_str().unwrap_or_default())
        }
        Some(_) | None => hash.text(role).value(block),
    }
}

fn system(system: &Value) -> u64 {
    let hash = Digest::new("system");
    match system {
        Value::String(text) => hash.text(text).finish(),
        Value::Array(blocks) => blocks
            .iter()
            .fold(hash, |hash, block| hash.text(block.at("text").as_str().unwrap_or_default()))
            .finish(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => hash.finish(),
    }
}

fn tools(tools: &Value) -> u64 {
    match tools {
        Value::Array(list) if !list.is_empty() => Digest::new("tools").value(tools).finish(),
        Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Object(_) => 0,
    }
}
