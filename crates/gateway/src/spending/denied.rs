//! Answers to callers whose budget has too little left.

use super::budget_leases::Denied;
use super::charges::RequestCharges;
use crate::observe::progress::Progress;
use crate::rejection::{Rejection, rejection};
use thinkthrough_core::price::Dollars;
use thinkthrough_limits::{BudgetRules, Scope, Unit};

/// The seconds after which a request may ask again if the rest was reserved: some answers are over by then.
const AGAIN: u64 = 2;
/// The seconds after which a request may ask again if the store was late.
const SOON: u64 = 1;

impl RequestCharges {
    pub(super) fn denied(
        &self,
        denied: Denied,
        what: (Unit, Scope),
        rules: &BudgetRules,
    ) -> Rejection {
        let (unit, scope) = what;
        let word = match unit {
            Unit::Reasoning => "reasoning",
            Unit::Money => "usd",
        };
        let amount = |amount: u64| match unit {
            Unit::Reasoning => amount.to_string(),
            Unit::Money => format!("${}", Dollars(amount)),
        };
        let things = match unit {
            Unit::Reasoning => " reasoning tokens",
            Unit::Money => "",
        };
        self.reporter.tell(&Progress::Limited { by: "key", unit: word });
        let of = scope.in_words();
        match denied {
            Denied::Spent { used, max, least } => {
                let left = match (max.saturating_sub(used), unit) {
                    (0, _) => String::new(),
                    (left, Unit::Reasoning) => {
                        format!(
                            ", and the {left} that are left are fewer than the {least} that its model needs"
                        )
                    }
                    (_, Unit::Money) => {
                        ", and what is left pays for no answer to this request".to_owned()
                    }
                };
                let message = format!(
                    "{} of the {}{things} of {of} are spent{left}; begin another one, or ask the gateway's operator for \
                     a greater budget",
                    amount(used),
                    amount(max)
                );
                rejection(402, "reasoning_budget_exceeded", message)
            }
            Denied::Reserved { used, max } => {
                let message = format!(
                    "{} of the {}{things} of {of} are spent, and what is left is reserved by requests that are under \
                     way; ask again in {AGAIN} s",
                    amount(used),
                    amount(max)
                );
                Rejection { retry_after: Some(AGAIN), ..rejection(429, "budget_reserved", message) }
            }
            Denied::Unknown => {
                let max = amount(rules.max.get().unwrap_or_default());
                let message = format!(
                    "what is left of the {max}{things} of {of} cannot be said while the store is away; ask again"
                );
                rejection(503, "budget_unavailable", message)
            }
            Denied::Unasked => {
                let max = amount(rules.max.get().unwrap_or_default());
                let message = format!(
                    "what is left of the {max}{things} of {of} could not be asked for, because the store answers late; \
                     ask again in {SOON} s"
                );
                Rejection {
                    retry_after: Some(SOON),
                    ..rejection(429, "budget_unavailable", message)
                }
            }
        }
    }
}
