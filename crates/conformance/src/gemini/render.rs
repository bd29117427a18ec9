//! Renders the answer as one body, as events, or (without `alt=sse`) as a streamed JSON array.

use serde_json::{Value, json};

use super::Reply;
use crate::json::Keyed;
use crate::pieces::pieces;
use crate::reply::{Answer, data};

pub(super) fn whole(reply: &Reply) -> Answer {
    let mut parts: Vec<Value> = Vec::new();
    if reply.shows_thoughts && !reply.plan.thought.is_empty() {
        parts.push(json!({"text": reply.plan.thought, "thought": true}));
    }
    if !reply.plan.text.is_empty() {
        let mut text = json!({"text": reply.plan.text});
        sign(&mut text, reply, true);
        parts.push(text);
    }
    parts.extend(calls(reply));
    Answer::whole(&body(reply, &parts, true))
}

fn sign(part: &mut Value, reply: &Reply, first: bool) {
    if let Some(signature) = reply.signature.as_ref().filter(|_| first) {
        part.set("thoughtSignature", json!(signature));
    }
}

/// The parts of the calls. Only the first one has a signature.
fn calls(reply: &Reply) -> Vec<Value> {
    let pairs = reply.plan.calls.iter().zip(&reply.ids).enumerate();
    pairs
        .map(|(place, (call, id))| {
            let mut inner = json!({"name": call.name, "args": call.arguments});
            if let Some(id) = id {
                inner.set("id", json!(id));
            }
            let mut part = json!({"functionCall": inner});
            sign(&mut part, reply, place == 0);
            part
        })
        .collect()
}

fn body(reply: &Reply, parts: &[Value], last: bool) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    if last {
        candidate.set("finishReason", json!(reply.finish_reason()));
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": reply.usage(),
        "modelVersion": reply.model,
        "responseId": reply.response_id,
    })
}

pub(super) fn stream(reply: &Reply, events: bool) -> Answer {
    let mut parts: Vec<Value> = Vec::new();
    if reply.shows_thoughts {
        parts.extend(
            pieces(&reply.plan.thought)
                .into_iter()
                .map(|text| json!({"text": text, "thought": true})),
        );
    }
    parts.extend(pieces(&reply.plan.text).into_iter().map(|text| json!({"text": text})));
    parts.extend(calls(reply));
    if reply.plan.calls.is_empty() {
        // The signature of an answer without calls comes on a last part with empty text.
        let mut last = json!({"text": ""});
        sign(&mut last, reply, true);
        parts.push(last);
    }
    let count = parts.len();
    let bodies = parts
        .iter()
        .enumerate()
        .map(|(place, part)| body(reply, std::slice::from_ref(part), place + 1 == count));
    let error = json!({"error": {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}});
    if events {
        return Answer::events(bodies.map(|body| data(&body)).collect(), data(&error));
    }
    let mut frames: Vec<String> = Vec::with_capacity(count);
    for (place, body) in bodies.enumerate() {
        let open = if place == 0 { "[" } else { ",\r\n" };
        let close = if place + 1 == count { "]" } else { "" };
        frames.push(format!("{open}{body}{close}"));
    }
    Answer::stream("application/json", frames, format!(",\r\n{error}]"))
}
