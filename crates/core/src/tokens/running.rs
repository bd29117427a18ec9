//! The count of a text that is still arriving.

use super::{IncrementalCount, IncrementalEstimate, TokenCount, Tokenizer, TokenizerFailure};

/// Counts a growing text with a tokenizer, and goes on with an estimate when the tokenizer fails.
pub struct RunningCount<'t> {
    exact: Option<Box<dyn IncrementalCount + 't>>,
    estimate: IncrementalEstimate,
    failure: Option<TokenizerFailure>,
}

impl<'t> RunningCount<'t> {
    /// Starts at nothing.
    #[must_use]
    pub fn new(tokenizer: Option<&'t dyn Tokenizer>) -> Self {
        let (exact, failure) = match tokenizer.map(Tokenizer::incremental) {
            Some(Ok(exact)) => (Some(exact), None),
            Some(Err(failure)) => (None, Some(failure)),
            None => (None, None),
        };
        Self { exact, estimate: IncrementalEstimate::default(), failure }
    }

    /// Appends `text`.
    pub fn push(&mut self, text: &str) {
        self.estimate.push(text);
        let outcome = self.exact.as_mut().map(|exact| exact.push(text));
        if let Some(Err(failure)) = outcome {
            self.give_up(failure);
        }
    }

    /// The count of everything pushed so far.
    #[must_use]
    pub fn total(&mut self) -> TokenCount {
        match self.exact.as_mut().map(|exact| exact.total()) {
            Some(Ok(tokens)) => return TokenCount::tokenized(tokens),
            Some(Err(failure)) => self.give_up(failure),
            None => {}
        }
        TokenCount::estimated(self.estimate.total())
    }

    /// The reason for falling back, given out once.
    pub fn take_failure(&mut self) -> Option<TokenizerFailure> {
        self.failure.take()
    }

    /// A tokenizer that failed once is not used again: a later success would lack the failed part.
    fn give_up(&mut self, failure: TokenizerFailure) {
        self.exact = None;
        self.failure = Some(failure);
    }
}
