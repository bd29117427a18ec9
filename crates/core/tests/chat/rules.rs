//! Rules of the seeds and old mistakes of others, each with its number.

use crate::reading::{stream, whole};
use serde_json::{Value, json};
use std::time::Duration;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::Block;
use thinkthrough_core::event::{Event, Fold};
use thinkthrough_core::wire::chat_completions::ChatCompletions;
use thinkthrough_core::wire::{Dialect, Wire};

fn chunks(deltas: &[Value]) -> Answer {
    let mut body = String::new();
    for delta in deltas {
        let chunk = json!({ "choices": [{"index": 0, "delta": delta, "finish_reason": null}] });
        body.push_str(&format!("data: {chunk}\n\n"));
    }
    body.push_str(
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    stream(&ChatCompletions, body.as_bytes())
}

fn body(message: &Value) -> Answer {
    let body = json!({ "choices": [{"index": 0, "message": message, "finish_reason": "stop"}] });
    whole(&ChatCompletions, body.to_string().as_bytes())
}

/// Thoughts and texts in order, as `R:...` and `T:...`.
fn told(answer: &Answer) -> Vec<String> {
    let tell = |block: &Block| match block {
        Block::Thinking(thinking) => format!("R:{}", thinking.thought),
        Block::Text(text) => format!("T:{}", text.text),
        Block::ToolCall(call) => format!("C:{}", call.name),
        Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => "?".to_owned(),
    };
    answer.blocks.iter().map(tell).collect()
}

#[test]
fn req_think_003_2_streaming_and_whole_give_the_same() {
    let call = json!([{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let pieces = [
        json!({"role": "assistant", "reasoning_content": "Let "}),
        json!({"reasoning_content": "me"}),
        json!({"content": "It "}),
        json!({"content": "is"}),
        json!({"tool_calls": call}),
    ];
    let whole =
        body(&json!({"content": "It is", "reasoning_content": "Let me", "tool_calls": call}));
    assert_eq!(chunks(&pieces), whole);
    assert_eq!(told(&whole), ["R:Let me", "T:It is", "C:f"]);
}

#[test]
fn req_think_003_3_a_thought_knows_its_field() {
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        let answer = body(&json!({ field: "a", "content": "x" }));
        let fields: Vec<_> = answer
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Thinking(thinking) => Some(thinking.source_field.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(fields, [field]);
    }
}

#[test]
fn req_think_003_4_ec_001_no_reasoning_gives_no_reasoning_events() {
    let mut n = 0;
    let mut sink = |event: Event<'_>| {
        n += usize::from(matches!(
            event,
            Event::ThinkingStart { .. } | Event::ThinkingDelta { .. } | Event::ThinkingEnd { .. }
        ));
    };
    let mut decoder = ChatCompletions.decoder(&Dialect::default());
    for data in [
        r#"{"choices":[{"delta":{"role":"assistant","content":"","reasoning_content":null}}]}"#,
        r#"{"choices":[{"delta":{"content":"x","reasoning_details":[]}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":""},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ] {
        decoder.message(None, data, &mut sink);
    }
    decoder.end(&mut sink);
    assert_eq!(n, 0);
}

#[test]
fn ec_002_an_empty_thought_is_none_unless_it_has_a_payload() {
    assert_eq!(told(&body(&json!({"content": "x", "reasoning_content": ""}))), ["T:x"]);
    let signed = json!({"content": "x", "reasoning_details": [{"type": "reasoning.text", "text": "", "signature": "S"}]});
    assert_eq!(told(&body(&signed)), ["R:", "T:x"]);
}

#[test]
fn ec_003_interleaved_thoughts_and_texts_keep_their_order() {
    let pieces = [
        json!({"reasoning": "a"}),
        json!({"content": "A"}),
        json!({"reasoning": "b"}),
        json!({"content": "B"}),
    ];
    assert_eq!(told(&chunks(&pieces)), ["R:a", "T:A", "R:b", "T:B"]);
}

#[test]
fn ec_006_a_thought_comes_before_its_tool_call() {
    let pieces = [
        json!({"reasoning_content": "a", "tool_calls": [{"index": 0, "id": "c", "function": {"name": "f"}}]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
    ];
    assert_eq!(told(&chunks(&pieces)), ["R:a", "C:f"]);
}

/// How long this thread has run, however busy the machine is. Zero where the system does not say it.
fn time_on_a_core() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|time| time.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

#[test]
fn err_003_a_long_thought_in_single_characters_takes_time_in_proportion() {
    let time = |n: usize| {
        let mut decoder = ChatCompletions.decoder(&Dialect::default());
        let mut fold = Fold::new();
        let began = time_on_a_core();
        for at in 0..n {
            let letter = char::from(b'a' + u8::try_from(at % 26).unwrap());
            let data = format!(
                r#"{{"choices":[{{"index":0,"delta":{{"reasoning_content":"{letter}"}}}}]}}"#
            );
            decoder.message(None, &data, &mut fold);
        }
        decoder.end(&mut fold);
        let answer = fold.finish();
        assert_eq!(told(&answer).concat().len(), n + 2);
        time_on_a_core().saturating_sub(began)
    };
    let (short, long) = (time(250_000), time(5_000_000));
    let limit = short.max(Duration::from_millis(20)) * 80;
    assert!(long < limit, "20 times the text took {long:?} instead of {short:?}");
}

#[test]
fn b28_white_space_at_the_seams_is_kept() {
    let pieces = [
        json!({"reasoning_content": "a"}),
        json!({"reasoning_content": " "}),
        json!({"content": "\n"}),
        json!({"content": " x"}),
    ];
    assert_eq!(told(&chunks(&pieces)), ["R:a ", "T:\n x"]);
}

#[test]
fn b29_b38c_one_delta_may_carry_everything() {
    let call = json!([{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]);
    let piece = json!({"tool_calls": call, "content": "x", "reasoning": "a"});
    assert_eq!(told(&chunks(&[piece])), ["R:a", "T:x", "C:f"]);
}

#[test]
fn b30_a_thought_that_repeats_itself_is_not_cut() {
    let piece = json!({"reasoning_content": "ha"});
    assert_eq!(told(&chunks(&[piece.clone(), piece.clone(), piece])), ["R:hahaha"]);
}

#[test]
fn b33_equal_ids_in_two_streams_are_two_thoughts() {
    let piece = json!({"reasoning_details": [{"type": "reasoning.text", "text": "a", "id": "reasoning-0", "index": 0}]});
    let (one, two) = (chunks(std::slice::from_ref(&piece)), chunks(&[piece]));
    assert_eq!(told(&one), ["R:a"]);
    assert_eq!(told(&two), ["R:a"]);
}

#[test]
fn b47_counts_are_the_providers_own() {
    let text = json!({
        "choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 20,
            "completion_tokens_details": {"reasoning_tokens": 12}},
    });
    let usage = whole(&ChatCompletions, text.to_string().as_bytes()).usage.unwrap();
    let counts =
        (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, usage.total_tokens);
    assert_eq!(counts, (Some(5), Some(3), Some(12), Some(20)));
    assert_eq!(usage.cache_read_tokens, None, "unknown is not 0");
}

#[test]
fn a_running_count_is_told_as_it_comes_and_the_last_one_once() {
    let chunk = |choice: Value, tokens: u64| json!({"choices": choice, "usage": {"prompt_tokens": 5, "completion_tokens": tokens}});
    let said = json!([{"index": 0, "delta": {"content": "x"}}]);
    let ends = json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]);
    let all = [(said, 1), (json!([]), 2), (ends, 3), (json!([]), 4)];
    let mut counted = Vec::new();
    let mut decoder = ChatCompletions.decoder(&Dialect::PLAIN);
    let mut hear = |event: Event<'_>| {
        if let Event::Usage(usage) = event {
            counted.push(usage.output_tokens);
        }
    };
    for (choice, tokens) in all {
        decoder.message(None, &chunk(choice, tokens).to_string(), &mut hear);
    }
    decoder.message(None, "[DONE]", &mut hear);
    decoder.end(&mut hear);
    assert_eq!(counted, [Some(1), Some(2), Some(4)]);
}

#[test]
fn a_hostile_number_of_calls_and_entries_takes_time_in_proportion() {
    let time = |n: usize| {
        let began = time_on_a_core();
        let calls: Vec<_> = (0..n)
            .map(|at| json!({"index": at, "id": format!("c{at}"), "function": {"name": "f", "arguments": "{}"}}))
            .collect();
        let entries: Vec<_> =
            (0..n).map(|at| json!({"type": "reasoning.text", "text": "a", "index": at})).collect();
        let answer = chunks(&[json!({"reasoning_details": entries}), json!({"tool_calls": calls})]);
        assert_eq!(answer.blocks.len(), 2 * n);
        time_on_a_core().saturating_sub(began)
    };
    let (few, many) = (time(1_000), time(10_000));
    let limit = few.max(Duration::from_millis(20)) * 60;
    assert!(many < limit, "10 times as many took {many:?} instead of {few:?}");
}

#[test]
fn a_list_of_texts_in_a_field_for_thoughts_is_read() {
    let message = json!({"content": "x", "reasoning": [{"type": "text", "text": "a"}, "b"]});
    assert_eq!(told(&body(&message)), ["R:ab", "T:x"]);
}

#[test]
fn a_call_without_arguments_stands_before_the_text_that_follows_it() {
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]});
    assert_eq!(told(&chunks(&[call, json!({"content": "x"})])), ["C:f", "T:x"]);
}
