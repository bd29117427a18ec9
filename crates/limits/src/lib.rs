//! Budgets and limits as arithmetic: `admit -> Permit -> settle`, with the time as an argument.
//!
//! A [`RateLimiter`] limits the requests and tokens of one provider in any minute. A [`SessionBudget`] limits the
//! reasoning tokens of one session. Both reserve the highest cost of a call before it starts, so that parallel calls
//! cannot overshoot together, and both settle with its real cost. [`admit`] asks both, in an order that leaves
//! nothing reserved after a refusal.
//!
//! ```
//! use std::num::NonZeroU64;
//! use std::time::Duration;
//! use thinkthrough_limits::{Ask, BudgetRules, Limit, OnExceed, SessionBudget, WarnAt};
//!
//! let rules = BudgetRules {
//!     max: Limit::AtMost(NonZeroU64::new(1000).unwrap()),
//!     warn_at: WarnAt::from_percent(80.0).unwrap(),
//!     on_exceed: OnExceed::Block,
//! };
//! let mut budget = SessionBudget::default();
//! let now = Duration::ZERO;
//! let first = budget.admit(&rules, Ask::up_to(800), now).unwrap();
//! // The first call reserved 800, so the second one gets the other 200.
//! let second = budget.admit(&rules, Ask::up_to(300), now).unwrap();
//! assert_eq!(second.cap(), Some(200));
//! // The first call used 500, so 300 are free again.
//! budget.settle(&rules, first, 500);
//! let third = budget.admit(&rules, Ask::up_to(1000), now).unwrap();
//! assert_eq!(third.cap(), Some(300));
//! ```
//!
//! If several processes spend one budget, a [`Ledger`] records the spent amount and the slices of the rest that
//! processes hold. A [`Share`] is the view of one process: it reserves from its slice, and asks the ledger for
//! another one when the slice is used up. A [`RateLedger`] and a [`RateShare`] divide the requests of a minute in the
//! same way. [`runaway`] finds thoughts that repeat themselves without end.
//!
//! Nothing here reads a clock. `now` is the time since any fixed start; a step back counts as no step.
#![doc(test(attr(deny(warnings))))]

mod ledger;
mod rate;
mod rate_ledger;
mod rate_share;
pub mod runaway;
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

/// An upper bound, or no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many.
    AtMost(NonZeroU64),
    /// As many as one likes.
    Unlimited,
}

/// The needs of one call before it may start.
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
    /// Reads a bound of a configuration, where zero means no bound.
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
