//! The places (leases) of a rate limit that several processes share.
//!
//! A process has no more in its own window than it holds, and together the processes hold no more than the limit: so
//! no minute exceeds the limit, whatever the clocks of the processes show. A taken place is held until it has left
//! the window of its process, and no message reports the time at which that was.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Places, RateLimits};
use thinkthrough_json::{Doc, Val, Writer};

/// How long the places of a silent process are held: it takes places for at most [`super::rate_share::SPEND`], a
/// place counts for a minute and a slot, and clocks do not run quite alike.
const HOLD: Duration = Duration::from_millis(71_000);

/// How long a holder that got too little is waited for by the others.
const WANTED: Duration = Duration::from_millis(1500);

/// The places of one limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLedger {
    slices: BTreeMap<String, Slice>,
    /// Until then, in milliseconds of the ledger's clock, this holder needs idle places of others.
    wanted_until: u64,
    wanted_by: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    places: Places,
    /// Whether some of them were free at the holder's last report.
    is_idle: bool,
    /// The time at which the first of them is free again, if no call ends earlier.
    frees_at: u64,
    until: u64,
}

/// A holder's report of its places, and its request for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateReport {
    /// The places in its window.
    pub busy: Places,
    /// The places that it keeps: the busy ones, and some spare ones.
    pub keeps: Places,
    /// The further places that its calls need.
    pub wants: Places,
    /// The least number of places that helps one of these calls.
    pub least: Places,
    /// The extra places that it would like for the next calls.
    pub more: Places,
    /// The time until the first of its places leaves the window.
    pub frees_in: Duration,
}

/// The ledger's answer to a holder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateGiven {
    /// All places of the holder from now on.
    pub holds: Places,
    /// The free places that no holder has.
    pub left: Places,
    /// Whether another holder has places.
    pub is_shared: bool,
    /// Whether others may have idle places.
    pub may_come: bool,
    /// Whether others need idle places of this holder.
    pub is_wanted: bool,
    /// The latest time until a place of the others is free, if they take no further ones.
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

    /// Writes the ledger as JSON.
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

    /// Reads the output of [`RateLedger::write`]; `None` if the text has another form.
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
