//! OpenRouter's `reasoning_details`: thoughts with the signature of the provider behind it.

use serde_json::{Value, json};

use super::read::{Message, Request, Role};
use super::refuse::provider_returned;
use super::{ChatDialect, Reply};
use crate::json::Keyed;
use crate::mind::Plan;
use crate::pieces::pieces;
use crate::reply::{Refusal, Visit};
use crate::seal::{Digest, Look, Seal};

const FORMAT: &str = "anthropic-claude-v1";

/// Signs the thought of the plan.
pub(super) fn signature(visit: &Visit<'_>, model: &str, plan: &Plan) -> String {
    let seal = Seal {
        text: digest(&plan.thought),
        model: Visit::model_digest(model),
        body: plan.thought.clone(),
        ..Seal::default()
    };
    seal.encode(visit.id, Look::Anthropic)
}

fn digest(text: &str) -> u64 {
    Digest::new("detail").text(text).finish()
}

/// The entry of a whole thought.
pub(super) fn entry(text: &str, signature: &str) -> Value {
    json!({"type": "reasoning.text", "text": text, "signature": signature, "id": null, "format": FORMAT, "index": 0})
}

/// The entries of a streamed thought. Its signature comes last, on an entry without text.
pub(super) fn deltas(reply: &Reply<'_>, thought: &str) -> Vec<Value> {
    let mut out: Vec<Value> = pieces(thought)
        .into_iter()
        .map(|part| {
            let detail =
                json!({"type": "reasoning.text", "text": part, "format": FORMAT, "index": 0});
            json!({"content": "", "reasoning": part, "reasoning_details": [detail]})
        })
        .collect();
    if !out.is_empty() {
        let detail = json!({"type": "reasoning.text", "signature": reply.signature, "format": FORMAT, "index": 0});
        out.push(json!({"content": "", "reasoning": null, "reasoning_details": [detail]}));
    }
    out
}

/// Whether the details of a message have a signature.
pub(super) fn is_signed(raw: &Value) -> bool {
    let mut details = raw.at("reasoning_details").as_array().into_iter().flatten();
    details.any(|detail| {
        detail.at("signature").as_str().is_some_and(|signature| !signature.is_empty())
    })
}

/// Refuses changed signed thoughts, and a running tool loop whose latest message has no signed
/// thought.
pub(super) fn enforce(
    visit: &Visit<'_>,
    _: &ChatDialect,
    request: &Request,
) -> Result<(), Refusal> {
    for (place, message) in request.messages.iter().enumerate() {
        for detail in message.raw.at("reasoning_details").as_array().into_iter().flatten() {
            if detail.at("type") == "reasoning.text" && !fits(visit, request, detail) {
                let text =
                    format!("messages.{place}.content.0: Invalid `signature` in `thinking` block");
                return Err(provider_returned(&text));
            }
        }
    }
    let latest = request.messages.iter().rposition(|message| message.role == Role::Assistant);
    let Some(latest) = latest else { return Ok(()) };
    let running =
        request.messages.iter().skip(latest + 1).all(|message| message.role == Role::Tool);
    let bare = |message: &&Message| !message.calls.is_empty() && !is_signed(&message.raw);
    let is_demanded = running && request.scene.thinking;
    if is_demanded && request.messages.get(latest).filter(bare).is_some() {
        let text = format!(
            "messages.{latest}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When \
             `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the \
             lastmost set of `tool_use` and `tool_result` blocks)."
        );
        return Err(provider_returned(&text));
    }
    Ok(())
}

/// Whether the signature fits the text of its entry and the model of the request. It does not if a
/// client left the pieces of a stream apart.
fn fits(visit: &Visit<'_>, request: &Request, detail: &Value) -> bool {
    let signature = detail.at("signature").as_str().unwrap_or_default();
    let text = detail.at("text").as_str().unwrap_or_default();
    let seal = Seal::decode(visit.id, Look::Anthropic, signature);
    seal.is_some_and(|seal| {
        seal.text == digest(text) && seal.model == Visit::model_digest(&request.model)
    })
}
