//! What a key's budgets are of.

use super::{BudgetRules, Limit, OnExceed, WarnAt};

/// What a budget counts over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A conversation.
    Session,
    /// What follows one message of a person.
    Turn,
    /// What a caller names as one task; a session where it names none.
    Task,
    /// A day in UTC.
    Day,
    /// All that the key ever asks for.
    Key,
}

/// The budgets of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// The reasoning tokens of each scope, in the order of [`Scope::ALL`].
    pub max: [Limit; 5],
    /// The share of each that is worth a warning.
    pub warn_at: WarnAt,
    /// What happens to requests once one of them is spent.
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
}

impl Budgets {
    /// No budget.
    pub const NONE: Self = Self {
        max: [Limit::Unlimited; 5],
        warn_at: BudgetRules::DEFAULT.warn_at,
        on_exceed: BudgetRules::DEFAULT.on_exceed,
    };

    /// Whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.max == Self::NONE.max
    }

    /// The scopes that have a budget, and its rules.
    pub fn rules(&self) -> impl Iterator<Item = (Scope, BudgetRules)> + '_ {
        let rules = |max| BudgetRules { max, warn_at: self.warn_at, on_exceed: self.on_exceed };
        let all = Scope::ALL.into_iter().zip(self.max);
        all.filter(|(_, max)| *max != Limit::Unlimited).map(move |(scope, max)| (scope, rules(max)))
    }
}
