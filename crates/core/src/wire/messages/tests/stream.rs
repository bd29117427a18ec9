//! Reading answers: streams, and whole responses where they differ.

use super::{DELTA, START, STOP, codes, stream, thoughts, whole};
use crate::content::{Block, Parameters};
use crate::event::Fold;
use crate::problem::ProblemCode;
use crate::wire::messages::Messages;
use crate::wire::{Dialect, Wire};

fn block(index: u32, start: &str, deltas: &[&str]) -> Vec<String> {
    let mut events = vec![format!(
        r#"{{"type":"content_block_start","index":{index},"content_block":{start}}}"#
    )];
    events.extend(deltas.iter().map(|delta| {
        format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
    }));
    events.push(format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
    events
}

/// The answer to a stream with these blocks.
fn answer_with(blocks: &[Vec<String>]) -> crate::answer::Answer {
    let middle: Vec<&str> = blocks.iter().flatten().map(String::as_str).collect();
    stream(&[&[START], middle.as_slice(), &[DELTA, STOP]].concat())
}

const THINKING: &str = r#"{"type":"thinking","thinking":"","signature":""}"#;
const TEXT: &str = r#"{"type":"text","text":""}"#;
const CALL: &str = r#"{"type":"tool_use","id":"toolu_1","name":"f","input":{}}"#;

#[test]
fn a_signature_belongs_to_its_thought_whatever_stands_between() {
    let mut first = block(
        0,
        THINKING,
        &[
            r#"{"type":"thinking_delta","thinking":"Let "}"#,
            r#"{"type":"thinking_delta","thinking":"me","estimated_tokens":3}"#,
            r#"{"type":"signature_delta","signature":"Sig1"}"#,
        ],
    );
    first.insert(2, r#"{"type": "ping"}"#.to_owned());
    let second = block(1, THINKING, &[r#"{"type":"signature_delta","signature":"Sig2"}"#]);
    let nothing = block(2, THINKING, &[]);
    let text = block(3, TEXT, &[r#"{"type":"text_delta","text":"Hi"}"#]);
    let answer = answer_with(&[first, second, nothing, text]);
    assert_eq!(answer.problems, []);
    let thoughts = thoughts(&answer);
    assert_eq!(thoughts.len(), 2, "a thought with neither text nor payload is none");
    assert_eq!(
        (thoughts[0].thought.as_str(), thoughts[0].signature.as_deref()),
        ("Let me", Some("Sig1"))
    );
    assert_eq!(
        (thoughts[1].thought.as_str(), thoughts[1].signature.as_deref()),
        ("", Some("Sig2"))
    );
    assert_eq!(thoughts[0].source_field, "thinking");
    assert!(thoughts.iter().all(|thought| !thought.partial));
    assert_eq!(answer.text(), "Hi");
}

#[test]
fn redacted_thoughts_come_whole_and_stay_apart() {
    let one = block(0, r#"{"type":"redacted_thinking","data":"AAA="}"#, &[]);
    let two = block(1, r#"{"type":"redacted_thinking","data":"BBB="}"#, &[]);
    let answer = answer_with(&[one, two]);
    let data: Vec<_> = thoughts(&answer).iter().map(|t| t.redacted_data.clone().unwrap()).collect();
    assert_eq!(data, ["AAA=", "BBB="]);
}

#[test]
fn a_block_may_begin_with_its_text() {
    let thought = block(0, r#"{"type":"thinking","thinking":"whole","signature":"S"}"#, &[]);
    let call = block(1, r#"{"type":"tool_use","id":"t","name":"f","input":{"a":1}}"#, &[]);
    let answer = answer_with(&[thought, call]);
    assert_eq!(thoughts(&answer)[0].thought, "whole");
    let Block::ToolCall(call) = &answer.blocks[1] else { panic!() };
    assert_eq!(call.parameters.as_text(), r#"{"a":1}"#);
}

#[test]
fn arguments_are_their_deltas() {
    let json = |text: &str| format!(r#"{{"type":"input_json_delta","partial_json":{text}}}"#);
    let parts = [json(r#""""#), json(r#""{\"a\": 1""#), json(r#"".0}""#)];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let broken = json(r#""{\"a\"""#);
    let answer =
        answer_with(&[block(0, CALL, &parts), block(1, CALL, &[]), block(2, CALL, &[&broken])]);
    let parameters: Vec<_> = answer
        .blocks
        .iter()
        .map(|block| match block {
            Block::ToolCall(call) => call.parameters.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(parameters[0].as_text(), r#"{"a": 1.0}"#);
    assert_eq!(parameters[1], Parameters::default());
    assert_eq!(parameters[2], Parameters::Invalid(r#"{"a""#.to_owned()));
}

#[test]
fn blocks_without_a_form_keep_all_that_came() {
    let search = block(
        0,
        r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{},"caller":{"type":"direct"}}"#,
        &[
            r#"{"type":"input_json_delta","partial_json":"{\"q\":"}"#,
            r#"{"type":"input_json_delta","partial_json":" \"x\"}"}"#,
        ],
    );
    let compaction = block(
        1,
        r#"{"type":"compaction","content":null}"#,
        &[
            r#"{"type":"compaction_delta","content":"sum"}"#,
            r#"{"type":"compaction_delta","content":"mary","encrypted_content":"E="}"#,
        ],
    );
    let broken = block(
        2,
        r#"{"type":"mcp_tool_use","id":"m","name":"n","input":{}}"#,
        &[r#"{"type":"input_json_delta","partial_json":"{"}"#],
    );
    let unknown = block(
        3,
        r#"{"type":"hologram","layers":[1]}"#,
        &[r#"{"type":"hologram_delta","layers":[2,3],"shape":{"r":1}}"#],
    );
    let answer = answer_with(&[search, compaction, broken, unknown]);
    let raws: Vec<_> = answer
        .blocks
        .iter()
        .map(|block| match block {
            Block::Other(other) => other.raw.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        raws,
        [
            r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q": "x"},"caller":{"type":"direct"}}"#,
            r#"{"type":"compaction","content":"summary","encrypted_content":"E="}"#,
            r#"{"type":"mcp_tool_use","id":"m","name":"n","input":"{"}"#,
            r#"{"type":"hologram","layers":[1,2,3],"shape":{"r":1}}"#,
        ]
    );
    assert_eq!(codes(&answer), [ProblemCode::Unknown], "only the unknown type is a finding");
}

#[test]
fn citations_gather_on_their_text() {
    let text = block(
        0,
        r#"{"type":"text","text":"","citations":[]}"#,
        &[
            r#"{"type":"citations_delta","citation":{"n":1}}"#,
            r#"{"type":"text_delta","text":"cited"}"#,
            r#"{"type":"citations_delta","citation":{"n":2}}"#,
        ],
    );
    let answer = answer_with(&[text]);
    let Block::Text(text) = &answer.blocks[0] else { panic!() };
    assert_eq!(text.extra.get("messages", "citations").unwrap().as_str(), r#"[{"n":1},{"n":2}]"#);
}

#[test]
fn usage_is_merged_and_null_says_nothing() {
    let delta = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"input_tokens":11,"cache_read_input_tokens":null,"output_tokens":7,"output_tokens_details":{"thinking_tokens":5}}}"#;
    let usage = stream(&[START, delta, STOP]).usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(11), Some(7)));
    assert_eq!((usage.cache_read_tokens, usage.cache_write_tokens), (Some(4), None));
    assert_eq!((usage.reasoning_tokens, usage.total_tokens), (Some(5), None));
    assert_eq!(
        usage.raw.unwrap().as_str(),
        r#"{"input_tokens":11,"cache_read_input_tokens":4,"output_tokens":7,"service_tier":"standard","output_tokens_details":{"thinking_tokens":5}}"#
    );
}

#[test]
fn fields_of_the_message_are_kept() {
    let delta = r#"{"type":"message_delta","context_management":{"applied_edits":[]},"delta":{"stop_reason":"stop_sequence","stop_sequence":"END","container":{"id":"c"},"stop_details":null},"usage":{"output_tokens":7}}"#;
    let answer = stream(&[START, delta, STOP]);
    assert_eq!(answer.stop_sequence.as_deref(), Some("END"));
    assert_eq!(answer.extra.get("messages", "container").unwrap().as_str(), r#"{"id":"c"}"#);
    assert!(answer.extra.get("messages", "context_management").is_some());
    assert!(answer.extra.get("messages", "stop_details").is_none());
    assert_eq!(answer.response_id.as_deref(), Some("msg_1"));
}

#[test]
fn sse_41_the_type_in_the_data_wins_over_the_name_of_the_event() {
    let mut fold = Fold::new();
    let mut decoder = Messages.decoder(&Dialect::default());
    decoder.message(Some("ping"), START, &mut fold);
    decoder.message(
        Some("content_block_start"),
        r#"{"index":0,"content_block":{"type":"text","text":"a"}}"#,
        &mut fold,
    );
    decoder.message(
        Some("message_stop"),
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}"#,
        &mut fold,
    );
    assert!(!decoder.is_complete());
    decoder.message(Some("x"), STOP, &mut fold);
    decoder.message(Some("data"), "[DONE]", &mut fold);
    decoder.message(Some("ping"), "", &mut fold);
    decoder.end(&mut fold);
    assert!(decoder.is_complete());
    let answer = fold.finish();
    assert_eq!((answer.text().as_str(), answer.problems.len()), ("ab", 0));
}

#[test]
fn a_mark_of_another_wire_ends_only_a_stream_that_said_why_it_ends() {
    assert!(stream(&[START, DELTA, "[DONE]"]).is_complete());
    assert_eq!(codes(&stream(&[START, "[DONE]"])), [ProblemCode::Truncated]);
}

#[test]
fn what_is_unknown_or_broken_is_skipped_and_said() {
    let answer = stream(&[
        START,
        r#"{"type":"weather","sunny":true}"#,
        "{broken",
        r#"{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"1"}}"#,
        r#"{"type":"content_block_delta","index":5,"delta":{"type":"text_delta","text":"late"}}"#,
        r#"{"type":"content_block_delta","index":5,"delta":{"type":"thinking_delta","thinking":"x"}}"#,
        r#"{"type":"content_block_delta","index":5,"delta":{"type":"smell_delta","smell":"x"}}"#,
        r#"{"type":"content_block_stop","index":77}"#,
        r#"{"type":"content_block_start"}"#,
        r#"[]"#,
        DELTA,
        STOP,
    ]);
    assert_eq!(answer.text(), "late", "a delta whose start was lost is kept");
    let unknown = codes(&answer).iter().filter(|code| **code == ProblemCode::Unknown).count();
    assert_eq!((unknown, answer.problems.len()), (6, 7));
    assert!(answer.is_complete());
}

#[test]
fn an_error_in_mid_stream_keeps_what_came() {
    let mut events = vec![START.to_owned()];
    events.extend(block(0, TEXT, &[r#"{"type":"text_delta","text":"half"}"#]));
    events.push(r#"{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"cut","signature":""}}"#.to_owned());
    events.push(
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#.to_owned(),
    );
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let answer = stream(&events);
    assert_eq!(answer.text(), "half");
    assert!(thoughts(&answer)[0].partial);
    assert_eq!(codes(&answer), [ProblemCode::UpstreamError]);
    assert_eq!(answer.problems[0].message, "Overloaded");
    assert_eq!(answer.problems[0].at.as_deref(), Some("overloaded_error"));
    assert!(!answer.is_complete() && answer.finish_reason.is_none());
    let answer = stream(&[r#"{"error":"out of memory"}"#]);
    assert_eq!(answer.upstream_error().unwrap().message, "out of memory");
}

#[test]
fn a_cut_stream_keeps_what_came_and_never_looks_complete() {
    let blocks = [
        block(
            0,
            THINKING,
            &[
                r#"{"type":"thinking_delta","thinking":"think"}"#,
                r#"{"type":"signature_delta","signature":"S"}"#,
            ],
        ),
        block(1, TEXT, &[r#"{"type":"text_delta","text":"hi"}"#]),
        block(2, CALL, &[r#"{"type":"input_json_delta","partial_json":"{}"}"#]),
        block(3, r#"{"type":"server_tool_use","id":"s","name":"n","input":{}}"#, &[]),
    ];
    let mut events = vec![START];
    events.extend(blocks.iter().flatten().map(String::as_str));
    events.extend([DELTA, STOP]);
    let full = stream(&events);
    assert!(full.is_complete());
    for cut in 0..events.len() {
        let answer = stream(&events[..cut]);
        assert_eq!(codes(&answer), [ProblemCode::Truncated], "cut at {cut}");
        assert_eq!(answer.finish_reason, None);
        assert!(answer.blocks.len() <= full.blocks.len());
        for (part, whole) in answer.blocks.iter().zip(&full.blocks) {
            match (part, whole) {
                (Block::Thinking(part), Block::Thinking(whole)) => {
                    assert!(part.partial || part == whole);
                    assert!(whole.thought.starts_with(&part.thought));
                }
                (Block::ToolCall(part), Block::ToolCall(whole)) => {
                    let is_broken = matches!(part.parameters, Parameters::Invalid(_));
                    assert!(is_broken || part == whole, "a cut call is never runnable");
                }
                (part, whole) => assert_eq!(part, whole),
            }
        }
    }
}

#[test]
fn a_decoder_can_be_copied_and_compared_anywhere() {
    let mut events = vec![START.to_owned()];
    events.extend(block(0, THINKING, &[r#"{"type":"thinking_delta","thinking":"t"}"#]));
    events.extend(block(1, CALL, &[r#"{"type":"input_json_delta","partial_json":"{"}"#]));
    let mut decoder = Messages.decoder(&Dialect::default());
    for event in &events {
        let mut copy = decoder.clone();
        assert!(*copy == *decoder);
        copy.message(None, event, &mut |_: crate::event::Event<'_>| {});
        assert!(*copy != *decoder, "{event} changes the state");
        decoder.message(None, event, &mut |_: crate::event::Event<'_>| {});
        assert!(*copy == *decoder);
    }
}

#[test]
fn a_whole_message_instead_of_a_stream_is_read() {
    let body = r#"{"type":"message","id":"m","model":"x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let answer = stream(&[body]);
    assert_eq!(answer, whole(body));
    assert!(answer.is_complete());
}

#[test]
fn whole_responses_keep_oddities() {
    let answer = whole(
        r#"{"id":"","type":"message","model":"","content":"plain","stop_reason":null,"container":{"id":"c"}}"#,
    );
    assert_eq!((answer.text().as_str(), answer.usage.is_none()), ("plain", true));
    assert_eq!((answer.model, answer.response_id), (None, None));
    let answer = whole(
        r#"{"content":[{"type":"text","text":""},{"type":"thinking","thinking":""},{"type":"tool_use","name":"f","input":"{\"a\":1}"},{"x":1},7]}"#,
    );
    assert_eq!(answer.blocks.len(), 3);
    let Block::ToolCall(call) = &answer.blocks[0] else { panic!() };
    assert_eq!((call.id.as_ref(), call.parameters.as_text()), (None, r#"{"a":1}"#));
    assert_eq!(codes(&answer), [ProblemCode::Unknown, ProblemCode::Unknown]);
    let error =
        whole(r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#);
    assert_eq!(error.upstream_error().unwrap().message, "model: x");
    assert_eq!(error.finish_reason, None);
}

#[test]
fn what_follows_the_end_is_of_no_answer() {
    let said = block(0, TEXT, &[r#"{"type":"text_delta","text":"a"}"#]);
    let more = block(1, TEXT, &[r#"{"type":"text_delta","text":"b"}"#]);
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let answer =
        stream(&[&[START], said.as_slice(), &[DELTA, STOP], more.as_slice(), &[STOP]].concat());
    assert!(answer.text() == "a" && answer.is_complete(), "{answer:?}");
}
