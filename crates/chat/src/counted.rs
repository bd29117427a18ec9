//! The tokens of thoughts. All places that show a number use the same rule: the head of a thought, the lines of
//! `think ask` and its JSON, the budget, `/explain`, exports.
//!
//! If the provider reports no number, it is estimated by the same rule as in the gateway's traces and budgets
//! (`core::tokens`), and never counted by a tokenizer.

use crate::wording::grouped;
use thinkthrough_core::content::{Block, Content, Thinking};
use thinkthrough_core::settled::{AnswerSize, Settled};
use thinkthrough_core::tokens::{ThoughtEstimate, TokenCount, TokenSource, estimate_thinking};
use thinkthrough_core::usage::Usage;

/// The tokens of each block that is a thought, as far as they are known.
///
/// The total of the answer is shared out among its thoughts, so that their sum equals the total.
pub(crate) fn counts(content: &Content) -> Vec<Option<TokenCount>> {
    let all = of(content);
    let estimates: Vec<Option<u64>> = content.blocks.iter().map(estimate).collect();
    let thoughts = content.thoughts().count() as u64;
    let sum: u64 = estimates.iter().flatten().sum();
    if all.source == TokenSource::Estimated && all.tokens == sum {
        return estimates.into_iter().map(|it| it.map(TokenCount::estimated)).collect();
    }
    let (mut left, mut of_them) = (all.tokens, thoughts);
    let mut share = |block: &Block, estimate: Option<u64>| {
        if !matches!(block, Block::Thinking(_)) {
            return None;
        }
        of_them = of_them.saturating_sub(1);
        let part = u128::from(all.tokens) * u128::from(estimate.unwrap_or_default());
        let part = part.checked_div(u128::from(sum)).and_then(|part| u64::try_from(part).ok());
        // The last thought gets the rest, so that rounding loses no token.
        let tokens = if of_them == 0 { left } else { part.unwrap_or_default().min(left) };
        left -= tokens;
        let source = if thoughts == 1 { all.source } else { TokenSource::Estimated };
        Some(TokenCount { tokens, source })
    };
    content.blocks.iter().zip(estimates).map(|(block, estimate)| share(block, estimate)).collect()
}

/// The reasoning tokens of a message.
#[must_use]
pub fn of(content: &Content) -> TokenCount {
    total(content.usage.as_ref(), &content.blocks, !content.partial)
}

/// The reasoning tokens of an answer: the provider's count, else the sum of its thoughts' counts. An answer without
/// either counts as 0.
#[must_use]
pub fn total(usage: Option<&Usage>, blocks: &[Block], is_whole: bool) -> TokenCount {
    known(usage, blocks, is_whole).unwrap_or_else(|| TokenCount::reported(0))
}

/// The reasoning tokens of an answer, as [`total`]. `None` if the provider reported no number and no thought came.
#[must_use]
pub fn known(usage: Option<&Usage>, blocks: &[Block], is_whole: bool) -> Option<TokenCount> {
    let is_reported = usage.is_some_and(|usage| usage.reasoning_tokens.is_some());
    let has_thoughts = blocks.iter().any(|block| matches!(block, Block::Thinking(_)));
    (is_reported || has_thoughts)
        .then(|| Settled::of(usage, AnswerSize::of(blocks), is_whole).reasoning)
}

/// The reported tokens of a thought that left no block in its answer: the provider withheld its text.
#[must_use]
pub fn withheld(content: &Content) -> Option<TokenCount> {
    let tokens = content.usage.as_ref()?.reasoning_tokens.filter(|tokens| *tokens > 0)?;
    content.thoughts().next().is_none().then(|| TokenCount::reported(tokens))
}

/// The sum of counts. Its source is the least certain source of them.
#[must_use]
pub fn sum(counts: impl IntoIterator<Item = TokenCount>) -> TokenCount {
    counts.into_iter().fold(TokenCount::reported(0), |sum, count| TokenCount {
        tokens: sum.tokens.saturating_add(count.tokens),
        source: sum.source.min(count.source),
    })
}

/// The count of a thought in progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growing(ThoughtEstimate);

impl Growing {
    /// Appends `delta`.
    pub fn push(&mut self, delta: &str) {
        self.0.push(delta);
    }

    /// The count of the text so far.
    #[must_use]
    pub fn count(&self) -> TokenCount {
        TokenCount::estimated(self.0.total())
    }

    /// The count of the whole thought. `thinking` has everything but the text; `whole` replaces the deltas if they
    /// differ. `None` if the count is unknown.
    #[must_use]
    pub fn ended(&self, thinking: &Thinking, whole: Option<&str>) -> Option<TokenCount> {
        self.0.ended(thinking, whole).map(TokenCount::estimated)
    }
}

fn estimate(block: &Block) -> Option<u64> {
    let Block::Thinking(thinking) = block else { return None };
    estimate_thinking(thinking)
}

/// `1,240 tokens`, with a mark if the number is an estimate.
#[must_use]
pub fn tokens(count: TokenCount) -> String {
    let about = if count.source == TokenSource::Estimated { "about " } else { "" };
    let plural = if count.tokens == 1 { "" } else { "s" };
    format!("{about}{} token{plural}", grouped(count.tokens))
}

#[cfg(test)]
mod tests {
    use super::{counts, known, tokens, withheld};
    use thinkthrough_core::content::{Block, Content, Speaker, Thinking};
    use thinkthrough_core::usage::Usage;

    fn said(thoughts: &[&str], reported: Option<u64>) -> Content {
        let blocks = thoughts.iter().map(|text| {
            Block::Thinking(Thinking {
                encrypted_content: text.is_empty().then(|| "A".repeat(160)),
                ..Thinking::new(*text, "thinking")
            })
        });
        let blocks = blocks.chain([Block::text("so")]).collect();
        let usage =
            reported.map(|tokens| Usage { reasoning_tokens: Some(tokens), ..Usage::default() });
        Content { usage, ..Content::new(Speaker::Ai, blocks) }
    }

    #[test]
    fn b_11_thoughts_add_up_to_what_their_answer_cost() {
        for (thoughts, reported, want) in [
            (&["twelve bytes"][..], None, &["about 3 tokens"][..]),
            (&["twelve bytes"], Some(1_240), &["1,240 tokens"]),
            (
                &["twelve bytes", "twelve bytes", ""],
                Some(100),
                &["about 8 tokens", "about 8 tokens", "about 84 tokens"],
            ),
            (&[""], None, &["about 30 tokens"]),
            (&[], Some(7), &[]),
        ] {
            let content = said(thoughts, reported);
            let counted = counts(&content);
            assert_eq!(counted.len(), content.blocks.len());
            let counted: Vec<_> = counted.into_iter().flatten().collect();
            let said: Vec<_> = counted.iter().map(|it| tokens(*it)).collect();
            assert_eq!(said, want, "{thoughts:?}");
            if !thoughts.is_empty() {
                assert_eq!(
                    counted.iter().map(|it| it.tokens).sum::<u64>(),
                    super::of(&content).tokens
                );
            }
        }
    }

    #[test]
    fn an_answer_without_a_report_and_a_thought_has_no_count() {
        for (thoughts, reported, want) in [
            (&[][..], None, None),
            (&[], Some(0), Some("0 tokens")),
            (&["twelve bytes"], None, Some("about 3 tokens")),
            (&["twelve bytes"], Some(7), Some("7 tokens")),
        ] {
            let content = said(thoughts, reported);
            let count = known(content.usage.as_ref(), &content.blocks, true).map(tokens);
            assert_eq!(count.as_deref(), want, "{thoughts:?} {reported:?}");
        }
    }

    #[test]
    fn reported_tokens_without_a_block_are_a_withheld_thought() {
        for (thoughts, reported, want) in [
            (&[][..], Some(400), Some("400 tokens")),
            (&[], Some(0), None),
            (&[], None, None),
            (&["twelve bytes"], Some(400), None),
            (&[""], Some(400), None),
        ] {
            let count = withheld(&said(thoughts, reported)).map(tokens);
            assert_eq!(count.as_deref(), want, "{thoughts:?} {reported:?}");
        }
    }
}
