//! Requests and tokens per minute of one provider, over a sliding window.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use super::Limit;

/// The window over which the limits hold.
const WINDOW: Duration = Duration::from_secs(60);

/// Calls of one slot are forgotten together, once the window has left the whole slot. The limits hold exactly; a
/// place is free at most this much later than it could be, and memory is bounded by some 600 slots.
const SLOT: Duration = Duration::from_millis(100);

/// A provider's limits; read fresh for each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    /// Calls that may start in any minute.
    pub requests_per_minute: Limit,
    /// Tokens that the calls of any minute may cost.
    pub tokens_per_minute: Limit,
}

/// The calls to a provider within the last minute.
#[derive(Clone, Debug, Default)]
pub struct RateLimiter {
    /// In the order of their numbers; some may lie ahead.
    slots: VecDeque<Slot>,
    /// The calls in the window whose moment is not known yet; they stay in it until it is.
    open: Places,
    requests: u64,
    tokens: u64,
    latest: Duration,
}

/// A call that may start now.
#[derive(Debug)]
#[must_use = "a permit holds its reservation until it is settled or given back"]
pub struct RatePermit {
    moment: Moment,
    tokens: u64,
}

/// When a call counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The call has no limits.
    Never,
    /// It is not known yet.
    Open,
    /// In the slot of this number.
    Slot(u64),
}

/// Requests and tokens in a window: taken places, or places that may be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Calls.
    pub requests: u64,
    /// Tokens of these calls.
    pub tokens: u64,
}

/// A call that has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateRefusal {
    /// The limit that is reached; if both are, the limit with the longer wait.
    pub unit: RateUnit,
    /// The limit itself.
    pub limit: u64,
    /// The time until the call would be admitted, if no other call is.
    pub retry_after: Duration,
}

/// The unit of a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// Calls.
    Requests,
    /// Tokens.
    Tokens,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    number: u64,
    requests: u64,
    tokens: u64,
}

impl RateLimits {
    /// No limits.
    pub const UNLIMITED: Self =
        Self { requests_per_minute: Limit::Unlimited, tokens_per_minute: Limit::Unlimited };

    /// The places that one call of so many tokens takes. A call that alone is larger than the limit takes the whole
    /// limit.
    #[must_use]
    pub fn one(&self, tokens: u64) -> Places {
        self.all().least(self.counted(Places { requests: 1, tokens }))
    }

    /// Whether tokens are limited.
    #[must_use]
    pub fn counts_tokens(&self) -> bool {
        self.tokens_per_minute != Limit::Unlimited
    }

    /// The limits; 0 for an unlimited one.
    #[must_use]
    pub fn all(&self) -> Places {
        let of = |limit: Limit| limit.get().unwrap_or_default();
        Places { requests: of(self.requests_per_minute), tokens: of(self.tokens_per_minute) }
    }

    /// These places, with 0 for unlimited units.
    #[must_use]
    pub fn counted(&self, places: Places) -> Places {
        let of = |limit: Limit, places| if limit == Limit::Unlimited { 0 } else { places };
        Places {
            requests: of(self.requests_per_minute, places.requests),
            tokens: of(self.tokens_per_minute, places.tokens),
        }
    }
}

impl Places {
    /// No places.
    pub const NONE: Self = Self { requests: 0, tokens: 0 };

    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        self.each(more, u64::saturating_add)
    }

    /// The difference, at least 0.
    #[must_use]
    pub fn minus(self, less: Self) -> Self {
        self.each(less, u64::saturating_sub)
    }

    /// The smaller number of each.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        self.each(other, u64::min)
    }

    /// The greater number of each.
    #[must_use]
    pub fn most(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    /// The whole part of each.
    #[must_use]
    pub fn over(self, parts: u64) -> Self {
        self.each(Self { requests: parts, tokens: parts }, |places, parts| {
            places.checked_div(parts).unwrap_or_default()
        })
    }

    /// Whether those are no more, of either.
    #[must_use]
    pub fn covers(self, asked: Self) -> bool {
        self.requests >= asked.requests && self.tokens >= asked.tokens
    }

    fn each(self, other: Self, work: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            requests: work(self.requests, other.requests),
            tokens: work(self.tokens, other.tokens),
        }
    }
}

impl RateLimiter {
    /// Starts with an empty window.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reserves one request and `tokens` tokens, the most that the call may cost.
    ///
    /// A call that alone is larger than the limit would wait for ever; it waits for an empty window instead and takes
    /// the whole of it.
    ///
    /// # Errors
    /// Fails when a limit is reached, and says when to come back.
    pub fn admit(
        &mut self,
        limits: &RateLimits,
        tokens: u64,
        now: Duration,
    ) -> Result<RatePermit, RateRefusal> {
        if *limits == RateLimits::UNLIMITED {
            return Ok(RatePermit { moment: Moment::Never, tokens });
        }
        let now = self.advance(now);
        let tokens = limits.tokens_per_minute.get().map_or(tokens, |limit| tokens.min(limit));
        if let Some(refusal) = self.refusal(limits, tokens, now) {
            return Err(refusal);
        }
        Ok(self.take(tokens, now))
    }

    /// As [`RateLimiter::admit`], where the window may have no more than `held` in it, which is a part of the limits.
    pub fn admit_within(
        &mut self,
        limits: &RateLimits,
        held: Places,
        tokens: u64,
        now: Duration,
    ) -> Option<RatePermit> {
        let now = self.advance(now);
        let asked = limits.one(tokens);
        let left = held.minus(limits.counted(self.places()));
        left.covers(asked).then(|| self.take(asked.tokens, now))
    }

    /// Whether a call would have to wait, and how long.
    #[must_use]
    pub fn would_refuse(
        &mut self,
        limits: &RateLimits,
        tokens: u64,
        now: Duration,
    ) -> Option<RateRefusal> {
        let now = self.advance(now);
        self.refusal(limits, limits.one(tokens).tokens, now)
    }

    /// The time until the first taken place is free again; `None` if no place is taken.
    #[must_use]
    pub fn frees_in(&mut self, now: Duration) -> Option<Duration> {
        let now = self.advance(now);
        self.slots.front().map(|slot| leaves_at(slot.number).saturating_sub(now))
    }

    fn places(&self) -> Places {
        Places { requests: self.requests, tokens: self.tokens }
    }

    fn take(&mut self, tokens: u64, now: Duration) -> RatePermit {
        let slot = self.slot(now);
        slot.requests += 1;
        slot.tokens = slot.tokens.saturating_add(tokens);
        let number = slot.number;
        self.requests += 1;
        self.tokens = self.tokens.saturating_add(tokens);
        RatePermit { moment: Moment::Slot(number), tokens }
    }

    /// The moment of this call is not known: it counts until [`RateLimiter::stamp`] says when that was, and a minute
    /// longer.
    pub fn open(&mut self, permit: &mut RatePermit, now: Duration) {
        self.advance(now);
        if let Moment::Slot(number) = permit.moment
            && self.leave(number, permit.tokens)
        {
            self.open = self.open.plus(Places { requests: 1, tokens: permit.tokens });
            permit.moment = Moment::Open;
        }
    }

    /// Records that this call's moment was no later than `at`, which may lie ahead. If it is recorded twice, the
    /// earlier moment counts.
    pub fn stamp(&mut self, permit: &mut RatePermit, at: Duration, now: Duration) {
        let at = at.max(self.advance(now));
        let number = number_of(at);
        match permit.moment {
            Moment::Open => {
                self.open = self.open.minus(Places { requests: 1, tokens: permit.tokens });
            }
            Moment::Slot(later) if number < later && self.leave(later, permit.tokens) => {}
            Moment::Slot(_) | Moment::Never => return,
        }
        let slot = self.slot(at);
        slot.requests = slot.requests.saturating_add(1);
        slot.tokens = slot.tokens.saturating_add(permit.tokens);
        permit.moment = Moment::Slot(number);
    }

    /// Whether there are calls whose moment is not known.
    #[must_use]
    pub fn has_open(&self) -> bool {
        self.open.requests > 0
    }

    /// Replaces the reservation by the real cost of the call.
    ///
    /// An excess of the reservation is free at once. A cost beyond the reservation counts from now on, because it
    /// became known now.
    pub fn settle(&mut self, mut permit: RatePermit, tokens: u64, now: Duration) {
        let now = self.advance(now);
        self.close(&mut permit, now);
        let Moment::Slot(number) = permit.moment else { return };
        match tokens.checked_sub(permit.tokens) {
            None => self.take_back(number, 0, permit.tokens.saturating_sub(tokens)),
            Some(0) => {}
            Some(beyond) => {
                let slot = self.slot(now);
                slot.tokens = slot.tokens.saturating_add(beyond);
                self.tokens = self.tokens.saturating_add(beyond);
            }
        }
    }

    /// Undoes the reservation of a call that never reached the provider.
    pub fn give_back(&mut self, mut permit: RatePermit, now: Duration) {
        self.close(&mut permit, now);
        if let Moment::Slot(number) = permit.moment {
            self.take_back(number, 1, permit.tokens);
        }
    }

    /// Ends a call. If its moment is unknown, now is the latest possible moment.
    pub fn close(&mut self, permit: &mut RatePermit, now: Duration) {
        if permit.moment == Moment::Open {
            self.stamp(permit, now, now);
        }
    }

    /// Requests and tokens that count at this time.
    #[must_use]
    pub fn in_window(&mut self, now: Duration) -> (u64, u64) {
        self.advance(now);
        (self.requests, self.tokens)
    }

    fn advance(&mut self, now: Duration) -> Duration {
        self.latest = self.latest.max(now);
        while let Some(oldest) = self.slots.front() {
            if leaves_at(oldest.number) > self.latest {
                break;
            }
            self.requests = self.requests.saturating_sub(oldest.requests);
            self.tokens = self.tokens.saturating_sub(oldest.tokens);
            self.slots.pop_front();
        }
        self.latest
    }

    /// The slot of this time, made if it is not there.
    fn slot(&mut self, at: Duration) -> &mut Slot {
        let number = number_of(at);
        let place = self.slots.binary_search_by_key(&number, |slot| slot.number);
        let index = place.unwrap_or_else(|index| {
            self.slots.insert(index, Slot { number, requests: 0, tokens: 0 });
            index
        });
        #[expect(clippy::indexing_slicing, reason = "a slot was put there if there was none")]
        &mut self.slots[index]
    }

    /// Takes a call out of its slot, and leaves it in the window; `false` where the slot has left that already.
    fn leave(&mut self, number: u64, tokens: u64) -> bool {
        let found = self.slots.binary_search_by_key(&number, |slot| slot.number).ok();
        let Some(slot) = found.and_then(|index| self.slots.get_mut(index)) else { return false };
        slot.requests = slot.requests.saturating_sub(1);
        slot.tokens = slot.tokens.saturating_sub(tokens);
        true
    }

    /// If the reservation already left the window, its slot is gone and does not change.
    fn take_back(&mut self, number: u64, requests: u64, tokens: u64) {
        let found = self.slots.binary_search_by_key(&number, |slot| slot.number).ok();
        let Some(slot) = found.and_then(|index| self.slots.get_mut(index)) else { return };
        slot.requests = slot.requests.saturating_sub(requests);
        slot.tokens = slot.tokens.saturating_sub(tokens);
        self.requests = self.requests.saturating_sub(requests);
        self.tokens = self.tokens.saturating_sub(tokens);
    }

    fn refusal(&self, limits: &RateLimits, tokens: u64, now: Duration) -> Option<RateRefusal> {
        let requests = (RateUnit::Requests, limits.requests_per_minute, self.requests, 1);
        let tokens = (RateUnit::Tokens, limits.tokens_per_minute, self.tokens, tokens);
        let refusals = [requests, tokens].into_iter().filter_map(|(unit, limit, used, asked)| {
            let limit = limit.get()?;
            let excess = used.saturating_add(asked).saturating_sub(limit);
            (excess > 0).then(|| RateRefusal {
                unit,
                limit,
                retry_after: self.free_at(unit, excess).saturating_sub(now),
            })
        });
        refusals.max_by_key(|refusal| refusal.retry_after)
    }

    /// When enough of the oldest slots will have left the window.
    fn free_at(&self, unit: RateUnit, excess: u64) -> Duration {
        let mut freed = 0_u64;
        for slot in &self.slots {
            freed = freed.saturating_add(match unit {
                RateUnit::Requests => slot.requests,
                RateUnit::Tokens => slot.tokens,
            });
            if freed >= excess {
                return leaves_at(slot.number);
            }
        }
        self.latest.saturating_add(WINDOW)
    }
}

/// The number of the slot of this time.
fn number_of(at: Duration) -> u64 {
    u64::try_from(at.as_millis() / SLOT.as_millis()).unwrap_or(u64::MAX)
}

/// The time at which the whole slot has left the window.
fn leaves_at(number: u64) -> Duration {
    let slot = u64::try_from(SLOT.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(number.saturating_add(1).saturating_mul(slot)).saturating_add(WINDOW)
}

impl RateUnit {
    /// The word for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
        }
    }
}

impl fmt::Display for RateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.retry_after.as_millis().div_ceil(1000);
        let (unit, limit) = (self.unit.as_str(), self.limit);
        write!(
            f,
            "the provider's limit of {limit} {unit} per minute is reached, try again in {seconds} s"
        )
    }
}

impl std::error::Error for RateRefusal {}
