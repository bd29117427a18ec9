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
    /// The provider's own total.
    pub total_tokens: Option<u64>,
    /// The usage object as it stood on the wire, merged over the events of a stream where the wire splits it.
    pub raw: Option<Raw>,
}
