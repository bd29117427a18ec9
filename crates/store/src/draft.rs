//! A trace before it is masked, as the gateway and the commands create it.

use crate::trace::{DraftText, NewTrace, TraceNumbers, TraceState};
use crate::trace_items::TraceItems;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thinkthrough_core::plane::{Masked, Tenant};
use thinkthrough_core::settled::Settled;
use thinkthrough_core::tags::redacted_json;
use thinkthrough_core::tokens::TokenSource;
use thinkthrough_core::why::Why;
use thinkthrough_json::{Raw, Writer};
use thinkthrough_mask::{BROKEN, Masker};

/// The metadata of a trace that could not be masked.
const UNTOLD: &str = "{\"masked\":\"error\"}";

/// A finished generation. Its texts are not masked yet, so it is never stored as it is.
#[derive(Clone, Debug)]
pub struct TraceDraft {
    /// The id that the answer's header names.
    pub id: String,
    /// The owner.
    pub tenant: Tenant,
    /// The session.
    pub session: String,
    /// The user's turn. All requests of the turn share it.
    pub run: String,
    /// The model as the caller asked for it.
    pub model: String,
    /// The provider's name in the configuration.
    pub provider: String,
    /// All thoughts, separated by empty lines.
    pub thought: DraftText,
    /// All visible text.
    pub answer: DraftText,
    /// Further data as a JSON object.
    pub metadata: Raw,
    /// The decision about the request.
    pub why: Why,
    /// The new items of the request, and the calls of the answer.
    pub items: TraceItems,
    /// Counts, cost and times.
    pub numbers: TraceNumbers,
    /// How it ended.
    pub state: TraceState,
}

impl TraceDraft {
    /// The size of the texts in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.thought.text.len() + self.answer.text.len() + self.items.size()
    }

    /// Masks the trace. If that fails, the trace has no texts.
    #[must_use]
    pub fn masked(self, masker: &Masker) -> NewTrace {
        self.masked_by(|draft| draft.covered(masker))
    }

    fn masked_by(self, mask: impl Fn(Self) -> NewTrace) -> NewTrace {
        let bare = self.without_texts();
        catch_unwind(AssertUnwindSafe(|| mask(self))).unwrap_or(bare)
    }

    fn covered(self, masker: &Masker) -> NewTrace {
        // Hides the redacted spans of each JSON string by itself, so that a span without an end stays in its string.
        let metadata = redacted_json(self.metadata.as_str()).into_owned();
        let metadata = Masked::by(masker, &metadata);
        let is_told = metadata.get() != BROKEN;
        NewTrace {
            id: self.id,
            tenant: self.tenant,
            session: masker.mask_text(&self.session),
            run: self.run,
            model: masker.mask_text(&self.model),
            provider: self.provider,
            thought: self.thought.masked(masker),
            answer: self.answer.masked(masker),
            // The metadata stays a valid object even if masking fails.
            metadata: if is_told { metadata } else { Masked::fixed(UNTOLD) },
            why: self.why.masked(masker),
            items: Some(Masked::by(masker, &self.items)),
            numbers: self.numbers,
            state: self.state,
        }
    }

    /// The trace without any text of the caller or the model.
    fn without_texts(&self) -> NewTrace {
        let broken = || Masked::fixed(BROKEN);
        NewTrace {
            id: self.id.clone(),
            tenant: self.tenant.clone(),
            session: BROKEN.to_owned(),
            run: self.run.clone(),
            model: BROKEN.to_owned(),
            provider: self.provider.clone(),
            thought: broken(),
            answer: broken(),
            metadata: Masked::fixed(UNTOLD),
            why: Masked::fixed(""),
            items: None,
            numbers: self.numbers,
            state: self.state,
        }
    }
}

impl NewTrace {
    /// Whether a part of the trace could not be masked.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        let texts = [&self.thought, &self.answer, &self.metadata, &self.why];
        let is_broken = |text: &str| text.contains(BROKEN);
        texts.iter().any(|text| is_broken(text.get()))
            || self.items.iter().flat_map(|it| it.get().all()).any(|item| is_broken(&item.text))
            || self.metadata.get() == UNTOLD
            || [&self.session, &self.model].iter().any(|name| name.as_str() == BROKEN)
    }
}

/// The token counts of a generation, and their sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceCount {
    numbers: TraceNumbers,
    reasoning: TokenSource,
    total: TokenSource,
}

impl TraceCount {
    /// The counts of a settled answer.
    #[must_use]
    pub fn of(settled: &Settled) -> Self {
        let Settled { usage, reasoning, total } = settled;
        let numbers = TraceNumbers {
            reasoning_tokens: reasoning.tokens,
            total_tokens: total.tokens,
            input_tokens: usage.input_tokens_with_cached(),
            output_tokens: usage.output_tokens_with_reasoning(),
            cached_tokens: usage.cache_read_tokens,
            ..TraceNumbers::default()
        };
        TraceCount { numbers, reasoning: reasoning.source, total: total.source }
    }

    /// The token counts. The other numbers are zero or unknown.
    #[must_use]
    pub fn numbers(&self) -> TraceNumbers {
        self.numbers
    }

    /// Writes the sources of the counts into the metadata.
    pub fn write_sources(&self, w: &mut Writer) {
        w.field_str("reasoning_tokens_source", self.reasoning.as_str());
        w.field_str("total_tokens_source", self.total.as_str());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::settled::AnswerSize;
    use thinkthrough_core::usage::Usage;
    use thinkthrough_mask::Tiers;

    fn draft(thought: &str) -> TraceDraft {
        TraceDraft {
            id: "one".to_owned(),
            tenant: Tenant::local(),
            session: "s".to_owned(),
            run: "r".to_owned(),
            model: "m".to_owned(),
            provider: "p".to_owned(),
            thought: DraftText::fitting(thought.to_owned()),
            answer: DraftText::fitting("said".to_owned()),
            metadata: Raw::parse("{\"status\":200}").unwrap(),
            why: Why::default(),
            items: TraceItems::default(),
            numbers: TraceNumbers::default(),
            state: TraceState::Whole,
        }
    }

    fn told(trace: &NewTrace) -> [&str; 4] {
        [trace.thought.get(), trace.answer.get(), trace.metadata.get(), &trace.session]
    }

    #[test]
    fn a_draft_that_breaks_its_masker_leaves_a_trace_without_that_text() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]).breaking_at("boom");
        let whole = draft("a thought").masked(&masker);
        assert_eq!(told(&whole), ["a thought", "said", "{\"status\":200}", "s"]);
        let broken = draft("a boom").masked(&masker);
        assert_eq!(told(&broken), [BROKEN, "said", "{\"status\":200}", "s"]);
        assert_eq!((whole.is_broken(), broken.is_broken()), (false, true));
        // Even if another part of masking fails, no text is stored.
        let bare = draft("a boom").masked_by(|draft| {
            assert!(!draft.thought.text.contains("boom"), "broken on purpose");
            draft.covered(&masker)
        });
        assert_eq!(told(&bare), [BROKEN, BROKEN, UNTOLD, BROKEN]);
        assert!(bare.is_broken());
    }

    #[test]
    fn a_trace_hides_redacted_spans_in_its_texts_and_its_metadata() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let mut draft = draft("a <REDACTED>PIIalpha77</REDACTED> b <REDACTED>PIIbeta88");
        draft.answer = DraftText::fitting("c <REDACTED>PIIgamma99</REDACTED>".to_owned());
        draft.metadata = Raw::parse("{\"asked\":\"<REDACTED>m\",\"status\":200}").unwrap();
        let trace = draft.masked(&masker);
        let metadata = "{\"asked\":\"[redacted]\",\"status\":200}";
        assert_eq!(told(&trace), ["a [redacted] b [redacted]", "c [redacted]", metadata, "s"]);
    }

    #[test]
    fn a_secret_at_the_cut_of_a_text_is_not_in_the_trace() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let key = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
        for inside in [5, 20, key.len() - 1] {
            // The text consists of words, because a key is only recognised at the beginning of a word.
            let mut text = "word ".repeat((1 << 20) / 5 + 1);
            text.truncate((1 << 20) - inside);
            let text = format!("{} {key}", text.get(1..).unwrap_or_default());
            let trace = draft(&text).masked(&masker);
            let thought = trace.thought.get();
            assert!(thought.len() > 1_000_000 && !thought.contains(key.split_at(5).0), "{inside}");
        }
    }

    #[test]
    fn the_tokens_of_a_trace_say_where_they_come_from() {
        let usage = Usage {
            input_tokens: Some(10),
            output_tokens: Some(7),
            reasoning_tokens: Some(5),
            ..Usage::default()
        };
        for (usage, numbers, source) in
            [(Some(&usage), (5, 17), "reported"), (None, (9, 20), "estimated")]
        {
            let size = AnswerSize { thought: 9, all: 20 };
            let count = TraceCount::of(&Settled::of(usage, size, true));
            let said = (count.numbers().reasoning_tokens, count.numbers().total_tokens);
            let object = Raw::build(|w| w.object(|w| count.write_sources(w)));
            let sources = format!(
                "{{\"reasoning_tokens_source\":\"{source}\",\"total_tokens_source\":\"{source}\"}}"
            );
            assert_eq!((said, object.as_str()), (numbers, sources.as_str()));
        }
    }
}
