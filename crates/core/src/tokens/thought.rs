//! The tokens of thoughts whose provider reports no number.
//!
//! One estimate serves the trace, the budget, the metrics and the screen, so that a thought has one count everywhere. It
//! is never taken from a tokenizer: a thought that still grows must have the count that it has later.

use super::estimate_opaque;
use crate::content::{Block, Thinking};
use crate::event::Event;

/// An ASCII character is a quarter of a token, and each byte of any other character a third, in twelfths of a token.
///
/// The quarter is prescribed by the founding documents. It counts too little if a character is often a token of its
/// own, as in Chinese or Japanese.
const ASCII: u64 = 3;
/// See [`ASCII`].
const OTHER: u64 = 4;
/// The twelfths of a token.
const TOKEN: u64 = 12;

/// Estimates the tokens of a thought from its text.
#[must_use]
pub fn estimate_thought(text: &str) -> u64 {
    let mut estimate = ThoughtEstimate::default();
    estimate.push(text);
    estimate.total()
}

/// Estimates the tokens of a thought: from its text, else from its opaque payload. A signature beside a text adds no
/// tokens. `None` if it has neither.
#[must_use]
pub fn estimate_thinking(thinking: &Thinking) -> Option<u64> {
    match thinking.thought.is_empty() {
        true => payload(thinking),
        false => Some(estimate_thought(&thinking.thought)),
    }
}

/// The estimate of one thought while its text grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThoughtEstimate {
    twelfths: u64,
}

impl ThoughtEstimate {
    /// Appends `text`.
    pub fn push(&mut self, text: &str) {
        let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
        let other = text.len() as u64 - ascii;
        self.twelfths += ascii * ASCII + other * OTHER;
    }

    /// The estimate of the text so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.twelfths.div_ceil(TOKEN)
    }

    /// The estimate of the finished thought. `thinking` has everything but the text; `whole` replaces the appended
    /// text if the provider's final text differs from it.
    #[must_use]
    pub fn ended(&self, thinking: &Thinking, whole: Option<&str>) -> Option<u64> {
        let text = whole.map_or_else(|| self.total(), estimate_thought);
        Some(text).filter(|tokens| *tokens > 0).or_else(|| payload(thinking))
    }
}

/// The estimate of all thoughts of an answer, from its events. It equals the sum of [`estimate_thinking`] over the
/// answer's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerEstimate {
    /// The tokens of the thoughts that ended.
    ended: u64,
    /// The tokens of these that are known from payloads only.
    sealed: u64,
    open: ThoughtEstimate,
}

impl AnswerEstimate {
    /// Takes the next event of the answer.
    pub fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::ThinkingDelta { delta, .. } => self.open.push(delta),
            Event::ThinkingEnd { thinking, thought, .. } => {
                let has_text = thought.map_or(self.open.total() > 0, |text| !text.is_empty());
                self.end(self.open.ended(thinking, thought), has_text);
                self.open = ThoughtEstimate::default();
            }
            Event::Whole { value: Block::Thinking(thinking), .. } => {
                self.end(estimate_thinking(thinking), !thinking.thought.is_empty());
            }
            Event::Choice { event, .. } => self.hear(*event),
            _ => {}
        }
    }

    /// The estimate of all thoughts so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ended.saturating_add(self.open.total())
    }

    /// The tokens of thoughts without a text.
    #[must_use]
    pub fn sealed(&self) -> u64 {
        self.sealed
    }

    fn end(&mut self, tokens: Option<u64>, has_text: bool) {
        let tokens = tokens.unwrap_or_default();
        self.ended = self.ended.saturating_add(tokens);
        self.sealed = self.sealed.saturating_add(if has_text { 0 } else { tokens });
    }
}

fn payload(thinking: &Thinking) -> Option<u64> {
    let payload = thinking.encrypted_content.as_ref().or(thinking.redacted_data.as_ref());
    payload.or(thinking.signature.as_ref()).map(|payload| estimate_opaque(payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thought_is_a_quarter_of_its_ascii_and_a_third_of_all_other_bytes() {
        for (text, tokens) in
            [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("思考", 2), ("思考 four", 4), ("ä", 1)]
        {
            assert_eq!(estimate_thought(text), tokens, "{text}");
        }
    }

    #[test]
    fn the_events_of_an_answer_come_to_the_sum_of_its_thoughts() {
        let sealed =
            Thinking { redacted_data: Some("A".repeat(160)), ..Thinking::new("", "thinking") };
        let signed =
            Thinking { signature: Some("A".repeat(999)), ..Thinking::new("abcde", "thinking") };
        let mut estimate = AnswerEstimate::default();
        let whole = Block::Thinking(signed.clone());
        estimate.hear(Event::Whole { block: 0, value: &whole });
        estimate.hear(Event::ThinkingStart { block: 1, source_field: "thinking" });
        estimate.hear(Event::ThinkingEnd { block: 1, thinking: &sealed, thought: None });
        estimate.hear(Event::ThinkingStart { block: 2, source_field: "thinking" });
        estimate.hear(Event::ThinkingDelta { block: 2, delta: "abc" });
        assert_eq!(estimate.total(), 2 + 30 + 1, "also while a thought is open");
        estimate.hear(Event::ThinkingDelta { block: 2, delta: "de" });
        let bare = Thinking { thought: String::new(), ..signed.clone() };
        estimate.hear(Event::ThinkingEnd { block: 2, thinking: &bare, thought: None });
        let sum: Option<u64> = [&signed, &sealed, &signed].into_iter().map(estimate_thinking).sum();
        assert_eq!((Some(estimate.total()), estimate.sealed()), (sum, 30));
    }
}
