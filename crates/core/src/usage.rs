//! Token counts as the provider reported them, and their sums.
//!
//! Whether reasoning and cached tokens are inside the other counts or beside them differs by wire and provider. Every
//! sum (of a trace, a budget, a limit, a price, a metric, a screen) is taken from here, so that it is the same
//! everywhere.

use crate::json::Raw;

/// More tokens than any model gives, or takes, at once: the greatest windows are of ten million.
const GIVES: u64 = 1 << 22;
/// See [`GIVES`].
const TAKES: u64 = 1 << 25;

/// Token counts of one answer: the provider's own numbers, without sums. Unknown is `None`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer; whether they contain the reasoning tokens differs by provider.
    pub output_tokens: Option<u64>,
    /// Tokens spent on reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Tokens that the provider's own tools put into the request, beside those of `input_tokens` (generate-content,
    /// interactions).
    pub tool_input_tokens: Option<u64>,
    /// Request tokens that were read from a prompt cache.
    pub cache_read_tokens: Option<u64>,
    /// Request tokens that were written to a prompt cache.
    pub cache_write_tokens: Option<u64>,
    /// The wire counts cached tokens beside those of the request and not in them (Messages, Converse).
    pub is_cached_apart: bool,
    /// The wire counts reasoning beside the tokens of the answer and not in them (generate-content, interactions).
    pub is_reasoning_apart: bool,
    /// The provider's own total.
    pub total_tokens: Option<u64>,
    /// The counts came before any part of the answer (Messages: in `message_start`): they are counts of the request,
    /// and their count of the answer is a placeholder.
    pub is_early: bool,
    /// The provider reports a tier or a speed that has a price of its own.
    pub is_priced_apart: bool,
    /// The usage object in its wire's form, merged over the events of a stream if the wire splits it.
    pub raw: Option<Raw>,
}

impl Usage {
    /// Request tokens that no cache gave or took, those of the provider's tools included. Most providers count cached
    /// tokens into the request's; if the total shows that this one does not, its number counts.
    #[must_use]
    pub fn uncached_input_tokens(&self) -> Option<u64> {
        let input = self.input_tokens?;
        let cached = self.cached();
        let is_apart =
            self.is_cached_apart || cached > input || self.total_tokens == Some(self.sum(cached));
        let own = if is_apart { input } else { input - cached };
        Some(own.saturating_add(self.tool_input_tokens.unwrap_or_default()))
    }

    /// Request tokens, including tokens that a cache read or wrote.
    #[must_use]
    pub fn input_tokens_with_cached(&self) -> Option<u64> {
        Some(self.uncached_input_tokens()?.saturating_add(self.cached()))
    }

    /// The provider's own total, or the sum of its counts if there is no total or the total is less.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        let (input, output) =
            (self.input_tokens_with_cached(), self.output_tokens_with_reasoning());
        let sum = input.unwrap_or_default().saturating_add(output.unwrap_or_default());
        let stated = self.total_tokens.filter(|_| !self.is_early).map(|total| total.max(sum));
        stated.or_else(|| input.and(output).map(|_| sum))
    }

    /// Tokens of the answer, reasoning included. Reasoning is added if the wire counts it apart, or if the numbers
    /// show that this provider does (xAI on a wire whose own API includes it). A placeholder gives `None`.
    #[must_use]
    pub fn output_tokens_with_reasoning(&self) -> Option<u64> {
        let output = self.output_tokens.filter(|_| !self.is_early)?;
        let reasoning = self.reasoning_tokens.unwrap_or_default();
        let shows = self.total_tokens == Some(self.sum(reasoning)) || reasoning > output;
        let is_apart = self.is_reasoning_apart || shows;
        Some(if is_apart { output.saturating_add(reasoning) } else { output })
    }

    /// Tokens of the answer, reasoning not included.
    #[must_use]
    pub fn output_tokens_without_reasoning(&self) -> Option<u64> {
        let all = self.output_tokens_with_reasoning()?;
        Some(all.saturating_sub(self.reasoning_tokens.unwrap_or_default()))
    }

    /// Keeps only the counts of the request.
    pub(crate) fn forget_answer(&mut self) {
        (self.output_tokens, self.reasoning_tokens, self.total_tokens) = (None, None, None);
    }

    /// Whether the provider's counts are possible for an answer.
    #[must_use]
    pub fn is_plausible(&self) -> bool {
        let given = [self.reasoning_tokens, self.output_tokens];
        let cached = [self.cache_read_tokens, self.cache_write_tokens];
        let is_within =
            |counts: &[Option<u64>], most| counts.iter().flatten().all(|it| *it <= most);
        let taken = [self.input_tokens, self.tool_input_tokens];
        is_within(&given, GIVES) && is_within(&taken, TAKES) && is_within(&cached, TAKES)
    }

    fn cached(&self) -> u64 {
        let [read, write] = [self.cache_read_tokens, self.cache_write_tokens];
        read.unwrap_or_default().saturating_add(write.unwrap_or_default())
    }

    /// Request, answer and `more`.
    fn sum(&self, more: u64) -> u64 {
        let [input, output] = [self.input_tokens, self.output_tokens];
        input.unwrap_or_default().saturating_add(output.unwrap_or_default()).saturating_add(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::json::Doc;
    use crate::wire::{Dialect, find};

    /// The last counts that a whole answer of this wire says.
    fn read(wire: &str, body: &str) -> Usage {
        let (doc, mut last) = (Doc::parse_str(body).unwrap(), None);
        find(wire).unwrap().read_response(doc.root(), &Dialect::PLAIN, &mut |event: Event<'_>| {
            if let Event::Usage(usage) = event {
                last = Some(usage.clone());
            }
        });
        last.unwrap()
    }

    /// Reasoning, the answer with it, and all there is, from a request of 10 tokens of which 4 came from a cache.
    #[test]
    fn b_47_each_wire_says_whether_reasoning_is_inside_the_answer_or_beside_it() {
        let chat = r#"{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7,
            "prompt_tokens_details":{"cached_tokens":4},
            "completion_tokens_details":{"reasoning_tokens":5}}}"#;
        let beside =
            chat.replace(r#""prompt_tokens":10"#, r#""prompt_tokens":10,"total_tokens":22"#);
        let no_total = chat.replace(r#""completion_tokens":7"#, r#""completion_tokens":2"#);
        let responses = r#"{"object":"response","output":[],"usage":{"input_tokens":10,"output_tokens":7,
            "input_tokens_details":{"cached_tokens":4},
            "output_tokens_details":{"reasoning_tokens":5},"total_tokens":17}}"#;
        let messages = r#"{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":6,
            "cache_read_input_tokens":4,"output_tokens":7,"output_tokens_details":{"thinking_tokens":5}}}"#;
        let gemini = r#"{"candidates":[],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,
            "candidatesTokenCount":2,"thoughtsTokenCount":5}}"#;
        let interactions = r#"{"id":"i","status":"completed","outputs":[],"usage":{"total_input_tokens":10,
            "total_cached_tokens":4,"total_output_tokens":2,"total_thought_tokens":5}}"#;
        for (wire, body, reasoning, output, total) in [
            ("chat-completions", chat, Some(5), 7, 17),
            ("chat-completions", &beside, Some(5), 12, 22),
            ("chat-completions", &no_total, Some(5), 7, 17),
            ("mistral-chat", chat, Some(5), 7, 17),
            ("responses", responses, Some(5), 7, 17),
            ("messages", messages, Some(5), 7, 17),
            ("generate-content", gemini, Some(5), 7, 17),
            ("interactions", interactions, Some(5), 7, 17),
        ] {
            let usage = read(wire, body);
            let said =
                (usage.reasoning_tokens, usage.output_tokens_with_reasoning(), usage.total());
            assert_eq!(said, (reasoning, Some(output), Some(total)), "{wire}: {usage:?}");
            assert_eq!(usage.output_tokens_without_reasoning(), Some(output - 5), "{wire}");
            assert_eq!(usage.input_tokens_with_cached(), Some(10), "{wire}");
            assert_eq!(usage.uncached_input_tokens(), Some(6), "{wire}");
        }
    }

    #[test]
    fn what_the_providers_own_tools_put_into_a_request_counts() {
        let gemini = r#"{"candidates":[],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,
            "toolUsePromptTokenCount":100,"candidatesTokenCount":2,"thoughtsTokenCount":5}}"#;
        let interactions = r#"{"id":"i","status":"completed","outputs":[],"usage":{"total_input_tokens":10,
            "total_cached_tokens":4,"total_tool_use_tokens":100,"total_output_tokens":2,
            "total_thought_tokens":5}}"#;
        for (wire, body) in [("generate-content", gemini), ("interactions", interactions)] {
            let usage = read(wire, body);
            let said = (usage.uncached_input_tokens(), usage.input_tokens_with_cached());
            assert_eq!((said, usage.total()), ((Some(106), Some(110)), Some(117)), "{wire}");
        }
    }

    #[test]
    fn a_total_that_is_less_than_what_it_is_of_is_none() {
        let usage = |input, output, total| Usage {
            input_tokens: input,
            output_tokens: output,
            total_tokens: total,
            ..Usage::default()
        };
        for (input, output, total, expected) in [
            (Some(10), Some(7), Some(2), Some(17)),
            (Some(10), Some(7), Some(0), Some(17)),
            (Some(10), Some(7), Some(20), Some(20)),
            (Some(10), None, Some(2), Some(10)),
            (None, Some(7), Some(2), Some(7)),
            (None, None, Some(2), Some(2)),
            (Some(10), None, None, None),
        ] {
            let total = usage(input, output, total);
            assert_eq!(total.total(), expected, "{total:?}");
        }
        let gemini = r#"{"candidates":[],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2,
            "thoughtsTokenCount":5,"totalTokenCount":12}}"#;
        assert_eq!(read("generate-content", gemini).total(), Some(17));
    }

    /// Wires without a count of reasoning include it in the count of the answer.
    #[test]
    fn b_47_a_wire_without_a_count_of_reasoning_counts_it_into_the_answer() {
        let converse = r#"{"output":{"message":{"role":"assistant","content":[]}},"stopReason":"end_turn",
            "usage":{"inputTokens":6,"cacheReadInputTokens":4,"outputTokens":7}}"#;
        let ollama = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,
            "prompt_eval_count":10,"eval_count":7}"#;
        let cohere = r#"{"message":{"role":"assistant","content":[]},"finish_reason":"COMPLETE",
            "usage":{"tokens":{"input_tokens":10,"output_tokens":7}}}"#;
        for (wire, body) in
            [("converse", converse), ("ollama-chat", ollama), ("cohere-chat", cohere)]
        {
            let usage = read(wire, body);
            let said = (usage.output_tokens_with_reasoning(), usage.total());
            assert_eq!(said, (Some(7), Some(17)), "{wire}: {usage:?}");
        }
    }
}
