//! The final size of an answer: the provider's own counts if they are plausible, else estimates.
//!
//! Every sum is taken from here (trace, budget, price, metric, event, screen), so that an answer has one count
//! everywhere.

use crate::content::Block;
use crate::json::Raw;
use crate::price::tier;
use crate::tokens::{TokenCount, TokenSource, estimate_thinking};
use crate::usage::Usage;

/// How much of an answer came, estimated in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerSize {
    /// The tokens of its thoughts.
    pub thought: u64,
    /// The tokens of its thoughts and all other parts.
    pub all: u64,
}

impl AnswerSize {
    /// The size of an answer with these blocks.
    #[must_use]
    pub fn of(blocks: &[Block]) -> Self {
        let mut size = AnswerSize::default();
        for block in blocks {
            let (thought, text) = match block {
                Block::Thinking(thinking) => (estimate_thinking(thinking).unwrap_or_default(), ""),
                Block::Text(text) => (0, text.text.as_str()),
                Block::ToolCall(call) => (0, call.parameters.as_text()),
                Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => (0, ""),
            };
            size.thought = size.thought.saturating_add(thought);
            let text = (text.len() as u64).div_ceil(4);
            size.all = size.all.saturating_add(thought).saturating_add(text);
        }
        size
    }
}

/// The tokens of an answer that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The provider's counts, with estimates for missing ones.
    pub usage: Usage,
    /// The thoughts'.
    pub reasoning: TokenCount,
    /// The tokens of request and answer.
    pub total: TokenCount,
}

impl Settled {
    /// Combines the provider's counts with the size of the received answer.
    ///
    /// - An impossible count is ignored.
    /// - A zero beside a thought or a text is no count: some servers report it for every answer.
    /// - A count from before the answer is a placeholder, even if no later count came: the answer took at least that,
    ///   and at least its received size.
    /// - For a cut answer the provider may have counted only a part: it took at least its received size.
    /// - An estimate of a thought is never more than the whole answer.
    #[must_use]
    pub fn of(usage: Option<&Usage>, came: AnswerSize, is_whole: bool) -> Self {
        let usage = usage.filter(|usage| usage.is_plausible());
        let is_unusual = |raw: &Raw| tier::unusual(raw.doc().root()).is_some();
        let is_apart = usage.is_some_and(|it| it.raw.as_ref().is_some_and(is_unusual));
        let mut usage = usage.map(|it| Usage { raw: None, ..it.clone() }).unwrap_or_default();
        usage.is_priced_apart |= is_apart;
        let is_early = std::mem::take(&mut usage.is_early);
        let placeholder = usage.output_tokens.filter(|_| is_early).unwrap_or_default();
        if is_early {
            usage.forget_answer();
        }
        let is_blank = usage.output_tokens == Some(0) && came.all > 0;
        if is_blank {
            usage.output_tokens = None;
            usage.total_tokens = None;
            usage.input_tokens = usage.input_tokens.filter(|tokens| *tokens > 0);
        }
        let reasoning = thoughts(&usage, came.thought, is_whole);
        let known = usage.reasoning_tokens;
        let output = usage.output_tokens_with_reasoning();
        if reasoning.tokens > 0 {
            usage.reasoning_tokens = Some(reasoning.tokens);
        }
        let all = came.all.max(reasoning.tokens).max(placeholder);
        let is_less = match (output, usage.total_tokens) {
            (Some(output), _) => output < all,
            // The first event may count the request only.
            (None, Some(total)) => {
                let input = usage.input_tokens_with_cached().unwrap_or_default();
                total < input.saturating_add(all)
            }
            (None, None) => false,
        };
        let is_short = is_early || !is_whole && is_less;
        if is_short {
            // One number now contains all tokens of the answer.
            usage.output_tokens = Some(all);
            usage.is_reasoning_apart = false;
            usage.total_tokens = None;
        } else if known != usage.reasoning_tokens {
            // An estimate does not change the provider's total.
            usage.output_tokens = output;
            usage.is_reasoning_apart = false;
        }
        let total = match usage.total() {
            Some(tokens) if !is_short => TokenCount::reported(tokens),
            Some(tokens) => TokenCount::estimated(tokens),
            None => {
                let input = usage.input_tokens_with_cached().unwrap_or_default();
                let output = usage.output_tokens_with_reasoning().unwrap_or(all);
                TokenCount::estimated(input.saturating_add(output))
            }
        };
        Settled { usage, reasoning, total }
    }
}

/// The tokens of the thoughts.
fn thoughts(usage: &Usage, estimate: u64, is_whole: bool) -> TokenCount {
    let reported = usage.reasoning_tokens.filter(|tokens| *tokens > 0 || estimate == 0);
    match reported {
        Some(tokens) if is_whole || tokens >= estimate => TokenCount::reported(tokens),
        Some(_) => TokenCount::estimated(estimate),
        None if !is_whole => TokenCount::estimated(estimate),
        None => {
            let most = usage.output_tokens_with_reasoning().unwrap_or(u64::MAX);
            TokenCount::estimated(estimate.min(most))
        }
    }
}

impl Default for TokenCount {
    /// No known tokens.
    fn default() -> Self {
        TokenCount { tokens: 0, source: TokenSource::Estimated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::pipeline::{Ended, Pipeline};
    use crate::read::{Form, Reader};
    use crate::wire::{Dialect, find};

    fn usage(input: Option<u64>, output: Option<u64>, reasoning: Option<u64>) -> Usage {
        Usage {
            input_tokens: input,
            output_tokens: output,
            reasoning_tokens: reasoning,
            ..Usage::default()
        }
    }

    /// Thoughts, output with them, and total of a settled answer.
    fn settled(usage: &Usage, (thought, all): (u64, u64), is_whole: bool) -> [String; 3] {
        let settled = Settled::of(Some(usage), AnswerSize { thought, all }, is_whole);
        let count = |it: TokenCount| format!("{} {}", it.tokens, it.source);
        let output = settled.usage.output_tokens_with_reasoning();
        let output = output.map_or("none".to_owned(), |output| output.to_string());
        [count(settled.reasoning), output, count(settled.total)]
    }

    #[test]
    fn b_47_the_providers_count_counts_and_an_estimate_is_never_more_than_the_answer() {
        let plain = |reasoning| usage(Some(10), Some(50), reasoning);
        for (usage, came, is_whole, expected) in [
            (plain(Some(40)), (9, 20), true, ["40 reported", "50", "60 reported"]),
            (plain(None), (9, 20), true, ["9 estimated", "50", "60 reported"]),
            (plain(None), (90, 99), true, ["50 estimated", "50", "60 reported"]),
            (plain(Some(0)), (9, 20), true, ["9 estimated", "50", "60 reported"]),
            (plain(Some(0)), (0, 20), true, ["0 reported", "50", "60 reported"]),
            // Cut: a placeholder, and a count that went on while it came.
            (
                usage(Some(7), Some(1), None),
                (110, 130),
                false,
                ["110 estimated", "130", "137 estimated"],
            ),
            (plain(Some(40)), (9, 20), false, ["40 reported", "50", "60 reported"]),
            (plain(Some(0)), (30, 99), false, ["30 estimated", "99", "109 estimated"]),
            // Cut: a total that is of the request only, and one of more.
            (
                Usage { total_tokens: Some(10), ..usage(Some(10), None, None) },
                (30, 40),
                false,
                ["30 estimated", "40", "50 estimated"],
            ),
            (
                Usage { total_tokens: Some(90), ..usage(Some(10), None, None) },
                (30, 40),
                false,
                ["30 estimated", "none", "90 reported"],
            ),
            // Nobody counted.
            (
                usage(Some(0), Some(0), Some(0)),
                (9, 20),
                true,
                ["9 estimated", "none", "20 estimated"],
            ),
            (usage(None, Some(50), None), (9, 20), true, ["9 estimated", "50", "50 estimated"]),
            (Usage::default(), (9, 20), true, ["9 estimated", "none", "20 estimated"]),
            (plain(Some(u64::MAX)), (9, 20), true, ["9 estimated", "none", "20 estimated"]),
        ] {
            assert_eq!(settled(&usage, came, is_whole), expected, "{usage:?} {came:?} {is_whole}");
        }
    }

    #[test]
    fn b_47_an_estimate_beside_the_answer_does_not_change_what_was_counted() {
        let apart = Usage {
            is_reasoning_apart: true,
            total_tokens: Some(30),
            ..usage(Some(10), Some(20), None)
        };
        assert_eq!(settled(&apart, (9, 25), true), ["9 estimated", "20", "30 reported"]);
        let counted = Usage { reasoning_tokens: Some(5), total_tokens: Some(35), ..apart };
        assert_eq!(settled(&counted, (9, 25), true), ["5 reported", "25", "35 reported"]);
        assert_eq!(settled(&counted, (9, 25), false), ["9 estimated", "25", "35 reported"]);
    }

    /// The counts of an answer with these events: input, reasoning, output, total.
    fn read(wire: &str, events: &[&str]) -> [String; 4] {
        use crate::frame::Framing;
        let wire = find(wire).unwrap();
        let mut pipeline = Pipeline::new(Reader::new(wire, &Dialect::PLAIN, Form::Stream));
        let ignored = &mut |_: Event<'_>| {};
        for event in events {
            let end = if wire.framing() == Framing::Ndjson { "" } else { "\n" };
            pipeline.push(format!("data: {event}\n{end}").as_bytes(), &mut Vec::new(), ignored);
        }
        let Ended { answer, end, .. } = pipeline.end(None, &mut Vec::new(), ignored);
        let size = AnswerSize::of(&answer.blocks);
        let usage = answer.usage.unwrap();
        if end.is_complete() && usage.is_early {
            assert_eq!(usage.output_tokens, None, "a placeholder is no count of the answer");
        }
        let settled = Settled::of(Some(&usage), size, end.is_complete());
        let count = |it: TokenCount| format!("{} {}", it.tokens, it.source);
        let number = |it: Option<u64>| it.map_or("none".to_owned(), |it| it.to_string());
        let usage = &settled.usage;
        let output = number(usage.output_tokens_with_reasoning());
        let input = number(usage.input_tokens_with_cached());
        [input, count(settled.reasoning), output, count(settled.total)]
    }

    #[test]
    fn b_47_what_was_counted_before_the_answer_came_is_a_placeholder() {
        let start =
            r#"{"type":"message_start","message":{"type":"message","role":"assistant","content":[],
            "usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}"#
                .replace('\n', "");
        let thought = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"One and one and one."}}"#;
        let text = r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"It is three."}}"#;
        let silent = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
        let input = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":12}}"#;
        let counted = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#;
        let stop = r#"{"type":"message_stop"}"#;
        let chat = |usage: &str, delta: &str, finish: &str| {
            format!(
                r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]{usage}}}"#
            )
        };
        let early = r#","usage":{"prompt_tokens":15,"completion_tokens":1,"total_tokens":16}"#;
        let said = r#"{"content":"It is three."}"#;
        let gemini = |usage: &str, parts: &str, finish: &str| {
            format!(
                r#"{{"candidates":[{{"content":{{"parts":[{parts}]}}{finish}}}],"usageMetadata":{usage}}}"#
            )
        };
        let prompt = r#"{"promptTokenCount":15,"totalTokenCount":15}"#;
        let all = r#"{"promptTokenCount":15,"candidatesTokenCount":2,"totalTokenCount":17}"#;
        let part = r#"{"text":"It is three."}"#;
        let stopped = r#","finishReason":"STOP""#;
        for (wire, events, expected) in [
            (
                "messages",
                vec![start.clone(), thought.into(), text.into(), silent.into(), stop.into()],
                ["15", "5 estimated", "8", "23 estimated"],
            ),
            (
                "messages",
                vec![start.clone(), thought.into(), text.into(), input.into(), stop.into()],
                ["17", "5 estimated", "8", "25 estimated"],
            ),
            // Cut.
            (
                "messages",
                vec![start.clone(), thought.into(), text.into()],
                ["15", "5 estimated", "8", "23 estimated"],
            ),
            // Counted later, if with the same number.
            (
                "messages",
                vec![start, text.into(), counted.into(), stop.into()],
                ["15", "0 estimated", "1", "16 reported"],
            ),
            (
                "chat-completions",
                vec![chat(early, r#"{"role":"assistant"}"#, "null"), chat("", said, r#""stop""#)],
                ["15", "0 estimated", "3", "18 estimated"],
            ),
            (
                "chat-completions",
                vec![chat("", said, "null"), chat(early, "{}", r#""stop""#)],
                ["15", "0 estimated", "1", "16 reported"],
            ),
            // The answer is empty, and was counted.
            (
                "chat-completions",
                vec![chat("", "{}", r#""stop""#), format!(r#"{{"choices":[]{early}}}"#)],
                ["15", "0 estimated", "1", "16 reported"],
            ),
            (
                "generate-content",
                vec![
                    gemini(prompt, "", ""),
                    format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}}{stopped}}}]}}"#),
                ],
                ["15", "0 estimated", "3", "18 estimated"],
            ),
            (
                "generate-content",
                vec![gemini(prompt, "", ""), gemini(all, part, stopped)],
                ["15", "0 estimated", "2", "17 reported"],
            ),
        ] {
            let events: Vec<&str> = events.iter().map(String::as_str).collect();
            assert_eq!(read(wire, &events), expected, "{wire} {events:?}");
        }
    }
}
