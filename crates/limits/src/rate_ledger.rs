//! Who holds how many places of a limit that several processes share.
//!
//! A process has no more in its own window than it holds, and all hold no more together than the limit: so no minute has
//! more than the limit, whatever the clocks of the processes say. What is taken is held until it has left the window of
//! whoever took it, and no message says when that was.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Places, RateLimits};
use thinkthrough_json::{Doc, Val, Writer};

/// So long the places of a process that says nothing are held: it takes some for [`super::rate_share::SPEND`] at most, a
/// place counts for a minute and a slot, and clocks do not run quite alike.
const HOLD: Duration = Duration::from_millis(71_000);

/// How long a holder that got too little is waited for by the others.
const WANTED: Duration = Duration::from_millis(1500);

/// The places of one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLedger {
    slices: BTreeMap<String, Slice>,
    /// Until then, in milliseconds of the ledger's clock, this holder needs what others do not use.
    wanted_until: u64,
    wanted_by: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    places: Places,
    /// Whether some of them were not taken when the holder was last heard.
    is_idle: bool,
    /// When the first of them is free again, if nothing else happens.
    frees_at: u64,
    until: u64,
}

/// What a holder says, and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateReport {
    /// What is in its window.
    pub busy: Places,
    /// What it keeps: that, and some besides.
    pub keeps: Places,
    /// What its calls need besides.
    pub wants: Places,
    /// Less of that would help none of them.
    pub least: Places,
    /// What it would like to have for the next ones.
    pub more: Places,
    /// When the first of its places leaves the window.
    pub frees_in: Duration,
}

/// What a holder gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateGiven {
    /// All that it holds from now on.
    pub holds: Places,
    /// What nobody holds.
    pub left: Places,
    /// Whether anybody else holds something.
    pub is_shared: bool,
    /// Whether others may have what they do not use.
    pub may_come: bool,
    /// Whether others need what it does not use.
    pub is_wanted: bool,
    /// When something of the others' is free at the latest, if they take nothing else.
    pub frees_in: Option<Duration>,
}

impl RateLedger {
    /// Takes a report at this time, in milliseconds of the ledger's own clock.
    pub fn report(
        &mut self,
        limits: &RateLimits,
        holder: &str,
        report: RateReport,
        now: u64,
    ) -> RateGiven {
        self.slices.retain(|_, slice| slice.until > now);
        self.slices.remove(holder);
        let all = self.slices.values().fold(Places::NONE, |sum, slice| sum.plus(slice.places));
        let may_come = self.slices.values().any(|slice| slice.is_idle);
        let free = limits.all().minus(limits.counted(all)).minus(report.keeps);
        let given = match free.covers(report.least) {
            true => free.least(report.wants.plus(report.more)),
            false => Places::NONE,
        };
        if may_come && !given.covers(report.wants) {
            self.wanted_until = now.saturating_add(millis(WANTED));
            holder.clone_into(&mut self.wanted_by);
        }
        let next = self.slices.values().map(|slice| match slice.frees_at > now {
            true => slice.frees_at,
            false => slice.until,
        });
        let frees_in = next.min().map(|at| Duration::from_millis(at.saturating_sub(now)));
        let (is_shared, holds) = (!self.slices.is_empty(), report.keeps.plus(given));
        if holds != Places::NONE {
            let slice = Slice {
                places: holds,
                is_idle: holds.minus(report.busy) != Places::NONE,
                frees_at: now.saturating_add(millis(report.frees_in)),
                until: now.saturating_add(millis(HOLD)),
            };
            self.slices.insert(holder.to_owned(), slice);
        }
        let is_wanted = self.wanted_until > now && self.wanted_by != holder;
        let left = free.minus(given);
        RateGiven { holds, left, is_shared, may_come, is_wanted, frees_in }
    }

    /// Writes it down.
    #[must_use]
    pub fn write(&self) -> String {
        let mut w = Writer::new();
        w.object(|w| {
            w.field_u64("wanted_until", self.wanted_until);
            w.field_str("wanted_by", &self.wanted_by);
            w.key("slices").object(|w| {
                for (holder, slice) in &self.slices {
                    w.key(holder).object(|w| {
                        w.field_u64("requests", slice.places.requests);
                        w.field_u64("tokens", slice.places.tokens);
                        w.field_bool("is_idle", slice.is_idle);
                        w.field_u64("frees_at", slice.frees_at);
                        w.field_u64("until", slice.until);
                    });
                }
            });
        });
        w.finish()
    }

    /// Reads what [`RateLedger::write`] wrote; `None` if it is nothing of the kind.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let doc = Doc::parse_str(text).ok()?;
        let root = doc.root();
        let slice = |value: Val<'_>| {
            Some(Slice {
                places: Places { requests: value.u64("requests")?, tokens: value.u64("tokens")? },
                is_idle: value.bool("is_idle")?,
                frees_at: value.u64("frees_at")?,
                until: value.u64("until")?,
            })
        };
        let slices = root.get("slices")?.entries();
        let slices = slices.map(|(holder, value)| Some((holder.into_owned(), slice(value)?)));
        Some(RateLedger {
            slices: slices.collect::<Option<_>>()?,
            wanted_until: root.u64("wanted_until")?,
            wanted_by: root.string("wanted_by")?,
        })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
