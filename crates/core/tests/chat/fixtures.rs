//! Corner cases under `fixtures/wires/chat-completions` and `fixtures/wires/mistral-chat`.
//!
//! A folder holds what was received (`received.sse` or `received.json`) and what it says (`expected.json`).
//! `BLESS=1` writes the expectations anew; they are read as a difference before they are committed.

use crate::reading::{stream, whole, written_again};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Parameters};
use thinkthrough_core::wire::{self, Dialect};
use thinkthrough_json::{Doc, Extra};

const WIRES: [(&str, &str); 2] = [
    ("chat-completions", "fixtures/wires/chat-completions"),
    ("mistral-chat", "fixtures/wires/mistral-chat"),
];

fn folder(path: &str, kind: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).join(kind);
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn corner_cases_say_what_they_should() {
    let mut failures = Vec::new();
    let mut n = 0;
    for (name, path) in WIRES {
        let wire = wire::find(name).unwrap();
        for case in folder(path, "responses") {
            n += 1;
            let answer = match std::fs::read(case.join("received.sse")) {
                Ok(body) => stream(wire, &body),
                Err(_) => whole(wire, &std::fs::read(case.join("received.json")).unwrap()),
            };
            let is = told(&answer);
            let expected = case.join("expected.json");
            if std::env::var_os("BLESS").is_some() {
                std::fs::write(&expected, serde_json::to_string_pretty(&is).unwrap() + "\n")
                    .unwrap();
            }
            let should: Value = serde_json::from_slice(&std::fs::read(&expected).unwrap()).unwrap();
            if is != should {
                failures.push(format!("{}:\n{is:#}", case.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(n > 0, "there are no corner cases");
}

#[test]
fn requests_with_odd_spellings_survive() {
    let mut n = 0;
    for (name, path) in WIRES {
        let wire = wire::find(name).unwrap();
        for case in folder(path, "requests") {
            n += 1;
            let text = std::fs::read_to_string(&case).unwrap();
            let doc = Doc::parse_str(&text).unwrap();
            let request = wire.read_request(doc.root()).unwrap();
            let written = wire.write_request(&request, &Dialect::default());
            let (is, should): (Value, Value) = (
                serde_json::from_str(&written.body).unwrap(),
                serde_json::from_str(&text).unwrap(),
            );
            assert_eq!(is, should, "{}", case.display());
            assert!(
                written.untranslated.is_empty(),
                "{}: {:?}",
                case.display(),
                written.untranslated
            );
            let again = wire.write_request(&request, &Dialect::default());
            assert_eq!(again.body, written.body, "twice the same");
        }
    }
    assert!(n > 0, "there are no requests");
}

/// Cases whose answers are written in another form than they came in, and why.
const WRITTEN_OTHERWISE: [(&str, &str); 1] =
    [("malformed-message-is-skipped", "what could not be read is not written")];

#[test]
fn corner_cases_survive_being_written_again() {
    let mut failures = Vec::new();
    for (name, path) in WIRES {
        let wire = wire::find(name).unwrap();
        for case in folder(path, "responses") {
            let (answer, again) = match std::fs::read(case.join("received.sse")) {
                Ok(body) => written_again(wire, &body),
                Err(_) => {
                    let body = std::fs::read(case.join("received.json")).unwrap();
                    let answer = whole(wire, &body);
                    let again = whole(wire, wire.write_response(&answer).as_bytes());
                    (answer, again)
                }
            };
            let is_same = if answer.is_complete() {
                told(&again) == told(&answer)
            } else {
                !again.is_complete()
            };
            let name = case.file_name().unwrap().to_string_lossy();
            let is_other = WRITTEN_OTHERWISE.iter().any(|(other, _)| *other == name);
            if is_same == is_other {
                failures.push(format!("{}:\n{}\n{}", case.display(), told(&again), told(&answer)));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// An answer as JSON; what is absent is left out.
fn told(answer: &Answer) -> Value {
    let mut one = json!({ "blocks": answer.blocks.iter().map(block).collect::<Value>() });
    let facts = [
        ("finishReason", &answer.finish_reason),
        ("model", &answer.model),
        ("responseId", &answer.response_id),
        ("refusal", &answer.refusal),
        ("messageSignature", &answer.message_signature),
    ];
    for (name, fact) in facts {
        put(&mut one, name, fact.as_ref());
    }
    if let Some(usage) = &answer.usage {
        let counts = [
            ("inputTokens", usage.input_tokens),
            ("outputTokens", usage.output_tokens),
            ("reasoningTokens", usage.reasoning_tokens),
            ("cacheReadTokens", usage.cache_read_tokens),
            ("cacheWriteTokens", usage.cache_write_tokens),
            ("totalTokens", usage.total_tokens),
        ];
        one["usage"] = json!({});
        for (name, count) in counts {
            put(&mut one["usage"], name, count.as_ref());
        }
    }
    if !answer.choices.is_empty() {
        one["choices"] = answer.choices.iter().map(told).collect();
    }
    if !answer.problems.is_empty() {
        one["problems"] =
            answer.problems.iter().map(|problem| json!(problem.to_string())).collect();
    }
    one
}

fn block(block: &Block) -> Value {
    match block {
        Block::Thinking(thinking) => {
            let mut one =
                json!({ "thinking": thinking.thought, "sourceField": thinking.source_field });
            put(&mut one, "signature", thinking.signature.as_ref());
            put(&mut one, "redactedData", thinking.redacted_data.as_ref());
            put(&mut one, "encryptedContent", thinking.encrypted_content.as_ref());
            put(&mut one, "id", thinking.id.as_ref());
            put(&mut one, "format", thinking.format.as_ref());
            put(&mut one, "detailType", thinking.detail_type.as_ref());
            put(&mut one, "index", thinking.index.as_ref());
            put(&mut one, "partial", thinking.partial.then_some(&true));
            put_extra(&mut one, &thinking.extra);
            one
        }
        Block::Text(text) => {
            let mut one = json!({ "text": text.text });
            put_extra(&mut one, &text.extra);
            one
        }
        Block::ToolCall(call) => {
            let mut one = json!({ "call": call.name, "id": call.id });
            match &call.parameters {
                Parameters::Json(raw) => {
                    one["parameters"] = serde_json::from_str(raw.as_str()).unwrap();
                }
                Parameters::Free(text) => one["free"] = json!(text),
                Parameters::Invalid(text) => one["invalid"] = json!(text),
            }
            put(&mut one, "signature", call.signature.as_ref());
            put_extra(&mut one, &call.extra);
            one
        }
        Block::Other(other) => {
            let raw: Value = serde_json::from_str(other.raw.as_str()).unwrap();
            json!({ "other": other.kind, "raw": raw })
        }
        Block::Media(_) | Block::ToolResponse(_) => json!("not in answers"),
    }
}

fn put<T: serde::Serialize>(one: &mut Value, name: &str, value: Option<&T>) {
    if let Some(value) = value {
        one[name] = json!(value);
    }
}

fn put_extra(one: &mut Value, extra: &Extra) {
    for (key, value) in &extra.fields {
        one["extra"][key] = serde_json::from_str(value.as_str()).unwrap();
    }
}
