//! `[masking]`: where secrets are covered beside logs, traces and exports, in which they always are.

use super::table::Section;

/// Where secrets are covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Masking {
    /// In what callers, users and tools wrote, before it goes to a provider.
    pub(crate) requests: bool,
}

/// `[masking]`; what it does not say is off.
pub(super) fn masking(section: Option<Section<'_>>) -> Result<Masking, String> {
    let Some(section) = section else { return Ok(Masking::default()) };
    section.only(&["requests"])?;
    Ok(Masking { requests: section.boolean("requests")?.unwrap_or_default() })
}
