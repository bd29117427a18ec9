//! Renders the answer as one body or as a stream of named events.

use serde_json::{Value, json};

use super::Reply;
use crate::json::Keyed;
use crate::pieces::pieces;
use crate::reply::{Answer, event};

pub(super) fn whole(reply: &Reply) -> Answer {
    let mut body = envelope(reply);
    body.set("content", json!(reply.blocks));
    body.set("stop_reason", json!(reply.stop_reason));
    body.set("usage", reply.usage.clone());
    Answer::whole(&body)
}

fn envelope(reply: &Reply) -> Value {
    let mut body = json!({
        "id": reply.id, "type": "message", "role": "assistant", "model": reply.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": null,
    });
    if let Some(list) = &reply.transformations {
        body.set("input_transformations", json!(list));
    }
    body
}

pub(super) fn stream(reply: &Reply) -> Answer {
    let mut start = envelope(reply);
    let mut usage = reply.usage.clone();
    usage.set("output_tokens", json!(1));
    if let Some(map) = usage.as_object_mut() {
        map.remove("output_tokens_details");
    }
    start.set("usage", usage);
    let mut frames =
        vec![event("message_start", &json!({"type": "message_start", "message": start}))];
    for (index, block) in reply.blocks.iter().enumerate() {
        frames.extend(self::block(index, block));
        if index == 0 {
            frames.push(event("ping", &json!({"type": "ping"})));
        }
    }
    frames.push(event(
        "message_delta",
        &json!({
            "type": "message_delta",
            "delta": {"stop_reason": reply.stop_reason, "stop_sequence": null},
            "usage": reply.usage,
        }),
    ));
    frames.push(event("message_stop", &json!({"type": "message_stop"})));
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    Answer::events(frames, event("error", &error))
}

fn block(index: usize, block: &Value) -> Vec<String> {
    let mut opened = block.clone();
    let mut deltas: Vec<Value> = Vec::new();
    match block.at("type").as_str() {
        Some("thinking") => {
            opened.set("thinking", json!(""));
            opened.set("signature", json!(""));
            let text = pieces(block.at("thinking").as_str().unwrap_or_default());
            deltas.extend(
                text.into_iter().map(|part| json!({"type": "thinking_delta", "thinking": part})),
            );
            if block.at("signature") != "" {
                deltas.push(json!({"type": "signature_delta", "signature": block.at("signature")}));
            }
        }
        Some("text") => {
            opened.set("text", json!(""));
            let text = pieces(block.at("text").as_str().unwrap_or_default());
            deltas.extend(text.into_iter().map(|part| json!({"type": "text_delta", "text": part})));
        }
        Some("tool_use") => {
            opened.set("input", json!({}));
            let input = block.at("input").to_string();
            deltas.push(json!({"type": "input_json_delta", "partial_json": ""}));
            deltas.extend(
                pieces(&input)
                    .into_iter()
                    .map(|part| json!({"type": "input_json_delta", "partial_json": part})),
            );
        }
        Some(_) | None => {}
    }
    let start = json!({"type": "content_block_start", "index": index, "content_block": opened});
    let mut frames = vec![event("content_block_start", &start)];
    for delta in deltas {
        let body = json!({"type": "content_block_delta", "index": index, "delta": delta});
        frames.push(event("content_block_delta", &body));
    }
    frames
        .push(event("content_block_stop", &json!({"type": "content_block_stop", "index": index})));
    frames
}
