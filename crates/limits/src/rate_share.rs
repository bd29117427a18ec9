//! One process's part of a rate limit that several processes share.

use std::time::Duration;

use super::{Places, RateGiven, RateLimiter, RateLimits, RatePermit, RateRefusal, RateReport};

/// How long after its last contact with the ledger a process takes places that it holds.
pub(super) const SPEND: Duration = Duration::from_secs(8);

/// The wait of a call if the time of the next free place is unknown.
const SOON: Duration = Duration::from_secs(1);

/// The places that a process holds for a minute, and its own window, which never has more places in it.
#[derive(Clone, Debug, Default)]
pub struct RateShare {
    window: RateLimiter,
    holds: Places,
    /// Places taken since the last report: the likely demand of the near future.
    taken: Places,
    /// The ledger knows that some held places are free.
    was_idle: bool,
    /// The moments of some calls were not known at the last report.
    was_open: bool,
    is_wanted: bool,
    /// The start of the last report that the ledger answered.
    heard: Option<Duration>,
}

impl RateShare {
    /// Takes held places without asking the ledger; `None` if there are too few.
    pub fn take(&mut self, limits: &RateLimits, tokens: u64, now: Duration) -> Option<RatePermit> {
        if !self.is_held(now) {
            return None;
        }
        let permit = self.window.admit_within(limits, self.holds, tokens, now)?;
        self.taken = self.taken.plus(limits.one(tokens));
        Some(permit)
    }

    /// Takes places of the own window, whatever others do.
    ///
    /// # Errors
    /// When the own window alone is full.
    pub fn take_alone(
        &mut self,
        limits: &RateLimits,
        tokens: u64,
        now: Duration,
    ) -> Result<RatePermit, RateRefusal> {
        self.window.admit(limits, tokens, now)
    }

    /// Whether the own window alone is full.
    #[must_use]
    pub fn would_refuse(
        &mut self,
        limits: &RateLimits,
        tokens: u64,
        now: Duration,
    ) -> Option<RateRefusal> {
        self.window.would_refuse(limits, tokens, now)
    }

    /// Whether a call without places from the ledger may get some if it asks again.
    #[must_use]
    pub fn may_get(
        &mut self,
        limits: &RateLimits,
        tokens: u64,
        given: &RateGiven,
        now: Duration,
    ) -> bool {
        given.may_come || self.in_reach(limits, given, now).covers(limits.one(tokens))
    }

    /// The reason why a call without places from the ledger has to wait, and how long.
    #[must_use]
    pub fn refusal(
        &mut self,
        limits: &RateLimits,
        tokens: u64,
        given: &RateGiven,
        now: Duration,
    ) -> RateRefusal {
        if let Some(refusal) = self.would_refuse(limits, tokens, now) {
            return refusal;
        }
        let is_of_tokens = self.in_reach(limits, given, now).tokens < limits.one(tokens).tokens;
        let (unit, limit) = match is_of_tokens {
            true => (super::RateUnit::Tokens, limits.tokens_per_minute),
            false => (super::RateUnit::Requests, limits.requests_per_minute),
        };
        let first = [given.frees_in, self.window.frees_in(now)].into_iter().flatten().min();
        let retry_after = first.unwrap_or(SOON);
        RateRefusal { unit, limit: limit.get().unwrap_or(u64::MAX), retry_after }
    }

    /// As [`RateLimiter::open`].
    pub fn open(&mut self, permit: &mut RatePermit, now: Duration) {
        self.window.open(permit, now);
    }

    /// As [`RateLimiter::stamp`].
    pub fn stamp(&mut self, permit: &mut RatePermit, at: Duration, now: Duration) {
        self.window.stamp(permit, at, now);
    }

    /// As [`RateLimiter::close`].
    pub fn close(&mut self, permit: &mut RatePermit, now: Duration) {
        self.window.close(permit, now);
    }

    /// Replaces the reservation of a call by its real cost.
    pub fn settle(&mut self, permit: RatePermit, tokens: u64, now: Duration) {
        self.window.settle(permit, tokens, now);
    }

    /// Whether the ledger needs a report: about idle places, about idle places that are now in use, about places
    /// taken beside the ledger, or about calls without a known moment, whose places must stay held.
    #[must_use]
    pub fn has_news(&mut self, limits: &RateLimits, now: Duration) -> bool {
        let is_open = self.was_open || self.window.has_open();
        is_open || self.was_idle || self.busy(limits, now) != self.holds
    }

    /// No places are held, and the window is empty.
    #[must_use]
    pub fn is_empty(&mut self, limits: &RateLimits, now: Duration) -> bool {
        self.holds == Places::NONE && !self.has_news(limits, now)
    }

    /// Begins a report for calls that need `needs` in all, of which the smallest needs `least`. Gives back idle
    /// places if no call needs any, except for the likely demand of the near future.
    pub fn begin(
        &mut self,
        limits: &RateLimits,
        (needs, least): (Places, Places),
        now: Duration,
    ) -> RateReport {
        let busy = self.busy(limits, now);
        let idle = if self.is_held(now) { self.holds.minus(busy) } else { Places::NONE };
        let most = limits.all().over(8);
        let soon = if self.is_wanted { Places::NONE } else { self.taken.least(most) };
        let (spare, more) = match needs == Places::NONE {
            true => (idle.least(soon), Places::NONE),
            false if self.is_wanted => (Places::NONE, Places::NONE),
            // A busy process gets some more places, so that its next calls need not ask.
            false => (idle, soon.most(limits.all().over(16)).least(most)),
        };
        let keeps = busy.plus(spare);
        // Returned places cannot be taken any more.
        (self.holds, self.taken) = (keeps, Places::NONE);
        self.was_open = self.window.has_open();
        RateReport {
            busy,
            keeps,
            wants: needs.minus(spare),
            least: least.minus(spare),
            more,
            frees_in: self.window.frees_in(now).unwrap_or_default(),
        }
    }

    /// Applies the ledger's answer to the report that was begun at this time.
    pub fn heard(&mut self, report: RateReport, given: &RateGiven, begun: Duration) {
        self.holds = self.holds.minus(report.keeps).plus(given.holds);
        self.was_idle = given.holds.minus(report.busy) != Places::NONE;
        self.is_wanted = given.is_wanted;
        self.heard = Some(begun);
    }

    /// The free places that this process or no process holds.
    fn in_reach(&mut self, limits: &RateLimits, given: &RateGiven, now: Duration) -> Places {
        self.holds.minus(self.busy(limits, now)).plus(given.left)
    }

    /// The limited requests and tokens in the window.
    fn busy(&mut self, limits: &RateLimits, now: Duration) -> Places {
        let (requests, tokens) = self.window.in_window(now);
        limits.counted(Places { requests, tokens })
    }

    /// Whether the held places cannot have been given to another process yet.
    fn is_held(&self, now: Duration) -> bool {
        self.heard.is_some_and(|heard| now.saturating_sub(heard) < SPEND)
    }
}
