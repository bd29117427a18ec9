//! Recorded traffic gives exactly what it should, in any pieces, and survives being written again.

use crate::reading::{Case, cases, messages, stream};
use serde_json::{Map, Value, json};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::Block;
use thinkthrough_core::event::Fold;
use thinkthrough_core::problem::ProblemCode;
use thinkthrough_core::shape::write_answer;
use thinkthrough_core::wire::Dialect;
use thinkthrough_json::{Doc, Raw, Writer};

/// The public form of an answer.
fn shown(answer: &Answer) -> Value {
    let mut w = Writer::new();
    write_answer(&mut w, answer);
    serde_json::from_str(&w.finish()).unwrap()
}

/// The public form that a recording expects.
fn expected(case: &Case) -> Value {
    let source_field = if case.wire.id() == "messages" { "thinking" } else { "reasoningContent" };
    let renamed = |block: &Value| {
        let mut out = Map::new();
        out.insert("type".into(), block["type"].clone());
        if block["type"] == "thinking" {
            out.insert("sourceField".into(), json!(source_field));
        }
        for (key, value) in block.as_object().unwrap() {
            let key = match (block["type"].as_str().unwrap(), key.as_str()) {
                (_, "type" | "redacted") | ("other", "name") => continue,
                ("other", "kind") => "type",
                ("thinking", "text") => "thought",
                ("thinking", "data") => "redactedData",
                ("tool_call", "arguments") => "parameters",
                (_, key) => key,
            };
            out.insert(key.to_owned(), value.clone());
        }
        Value::Object(out)
    };
    let blocks: Vec<_> = case.expected["blocks"].as_array().unwrap().iter().map(renamed).collect();
    let usage = |key: &str| case.expected["usage"].get(key).cloned().unwrap_or(Value::Null);
    let usage = json!({
        "inputTokens": usage("input"), "outputTokens": usage("output"),
        "reasoningTokens": usage("reasoning"), "cacheReadTokens": usage("cache_read"),
        "cacheWriteTokens": usage("cache_write"), "totalTokens": usage("total"), "raw": usage("raw"),
    });
    let has_usage = !usage["raw"].is_null();
    json!({
        "blocks": blocks,
        "text": case.expected["text"],
        "usage": if has_usage { usage } else { Value::Null },
        "finishReason": case.expected["finish_reason"],
        "model": case.expected.get("model"),
        "responseId": case.expected.get("response_id"),
        "stopSequence": case.expected.get("stop_sequence"),
    })
}

/// Without what recordings do not tell: members kept for the wire, and the inside of blocks of the provider's own.
fn comparable(mut answer: Value) -> Value {
    for block in answer["blocks"].as_array_mut().unwrap() {
        let block = block.as_object_mut().unwrap();
        block.remove("extra");
        if block.remove("wire").is_some() {
            assert!(block.remove("raw").unwrap().is_object(), "kept as it stood");
        }
    }
    let answer = answer.as_object_mut().unwrap();
    for key in ["responseId", "stopSequence"] {
        answer.entry(key).or_insert(Value::Null);
    }
    answer.remove("problems");
    Value::Object(std::mem::take(answer))
}

#[test]
fn recorded_answers_are_read_exactly() {
    let cases = cases();
    let mut failures = Vec::new();
    for case in &cases {
        let answer = case.answer();
        let (is, should) = (comparable(shown(&answer)), expected(case));
        if is != should {
            failures.push(format!("{}:\n  {is}\n  instead of\n  {should}", case.id));
        }
        let codes: Vec<_> = answer.problems.iter().map(|problem| problem.code).collect();
        let has_error = case.expected.get("error").is_some();
        if codes != if has_error { vec![ProblemCode::UpstreamError] } else { vec![] } {
            failures.push(format!("{}: {:?}", case.id, answer.problems));
        }
    }
    println!("{} recorded answers, {} differences", cases.len(), failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn any_pieces_give_the_same_answer() {
    for case in cases().iter().filter(|case| case.is_stream) {
        let answer = case.answer();
        for size in [1, 2, 7, 64, 1021] {
            assert_eq!(stream(case.wire, case.body.chunks(size)), answer, "{} {size}", case.id);
        }
    }
}

#[test]
fn cut_streams_keep_what_came_and_never_look_complete() {
    for case in cases().iter().filter(|case| case.is_stream) {
        let full = case.answer();
        let messages = messages(case.wire, &case.body);
        let mut decoder = case.wire.decoder(&Dialect::default());
        let mut fold = Fold::new();
        for (name, data) in &messages {
            let (mut cut, mut answer) = (decoder.clone(), fold.clone());
            assert!(!cut.is_complete() || data == "[DONE]", "{}: {data}", case.id);
            cut.end(&mut answer);
            let answer = answer.finish();
            assert!(answer.is_complete() == (data == "[DONE]"), "{}: {data}", case.id);
            assert!(full.text().starts_with(&answer.text()), "{}: {data}", case.id);
            for (part, whole) in answer.blocks.iter().zip(&full.blocks) {
                let is_kept = match (part, whole) {
                    (Block::Thinking(part), Block::Thinking(whole)) => {
                        whole.thought.starts_with(&part.thought) && (part.partial || part == whole)
                    }
                    (Block::Text(part), Block::Text(whole)) => whole.text.starts_with(&part.text),
                    (Block::ToolCall(part), Block::ToolCall(whole)) => part.id == whole.id,
                    (part, whole) => std::mem::discriminant(part) == std::mem::discriminant(whole),
                };
                assert!(is_kept, "{}: {part:?} of {whole:?}", case.id);
            }
            decoder.message(name.as_deref(), data, &mut fold);
        }
        assert!(decoder.is_complete(), "{}", case.id);
    }
}

#[test]
fn requests_keep_every_value() {
    let mut n = 0;
    for case in cases() {
        let Some(body) = &case.request else { continue };
        n += 1;
        let request = case.wire.read_request(Doc::parse_str(body).unwrap().root()).unwrap();
        let written = case.wire.write_request(&request, &Dialect::default());
        let values = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(values(&written.body), values(body), "{}", case.id);
        assert_eq!(written.untranslated, Vec::<String>::new(), "{}", case.id);
        for opaque in opaque_values(&Raw::parse(body).unwrap()) {
            assert!(written.body.contains(&opaque), "{}: {opaque}", case.id);
        }
    }
    println!("{n} recorded requests");
}

/// Signatures and hidden data in a body, as they are spelled.
fn opaque_values(body: &Raw) -> Vec<String> {
    let keys = ["\"signature\":", "\"data\":", "\"redactedContent\":"];
    let text = body.as_str();
    let after = |at: usize| {
        let rest = text.get(at..)?.trim_start().strip_prefix('"')?;
        Some(rest.split('"').next()?.to_owned())
    };
    let places = keys.iter().flat_map(|key| text.match_indices(key));
    places.filter_map(|(at, key)| after(at + key.len())).collect()
}
