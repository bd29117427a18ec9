//! `[traces]`: the audit copy of the models' thoughts.

use super::limits::limit;
use super::table::Section;
use std::time::Duration;
use thinkthrough_limits::Limit;
use thinkthrough_store::{Limits, TRACE_AGE, TraceContent};

/// The audit copy of the models' thoughts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Traces {
    /// Whether any is written.
    pub(crate) on: bool,
    /// How long they stay; `None`: for ever.
    pub(crate) keep: Option<Duration>,
    /// How many a tenant may have.
    pub(crate) most: u64,
    /// Whether they have questions, calls and results besides thoughts and answers.
    pub(crate) content: TraceContent,
}

impl Default for Traces {
    fn default() -> Self {
        Traces {
            on: true,
            keep: Some(TRACE_AGE),
            most: Limits::default().tenant_traces,
            content: TraceContent::default(),
        }
    }
}

/// Reads `[traces]`; a missing setting has its default.
pub(super) fn traces(section: Option<Section<'_>>) -> Result<Traces, String> {
    const DAY: u64 = 24 * 60 * 60;
    let Some(section) = section else { return Ok(Traces::default()) };
    section.only(&["enabled", "keep_days", "max_per_tenant", "content"])?;
    let usual = Traces::default();
    let keep = match limit(section, "keep_days")? {
        Some(Limit::Unlimited) => None,
        Some(Limit::AtMost(days)) => Some(Duration::from_secs(days.get().saturating_mul(DAY))),
        None => usual.keep,
    };
    let most = match limit(section, "max_per_tenant")? {
        Some(Limit::Unlimited) => u64::MAX,
        Some(Limit::AtMost(traces)) => traces.get(),
        None => usual.most,
    };
    let content = match section.string("content")?.as_deref() {
        None => usual.content,
        Some("turn") => TraceContent::Turn,
        Some("thoughts") => TraceContent::Thoughts,
        Some(other) => {
            let at = section.at("content");
            return Err(format!("`{at}` cannot be `{other}`; allowed: turn, thoughts"));
        }
    };
    Ok(Traces { on: section.boolean("enabled")?.unwrap_or(usual.on), keep, most, content })
}
