//! Renders the answer as one body.

use serde_json::{Value, json};

use super::{CREATED, Carrier, House, Reply, details, google};
use crate::json::Keyed;
use crate::reply::Answer;

pub(super) fn render(reply: &Reply<'_>) -> Answer {
    let mut body = json!({
        "id": reply.id,
        "object": "chat.completion",
        "created": CREATED,
        "model": reply.model,
        "choices": reply.all().iter().map(choice).collect::<Vec<_>>(),
        "usage": reply.usage,
    });
    if reply.dialect.house == House::MiniMax {
        body.set("base_resp", json!({"status_code": 0, "status_msg": ""}));
    } else if reply.dialect.house == House::Groq {
        body.set("x_groq", json!({"id": reply.id}));
    }
    let mut answer = Answer::whole(&body);
    if reply.dialect.keeps_alive() {
        // DeepSeek sends empty lines before the body while a request is queued.
        if let Some(frame) = answer.frames.first_mut() {
            frame.splice(0..0, *b"\n\n");
        }
    }
    answer
}

fn choice(reply: &Reply<'_>) -> Value {
    json!({
        "index": reply.index,
        "message": message(reply),
        "finish_reason": reply.finish_reason(),
    })
}

fn message(reply: &Reply<'_>) -> Value {
    let plan = &reply.plan;
    let mut message = json!({"role": "assistant", "content": plan.text});
    let thought = if reply.hidden { "" } else { plan.thought.as_str() };
    if !thought.is_empty() {
        match reply.dialect.carrier {
            Carrier::ReasoningContent => message.set("reasoning_content", json!(thought)),
            Carrier::Reasoning => message.set("reasoning", json!(thought)),
            Carrier::ThinkTags if reply.split => {
                message.set("reasoning_content", json!(thought));
                message.set("reasoning_details", json!([detail(thought)]));
            }
            Carrier::ThinkTags => {
                message.set(
                    "content",
                    json!(format!("<think>\n{thought}\n</think>\n\n{}", plan.text)),
                );
            }
            Carrier::Details => {
                message.set("reasoning", json!(thought));
                message
                    .set("reasoning_details", json!([details::entry(thought, &reply.signature)]));
            }
            Carrier::ThoughtTags => {
                message.set("content", json!(format!("<thought>{thought}</thought>{}", plan.text)));
            }
            Carrier::Chunks => {
                let mut chunks = vec![thinking_chunk(thought)];
                if !plan.text.is_empty() {
                    chunks.push(json!({"type": "text", "text": plan.text}));
                }
                message.set("content", json!(chunks));
            }
        }
    }
    if reply.dialect.carrier == Carrier::ThoughtTags && plan.calls.is_empty() {
        message.set("extra_content", google::signed(&reply.signature));
    }
    if !plan.calls.is_empty() {
        let calls = (0..plan.calls.len()).map(|place| reply.call(place, &reply.arguments(place)));
        message.set("tool_calls", calls.collect());
    }
    message
}

/// MiniMax' structured form of a thought.
pub(super) fn detail(text: &str) -> Value {
    json!({
        "type": "reasoning.text", "id": "reasoning-text-1", "format": "MiniMax-response-v1", "index": 0,
        "text": text,
    })
}

/// Mistral's structured form of a thought.
pub(super) fn thinking_chunk(text: &str) -> Value {
    json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]})
}
