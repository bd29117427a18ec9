//! `[traces]`: the audit copy of what models thought.

use super::limits::limit;
use super::table::Section;
use std::time::Duration;
use thinkthrough_core::budget::Limit;
use thinkthrough_store::TRACE_AGE;

/// The audit copy of what models thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traces {
    /// Whether any is written.
    pub(crate) on: bool,
    /// How long they stay; `None`: for ever.
    pub(crate) keep: Option<Duration>,
}

impl Default for Traces {
    fn default() -> Self {
        Traces { on: true, keep: Some(TRACE_AGE) }
    }
}

/// `[traces]`; what it does not say is as usual.
pub(super) fn traces(section: Option<Section<'_>>) -> Result<Traces, String> {
    const DAY: u64 = 24 * 60 * 60;
    let Some(section) = section else { return Ok(Traces::default()) };
    section.only(&["enabled", "keep_days"])?;
    let usual = Traces::default();
    let keep = match limit(section, "keep_days")? {
        Some(Limit::Unlimited) => None,
        Some(Limit::AtMost(days)) => Some(Duration::from_secs(days.get().saturating_mul(DAY))),
        None => usual.keep,
    };
    Ok(Traces { on: section.boolean("enabled")?.unwrap_or(usual.on), keep })
}
