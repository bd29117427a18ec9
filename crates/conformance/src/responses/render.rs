//! Renders output items.

use serde_json::{Value, json};

use super::read::Request;
use super::{Flavour, ResponsesDialect};
use crate::json::Keyed;
use crate::mind::{Call, Plan};

/// The reasoning item of an answer.
pub(super) fn reasoning(
    dialect: &ResponsesDialect,
    request: &Request,
    plan: &Plan,
    id: &str,
    sealed: Option<String>,
) -> Value {
    if dialect.flavour == Flavour::DeepSeek {
        let content = json!([{"type": "reasoning_text", "text": plan.thought}]);
        return json!({"id": id, "type": "reasoning", "status": "completed", "summary": [], "content": content});
    }
    let wanted =
        request.body.at("reasoning").at("summary").is_string() || dialect.flavour == Flavour::Xai;
    let summary: Vec<Value> = if wanted {
        summary(&plan.thought)
            .into_iter()
            .map(|text| json!({"type": "summary_text", "text": text}))
            .collect()
    } else {
        Vec::new()
    };
    let mut item = json!({"id": id, "type": "reasoning", "summary": summary});
    if dialect.flavour == Flavour::Xai {
        item.set("status", json!("completed"));
    }
    if let Some(sealed) = sealed {
        item.set("encrypted_content", json!(sealed));
    }
    item
}

/// Summary parts with headings, in the form of the real model.
fn summary(thought: &str) -> Vec<String> {
    let (asked, rest) = thought.split_once(". ").unwrap_or((thought, ""));
    let mut parts = vec![format!("**Reading the request**\n\n{asked}.")];
    if !rest.is_empty() {
        parts.push(format!("**Deciding what to do**\n\n{rest}"));
    }
    parts
}

pub(super) fn message(id: &str, text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]);
    json!({"id": id, "type": "message", "status": "completed", "role": "assistant", "content": content})
}

pub(super) fn call(id: &str, call_id: &str, call: &Call) -> Value {
    json!({
        "id": id, "type": "function_call", "status": "completed", "call_id": call_id, "name": call.name,
        "arguments": call.arguments.to_string(),
    })
}
