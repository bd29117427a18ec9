//! What may cross the gateway besides bodies: headers, parameters, and a caller's body that nobody reads.

pub(crate) mod headers;
pub(crate) mod inbound;
pub(crate) mod query;

/// The most lines in the head of a request, whatever version of HTTP it comes over.
pub(crate) const HEAD_LINES: usize = 128;
