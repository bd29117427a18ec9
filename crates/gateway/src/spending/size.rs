//! What a request is expected to cost before it is sent.

use thinkthrough_core::tokens::estimate_conservative;

/// Room for an answer without a cap of its own.
const ANSWER: u64 = 8_192;

/// The most tokens that a request and its answer are expected to cost; `cap` is what the caller lets the answer take.
pub(crate) fn expected(body: &[u8], cap: Option<u64>) -> u64 {
    let asked = estimate_conservative(&String::from_utf8_lossy(body));
    asked.saturating_add(cap.unwrap_or(ANSWER))
}
