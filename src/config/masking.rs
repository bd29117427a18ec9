//! `[masking]`: where secrets are covered beside logs, traces and exports, in which they always are.

use super::table::Section;

/// The places in which secrets are covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Masking {
    /// In the text of callers, users and tools, before it goes to a provider.
    pub(crate) requests: bool,
    /// Whether personal data is covered too, wherever secrets are.
    pub(crate) personal: bool,
    /// In displayed conversations: thoughts, answers, tool calls and their results.
    pub(crate) output: bool,
}

impl Default for Masking {
    fn default() -> Self {
        Masking { requests: false, personal: false, output: true }
    }
}

/// `[masking]`.
pub(super) fn masking(section: Option<Section<'_>>) -> Result<Masking, String> {
    let mut masking = Masking::default();
    let Some(section) = section else { return Ok(masking) };
    section.only(&["requests", "personal", "output"])?;
    if let Some(requests) = section.boolean("requests")? {
        masking.requests = requests;
    }
    if let Some(personal) = section.boolean("personal")? {
        masking.personal = personal;
    }
    if let Some(output) = section.boolean("output")? {
        masking.output = output;
    }
    Ok(masking)
}
