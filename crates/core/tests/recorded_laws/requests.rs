//! A request that is read and written on its wire keeps every field and every opaque byte.

use crate::bodies::Body;
use serde_json::Value;
use thinkthrough_core::wire::Dialect;
use thinkthrough_json::Doc;

/// Members whose strings nobody but their provider can read.
const OPAQUE: [&str; 6] = [
    "data",
    "encrypted_content",
    "redactedContent",
    "signature",
    "thoughtSignature",
    "thought_signature",
];

pub(crate) fn check(body: &Body) {
    let value: Value = serde_json::from_slice(&body.bytes).unwrap();
    // Some recorders put the body into an envelope.
    let value = value.get("body").filter(|body| body.is_object()).cloned().unwrap_or(value);
    let text = value.to_string();
    let request = match body.wire.read_request(Doc::parse_str(&text).unwrap().root()) {
        Ok(request) => request,
        Err(_) if !says_something(&value) => return,
        Err(error) => panic!("{body}: {error}"),
    };
    let written = body.wire.write_request(&request, &Dialect::PLAIN);
    assert!(written.untranslated.is_empty(), "{body}: {:?}", written.untranslated);
    let again: Value = serde_json::from_str(&written.body).unwrap();
    let model = |value: &Value| {
        // The model stands in the path of some wires.
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove("model");
        value
    };
    assert_eq!(model(&again), model(&value), "{body}");
    let mut payloads = Vec::new();
    opaque(&value, &mut payloads);
    for payload in payloads {
        assert!(written.body.contains(&payload), "{body}: {payload}");
    }
}

/// Whether a body is one of this wire: recordings of other routes have no messages.
fn says_something(body: &Value) -> bool {
    ["messages", "input", "contents"].iter().any(|list| body.get(list).is_some())
}

/// The opaque strings as they are spelled.
fn opaque(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(_) if OPAQUE.contains(&key.as_str()) => {
                        found.push(value.to_string());
                    }
                    value => opaque(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| opaque(item, found)),
        _ => {}
    }
}
