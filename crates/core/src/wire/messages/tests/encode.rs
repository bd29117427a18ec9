//! Answers for callers of this wire.

use super::{DELTA, START, STOP, decode, encode, stream, whole};
use crate::answer::Answer;
use crate::content::{Block, Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Fact};
use crate::json::{Extra, Raw};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::messages::Messages;
use crate::wire::{ErrorBody, Wire};
use serde_json::{Value, json};

/// Kind and data of each event of an encoded stream.
fn events(stream: &str) -> Vec<Value> {
    stream
        .split_terminator("\n\n")
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
            data
        })
        .collect()
}

fn kinds(stream: &str) -> Vec<String> {
    events(stream)
        .iter()
        .map(|event| {
            let inner = event["delta"]["type"].as_str().or(event["content_block"]["type"].as_str());
            let kind = event["type"].as_str().unwrap().trim_start_matches("content_block_");
            inner.map_or(kind.to_owned(), |inner| format!("{kind} {inner}"))
        })
        .collect()
}

fn call(id: &str, parameters: Parameters) -> ToolCall {
    ToolCall {
        id: Some(id.into()),
        name: "f".into(),
        parameters,
        signature: None,
        extra: Extra::default(),
    }
}

#[test]
fn blocks_come_one_after_the_other_however_they_interleave() {
    let thought = Thinking { signature: Some("S".into()), ..Thinking::default() };
    let (a, b) = (
        call("a", Parameters::from_text(r#"{"n":1}"#)),
        call("b", Parameters::from_text(r#"{"n":2}"#)),
    );
    let out = encode(|say| {
        say(Event::Fact(Fact::ResponseId("r")));
        say(Event::Fact(Fact::Model("m")));
        say(Event::ThinkingStart { block: 0, source_field: "reasoning" });
        say(Event::ThinkingDelta { block: 0, delta: "hm" });
        say(Event::TextStart { block: 1 });
        say(Event::TextDelta { block: 1, delta: "so" });
        say(Event::ThinkingDelta { block: 0, delta: "!" });
        say(Event::ThinkingEnd { block: 0, thinking: &thought, thought: None });
        say(Event::ToolCallStart { block: 2, call: &ToolCall::new(Some("a"), "f") });
        say(Event::ToolCallStart { block: 3, call: &ToolCall::new(Some("b"), "f") });
        say(Event::ToolCallDelta { block: 3, delta: r#"{"n":"# });
        say(Event::ToolCallDelta { block: 2, delta: r#"{"n":1}"# });
        say(Event::TextDelta { block: 1, delta: " it is" });
        say(Event::TextEnd { block: 1, text: &Text::default(), whole: None });
        say(Event::ToolCallDelta { block: 3, delta: "2}" });
        say(Event::ToolCallEnd { block: 3, call: &b });
        say(Event::ToolCallEnd { block: 2, call: &a });
        say(Event::Finish { finish_reason: Some("stop"), model: None });
    });
    assert_eq!(
        kinds(&out),
        [
            "message_start",
            "start thinking",
            "delta thinking_delta",
            "delta thinking_delta",
            "delta signature_delta",
            "stop",
            "start text",
            "delta text_delta",
            "delta text_delta",
            "stop",
            "start tool_use",
            "delta input_json_delta",
            "stop",
            "start tool_use",
            "delta input_json_delta",
            "stop",
            "message_delta",
            "message_stop",
        ]
    );
    let indices: Vec<_> = events(&out).iter().filter_map(|event| event["index"].as_u64()).collect();
    assert!(indices.is_sorted(), "{indices:?}");
    let answer = decode(&out);
    assert_eq!(answer.finish_reason.as_deref(), Some("tool_use"));
    let Block::Thinking(thinking) = &answer.blocks[0] else { panic!() };
    assert_eq!((thinking.thought.as_str(), thinking.signature.as_deref()), ("hm!", Some("S")));
    assert_eq!(answer.text(), "so it is");
    assert_eq!(answer.blocks[2..], [Block::ToolCall(a), Block::ToolCall(b)]);
}

#[test]
fn what_a_stream_says_can_be_said_again() {
    let text = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi","citations":[{"n":1}],"x":1}}"#;
    let redacted = r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"R="}}"#;
    let signed = r#"{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"","signature":"S"}}"#;
    let tool = r#"{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","name":"n","input":{"q":[1, 2]},"caller":{}}}"#;
    let call = r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"t","name":"f","input":{},"caller":{"type":"direct"}}}"#;
    let delta = r#"{"type":"message_delta","context_management":{"applied_edits":[]},"delta":{"stop_reason":"model_context_window_exceeded","stop_sequence":"X","container":{"id":"c"}},"usage":{"output_tokens":7,"input_tokens":12}}"#;
    let answer = stream(&[START, text, redacted, signed, tool, call, delta, STOP]);
    assert!(answer.is_complete());
    let again = encode(|say| replay(&answer, say));
    assert_eq!(decode(&again), answer);
    assert_eq!(whole(&Messages.write_response(&answer)), answer);
}

/// Says an answer as events.
fn replay(answer: &Answer, say: &mut dyn FnMut(Event<'_>)) {
    let fact = |text: &Option<String>| text.clone().unwrap_or_default();
    say(Event::Fact(Fact::ResponseId(&fact(&answer.response_id))));
    say(Event::Fact(Fact::Model(&fact(&answer.model))));
    for (block, value) in answer.blocks.iter().enumerate() {
        say(Event::Whole { block, value });
    }
    for (key, value) in &answer.extra.fields {
        say(Event::Fact(Fact::Field { wire: "messages", key, value }));
    }
    if let Some(stop) = &answer.stop_sequence {
        say(Event::Fact(Fact::StopSequence(stop)));
    }
    if let Some(usage) = &answer.usage {
        say(Event::Usage(usage));
    }
    say(Event::Finish { finish_reason: answer.finish_reason.as_deref(), model: None });
}

#[test]
fn an_answer_without_anything_is_still_a_message() {
    let out = encode(|say| say(Event::Finish { finish_reason: None, model: None }));
    assert_eq!(kinds(&out), ["message_start", "message_delta", "message_stop"]);
    assert!(decode(&out).is_complete());
    let body: Value = serde_json::from_str(&Messages.write_response(&Answer::default())).unwrap();
    assert_eq!(
        body,
        json!({
            "id": "msg_nameless", "type": "message", "role": "assistant", "model": "", "content": [],
            "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0},
        })
    );
}

#[test]
fn cuts_and_errors_become_the_error_event_and_nothing_follows() {
    let problem = Problem::new(ProblemCode::UpstreamError, "Overloaded").at("overloaded_error");
    let out = encode(|say| {
        say(Event::TextStart { block: 0 });
        say(Event::TextDelta { block: 0, delta: "half" });
        say(Event::Problem(&Problem::new(ProblemCode::Unknown, "a new event")));
        say(Event::Problem(&problem));
        say(Event::TextDelta { block: 0, delta: "!" });
        say(Event::Finish { finish_reason: Some("stop"), model: None });
    });
    let last = events(&out).pop().unwrap();
    assert_eq!(
        last,
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    );
    let answer = decode(&out);
    assert_eq!((answer.text().as_str(), answer.problems), ("half", vec![problem]));
    let out = encode(|say| say(Event::Problem(&Problem::new(ProblemCode::Truncated, "cut"))));
    assert_eq!(
        events(&out),
        [json!({"type": "error", "error": {"type": "api_error", "message": "cut"}})]
    );
    let out = encode(|say| {
        say(Event::TextStart { block: 0 });
        say(Event::TextDelta { block: 0, delta: "half" });
    });
    assert!(!decode(&out).is_complete(), "without a finish nothing looks complete");
}

#[test]
fn thoughts_of_other_wires_become_blocks_or_nothing() {
    let encrypted =
        Thinking { encrypted_content: Some("E".into()), ..Thinking::new("", "summary") };
    let plain = Thinking::new("aloud", "reasoning");
    let answer = Answer {
        blocks: vec![Block::Thinking(encrypted), Block::Thinking(plain), Block::text("x")],
        ..Answer::default()
    };
    let body: Value = serde_json::from_str(&Messages.write_response(&answer)).unwrap();
    let wanted = json!([
        {"type": "thinking", "thinking": "aloud", "signature": ""},
        {"type": "text", "text": "x"},
    ]);
    assert_eq!(body["content"], wanted);
    let out = encode(|say| replay(&answer, say));
    let blocks = decode(&out).blocks;
    assert_eq!(blocks, whole(&Messages.write_response(&answer)).blocks);
    assert_eq!(events(&out)[1]["index"], 0, "indices have no holes");
}

#[test]
fn plans_and_refusals_are_text_here() {
    let answer = Answer {
        blocks: vec![Block::ToolCall(call("a", Parameters::default()))],
        tool_plan: Some("first f".into()),
        refusal: Some("no".into()),
        finish_reason: Some("content_filter".into()),
        ..Answer::default()
    };
    let read = whole(&Messages.write_response(&answer));
    let wanted = [Block::text("first f"), answer.blocks[0].clone(), Block::text("no")];
    assert_eq!(read.blocks, wanted);
    assert_eq!(read.finish_reason.as_deref(), Some("refusal"));
    let out = encode(|say| {
        say(Event::Fact(Fact::ToolPlan("first ")));
        say(Event::Fact(Fact::ToolPlan("f")));
        say(Event::Fact(Fact::Refusal("no")));
        replay(&Answer { tool_plan: None, refusal: None, ..answer.clone() }, say);
    });
    assert_eq!(decode(&out).blocks, wanted);
}

#[test]
fn answers_and_calls_without_an_id_get_one_and_it_is_the_same_streamed_and_whole() {
    let calls = [None, Some("own")].map(|id| {
        let id = id.map(str::to_owned);
        Block::ToolCall(ToolCall { id, ..call("", Parameters::default()) })
    });
    let answer = Answer { blocks: calls.to_vec(), ..Answer::default() };
    let named = Answer { response_id: Some("r".into()), ..answer.clone() };
    for (answer, id) in [(&answer, "msg_nameless"), (&named, "r")] {
        let whole: Value = serde_json::from_str(&Messages.write_response(answer)).unwrap();
        assert_eq!(whole["id"], id);
        let first = whole["content"][0]["id"].as_str().unwrap().to_owned();
        assert!(first.starts_with("toolu_") && first.ends_with("_0"), "{first}");
        assert_eq!(whole["content"][1]["id"], "own");
        let (mut encoder, mut out) = (Messages.encoder(), Vec::new());
        if let Some(id) = &answer.response_id {
            encoder.event(Event::Fact(Fact::ResponseId(id)), &mut out);
        }
        for (block, value) in answer.blocks.iter().enumerate() {
            let Block::ToolCall(call) = value else { continue };
            encoder.event(Event::ToolCallStart { block, call }, &mut out);
            encoder.event(Event::ToolCallEnd { block, call }, &mut out);
        }
        encoder.end(&mut out);
        let stream = String::from_utf8(out).unwrap();
        assert!(stream.contains(&format!(r#""id":"{first}""#)), "{stream}");
        assert!(stream.contains(&format!(r#""id":"{id}""#)), "{stream}");
    }
}

#[test]
fn broken_arguments_stay_recognisable() {
    let broken = Block::ToolCall(call("a", Parameters::Invalid("{\"n\"".into())));
    let answer = Answer { blocks: vec![broken.clone()], ..Answer::default() };
    assert_eq!(whole(&Messages.write_response(&answer)).blocks, [broken]);
}

#[test]
fn endings_are_said_in_this_wires_words() {
    for (word, has_call, own) in [
        (Some("stop"), false, "end_turn"),
        (Some("STOP"), true, "tool_use"),
        (Some("completed"), true, "tool_use"),
        (Some("end_turn"), true, "end_turn"),
        (Some("length"), true, "max_tokens"),
        (Some("MAX_TOKENS"), false, "max_tokens"),
        (Some("tool_calls"), false, "tool_use"),
        (Some("SAFETY"), false, "refusal"),
        (Some("pause_turn"), true, "pause_turn"),
        (Some("stop_sequence"), false, "stop_sequence"),
        (Some("something_new"), false, "something_new"),
        (Some(""), false, "end_turn"),
        (None, true, "tool_use"),
        (None, false, "end_turn"),
    ] {
        let blocks =
            if has_call { vec![Block::ToolCall(call("a", Parameters::default()))] } else { vec![] };
        let answer = Answer { blocks, finish_reason: word.map(str::to_owned), ..Answer::default() };
        let body: Value = serde_json::from_str(&Messages.write_response(&answer)).unwrap();
        assert_eq!(body["stop_reason"], own, "{word:?} {has_call}");
    }
}

#[test]
fn counts_of_other_providers_are_said_as_this_wire_counts() {
    let usage = |cached: u64, total: Option<u64>| Usage {
        input_tokens: Some(1000),
        output_tokens: Some(50),
        reasoning_tokens: Some(20),
        cache_read_tokens: Some(cached),
        total_tokens: total,
        raw: Some(Raw::parse(r#"{"prompt_tokens":1000}"#).unwrap()),
        ..Usage::default()
    };
    for (usage, input, output) in [
        (usage(800, Some(1050)), 200, 50),
        (usage(800, Some(1850)), 1000, 50),
        (usage(8000, None), 1000, 50),
        (usage(0, Some(1070)), 1000, 70),
    ] {
        let answer = Answer { usage: Some(usage.clone()), ..Answer::default() };
        let body: Value = serde_json::from_str(&Messages.write_response(&answer)).unwrap();
        let got = &body["usage"];
        assert_eq!(
            (got["input_tokens"].as_u64(), got["output_tokens"].as_u64()),
            (Some(input), Some(output)),
            "{usage:?}"
        );
        assert_eq!(got["output_tokens_details"]["thinking_tokens"], 20);
        assert_eq!(got["cache_read_input_tokens"].as_u64(), usage.cache_read_tokens);
    }
}

#[test]
fn line_ends_inside_kept_json_never_end_a_data_line() {
    let start = START.replace(r#""usage":{"#, "\"usage\":{\n\r  ");
    let answer = stream(&[&start, DELTA, STOP]);
    let out = encode(|say| replay(&answer, say));
    assert_eq!(events(&out).len(), 3);
    assert_eq!(decode(&out).usage.unwrap().input_tokens, Some(9));
}

#[test]
fn errors_have_a_word_that_clients_know() {
    let write = |status: u16, code: &str| -> Value {
        let error = ErrorBody { status, code: code.to_owned(), message: "m".to_owned() };
        serde_json::from_str(&Messages.write_error(&error)).unwrap()
    };
    assert_eq!(
        write(400, "reasoning_missing"),
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "m", "code": "reasoning_missing"}})
    );
    assert_eq!(
        write(500, "overloaded_error"),
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "m"}})
    );
    assert_eq!(write(429, "slow")["error"]["type"], "rate_limit_error");
    assert_eq!(write(502, "bad_gateway")["error"]["type"], "api_error");
}
