//! The tokens that a request may cost, for limits of tokens per minute.

use thinkthrough_core::allowance::Extent;
use thinkthrough_core::provider::ModelRule;
use thinkthrough_core::tokens::estimate_conservative;
use thinkthrough_core::wire::Wire;
use thinkthrough_json::Doc;

/// The reserved tokens for a reply that no model makes.
const ANSWER: u64 = 8_192;

/// The tokens of a body, plus the most that its answers may take. `of` is the API and the rule of the model that the
/// body asks, if it asks one.
pub(crate) fn expected(body: &[u8], of: Option<(&dyn Wire, &ModelRule)>) -> u64 {
    let asked = estimate_conservative(&String::from_utf8_lossy(body));
    let extent = of.and_then(|(wire, rule)| {
        let doc = Doc::parse(body).ok()?;
        Some(Extent::of(wire, rule, doc.root()))
    });
    asked.saturating_add(extent.map_or(ANSWER, |extent| extent.total()))
}
