//! Token counts: reported by the provider, counted by a tokenizer, or estimated, and always tagged with which.
//!
//! A [`Tokenizer`] lives outside this crate, because its tables are large; this module only knows the trait.
//! [`count_or_estimate`] never fails: without a tokenizer, or with a broken one, it falls back to a conservative
//! estimate. [`RunningCount`] does the same for a growing text, and [`EffectiveCount`] for a whole request, whose
//! cost per turn depends on the new pieces and not on the length of the conversation.

mod body;
mod effective;
mod estimate;
mod running;
mod thought;

use std::fmt;

use crate::problem::{Problem, ProblemCode};

pub use effective::{Effective, EffectiveCount, Piece, PieceKey};
pub use estimate::{
    IncrementalEstimate, estimate_conservative, estimate_opaque, estimate_utf16_quarter,
    utf16_units,
};
pub use running::RunningCount;
pub use thought::{AnswerEstimate, ThoughtEstimate, estimate_thinking, estimate_thought};

/// How many tokens, and how we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenCount {
    /// The number of tokens.
    pub tokens: u64,
    /// The source of the number.
    pub source: TokenSource,
}

/// The source of a token count, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenSource {
    /// Derived from the length of the text.
    Estimated,
    /// Counted by a tokenizer, which need not be the model's own.
    Tokenized,
    /// The provider's own number.
    Reported,
}

/// Counts the tokens of a text.
pub trait Tokenizer: Send + Sync {
    /// The name of the vocabulary, for example `o200k_base`.
    fn name(&self) -> &str;

    /// Counts the tokens of `text`.
    ///
    /// # Errors
    /// Fails when the tokenizer could not be loaded or broke on this text.
    fn count(&self, text: &str) -> Result<u64, TokenizerFailure>;

    /// Starts a count of a text that arrives in pieces.
    ///
    /// # Errors
    /// Fails when the tokenizer could not be loaded.
    fn incremental(&self) -> Result<Box<dyn IncrementalCount + '_>, TokenizerFailure>;
}

/// The count of a text that grows; its total equals the count of the whole text however it was split.
pub trait IncrementalCount: Send {
    /// Appends `text`.
    ///
    /// # Errors
    /// Fails when the tokenizer broke on this text; the count is of no use afterwards.
    fn push(&mut self, text: &str) -> Result<(), TokenizerFailure>;

    /// The count of everything pushed so far.
    ///
    /// # Errors
    /// Fails when the tokenizer broke on the text.
    fn total(&mut self) -> Result<u64, TokenizerFailure>;
}

/// A tokenizer could not count; the caller falls back to an estimate and warns once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenizerFailure {
    /// The tokenizer's name.
    pub tokenizer: String,
    /// The cause of the failure.
    pub reason: String,
}

/// Counts `text` with the tokenizer, or estimates it conservatively; the failure, if any, is for one warning.
#[must_use]
pub fn count_or_estimate(
    tokenizer: Option<&dyn Tokenizer>,
    text: &str,
) -> (TokenCount, Option<TokenizerFailure>) {
    match tokenizer.map(|tokenizer| tokenizer.count(text)) {
        Some(Ok(tokens)) => (TokenCount::tokenized(tokens), None),
        Some(Err(failure)) => (TokenCount::estimated(estimate_conservative(text)), Some(failure)),
        None => (TokenCount::estimated(estimate_conservative(text)), None),
    }
}

impl TokenCount {
    /// A provider's own number.
    #[must_use]
    pub fn reported(tokens: u64) -> Self {
        Self { tokens, source: TokenSource::Reported }
    }

    /// A tokenizer's number.
    #[must_use]
    pub fn tokenized(tokens: u64) -> Self {
        Self { tokens, source: TokenSource::Tokenized }
    }

    /// A number derived from the length of the text.
    #[must_use]
    pub fn estimated(tokens: u64) -> Self {
        Self { tokens, source: TokenSource::Estimated }
    }
}

impl TokenSource {
    /// The word used in files, events and answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Estimated => "estimated",
            Self::Reported => "reported",
            Self::Tokenized => "tokenized",
        }
    }
}

impl fmt::Display for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for TokenizerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tokenizer, reason } = self;
        write!(
            f,
            "tokenizer `{tokenizer}` failed ({reason}), token counts are estimated from the length of the text"
        )
    }
}

impl std::error::Error for TokenizerFailure {}

impl From<TokenizerFailure> for Problem {
    fn from(failure: TokenizerFailure) -> Self {
        Problem::new(ProblemCode::Fallback, failure.to_string())
    }
}

#[cfg(test)]
mod tests;
