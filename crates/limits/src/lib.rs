//! Budgets and limits as arithmetic: `admit -> Permit -> settle`, with the time as an argument.
//!
//! Two things can hold a call back. A [`RateLimiter`] guards one provider: requests and tokens in any minute. A
//! [`SessionBudget`] guards one session: all the reasoning tokens that it may spend. Both reserve before the call what
//! the call may cost, so that calls running side by side cannot overshoot together, and both settle with what it did
//! cost. [`admit`] asks both in the one right order.
//!
//! Where several processes spend one budget, a [`Ledger`] says what is spent and who holds slices of the rest, and a
//! [`Share`] is what one process knows of it: it reserves from its slice, and asks the ledger when that is used up.
//!
//! Limits are shared alike: a [`RateLedger`] says how many places of a minute each process holds, and a [`RateShare`] has
//! no more than those in its own window.
//!
//! Nothing here reads a clock. `now` is the time since any fixed start; a step back is taken for standing still.

mod ledger;
mod rate;
mod rate_ledger;
mod rate_share;
mod scope;
mod session;
mod share;

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

pub use ledger::{Given, KEPT, LEASE, Ledger, Report, Unheard};
pub use rate::{Places, RateLimiter, RateLimits, RatePermit, RateRefusal, RateUnit};
pub use rate_ledger::{RateGiven, RateLedger, RateReport};
pub use rate_share::RateShare;
pub use scope::{Budgets, Scope, Unit};
pub use session::{
    Ask, BudgetEvent, BudgetEventKind, BudgetPermit, BudgetRefusal, BudgetRules, BudgetState,
    OnExceed, SessionBudget, WarnAt, WarnAtError,
};
pub use share::Share;

/// An upper bound, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many.
    AtMost(NonZeroU64),
    /// As many as one likes.
    Unlimited,
}

/// What one call needs before it may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The most tokens of any kind that it may cost, its request included.
    pub tokens: u64,
    /// The reasoning tokens among them.
    pub reasoning: Ask,
}

/// A call that may start; each part must be settled or given back.
#[derive(Debug)]
#[must_use = "an admitted call holds its reservations until they are settled"]
pub struct Admitted {
    /// To settle with the provider's [`RateLimiter`].
    pub rate: RatePermit,
    /// To settle with the [`SessionBudget`].
    pub budget: BudgetPermit,
}

/// Why a call may not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The session's reasoning tokens are spent or reserved.
    Budget(BudgetRefusal),
    /// The provider's limit is reached for now.
    Rate(RateRefusal),
}

/// Asks the rate limiter and, only if it agrees, the budget.
///
/// A call that the budget refuses leaves no trace in the rate limiter.
///
/// # Errors
/// Fails with the first refusal.
pub fn admit(
    (limiter, limits): (&mut RateLimiter, &RateLimits),
    (budget, rules): (&mut SessionBudget, &BudgetRules),
    call: Call,
    now: Duration,
) -> Result<Admitted, Refusal> {
    let rate = limiter.admit(limits, call.tokens, now).map_err(Refusal::Rate)?;
    match budget.admit(rules, call.reasoning, now) {
        Ok(budget) => Ok(Admitted { rate, budget }),
        Err(refusal) => {
            limiter.give_back(rate, now);
            Err(Refusal::Budget(refusal))
        }
    }
}

impl Limit {
    /// A bound from a configuration, where zero means none.
    #[must_use]
    pub const fn from_config(number: u64) -> Self {
        match NonZeroU64::new(number) {
            Some(number) => Self::AtMost(number),
            None => Self::Unlimited,
        }
    }

    /// A bound from a word or a number as a configuration or a user writes it: `unlimited`, `0`, `500000`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "unlimited" {
            return Some(Self::Unlimited);
        }
        text.parse().ok().map(Self::from_config)
    }

    /// The bound as a number, if there is one.
    #[must_use]
    pub fn get(self) -> Option<u64> {
        match self {
            Self::AtMost(number) => Some(number.get()),
            Self::Unlimited => None,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(number) => number.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(refusal) => refusal.fmt(f),
            Self::Rate(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod ledger_tests;
#[cfg(test)]
mod rate_share_tests;
#[cfg(test)]
mod rate_tests;
#[cfg(test)]
mod session_tests;
