//! What is spent of a budget that several processes share, and who holds slices of the rest.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{BudgetEvent, BudgetRules, BudgetState};
use crate::json::{Doc, Val, Writer};

/// A holder that cannot reach the ledger stops spending its slice before this much time is over.
pub const LEASE: Duration = Duration::from_secs(60);

/// A slice whose holder said nothing for this long is free for whoever needs it: its process is gone. It is much longer
/// than [`LEASE`], because a holder that was only cut off has spent of its slice and says so when it is back: given to
/// others before that, it would be spent twice. For the same reason it stays as it is while nobody needs it.
pub const KEPT: Duration = Duration::from_secs(300);

/// How long a holder that got too little is waited for by the others.
const WANTED: Duration = Duration::from_millis(1500);

/// One budget: what is spent, and the slices. What is spent and all slices together never exceed the budget, as long as
/// each holder spends no more than its slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    state: BudgetState,
    slices: BTreeMap<String, Slice>,
    /// Until then somebody needs what others hold and do not use, in Unix milliseconds.
    wanted_until: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    tokens: u64,
    /// The number of the holder's last report, so that one that is made again changes nothing.
    report: u64,
    until: u64,
}

/// What a holder says, and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Counts up with each report of this holder.
    pub number: u64,
    /// Tokens spent since the last report.
    pub spent: u64,
    /// What it keeps of its slice.
    pub keeps: u64,
    /// What it wants besides.
    pub wants: u64,
}

/// What a holder gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// All that it holds from now on.
    pub holds: u64,
    /// Tokens spent by everybody.
    pub used: u64,
    /// What the others hold.
    pub others: u64,
    /// Somebody needs what others hold and do not use.
    pub is_wanted: bool,
    /// The thresholds that this report reached.
    pub events: Vec<BudgetEvent>,
}

impl Ledger {
    /// Takes a report at this time, in Unix milliseconds.
    pub fn report(&mut self, rules: &BudgetRules, holder: &str, report: Report, now: u64) -> Given {
        self.slices.retain(|_, slice| slice.until > now || slice.tokens > 0);
        let known = self.slices.get(holder).copied();
        let is_again = known.is_some_and(|slice| slice.report >= report.number);
        let events = match is_again {
            true => Vec::new(),
            false => self.state.book(rules, report.spent),
        };
        let used = self.state.used;
        let asked = report.keeps.saturating_add(report.wants);
        let free = |others: u64| {
            let left = |max: u64| max.saturating_sub(used.saturating_add(others));
            rules.max.get().map_or(u64::MAX, left)
        };
        let mut others = self.held_beside(holder);
        if free(others) < asked {
            self.slices.retain(|other, slice| other == holder || slice.until > now);
            others = self.held_beside(holder);
        }
        let holds = asked.min(free(others));
        let is_wanted = self.wanted_until > now;
        if holds < asked && others > 0 {
            self.wanted_until = now.saturating_add(millis(WANTED));
        }
        let until = now.saturating_add(millis(KEPT));
        self.slices
            .insert(holder.to_owned(), Slice { tokens: holds, report: report.number, until });
        Given { holds, used, others, is_wanted, events }
    }

    /// What others hold.
    fn held_beside(&self, holder: &str) -> u64 {
        let others = self.slices.iter().filter(|(other, _)| other.as_str() != holder);
        others.fold(0, |sum, (_, slice)| sum.saturating_add(slice.tokens))
    }

    /// Frees the slices whose holders said nothing for so long, before [`KEPT`] is over: for a ledger that no holder can
    /// be cut off from.
    pub fn free_silent(&mut self, silence: Duration, now: u64) {
        let early = now.saturating_add(millis(KEPT.saturating_sub(silence)));
        self.slices.retain(|_, slice| slice.until > early);
    }

    /// What is spent, and the thresholds that were told.
    #[must_use]
    pub fn state(&self) -> BudgetState {
        self.state
    }

    /// Until then somebody needs what others hold, in Unix milliseconds.
    #[must_use]
    pub fn wanted_until(&self) -> u64 {
        self.wanted_until
    }

    /// Writes it down.
    #[must_use]
    pub fn write(&self) -> String {
        let mut w = Writer::new();
        w.object(|w| {
            w.field_u64("used", self.state.used);
            w.field_u64("warned_at", self.state.warned_at);
            w.field_u64("exceeded_at", self.state.exceeded_at);
            w.field_u64("wanted_until", self.wanted_until);
            w.key("slices").object(|w| {
                for (holder, slice) in &self.slices {
                    w.key(holder).object(|w| {
                        w.field_u64("tokens", slice.tokens);
                        w.field_u64("report", slice.report);
                        w.field_u64("until", slice.until);
                    });
                }
            });
        });
        w.finish()
    }

    /// Reads what [`Ledger::write`] wrote; `None` if it is nothing of the kind.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let doc = Doc::parse_str(text).ok()?;
        let root = doc.root();
        let slice = |value: Val<'_>| {
            Some(Slice {
                tokens: value.u64("tokens")?,
                report: value.u64("report")?,
                until: value.u64("until")?,
            })
        };
        let slices = root.get("slices")?.entries();
        let slices = slices.map(|(holder, value)| Some((holder.into_owned(), slice(value)?)));
        Some(Ledger {
            state: BudgetState {
                used: root.u64("used")?,
                warned_at: root.u64("warned_at")?,
                exceeded_at: root.u64("exceeded_at")?,
            },
            slices: slices.collect::<Option<_>>()?,
            wanted_until: root.u64("wanted_until")?,
        })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
