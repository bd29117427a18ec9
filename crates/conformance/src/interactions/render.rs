//! Renders the answer as a stream of events.

use serde_json::{Value, json};

use crate::json::Keyed;
use crate::pieces::pieces;
use crate::reply::{Answer, event};

/// The events of a finished interaction.
pub(super) fn stream(body: &Value) -> Answer {
    let say = |kind: &str, mut fields: Value| {
        fields.set("event_type", json!(kind));
        event(kind, &fields)
    };
    let opening = json!({
        "id": body.at("id"), "object": "interaction", "model": body.at("model"), "status": "in_progress",
    });
    let mut frames = vec![
        say("interaction.created", json!({"interaction": opening})),
        say(
            "interaction.status_update",
            json!({"interaction_id": body.at("id"), "status": "in_progress"}),
        ),
    ];
    for (index, step) in body.at("steps").as_array().into_iter().flatten().enumerate() {
        frames.push(say("step.start", json!({"index": index, "step": opened(step)})));
        frames.extend(
            deltas(step)
                .into_iter()
                .map(|delta| say("step.delta", json!({"index": index, "delta": delta}))),
        );
        frames.push(say("step.stop", json!({"index": index})));
    }
    let mut last = body.clone();
    if let Some(map) = last.as_object_mut() {
        map.remove("steps");
    }
    frames.push(say("interaction.completed", json!({"interaction": last})));
    frames.push("event: done\ndata: [DONE]\n\n".to_owned());
    let error = json!({"code": "internal_error", "message": "An internal error has occurred."});
    Answer::events(frames, say("error", json!({"error": error})))
}

/// The step of a start event. Its content follows in deltas.
fn opened(step: &Value) -> Value {
    match step.at("type").as_str() {
        Some("function_call") => json!({
            "type": "function_call", "id": step.at("id"), "name": step.at("name"), "arguments": {},
        }),
        Some(_) | None => json!({"type": step.at("type")}),
    }
}

fn deltas(step: &Value) -> Vec<Value> {
    let parts = |key: &str| {
        let parts = step.at(key).as_array().into_iter().flatten();
        parts.filter_map(|part| part.at("text").as_str()).flat_map(pieces).collect::<Vec<_>>()
    };
    let mut out: Vec<Value> = Vec::new();
    for text in parts("summary") {
        out.push(json!({"type": "thought_summary", "content": {"type": "text", "text": text}}));
    }
    if step.at("signature").is_string() {
        out.push(json!({"type": "thought_signature", "signature": step.at("signature")}));
    }
    out.extend(parts("content").into_iter().map(|text| json!({"type": "text", "text": text})));
    if let Some(arguments) = step.get("arguments") {
        out.push(json!({"type": "arguments_delta", "arguments": arguments.to_string()}));
    }
    out
}
