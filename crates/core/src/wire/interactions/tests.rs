//! Cases that recorded traffic and the fixtures do not have.

use super::Interactions;
use crate::answer::Answer;
use crate::content::{Block, Content, Parameters, Speaker, Text, Thinking, ToolCall, ToolResponse};
use crate::event::Fold;
use crate::json::{Doc, Extra, Raw};
use crate::problem::ProblemCode;
use crate::request::{Request, ToolChoice};
use crate::settings::Effort;
use crate::wire::{Dialect, Wire};
use serde_json::{Value, json};

fn decode(events: &[Value]) -> Answer {
    let mut fold = Fold::new();
    let mut decoder = Interactions.decoder(&Dialect::default());
    for event in events {
        decoder.message(None, &event.to_string(), &mut fold);
    }
    decoder.end(&mut fold);
    fold.finish()
}

fn whole(body: &Value) -> Answer {
    let text = body.to_string();
    let mut fold = Fold::new();
    let doc = Doc::parse_str(&text).unwrap();
    Interactions.read_response(doc.root(), &Dialect::default(), &mut fold);
    fold.finish()
}

fn start(index: u64, step: &Value) -> Value {
    json!({"event_type": "step.start", "index": index, "step": step})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"event_type": "step.delta", "index": index, "delta": delta})
}

#[test]
fn a_cut_thought_keeps_its_text_and_is_partial() {
    let said = json!({"type": "thought_summary", "content": {"type": "text", "text": "so"}});
    let answer = decode(&[start(0, &json!({"type": "thought"})), delta(0, &said)]);
    let Block::Thinking(thinking) = &answer.blocks[0] else { panic!("{answer:?}") };
    assert_eq!(thinking.thought, "so");
    assert!(thinking.partial);
    assert_eq!(answer.problems[0].code, ProblemCode::Truncated);
}

#[test]
fn a_thought_without_text_and_signature_is_none() {
    let stop = json!({"event_type": "step.stop", "index": 0});
    let end =
        json!({"event_type": "interaction.completed", "interaction": {"status": "completed"}});
    let answer = decode(&[start(0, &json!({"type": "thought"})), stop, end]);
    assert!(answer.blocks.is_empty());
    assert!(answer.is_complete());
}

#[test]
fn an_error_keeps_what_came_before_it() {
    let error = json!({"event_type": "error", "error": {"code": "unavailable", "message": "no"}});
    let text = delta(0, &json!({"type": "text", "text": "a"}));
    let answer = decode(&[start(0, &json!({"type": "model_output"})), text, error]);
    assert_eq!(answer.text(), "a");
    assert_eq!(answer.problems.len(), 1);
    assert_eq!(answer.upstream_error().unwrap().at.as_deref(), Some("unavailable"));
    let answer =
        whole(&json!({"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}));
    assert_eq!(answer.upstream_error().unwrap().message, "bad");
}

#[test]
fn the_older_form_without_steps_is_read() {
    let answer = decode(&[
        json!({"event_type": "interaction.start", "interaction": {"id": "i", "model": "m"}}),
        json!({"event_type": "content.start", "index": 0, "content": {"type": "thought"}}),
        json!({"event_type": "content.delta", "index": 0,
            "delta": {"type": "thought_signature", "signature": "s"}}),
        json!({"event_type": "content.stop", "index": 0}),
        json!({"event_type": "content.start", "index": 1, "content": {"type": "text"}}),
        json!({"event_type": "content.delta", "index": 1, "delta": {"type": "text", "text": "hi"}}),
        json!({"event_type": "content.stop", "index": 1}),
        json!({"event_type": "interaction.complete", "interaction": {"status": "completed"}}),
    ]);
    let outputs = json!({"id": "i", "model": "m", "status": "completed", "outputs": [
        {"type": "thought", "signature": "s"}, {"type": "text", "text": "hi"}]});
    assert_eq!(answer, whole(&outputs));
    assert_eq!(answer.text(), "hi");
    assert!(matches!(&answer.blocks[0], Block::Thinking(thinking) if thinking.signature.is_some()));
}

fn read(body: &Value) -> Request {
    let text = body.to_string();
    let doc = Doc::parse_str(&text).unwrap();
    Interactions.read_request(doc.root()).unwrap()
}

fn written(request: &Request) -> Value {
    let written = Interactions.write_request(request, &Dialect::default());
    assert!(written.untranslated.is_empty(), "{:?}", written.untranslated);
    serde_json::from_str(&written.body).unwrap()
}

#[test]
fn every_form_of_input_goes_back_out() {
    for input in [
        json!("hi"),
        json!({"type": "text", "text": "hi"}),
        json!([{"type": "text", "text": "a"}, {"type": "image", "uri": "u", "mime_type": "image/png"}]),
        json!([{"role": "user", "content": "a"}, {"role": "model", "content": [
            {"type": "thought", "signature": "s"}, {"type": "text", "text": "b"},
            {"type": "function_call", "id": "c", "name": "f", "arguments": {}}]},
            {"role": "user", "content": [{"type": "function_result", "call_id": "c", "result": "r"}]}]),
        json!([{"type": "user_input", "content": "bare"}, {"type": "model_output", "content": "bare"}]),
        json!([{"type": "model_output", "content": []}, {"type": "thought"}, {"type": "novel"}]),
    ] {
        let body = json!({"model": "m", "input": input});
        assert_eq!(written(&read(&body)), body);
    }
}

#[test]
fn a_changed_setting_replaces_only_itself() {
    let mut request = read(&json!({"model": "m", "input": "q", "generation_config": {
        "temperature": 1.0, "seed": 2, "thinking_level": "low", "tool_choice": "any"}}));
    assert_eq!(request.tool_choice, Some(ToolChoice::Required));
    request.reasoning.effort = Some(Effort::Max);
    request.temperature = None;
    let body = written(&request);
    let config = json!({"seed": 2, "thinking_level": "high", "tool_choice": "any"});
    assert_eq!(body["generation_config"], config);
}

#[test]
fn what_came_on_another_wire_is_written_in_this_wires_words() {
    let call = ToolCall {
        id: Some("c".to_owned()),
        name: "f".to_owned(),
        parameters: Parameters::default(),
        signature: Some("s".to_owned()),
        extra: Extra::default(),
    };
    let result = ToolResponse {
        call_id: Some("c".to_owned()),
        name: None,
        result: Raw::string("r").into(),
        is_error: true,
        extra: Extra::default(),
    };
    let thinking = Thinking { signature: Some("t".to_owned()), ..Thinking::new("hm", "thinking") };
    let request = Request {
        model: "m".to_owned(),
        contents: vec![
            Content::text(Speaker::System, "sys"),
            Content::text(Speaker::Human, "q"),
            Content::new(
                Speaker::Ai,
                vec![
                    Block::Thinking(thinking),
                    Block::Text(Text::new("ok")),
                    Block::ToolCall(call),
                ],
            ),
            Content::new(Speaker::Tool, vec![Block::ToolResponse(result)]),
        ],
        max_tokens: Some(9),
        ..Request::default()
    };
    assert_eq!(
        written(&request),
        json!({
            "model": "m",
            "system_instruction": "sys",
            "input": [
                {"type": "user_input", "content": [{"type": "text", "text": "q"}]},
                {"type": "thought", "signature": "t", "summary": [{"type": "text", "text": "hm"}]},
                {"type": "model_output", "content": [{"type": "text", "text": "ok"}]},
                {"type": "function_call", "id": "c", "name": "f", "arguments": {}, "signature": "s"},
                {"type": "function_result", "call_id": "c", "name": "f", "result": "r", "is_error": true}],
            "generation_config": {"max_output_tokens": 9},
        })
    );
}
