//! What one process knows of a limit that it shares.

use std::time::Duration;

use super::{Places, RateGiven, RateLimiter, RateLimits, RatePermit, RateRefusal, RateReport};

/// So long after it last heard of its ledger a process takes places that it holds.
pub(super) const SPEND: Duration = Duration::from_secs(8);

/// How long a call is told to wait where nobody says when something is free.
const SOON: Duration = Duration::from_secs(1);

/// Places of a minute that a process holds, and its own window, which has no more than those in it.
#[derive(Clone, Debug, Default)]
pub struct RateShare {
    window: RateLimiter,
    holds: Places,
    /// Taken since the last report: what is likely to be asked for soon.
    taken: Places,
    /// The ledger was told that some of what is held is not taken.
    was_idle: bool,
    /// The moments of some calls were not known at the last report.
    was_open: bool,
    is_wanted: bool,
    /// When the report was begun that was heard last.
    heard: Option<Duration>,
}

impl RateShare {
    /// Takes places that are held, without asking the ledger; `None` where there are too few.
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

    /// Whether a call that got nothing from the ledger may get something if it asks again.
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

    /// Why a call that got nothing from the ledger has to wait, and how long.
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

    /// Replaces what a call had reserved by what it did cost.
    pub fn settle(&mut self, permit: RatePermit, tokens: u64, now: Duration) {
        self.window.settle(permit, tokens, now);
    }

    /// Whether the ledger has something to hear: what is not used, what is used of that, what was taken beside it, or that
    /// calls whose moment is not known are still to be held for.
    #[must_use]
    pub fn has_news(&mut self, limits: &RateLimits, now: Duration) -> bool {
        let is_open = self.was_open || self.window.has_open();
        is_open || self.was_idle || self.busy(limits, now) != self.holds
    }

    /// Nothing is held, and nothing is in the window.
    #[must_use]
    pub fn is_empty(&mut self, limits: &RateLimits, now: Duration) -> bool {
        self.holds == Places::NONE && !self.has_news(limits, now)
    }

    /// Begins a report for calls that need so much in all, of which the smallest needs `least`; what is idle is given back
    /// where nothing is needed, but for as much as is likely to be asked for soon.
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
            // Whoever asks often gets some more, so that the next ones need not ask.
            false => (idle, soon.most(limits.all().over(16)).least(most)),
        };
        let keeps = busy.plus(spare);
        // What is given back cannot be taken any more.
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

    /// The report that was begun at this time was heard.
    pub fn heard(&mut self, report: RateReport, given: &RateGiven, begun: Duration) {
        self.holds = self.holds.minus(report.keeps).plus(given.holds);
        self.was_idle = given.holds.minus(report.busy) != Places::NONE;
        self.is_wanted = given.is_wanted;
        self.heard = Some(begun);
    }

    /// What is held and not taken, and what nobody holds.
    fn in_reach(&mut self, limits: &RateLimits, given: &RateGiven, now: Duration) -> Places {
        self.holds.minus(self.busy(limits, now)).plus(given.left)
    }

    /// What is in the window of what is limited.
    fn busy(&mut self, limits: &RateLimits, now: Duration) -> Places {
        let (requests, tokens) = self.window.in_window(now);
        limits.counted(Places { requests, tokens })
    }

    /// Whether nobody else can have been given what is held.
    fn is_held(&self, now: Duration) -> bool {
        self.heard.is_some_and(|heard| now.saturating_sub(heard) < SPEND)
    }
}
