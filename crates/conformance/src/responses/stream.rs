//! Renders the answer as a stream of typed events.

use serde_json::{Map, Value, json};

use crate::json::Keyed;
use crate::pieces::pieces;
use crate::reply::{Answer, event};

/// The events of a finished response.
pub(super) fn render(body: &Value) -> Answer {
    let mut events = Events::default();
    let mut opening = body.clone();
    opening.set("status", json!("in_progress"));
    opening.set("output", json!([]));
    opening.set("usage", Value::Null);
    opening.set("incomplete_details", Value::Null);
    events.push("response.created", json!({"response": opening}));
    events.push("response.in_progress", json!({"response": opening}));
    for (index, item) in body.at("output").as_array().into_iter().flatten().enumerate() {
        events.item(index, item);
    }
    let last = if body.at("status") == "incomplete" {
        "response.incomplete"
    } else {
        "response.completed"
    };
    events.push(last, json!({"response": body}));
    let error = json!({
        "type": "error", "code": "server_error", "param": null, "sequence_number": events.count,
        "message": "The server had an error while processing your request.",
    });
    Answer::events(events.frames, event("error", &error))
}

#[derive(Default)]
struct Events {
    frames: Vec<String>,
    count: u64,
}

impl Events {
    fn push(&mut self, kind: &str, fields: Value) {
        let mut body = Map::new();
        body.insert("type".to_owned(), json!(kind));
        body.insert("sequence_number".to_owned(), json!(self.count));
        if let Value::Object(fields) = fields {
            body.extend(fields);
        }
        self.frames.push(event(kind, &Value::Object(body)));
        self.count += 1;
    }

    fn item(&mut self, index: usize, item: &Value) {
        let mut opening = item.clone();
        match item.at("type").as_str() {
            Some("reasoning") => {
                opening.set("summary", json!([]));
                if item.at("content").is_array() {
                    opening.set("content", json!([]));
                }
                if let Some(payload) = item.at("encrypted_content").as_str() {
                    // The payload of the opening event is not final yet.
                    let part: String = payload.chars().take(payload.len() / 2).collect();
                    opening.set("encrypted_content", json!(part));
                }
            }
            Some("message") => opening.set("content", json!([])),
            Some("function_call") => opening.set("arguments", json!("")),
            Some(_) | None => {}
        }
        if item.at("status").is_string() {
            opening.set("status", json!("in_progress"));
        }
        self.push("response.output_item.added", json!({"output_index": index, "item": opening}));
        self.parts(index, item);
        self.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }

    fn parts(&mut self, index: usize, item: &Value) {
        let at = |key: &str, place: usize| json!({"item_id": item.at("id"), "output_index": index, key: place});
        for (place, part) in item.at("summary").as_array().into_iter().flatten().enumerate() {
            let at = at("summary_index", place);
            let names = ["response.reasoning_summary_part", "response.reasoning_summary_text"];
            self.part(&at, part, names);
        }
        for (place, part) in item.at("content").as_array().into_iter().flatten().enumerate() {
            let at = at("content_index", place);
            let kind = if part.at("type") == "reasoning_text" {
                "response.reasoning_text"
            } else {
                "response.output_text"
            };
            self.part(&at, part, ["response.content_part", kind]);
        }
        if let Some(arguments) = item.at("arguments").as_str() {
            let at = json!({"item_id": item.at("id"), "output_index": index});
            for piece in pieces(arguments) {
                self.push(
                    "response.function_call_arguments.delta",
                    with(&at, "delta", &json!(piece)),
                );
            }
            self.push(
                "response.function_call_arguments.done",
                with(&at, "arguments", &json!(arguments)),
            );
        }
    }

    /// The events of one part: added, deltas, done.
    fn part(&mut self, at: &Value, part: &Value, [part_event, text_event]: [&str; 2]) {
        let mut empty = part.clone();
        empty.set("text", json!(""));
        self.push(&format!("{part_event}.added"), with(at, "part", &empty));
        for piece in pieces(part.at("text").as_str().unwrap_or_default()) {
            self.push(&format!("{text_event}.delta"), with(at, "delta", &json!(piece)));
        }
        self.push(&format!("{text_event}.done"), with(at, "text", part.at("text")));
        self.push(&format!("{part_event}.done"), with(at, "part", part));
    }
}

fn with(at: &Value, key: &str, value: &Value) -> Value {
    let mut out = at.clone();
    out.set(key, value.clone());
    out
}
