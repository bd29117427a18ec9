//! Cases that recorded traffic does not have; recorded traffic itself is read in `tests/`.

use super::Responses;
use crate::answer::Answer;
use crate::content::{Block, Content, Parameters, Speaker, Thinking, ToolCall};
use crate::event::{Event, Fold, Sink};
use crate::frame::{Frame, sse::SseDecoder};
use crate::json::{Doc, Extra, Raw};
use crate::problem::ProblemCode;
use crate::request::{Request, Tool};
use crate::wire::chat_completions::ChatCompletions;
use crate::wire::{Dialect, Wire};
use serde_json::{Value, json};

/// Decodes a stream of these events.
fn decode(events: &[Value]) -> Answer {
    let mut fold = Fold::new();
    decode_into(events, &mut fold);
    fold.finish()
}

fn decode_into(events: &[Value], sink: &mut dyn Sink) {
    let mut decoder = Responses.decoder(&Dialect::default());
    for event in events {
        decoder.message(None, &event.to_string(), sink);
    }
    decoder.end(sink);
}

fn encoded(events: &[Value]) -> Vec<(String, Value)> {
    let mut encoder = Responses.encoder();
    let mut bytes = Vec::new();
    decode_into(events, &mut |event: Event<'_>| encoder.event(event, &mut bytes));
    encoder.end(&mut bytes);
    framed(&bytes)
}

fn framed(bytes: &[u8]) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    let mut take = |frame: Frame<'_>| {
        if let Frame::Event(event) = frame {
            let data = serde_json::from_str(event.data).unwrap();
            out.push((event.event.unwrap().to_owned(), data));
        }
    };
    let mut framer = SseDecoder::default();
    framer.push(bytes, &mut take);
    framer.end(&mut take);
    out
}

fn thinking(answer: &Answer) -> &Thinking {
    match &answer.blocks[0] {
        Block::Thinking(thinking) => thinking,
        other => panic!("{other:?}"),
    }
}

fn added(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn summary_delta(part: u64, delta: &str) -> Value {
    json!({"type": "response.reasoning_summary_text.delta", "output_index": 0,
        "summary_index": part, "delta": delta})
}

fn completed(output: &Value) -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "model": "m",
        "status": "completed", "output": output}})
}

#[test]
fn a_payload_that_only_began_is_not_kept() {
    let begun =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "par"});
    let answer = decode(&[added(0, &begun), summary_delta(0, "so")]);
    let thought = thinking(&answer);
    assert_eq!(thought.encrypted_content, None);
    assert_eq!((thought.thought.as_str(), thought.id.as_deref()), ("so", Some("rs_1")));
    assert!(thought.partial);
    assert!(!answer.is_complete());
    assert_eq!(answer.problems[0].code, ProblemCode::Truncated);
}

#[test]
fn the_last_word_of_an_item_wins_over_deltas_and_over_the_end() {
    let item = |text: &str, blob: &str| {
        json!({"type": "reasoning", "id": "rs_1", "encrypted_content": blob,
            "summary": [{"type": "summary_text", "text": text}, {"type": "summary_text", "text": "b"}]})
    };
    let answer = decode(&[
        added(0, &item("", "x")),
        summary_delta(0, "A"),
        summary_delta(1, "b"),
        done(0, &item("a", "y")),
        completed(&json!([item("a", "z")])),
    ]);
    assert_eq!(answer.blocks.len(), 1);
    let thought = thinking(&answer);
    assert_eq!(thought.thought, "a\n\nb");
    assert_eq!(thought.summary.as_deref(), Some(&["a".to_owned(), "b".to_owned()][..]));
    assert_eq!(thought.encrypted_content.as_deref(), Some("y"));
    assert_eq!(answer.finish_reason.as_deref(), Some("completed"));
}

#[test]
fn an_item_without_deltas_and_one_that_only_the_end_has_are_kept() {
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let blob = json!({"type": "reasoning", "id": "", "summary": [], "encrypted_content": "e"});
    let answer = decode(&[done(0, &blob), completed(&json!([blob, call]))]);
    assert_eq!(answer.blocks.len(), 2);
    assert!(matches!(answer.blocks[1], Block::ToolCall(_)));
}

#[test]
fn items_without_form_keep_their_place_while_they_are_open() {
    let search = |status: &str| json!({"type": "web_search_call", "id": "ws", "status": status});
    let message = json!({"type": "message", "id": "m", "role": "assistant",
        "content": [{"type": "output_text", "text": "hi"}]});
    let answer = decode(&[
        added(0, &search("in_progress")),
        added(1, &json!({"type": "message", "id": "m", "role": "assistant", "content": []})),
        json!({"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "hi"}),
        done(1, &message),
        completed(&json!([search("completed"), message])),
    ]);
    let Block::Other(other) = &answer.blocks[0] else { panic!("{answer:?}") };
    assert_eq!(other.raw.doc().root().text("status").as_deref(), Some("completed"));
    assert_eq!(answer.text(), "hi");
    assert!(answer.is_complete());
}

#[test]
fn an_incomplete_response_says_why() {
    let end = json!({"type": "response.incomplete", "response": {"status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"}, "output": []}});
    let answer = decode(&[end]);
    assert_eq!(answer.finish_reason.as_deref(), Some("max_output_tokens"));
    let body = Responses.write_response(&answer);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["status"], "incomplete");
    assert_eq!(body["incomplete_details"]["reason"], "max_output_tokens");
}

#[test]
fn errors_come_once_and_never_look_complete() {
    let answer = decode(&[
        json!({"type": "error", "code": "server_error", "message": "no"}),
        json!({"type": "response.failed", "response": {"status": "failed",
            "error": {"code": "server_error", "message": "no"}}}),
    ]);
    assert_eq!(answer.problems.len(), 1);
    assert_eq!(answer.upstream_error().unwrap().message, "no");
    assert_eq!(answer.finish_reason, None);
}

#[test]
fn a_call_that_was_cut_has_broken_arguments() {
    let call =
        json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": ""});
    let delta =
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"});
    let answer = decode(&[added(0, &call), delta]);
    let Block::ToolCall(call) = &answer.blocks[0] else { panic!("{answer:?}") };
    assert_eq!(call.parameters, Parameters::Invalid("{}".to_owned()));
}

#[test]
fn encoded_events_have_the_shape_that_clients_expect() {
    let reasoning = json!({"type": "reasoning", "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "think"}]});
    let message = json!({"type": "message", "id": "m", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "hi", "annotations": []}]});
    let events = encoded(&[
        added(0, &json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        summary_delta(0, "think"),
        done(0, &reasoning),
        added(1, &json!({"type": "message", "id": "m", "role": "assistant", "content": []})),
        json!({"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "hi"}),
        done(1, &message),
        completed(&json!([reasoning, message])),
    ]);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
            "response.reasoning_summary_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (at, (name, data)) in events.iter().enumerate() {
        assert_eq!(data["sequence_number"], at);
        assert_eq!(data["type"], name.as_str());
    }
    assert_eq!(events.last().unwrap().1["response"]["output"], json!([reasoning, message]));
}

#[test]
fn a_stream_that_was_cut_is_encoded_without_a_good_end() {
    let events = encoded(&[summary_delta(0, "so")]);
    assert_eq!(events.last().unwrap().0, "response.failed");
    assert!(!events.iter().any(|(name, _)| name == "response.completed"));
}

fn rewritten(body: &Value) -> Value {
    let text = body.to_string();
    let doc = Doc::parse_str(&text).unwrap();
    let request = Responses.read_request(doc.root()).unwrap();
    let written = Responses.write_request(&request, &Dialect::default());
    assert!(written.untranslated.is_empty(), "{:?}", written.untranslated);
    serde_json::from_str(&written.body).unwrap()
}

#[test]
fn a_bare_request_goes_back_out_as_it_came() {
    let bare =
        json!({"model": "m", "input": "hi", "text": {"format": {"type": "text"}}, "stream": true});
    assert_eq!(rewritten(&bare), bare);
}

#[test]
fn consecutive_items_of_the_model_are_one_message() {
    let body = json!({"model": "m", "input": [
        {"role": "user", "content": "q"},
        {"type": "reasoning", "id": "rs", "summary": []},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "r"}]});
    let text = body.to_string();
    let request = Responses.read_request(Doc::parse_str(&text).unwrap().root()).unwrap();
    let speakers: Vec<Speaker> = request.contents.iter().map(|content| content.speaker).collect();
    assert_eq!(speakers, [Speaker::Human, Speaker::Ai, Speaker::Tool]);
}

#[test]
fn what_came_on_another_wire_is_written_in_this_wires_words() {
    let call = ToolCall {
        id: Some("c".to_owned()),
        name: "f".to_owned(),
        parameters: Parameters::default(),
        signature: None,
        extra: Extra::default(),
    };
    let answer = vec![
        Block::Thinking(Thinking::new("hm", "reasoning_content")),
        Block::text("ok"),
        Block::ToolCall(call),
    ];
    let request = Request {
        model: "m".to_owned(),
        contents: vec![
            Content::text(Speaker::System, "sys"),
            Content::text(Speaker::Human, "q"),
            Content::new(Speaker::Ai, answer),
        ],
        tools: vec![Tool::Function {
            name: "f".to_owned(),
            description: None,
            parameters: Some(Raw::parse("{}").unwrap()),
            extra: Extra::default(),
        }],
        stop: vec!["x".to_owned()],
        ..Request::default()
    };
    let mut request = request;
    request.reasoning.enabled = Some(true);
    let written = Responses.write_request(&request, &Dialect::default());
    let body: Value = serde_json::from_str(&written.body).unwrap();
    assert_eq!(
        body,
        json!({
            "model": "m",
            "instructions": "sys",
            "input": [
                {"role": "user", "content": "q"},
                {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
                {"role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
                {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
            "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": false}],
            "include": ["reasoning.encrypted_content"],
        })
    );
    assert_eq!(written.untranslated, ["stop"]);
}

/// The items of an answer that came as a message of Chat Completions, with a thought put before its calls.
fn items_of(message: &Value) -> Value {
    let text = json!({"model": "m", "messages": [message]}).to_string();
    let body = Doc::parse_str(&text).unwrap();
    let mut request = ChatCompletions.read_request(body.root()).unwrap();
    let blocks = &mut request.contents[0].blocks;
    let calls = blocks.iter().position(|block| matches!(block, Block::ToolCall(_)));
    let thought = Thinking { id: Some("rs_1".to_owned()), ..Thinking::new("", "summary") };
    blocks.insert(calls.unwrap_or(0), Block::Thinking(thought));
    let written = Responses.write_request(&request, &Dialect::default());
    serde_json::from_str::<Value>(&written.body).unwrap()["input"].clone()
}

#[test]
fn the_empty_text_beside_calls_is_no_message() {
    let function = json!({"name": "f", "arguments": "{}"});
    let calls = json!([{"id": "c", "type": "function", "function": function}]);
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let empty = json!({"role": "assistant", "content": "", "tool_calls": calls});
    assert_eq!(items_of(&empty), json!([thought, call]));
    let part = json!([{"type": "text", "text": ""}]);
    let listed = json!({"role": "assistant", "content": part, "tool_calls": calls});
    assert_eq!(items_of(&listed), json!([thought, call]));
    // A reasoning item may not stand alone.
    let alone = items_of(&json!({"role": "assistant", "content": ""}));
    let message = json!({"role": "assistant", "content": [{"type": "output_text", "text": ""}]});
    assert_eq!(alone, json!([thought, message]));
    let own = json!({"model": "m", "input": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ""}]}, call]});
    assert_eq!(rewritten(&own), own, "a caller of this wire keeps its items");
}

#[test]
fn a_changed_effort_replaces_only_the_effort() {
    let text = r#"{"model":"m","input":"q","reasoning":{"effort":"high","summary":"detailed","mode":"pro"}}"#;
    let mut request = Responses.read_request(Doc::parse_str(text).unwrap().root()).unwrap();
    request.reasoning.effort = Some(crate::settings::Effort::Low);
    let written = Responses.write_request(&request, &Dialect::default());
    let body: Value = serde_json::from_str(&written.body).unwrap();
    assert_eq!(body["reasoning"], json!({"effort": "low", "summary": "detailed", "mode": "pro"}));
}

#[test]
fn a_request_that_is_none_is_refused_with_its_place() {
    for (body, at) in
        [("[]", "body"), (r#"{"input":1}"#, "input"), (r#"{"input":["x"]}"#, "input[0]")]
    {
        let error = Responses.read_request(Doc::parse_str(body).unwrap().root()).unwrap_err();
        assert_eq!(error.at, at);
    }
}

#[test]
fn answers_of_other_wires_become_whole_items() {
    let call = |name: &str| {
        let parameters = Parameters::default();
        let extra = Extra::default();
        Block::ToolCall(ToolCall {
            id: None,
            name: name.to_owned(),
            parameters,
            signature: None,
            extra,
        })
    };
    let signed = Thinking { signature: Some("s".to_owned()), ..Thinking::new("", "thinking") };
    let answer = Answer {
        blocks: vec![Block::Thinking(signed), Block::text("ok"), call("f"), call("g")],
        finish_reason: Some("length".to_owned()),
        ..Answer::default()
    };
    let body: Value = serde_json::from_str(&Responses.write_response(&answer)).unwrap();
    let ids: Vec<&str> = body["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["rs_0_resp_0", "msg_1_resp_0", "fc_2_resp_0", "fc_3_resp_0"]);
    assert_eq!(body["output"][0]["summary"], json!([]));
    assert_ne!(body["output"][2]["call_id"], body["output"][3]["call_id"]);
    assert_eq!(body["status"], "incomplete");
    assert_eq!(body["incomplete_details"]["reason"], "max_output_tokens");

    let mut encoder = Responses.encoder();
    let mut bytes = Vec::new();
    for (block, name) in [(0, "f"), (1, "g")] {
        let Block::ToolCall(call) = call(name) else { panic!() };
        encoder.event(Event::ToolCallStart { block, call: &ToolCall::new(None, name) }, &mut bytes);
        encoder.event(Event::ToolCallEnd { block, call: &call }, &mut bytes);
    }
    encoder.event(Event::Finish { finish_reason: Some("tool_calls"), model: None }, &mut bytes);
    encoder.end(&mut bytes);
    let events = framed(&bytes);
    let of = |name: &str| -> Vec<Value> {
        let all = events.iter().filter(|(event, _)| event == name);
        all.map(|(_, data)| data["item"]["call_id"].clone()).collect()
    };
    assert_eq!(of("response.output_item.added"), of("response.output_item.done"));
    assert_ne!(of("response.output_item.done")[0], of("response.output_item.done")[1]);
}

#[test]
fn a_call_with_free_text_is_streamed_as_one_from_its_start() {
    let mut call = ToolCall::new(Some("c"), "sh");
    let mut encoder = Responses.encoder();
    let mut bytes = Vec::new();
    call.parameters = Parameters::Free(String::new());
    encoder.event(Event::ToolCallStart { block: 0, call: &call }, &mut bytes);
    encoder.event(Event::ToolCallDelta { block: 0, delta: "ls" }, &mut bytes);
    call.parameters = Parameters::Free("ls".to_owned());
    encoder.event(Event::ToolCallEnd { block: 0, call: &call }, &mut bytes);
    let events = framed(&bytes);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).skip(2).collect();
    assert_eq!(
        names,
        [
            "response.output_item.added",
            "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.done",
            "response.output_item.done",
        ]
    );
    assert_eq!(events[2].1["item"]["type"], "custom_tool_call");
    assert_eq!(events[5].1["item"]["input"], "ls");
    assert_eq!(events[2].1["item"]["id"], events[5].1["item"]["id"]);
}

#[test]
fn items_without_a_last_word_are_complete_when_the_response_is() {
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": ""});
    let reasoning = json!({"type": "reasoning", "id": "rs", "summary": []});
    let answer = decode(&[
        added(0, &reasoning),
        summary_delta(0, "so"),
        added(1, &call),
        json!({"type": "response.function_call_arguments.done", "output_index": 1, "arguments": "{\"a\":1}"}),
        completed(&json!([])),
    ]);
    assert!(answer.is_complete());
    assert!(!thinking(&answer).partial);
    let Block::ToolCall(call) = &answer.blocks[1] else { panic!("{answer:?}") };
    assert_eq!(call.parameters.as_text(), "{\"a\":1}");
    assert!(matches!(call.parameters, Parameters::Json(_)));
}
