//! Recorded traffic gives what it should.

use crate::reading::{Case, cases};
use serde_json::{Value, json};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Parameters, Thinking, ToolCall};
use thinkthrough_core::problem::ProblemCode;

/// A block in the form of the recorded expectations.
fn shown(block: &Block) -> Value {
    match block {
        Block::Thinking(thinking) => shown_thinking(thinking),
        Block::Text(text) => {
            let mut one = json!({ "type": "text", "text": text.text });
            if let Some(signature) = &text.signature {
                one["signature"] = json!(signature);
            }
            one
        }
        Block::ToolCall(call) => shown_call(call),
        Block::Other(other) if other.kind == "refusal" => {
            let raw: Value = serde_json::from_str(other.raw.as_str()).unwrap();
            json!({ "type": "refusal", "refusal": raw["refusal"] })
        }
        Block::Other(other) => {
            let raw: Value = serde_json::from_str(other.raw.as_str()).unwrap();
            let mut one = json!({ "type": "other", "kind": other.kind });
            if let Some(signature) = raw.get("thoughtSignature") {
                one["signature"] = signature.clone();
            }
            one
        }
        Block::Media(_) | Block::ToolResponse(_) => json!({ "type": "other" }),
    }
}

fn shown_thinking(thinking: &Thinking) -> Value {
    let mut one = json!({ "type": "thinking", "text": thinking.thought });
    let fields = [
        ("signature", &thinking.signature),
        ("encrypted", &thinking.encrypted_content),
        ("id", &thinking.id),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            one[name] = json!(value);
        }
    }
    if thinking.id.is_some() {
        one["summary"] = json!(thinking.summary.clone().unwrap_or_default());
        one["content"] = json!(thinking.content.clone().unwrap_or_default());
    }
    one
}

fn shown_call(call: &ToolCall) -> Value {
    let mut one = json!({ "type": "tool_call", "id": call.id, "name": call.name });
    match &call.parameters {
        Parameters::Json(raw) => {
            one["arguments"] = serde_json::from_str(raw.as_str()).unwrap();
        }
        Parameters::Free(text) | Parameters::Invalid(text) => {
            one["arguments"] = Value::Null;
            one["arguments_raw"] = json!(text);
            one["arguments_valid"] = json!(false);
        }
    }
    if let Some(signature) = &call.signature {
        one["signature"] = json!(signature);
    }
    one
}

/// The recorded expectation of a block, with the value that came where another one is as right.
fn wanted(expected: &Value, is: &Value) -> Value {
    let mut wanted = expected.clone();
    let fields = wanted.as_object_mut().unwrap();
    for (key, alternatives) in [("id", "id_alternatives"), ("encrypted", "encrypted_alternatives")]
    {
        let others = fields.remove(alternatives).unwrap_or(Value::Null);
        if others.as_array().is_some_and(|others| others.contains(&is[key])) {
            fields.insert(key.to_owned(), is[key].clone());
        }
    }
    // What belongs to the item and not to the answer stands in the block's extra fields.
    let is_thinking = fields["type"] == "thinking";
    for key in ["item_id", "namespace", "phase"] {
        fields.remove(key);
    }
    if !is_thinking && fields["type"] == "text" {
        fields.remove("id");
    }
    wanted
}

fn differences(case: &Case, answer: &Answer) -> Vec<String> {
    let mut out = Vec::new();
    let mut check = |what: &str, is: &Value, should: &Value| {
        if is != should {
            out.push(format!("{}: {what}: {is} instead of {should}", case.id));
        }
    };
    let blocks: Vec<Value> = answer.blocks.iter().map(shown).collect();
    let expected = case.expected["blocks"].as_array().unwrap();
    check("number of blocks", &json!(blocks.len()), &json!(expected.len()));
    for (is, should) in blocks.iter().zip(expected) {
        check("block", is, &wanted(should, is));
    }
    check("text", &json!(answer.text()), &case.expected["text"]);
    check("finish reason", &json!(answer.finish_reason), &case.expected["finish_reason"]);
    for (key, is) in [
        ("model", &answer.model),
        ("response_id", &answer.response_id),
        ("tool_plan", &answer.tool_plan),
    ] {
        if let Some(should) = case.expected.get(key).filter(|should| !should.is_null()) {
            check(key, &json!(is), should);
        }
    }
    let usage = answer.usage.clone().unwrap_or_default();
    let raw = usage.raw.map(|raw| serde_json::from_str::<Value>(raw.as_str()).unwrap());
    for (key, is) in [
        ("input", json!(usage.input_tokens)),
        ("output", json!(usage.output_tokens)),
        ("reasoning", json!(usage.reasoning_tokens)),
        ("total", json!(usage.total_tokens)),
        ("cache_read", json!(usage.cache_read_tokens)),
        ("raw", json!(raw)),
    ] {
        if let Some(should) = case.expected["usage"].get(key) {
            check(key, &is, should);
        }
    }
    let has_error = case.expected.get("error").is_some_and(|error| !error.is_null());
    check("error", &json!(answer.upstream_error().is_some()), &json!(has_error));
    let other: Vec<String> = answer
        .problems
        .iter()
        .filter(|problem| problem.code != ProblemCode::UpstreamError)
        .map(ToString::to_string)
        .collect();
    check("problems", &json!(other), &json!([]));
    out
}

#[test]
fn recorded_answers_are_read_exactly() {
    let mut failures = Vec::new();
    let mut count = 0;
    for case in cases() {
        count += 1;
        failures.extend(differences(&case, &case.answer()));
    }
    println!("{count} recorded answers, {} differences", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
