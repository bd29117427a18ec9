//! Groups equal decisions about the thoughts of a request, and counts them.

use std::collections::BTreeMap;
use thinkthrough_core::decision::Decision;
use thinkthrough_json::Writer;

/// The most different decisions that are listed.
const MOST: usize = 32;

/// Decisions about whole answers with the same content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alike {
    outcome: &'static str,
    setting: &'static str,
    reason: String,
    count: u64,
}

impl Alike {
    /// The groups of a request's decisions.
    pub(crate) fn of(decisions: &[Decision]) -> Vec<Self> {
        let mut alike: BTreeMap<(&'static str, &'static str, &str), u64> = BTreeMap::new();
        for it in decisions.iter().filter(|it| it.block.is_none()) {
            *alike.entry((it.action.outcome(), it.setting, &it.reason)).or_default() += 1;
        }
        let all = alike.into_iter().take(MOST);
        all.map(|((outcome, setting, reason), count)| {
            let reason = reason.to_owned();
            Alike { outcome, setting, reason, count }
        })
        .collect()
    }

    /// Writes it, with its reason passed through `masked`.
    pub(crate) fn write(&self, w: &mut Writer, masked: impl Fn(&str) -> String) {
        w.object(|w| {
            w.field_str("outcome", self.outcome);
            w.field_str("setting", self.setting);
            w.field_str("reason", &masked(&self.reason));
            w.field_u64("count", self.count);
        });
    }
}
