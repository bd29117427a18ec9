//! Headers, parameters and unread bodies at the edge of the gateway.

pub(crate) mod headers;
pub(crate) mod inbound;
pub(crate) mod query;

/// The most header lines of a request, in every version of HTTP.
pub(crate) const HEAD_LINES: usize = 128;
