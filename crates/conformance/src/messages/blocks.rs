//! Content blocks: validation, pairs of calls and results, and readers of their parts.

use std::collections::HashSet;

use serde_json::Value;

use super::read::Message;
use super::{Generation, MessagesDialect, refusal};
use crate::json::Keyed;
use crate::mind::Call;
use crate::reply::Refusal;

/// Whether a name or an id may contain the character.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Validates the block at path `at`.
pub(super) fn check(
    dialect: &MessagesDialect,
    block: &Value,
    at: &str,
    assistant: bool,
) -> Result<(), Refusal> {
    let bad = |text: String| Err(refusal(dialect, 400, &text));
    match block.at("type").as_str() {
        Some("text") if block.at("text").as_str().is_some_and(|text| text.trim().is_empty()) => {
            bad("messages: text content blocks must be non-empty".to_owned())
        }
        Some("text") if !block.at("text").is_string() => {
            bad(format!("{at}.text.text: Field required"))
        }
        Some("thinking" | "redacted_thinking") if !assistant => bad(format!(
            "{at}: `thinking` and `redacted_thinking` blocks may only be in `assistant` messages"
        )),
        Some("thinking") => thinking(dialect, block, at),
        Some("redacted_thinking") if !block.at("data").is_string() => {
            bad(format!("{at}.redacted_thinking.data: Field required"))
        }
        Some("tool_use") if !assistant => {
            bad(format!("{at}: `tool_use` blocks can only be in `assistant` messages"))
        }
        Some("tool_use") => tool_use(dialect, block, at),
        Some("tool_result") if assistant => {
            bad(format!("{at}: `tool_result` blocks can only be in `user` messages"))
        }
        Some("tool_result") if !block.at("tool_use_id").is_string() => {
            bad(format!("{at}.tool_result.tool_use_id: Field required"))
        }
        Some(
            "text"
            | "redacted_thinking"
            | "tool_result"
            | "image"
            | "document"
            | "search_result"
            | "server_tool_use"
            | "web_search_tool_result"
            | "web_fetch_tool_result"
            | "code_execution_tool_result"
            | "container_upload"
            | "fallback",
        ) => Ok(()),
        Some(kind) => bad(format!(
            "{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', 'thinking', 'tool_result', 'tool_use', 'web_search_tool_result'"
        )),
        None => bad(format!("{at}.type: Field required")),
    }
}

fn thinking(dialect: &MessagesDialect, block: &Value, at: &str) -> Result<(), Refusal> {
    let bad = |text: String| Err(refusal(dialect, 400, &text));
    if !block.at("thinking").is_string() {
        return bad(format!("{at}.thinking.thinking: Field required"));
    }
    let signature = block.at("signature");
    if dialect.generation == Generation::DeepSeek {
        let fits = signature.is_null() || signature.is_string();
        return if fits {
            Ok(())
        } else {
            bad(format!("{at}.thinking.signature: invalid type, expected a string"))
        };
    }
    match signature {
        Value::String(signature) if signature.is_empty() && block.at("thinking") == "" => {
            bad(format!("{at}.thinking: each thinking block must contain thinking"))
        }
        Value::String(_) => extra(dialect, block, at),
        Value::Null if block.get("signature").is_none() => {
            bad(format!("{at}.thinking.signature: Field required"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            bad(format!("{at}.thinking.signature.str: Input should be a valid string"))
        }
    }
}

fn extra(dialect: &MessagesDialect, block: &Value, at: &str) -> Result<(), Refusal> {
    let mut keys = block.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    match keys.find(|key| !matches!(*key, "type" | "thinking" | "signature")) {
        Some(key) => Err(refusal(
            dialect,
            400,
            &format!("{at}.thinking.{key}: Extra inputs are not permitted"),
        )),
        None => Ok(()),
    }
}

fn tool_use(dialect: &MessagesDialect, block: &Value, at: &str) -> Result<(), Refusal> {
    let bad = |text: String| Err(refusal(dialect, 400, &text));
    let Some(id) = block.at("id").as_str() else {
        return bad(format!("{at}.tool_use.id: Field required"));
    };
    if id.is_empty() || !id.chars().all(is_name) {
        return bad(format!("{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"));
    }
    if !block.at("name").is_string() {
        return bad(format!("{at}.tool_use.name: Field required"));
    }
    if !block.at("input").is_object() {
        return bad(format!("{at}.tool_use.input: Input should be a valid dictionary"));
    }
    Ok(())
}

/// Refuses a `tool_use` without a result in the message right after it, and a result without a
/// call.
pub(super) fn pairs(dialect: &MessagesDialect, messages: &[Message]) -> Result<(), Refusal> {
    let bad = |text: String| Err(refusal(dialect, 400, &text));
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let called: HashSet<&str> = open.iter().copied().collect();
        let mut answered: HashSet<&str> = HashSet::new();
        for (index, block) in
            message.blocks.iter().enumerate().filter(|(_, block)| block.at("type") == "tool_result")
        {
            let id = block.at("tool_use_id").as_str().unwrap_or_default();
            if !answered.insert(id) {
                return bad(format!(
                    "messages.{place}.content.{index}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                ));
            }
            if !called.contains(id) {
                return bad(format!(
                    "messages.{place}.content.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                ));
            }
        }
        let missing: Vec<&str> =
            open.iter().filter(|id| !answered.contains(*id)).copied().collect();
        if !missing.is_empty() {
            return bad(unanswered(place.saturating_sub(1), &missing));
        }
        let uses = message.blocks.iter().filter(|block| block.at("type") == "tool_use");
        open = uses.filter_map(|block| block.at("id").as_str()).collect();
    }
    if open.is_empty() { Ok(()) } else { bad(unanswered(messages.len().saturating_sub(1), &open)) }
}

fn unanswered(place: usize, ids: &[&str]) -> String {
    format!(
        "messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
         `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    )
}

/// The visible text of a message.
pub(super) fn text(message: &Message) -> String {
    let texts = message.blocks.iter().filter(|block| block.at("type") == "text");
    texts.filter_map(|block| block.at("text").as_str()).collect()
}

pub(super) fn calls(message: &Message) -> Vec<Call> {
    let uses = message.blocks.iter().filter(|block| block.at("type") == "tool_use");
    uses.map(|block| Call {
        name: block.at("name").as_str().unwrap_or_default().to_owned(),
        arguments: block.at("input").clone(),
    })
    .collect()
}

/// The text of a tool result.
pub(super) fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.at("text").as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}
