//! The scopes of a key's budgets.

use super::{BudgetRules, Limit, OnExceed, WarnAt};

/// The requests that a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A conversation.
    Session,
    /// All requests that follow one message of a person.
    Turn,
    /// A task that the caller names, or else the session.
    Task,
    /// A day in UTC.
    Day,
    /// All requests of the key.
    Key,
}

/// The unit of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Tokens of thoughts.
    Reasoning,
    /// Millionths of a dollar, of requests and answers as a whole.
    Money,
}

/// The budgets of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// The reasoning tokens of each scope, in the order of [`Scope::ALL`].
    pub max: [Limit; 5],
    /// The micro-dollars of each scope, in the same order.
    pub money: [Limit; 5],
    /// The share of each that is worth a warning.
    pub warn_at: WarnAt,
    /// The fate of requests once one of the budgets is spent.
    pub on_exceed: OnExceed,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Session, Self::Turn, Self::Task, Self::Day, Self::Key];

    /// The word in configurations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Turn => "turn",
            Self::Task => "task",
            Self::Day => "day",
            Self::Key => "key",
        }
    }

    /// The owner of the budget, to complete the sentence "the budget of ...".
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Session => "this session",
            Self::Turn => "this turn",
            Self::Task => "this task",
            Self::Day => "this key's day",
            Self::Key => "this key",
        }
    }
}

impl Budgets {
    /// No budget.
    pub const NONE: Self = Self {
        max: [Limit::Unlimited; 5],
        money: [Limit::Unlimited; 5],
        warn_at: BudgetRules::DEFAULT.warn_at,
        on_exceed: BudgetRules::DEFAULT.on_exceed,
    };

    /// Whether all scopes are unlimited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.max == Self::NONE.max && !self.has_money()
    }

    /// Whether a budget is in money, so that prices must be known.
    #[must_use]
    pub fn has_money(&self) -> bool {
        self.money != Self::NONE.money
    }

    /// The limited scopes, each with its unit and rules.
    pub fn rules(&self) -> impl Iterator<Item = (Unit, Scope, BudgetRules)> + '_ {
        let rules = |max| BudgetRules { max, warn_at: self.warn_at, on_exceed: self.on_exceed };
        let of = |unit, all: [Limit; 5]| {
            Scope::ALL.into_iter().zip(all).map(move |(scope, max)| (unit, scope, max))
        };
        let all = of(Unit::Reasoning, self.max).chain(of(Unit::Money, self.money));
        all.filter(|(.., max)| *max != Limit::Unlimited)
            .map(move |(unit, scope, max)| (unit, scope, rules(max)))
    }
}

impl Unit {
    /// The word in events.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning_tokens",
            Self::Money => "micro_usd",
        }
    }

    /// The name of the ledgers of a scope.
    #[must_use]
    pub fn ledger(self, scope: Scope) -> &'static str {
        match (self, scope) {
            (Self::Reasoning, scope) => scope.as_str(),
            (Self::Money, Scope::Session) => "usd-session",
            (Self::Money, Scope::Turn) => "usd-turn",
            (Self::Money, Scope::Task) => "usd-task",
            (Self::Money, Scope::Day) => "usd-day",
            (Self::Money, Scope::Key) => "usd-key",
        }
    }
}
