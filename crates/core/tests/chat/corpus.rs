//! Recorded traffic gives what it should, and survives being written again.

use crate::reading::{Case, cases, stream, streamed, whole, written_again};
use serde_json::{Value, json};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Parameters};
use thinkthrough_core::event::{Event, Fold};
use thinkthrough_core::frame::{Frame, Framer, Framing};
use thinkthrough_core::problem::ProblemCode;
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::wire::chat_completions::ChatCompletions;
use thinkthrough_core::wire::{Dialect, Wire};
use thinkthrough_json::Doc;

/// The answer in the form of the recorded expectations.
fn shown(answer: &Answer) -> Value {
    let mut thinking = Vec::new();
    let mut calls = Vec::new();
    let mut blocks = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Thinking(thought) => {
                let mut one = json!({ "text": thought.thought });
                let fields = [
                    ("signature", &thought.signature),
                    ("encrypted", &thought.encrypted_content),
                    ("id", &thought.id),
                    ("format", &thought.format),
                    ("detail_type", &thought.detail_type),
                ];
                for (name, value) in fields {
                    if let Some(value) = value {
                        one[name] = json!(value);
                    }
                }
                if let Some(index) = thought.index {
                    one["index"] = json!(index);
                }
                for (key, value) in &thought.extra.fields {
                    one[key] = serde_json::from_str(value.as_str()).unwrap();
                }
                thinking.push(one);
                blocks.push("thinking");
            }
            Block::Text(_) => blocks.push("text"),
            Block::ToolCall(call) => {
                let mut one = json!({ "id": call.id, "name": call.name });
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
                calls.push(one);
                blocks.push("tool_call");
            }
            Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => blocks.push("other"),
        }
    }
    let usage = answer.usage.clone().unwrap_or_default();
    json!({
        "thinking": thinking,
        "text": answer.text(),
        "tool_calls": calls,
        "blocks": blocks,
        "finish_reason": answer.finish_reason,
        "message_signature": answer.message_signature,
        "model": answer.model,
        "response_id": answer.response_id,
        "usage": {
            "input": usage.input_tokens, "output": usage.output_tokens,
            "reasoning": usage.reasoning_tokens, "total": usage.total_tokens,
            "cache_read": usage.cache_read_tokens, "cache_write": usage.cache_write_tokens,
            "raw": usage.raw.map(|raw| serde_json::from_str::<Value>(raw.as_str()).unwrap()),
        },
    })
}

/// What the recording expects, in the same form.
fn expected(case: &Case) -> Value {
    let mut value = json!({});
    for key in ["thinking", "text", "tool_calls", "finish_reason"] {
        value[key] = case.expected[key].clone();
    }
    for key in ["message_signature", "model", "response_id"] {
        value[key] = case.expected.get(key).cloned().unwrap_or(Value::Null);
    }
    let kinds =
        case.expected["blocks"].as_array().unwrap().iter().map(|block| block["type"].clone());
    value["blocks"] = kinds.collect();
    value["usage"] = json!({});
    for key in ["input", "output", "reasoning", "total", "cache_read", "cache_write", "raw"] {
        value["usage"][key] = case.expected["usage"].get(key).cloned().unwrap_or(Value::Null);
    }
    value
}

#[test]
fn recorded_answers_are_read_exactly() {
    let mut failures = Vec::new();
    let mut n = 0;
    for case in cases() {
        n += 1;
        let answer = case.answer();
        let (is, should) = (shown(&answer), expected(&case));
        for (key, value) in should.as_object().unwrap() {
            if is[key] != *value {
                failures.push(format!("{}: {key}: {} instead of {value}", case.id, is[key]));
            }
        }
        let has_error = answer.upstream_error().is_some();
        if has_error != case.expected.get("error").is_some_and(|error| !error.is_null()) {
            failures.push(format!("{}: problems {:?}", case.id, answer.problems));
        }
        if answer.problems.iter().any(|problem| problem.code != ProblemCode::UpstreamError) {
            failures.push(format!("{}: problems {:?}", case.id, answer.problems));
        }
        if case.status >= 400 && !has_error {
            failures.push(format!("{}: no error", case.id));
        }
    }
    println!("{n} recorded answers, {} differences", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn answers_survive_being_written_again() {
    for case in cases().iter().filter(|case| case.status < 400) {
        let answer = case.answer();
        if case.is_stream {
            let (answer, again) = written_again(case.wire, &case.body);
            assert_eq!(again, answer, "{}", case.id);
        } else {
            let body = case.wire.write_response(&answer);
            assert_eq!(whole(case.wire, body.as_bytes()), answer, "{}\n{body}", case.id);
        }
    }
}

#[test]
fn whole_answers_say_the_same_as_a_stream() {
    for case in cases().iter().filter(|case| !case.is_stream && case.status < 400) {
        let (answer, again) = streamed(case.wire, &case.body);
        // White space between the members of a kept value is lost where it would end a line.
        assert_eq!(shown(&again), shown(&answer), "{}", case.id);
        assert_eq!(again.problems, answer.problems, "{}", case.id);
    }
}

#[test]
fn streamed_answers_say_the_same_as_a_whole() {
    for case in cases().iter().filter(|case| case.is_stream && case.status < 400) {
        let answer = case.answer();
        if answer.is_complete() {
            let body = case.wire.write_response(&answer);
            assert_eq!(whole(case.wire, body.as_bytes()), answer, "{}\n{body}", case.id);
        }
    }
}

#[test]
fn requests_survive_being_written_again() {
    let mut n = 0;
    for case in cases() {
        let Some(text) = &case.request else { continue };
        let value: Value = serde_json::from_str(text).unwrap();
        let body = value.get("body").unwrap_or(&value);
        if !body.get("messages").is_some_and(Value::is_array) {
            continue;
        }
        n += 1;
        let text = body.to_string();
        let doc = Doc::parse_str(&text).unwrap();
        let request = case.wire.read_request(doc.root()).unwrap();
        let written = case.wire.write_request(&request, &Dialect::default());
        let again: Value = serde_json::from_str(&written.body).unwrap();
        assert_eq!(&again, body, "{}", case.id);
        assert!(written.untranslated.is_empty(), "{}: {:?}", case.id, written.untranslated);
    }
    println!("{n} recorded requests");
}

#[test]
fn a_cut_stream_keeps_what_came_and_never_looks_complete() {
    for case in cases().iter().filter(|case| case.is_stream && case.status < 400) {
        let full = case.answer();
        let text = String::from_utf8(case.body.clone()).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let step = (lines.len() / 40).max(1);
        for cut in (0..lines.len()).step_by(step) {
            let head: String = lines[..cut].concat();
            let answer = stream(case.wire, head.as_bytes());
            let has_reason =
                answer.finish_reason.as_deref().is_some_and(|reason| !reason.is_empty());
            assert!(has_reason || head.contains("[DONE]") || !answer.is_complete(), "{}", case.id);
            assert!(full.text().starts_with(&answer.text()), "{}", case.id);
            let thoughts = |answer: &Answer| -> String {
                answer
                    .blocks
                    .iter()
                    .filter_map(|block| match block {
                        Block::Thinking(thinking) => Some(thinking.thought.as_str()),
                        _ => None,
                    })
                    .collect()
            };
            assert!(thoughts(&full).starts_with(&thoughts(&answer)), "{}", case.id);
        }
    }
}

#[test]
fn recorded_streams_say_the_same_the_short_way_and_the_long_way() {
    for case in cases().iter().filter(|case| case.is_stream && case.status < 400) {
        let dialect = Dialect::default();
        let mut logs = [ChatCompletions.decoder(&dialect), ChatCompletions.plain_decoder(&dialect)]
            .map(|mut decoder| {
                let mut log = Vec::new();
                let mut sink = |event: Event<'_>| log.push(format!("{event:?}"));
                let mut framer = Framer::new(Framing::Sse);
                framer.push(&case.body, &mut |frame| {
                    if let Frame::Event(event) = frame {
                        decoder.message(event.event, event.data, &mut sink);
                    }
                });
                decoder.end(&mut sink);
                log
            });
        let long = std::mem::take(&mut logs[1]);
        assert_eq!(logs[0], long, "{}", case.id);
    }
}

/// Reads a body of unknown form in pieces of `size` bytes.
fn in_pieces(case: &Case, size: usize) -> Answer {
    let mut reader = Reader::new(case.wire, &Dialect::default(), Form::default());
    let mut fold = Fold::new();
    for piece in case.body.chunks(size) {
        reader.push(piece, &mut fold);
    }
    reader.end(&mut fold);
    fold.finish()
}

#[test]
fn bodies_of_unknown_form_say_the_same_however_they_are_cut() {
    for case in cases() {
        let whole = in_pieces(&case, case.body.len().max(1));
        if case.status < 400 {
            assert_eq!(whole, case.answer(), "{}", case.id);
        }
        assert!(case.status < 400 || whole.upstream_error().is_some(), "{}", case.id);
        for size in [1, 7, 64, 1_000] {
            assert_eq!(in_pieces(&case, size), whole, "{} by {size}", case.id);
        }
    }
}
