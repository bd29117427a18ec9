//! Token counts as the provider reported them.

use crate::json::Raw;

/// Token counts of one answer: the provider's own numbers, nothing added up. Unknown is `None`, never 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: Option<u64>,
    /// Tokens of the answer; whether they contain the reasoning tokens differs by provider.
    pub output_tokens: Option<u64>,
    /// Tokens spent on reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Request tokens that were read from a prompt cache.
    pub cache_read_tokens: Option<u64>,
    /// Request tokens that were written to a prompt cache.
    pub cache_write_tokens: Option<u64>,
    /// The wire counts cached tokens beside those of the request and not in them (Messages, Converse).
    pub is_cached_apart: bool,
    /// The provider's own total.
    pub total_tokens: Option<u64>,
    /// The usage object as it stood on the wire, merged over the events of a stream where the wire splits it.
    pub raw: Option<Raw>,
}

impl Usage {
    /// Request tokens that no cache gave or took. Most providers count cached tokens into the request's; where
    /// the total shows that this one does not, its number stands.
    #[must_use]
    pub fn uncached_input_tokens(&self) -> Option<u64> {
        let input = self.input_tokens?;
        let cached = self.cached();
        let is_apart =
            self.is_cached_apart || cached > input || self.total_tokens == Some(self.sum(cached));
        Some(if is_apart { input } else { input - cached })
    }

    /// Request tokens, those that a cache gave or took included.
    #[must_use]
    pub fn input_tokens_with_cached(&self) -> Option<u64> {
        Some(self.uncached_input_tokens()?.saturating_add(self.cached()))
    }

    /// The provider's own total, else what its counts come to.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        let sum = || {
            let output = self.output_tokens_with_reasoning()?;
            Some(self.input_tokens_with_cached()?.saturating_add(output))
        };
        self.total_tokens.or_else(sum)
    }

    /// Tokens of the answer, reasoning included. Where the total shows that the provider counts reasoning
    /// apart, it is added.
    #[must_use]
    pub fn output_tokens_with_reasoning(&self) -> Option<u64> {
        let output = self.output_tokens?;
        let reasoning = self.reasoning_tokens.unwrap_or_default();
        let is_apart = self.total_tokens == Some(self.sum(reasoning));
        Some(if is_apart { output.saturating_add(reasoning) } else { output })
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
