//! Answers: read whole and from streams, and written again.

use crate::answer::Answer;
use crate::content::{Block, Parameters, Thinking, ToolCall};
use crate::event::{Event, Fold};
use crate::frame::Frame;
use crate::frame::event_stream::EventStreamDecoder;
use crate::json::{Doc, Extra};
use crate::problem::{Problem, ProblemCode};
use crate::wire::converse::Converse;
use crate::wire::{Dialect, Wire};
use serde_json::{Value, json};

/// A stream's answer from the names and data of its events.
fn stream(events: &[(&str, &str)]) -> Answer {
    let mut fold = Fold::new();
    let mut decoder = Converse.decoder(&Dialect::default());
    for (name, data) in events {
        decoder.message(Some(name), data, &mut fold);
    }
    decoder.end(&mut fold);
    fold.finish()
}

fn whole(body: &str) -> Answer {
    let mut fold = Fold::new();
    let doc = Doc::parse_str(body).unwrap();
    Converse.read_response(doc.root(), &Dialect::default(), &mut fold);
    fold.finish()
}

fn codes(answer: &Answer) -> Vec<ProblemCode> {
    answer.problems.iter().map(|problem| problem.code).collect()
}

fn encode(say: impl FnOnce(&mut dyn FnMut(Event<'_>))) -> Vec<(String, Value)> {
    let mut encoder = Converse.encoder();
    let mut out = Vec::new();
    say(&mut |event| encoder.event(event, &mut out));
    encoder.end(&mut out);
    let mut events = Vec::new();
    EventStreamDecoder::default().push(&out, &mut |frame| match frame {
        Frame::Event(event) => {
            let data = serde_json::from_str(event.data).unwrap();
            events.push((event.event.unwrap().to_owned(), data));
        }
        Frame::Comment | Frame::Problem(_) => panic!("{frame:?}"),
    });
    events
}

/// Reads what the encoder wrote.
fn decode(events: &[(String, Value)]) -> Answer {
    let events: Vec<_> =
        events.iter().map(|(name, data)| (name.as_str(), data.to_string())).collect();
    stream(&events.iter().map(|(name, data)| (*name, data.as_str())).collect::<Vec<_>>())
}

fn replay(answer: &Answer, say: &mut dyn FnMut(Event<'_>)) {
    for (block, value) in answer.blocks.iter().enumerate() {
        say(Event::Whole { block, value });
    }
    for (key, value) in &answer.extra.fields {
        say(Event::Fact(crate::event::Fact::Field { wire: "converse", key, value }));
    }
    if let Some(usage) = &answer.usage {
        say(Event::Usage(usage));
    }
    say(Event::Finish { finish_reason: answer.finish_reason.as_deref(), model: None });
}

const START: (&str, &str) = ("messageStart", r#"{"role":"assistant","p":"abc"}"#);
const STOP: (&str, &str) = ("messageStop", r#"{"stopReason":"tool_use","p":"ab"}"#);
const METADATA: (&str, &str) = (
    "metadata",
    r#"{"usage":{"inputTokens":9,"outputTokens":7,"totalTokens":20,"cacheReadInputTokens":4},"metrics":{"latencyMs":5},"p":"a"}"#,
);

const BLOCKS: &[(&str, &str)] = &[
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Let me"}}}"#,
    ),
    ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":""}}}"#),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"Ep0C"}}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":0}"#),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"YQ=="}}}"#,
    ),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":1,"delta":{"reasoningContent":{"redactedContent":"Yg=="}}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":2,"delta":{"reasoningContent":{"signature":"only"}}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":2}"#),
    ("contentBlockDelta", r#"{"contentBlockIndex":3,"delta":{"reasoningContent":{"text":""}}}"#),
    ("contentBlockStop", r#"{"contentBlockIndex":3}"#),
    ("contentBlockDelta", r#"{"contentBlockIndex":4,"delta":{"text":"3"}}"#),
    ("contentBlockDelta", r#"{"contentBlockIndex":4,"delta":{"citation":{"title":"t"}}}"#),
    ("contentBlockStop", r#"{"contentBlockIndex":4}"#),
    (
        "contentBlockStart",
        r#"{"contentBlockIndex":5,"start":{"toolUse":{"toolUseId":"t","name":"f"}}}"#,
    ),
    ("contentBlockDelta", r#"{"contentBlockIndex":5,"delta":{"toolUse":{"input":"{\"a\":"}}}"#),
    ("contentBlockDelta", r#"{"contentBlockIndex":5,"delta":{"toolUse":{"input":" 1}"}}}"#),
    ("contentBlockStop", r#"{"contentBlockIndex":5}"#),
    (
        "contentBlockStart",
        r#"{"contentBlockIndex":6,"start":{"toolUse":{"toolUseId":"s","name":"search","type":"server_tool_use"}}}"#,
    ),
    ("contentBlockDelta", r#"{"contentBlockIndex":6,"delta":{"toolUse":{"input":"{\"q\":2}"}}}"#),
    ("contentBlockStop", r#"{"contentBlockIndex":6}"#),
    (
        "contentBlockStart",
        r#"{"contentBlockIndex":7,"start":{"toolResult":{"toolUseId":"s","status":"success"}}}"#,
    ),
    ("contentBlockDelta", r#"{"contentBlockIndex":7,"delta":{"toolResult":[{"text":"a"}]}}"#),
    ("contentBlockDelta", r#"{"contentBlockIndex":7,"delta":{"toolResult":[{"json":{}}]}}"#),
    ("contentBlockStop", r#"{"contentBlockIndex":7}"#),
    ("contentBlockStart", r#"{"contentBlockIndex":8,"start":{"image":{"format":"png"}}}"#),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":8,"delta":{"image":{"source":{"bytes":"AA=="}}}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":8}"#),
];

fn events() -> Vec<(&'static str, &'static str)> {
    [&[START], BLOCKS, &[STOP, METADATA]].concat()
}

#[test]
fn blocks_open_with_their_first_delta_and_end_with_all_that_came() {
    let answer = stream(&events());
    assert_eq!(answer.problems, []);
    let thinking = |thought: &str| Thinking::new(thought, "reasoningContent");
    assert_eq!(
        answer.blocks[..3],
        [
            Block::Thinking(Thinking { signature: Some("Ep0C".into()), ..thinking("Let me") }),
            Block::Thinking(Thinking { redacted_data: Some("YWI=".into()), ..thinking("") }),
            Block::Thinking(Thinking { signature: Some("only".into()), ..thinking("") }),
        ]
    );
    let Block::Text(text) = &answer.blocks[3] else { panic!("an empty thought is none") };
    assert_eq!(text.extra.get("converse", "citations").unwrap().as_str(), r#"[{"title":"t"}]"#);
    let Block::ToolCall(call) = &answer.blocks[4] else { panic!() };
    assert_eq!((call.id.as_deref(), call.parameters.as_text()), (Some("t"), r#"{"a": 1}"#));
    let raws: Vec<_> = answer.blocks[5..]
        .iter()
        .map(|block| match block {
            Block::Other(other) => other.raw.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        raws,
        [
            r#"{"toolUse":{"toolUseId":"s","name":"search","type":"server_tool_use","input":{"q":2}}}"#,
            r#"{"toolResult":{"toolUseId":"s","status":"success","content":[{"text":"a"},{"json":{}}]}}"#,
            r#"{"image":{"format":"png","source":{"bytes":"AA=="}}}"#,
        ]
    );
    let usage = answer.usage.unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens, usage.total_tokens),
        (Some(9), Some(7), Some(20))
    );
    assert_eq!(
        (usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens),
        (Some(4), None, None)
    );
    assert_eq!(answer.finish_reason.as_deref(), Some("tool_use"));
    assert_eq!(answer.extra.get("converse", "metrics").unwrap().as_str(), r#"{"latencyMs":5}"#);
}

#[test]
fn what_a_stream_says_can_be_said_again() {
    let answer = stream(&events());
    let again = encode(|say| replay(&answer, say));
    let canonical = |answer: &Answer| {
        let text = format!("{answer:?}");
        text.split_whitespace().collect::<String>()
    };
    assert_eq!(canonical(&decode(&again)), canonical(&answer));
    let names: Vec<&str> = again.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.first(), Some(&"messageStart"));
    assert_eq!(names[names.len() - 2..], ["messageStop", "metadata"]);
    // In whole responses cited text is a block of its own kind; all else is the same.
    let whole = whole(&Converse.write_response(&answer));
    for (at, (is, was)) in whole.blocks.iter().zip(&answer.blocks).enumerate() {
        assert!(is == was || at == 3, "{is:?} {was:?}");
    }
    assert_eq!(whole.usage, answer.usage);
}

#[test]
fn events_recorded_as_json_have_their_name_around_them() {
    let wrapped: Vec<_> =
        events().iter().map(|(name, data)| format!(r#"{{"{name}":{data}}}"#)).collect();
    let mut fold = Fold::new();
    let mut decoder = Converse.decoder(&Dialect::default());
    for event in &wrapped {
        decoder.message(None, event, &mut fold);
    }
    assert!(decoder.is_complete());
    decoder.end(&mut fold);
    assert_eq!(fold.finish(), stream(&events()));
}

#[test]
fn a_cut_stream_keeps_what_came_and_never_looks_complete() {
    let events = events();
    let full = stream(&events);
    for cut in 0..events.len() {
        let answer = stream(&events[..cut]);
        assert_eq!(codes(&answer), [ProblemCode::Truncated], "cut at {cut}");
        assert_eq!(answer.finish_reason, None);
        for (part, whole) in answer.blocks.iter().zip(&full.blocks) {
            match (part, whole) {
                (Block::Thinking(part), whole) => {
                    assert!(part.partial || Block::Thinking(part.clone()) == *whole);
                }
                (Block::ToolCall(part), whole) => {
                    let is_broken = matches!(part.parameters, Parameters::Invalid(_));
                    assert!(is_broken || Block::ToolCall(part.clone()) == *whole);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn exceptions_and_errors_keep_what_came() {
    let text = ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"half"}}"#);
    for (name, data, message) in [
        ("modelStreamErrorException", r#"{"message":"broke","originalStatusCode":500}"#, "broke"),
        ("throttlingException", r#"{"Message":"slow"}"#, "slow"),
        ("InternalFailure", "no json at all", "no json at all"),
        ("newException", "{}", "the provider gave no message"),
    ] {
        let answer = stream(&[START, text, (name, data)]);
        assert_eq!(answer.text(), "half");
        assert_eq!(codes(&answer), [ProblemCode::UpstreamError]);
        let problem = &answer.problems[0];
        assert_eq!((problem.message.as_str(), problem.at.as_deref()), (message, Some(name)));
        assert!(!answer.is_complete());
    }
    let error = whole(r#"{"message":"The model returned the following errors: x"}"#);
    assert_eq!(codes(&error), [ProblemCode::UpstreamError]);
}

#[test]
fn what_is_unknown_is_kept_or_skipped_and_said() {
    let answer = stream(&[
        START,
        ("weather", r#"{"sunny":true}"#),
        ("contentBlockDelta", "{broken"),
        ("contentBlockStart", r#"{"contentBlockIndex":0}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"toolUse":{"input":"1"}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":1,"delta":{"hologram":{"a":"x"}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":1,"delta":{"hologram":{"a":"y","b":[1]}}}"#),
        ("contentBlockDelta", r#"{"contentBlockIndex":1,"delta":{"text":"no"}}"#),
        ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        (
            "contentBlockDelta",
            r#"{"contentBlockIndex":2,"delta":{"reasoningContent":{"text":"t","newShape":{"n":1}}}}"#,
        ),
        STOP,
        METADATA,
    ]);
    let Block::Other(other) = &answer.blocks[0] else { panic!() };
    assert_eq!(
        (other.kind.as_str(), other.raw.as_str()),
        ("hologram", r#"{"hologram":{"a":"xy","b":[1]}}"#)
    );
    let Block::Thinking(thinking) = &answer.blocks[1] else { panic!() };
    assert_eq!(thinking.extra.get("converse", "newShape").unwrap().as_str(), r#"{"n":1}"#);
    assert_eq!(codes(&answer).iter().filter(|code| **code == ProblemCode::Unknown).count(), 5);
    assert_eq!(answer.problems.len(), 6);
    assert!(answer.is_complete());
}

#[test]
fn whole_responses_keep_oddities() {
    let answer = whole(
        r#"{"output":{"message":{"role":"assistant","content":[
        {"reasoningContent":{"reasoningText":{"text":""}}},
        {"reasoningContent":{"redactedReasoning":{"data":"R="}}},
        {"reasoningContent":{"newShape":1}},
        {"text":""},
        {"toolUse":{"toolUseId":"t","name":"f","input":"{\"a\""}},
        {}]}},"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3},"stopReason":"malformed_tool_use","additionalModelResponseFields":{"stop_sequence":"END"},"trace":null}"#,
    );
    assert_eq!(answer.blocks.len(), 4);
    let Block::Thinking(thinking) = &answer.blocks[0] else { panic!() };
    assert_eq!(thinking.redacted_data.as_deref(), Some("R="));
    let Block::ToolCall(call) = &answer.blocks[2] else { panic!() };
    assert_eq!(call.parameters, Parameters::Invalid("{\"a\"".into()));
    assert_eq!(answer.stop_sequence.as_deref(), Some("END"));
    assert_eq!(answer.finish_reason.as_deref(), Some("malformed_tool_use"));
    let again = whole(&Converse.write_response(&answer));
    assert_eq!(again, answer);
}

#[test]
fn cuts_and_errors_become_an_exception_and_nothing_follows() {
    let problem = Problem::new(ProblemCode::UpstreamError, "slow").at("throttlingException");
    let events = encode(|say| {
        say(Event::TextStart { block: 0 });
        say(Event::TextDelta { block: 0, delta: "half" });
        say(Event::Problem(&problem));
        say(Event::Finish { finish_reason: Some("stop"), model: None });
    });
    assert_eq!(
        events.last().unwrap(),
        &("throttlingException".to_owned(), json!({"message": "slow"}))
    );
    assert_eq!(decode(&events).problems, [problem]);
    let cut = encode(|say| say(Event::Problem(&Problem::new(ProblemCode::Truncated, "cut"))));
    assert_eq!(cut, [("modelStreamErrorException".to_owned(), json!({"message": "cut"}))]);
}

#[test]
fn answers_from_elsewhere_are_said_in_this_wires_words() {
    let call = ToolCall {
        id: None,
        name: "f".into(),
        parameters: Parameters::default(),
        signature: None,
        extra: Extra::default(),
    };
    let encrypted = Thinking { encrypted_content: Some("E".into()), ..Thinking::default() };
    let answer = Answer {
        blocks: vec![
            Block::Thinking(encrypted),
            Block::Thinking(Thinking::new("aloud", "reasoning")),
            Block::ToolCall(call),
        ],
        tool_plan: Some("plan".into()),
        finish_reason: Some("stop".into()),
        ..Answer::default()
    };
    let body: Value = serde_json::from_str(&Converse.write_response(&answer)).unwrap();
    assert_eq!(
        body,
        json!({
            "output": {"message": {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "aloud"}}},
                {"text": "plan"},
                {"toolUse": {"toolUseId": "toolu_nameless_0", "name": "f", "input": {}}},
            ]}},
            "stopReason": "tool_use",
            "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0},
        })
    );
    for (word, own) in [
        ("length", "max_tokens"),
        ("SAFETY", "content_filtered"),
        ("guardrail_intervened", "guardrail_intervened"),
        ("content_filtered", "content_filtered"),
        ("malformed_model_output", "malformed_model_output"),
        ("model_context_window_exceeded", "model_context_window_exceeded"),
        ("end_turn", "end_turn"),
    ] {
        let answer = Answer { finish_reason: Some(word.into()), ..answer.clone() };
        let body: Value = serde_json::from_str(&Converse.write_response(&answer)).unwrap();
        assert_eq!(body["stopReason"], own);
    }
}
