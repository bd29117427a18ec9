//! The spent amount of a budget that several processes share, and their slices (leases) of the rest.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{BudgetEvent, BudgetRules, BudgetState};
use thinkthrough_json::{Doc, Val, Writer};

/// A holder that cannot reach the ledger stops spending its slice before this time is over.
pub const LEASE: Duration = Duration::from_secs(60);

/// A slice is free for other holders after this time without a report, if holders can be cut off from their ledger.
/// The time is much longer than [`LEASE`], because such a holder has spent part of its slice and reports that when it
/// is back: if others got the slice earlier, it would be spent twice. The slice of a process that ended is free
/// earlier, if its [successor](Ledger::end) reports its spent amount.
pub const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the ledger remembers the last report of a holder without tokens.
const REMEMBERED: Duration = Duration::from_secs(300);

/// How long other holders are asked to give way to a holder that got too little.
const WANTED: Duration = Duration::from_millis(1500);

/// One budget: the spent amount, and the slices. Their sum never exceeds the budget, as long as each holder spends no
/// more than its slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    state: BudgetState,
    slices: BTreeMap<String, Slice>,
    /// Until this time a holder needs idle tokens of others, in Unix milliseconds.
    wanted_until: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slice {
    tokens: u64,
    /// The number of the holder's last report, so that a repeated report has no effect.
    report: u64,
    until: u64,
}

/// A holder's report of its spending, and its request for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Counts up with each report of this holder.
    pub number: u64,
    /// Tokens spent since the last report.
    pub spent: u64,
    /// The tokens of its slice that it keeps.
    pub keeps: u64,
    /// The further tokens that it wants.
    pub wants: u64,
}

/// The spent amount that the ledger may not know: stored in case the process ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unheard {
    /// The number of its last report.
    pub number: u64,
    /// Tokens in that report, if its answer did not come.
    pub reported: u64,
    /// Tokens spent since.
    pub spent: u64,
}

impl Unheard {
    /// Whether both amounts are zero.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.reported == 0 && self.spent == 0
    }
}

/// The ledger's answer to a holder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The whole slice of the holder from now on.
    pub holds: u64,
    /// Tokens spent by all holders.
    pub used: u64,
    /// The slices of the other holders.
    pub others: u64,
    /// Whether a holder needs idle tokens of others.
    pub is_wanted: bool,
    /// The thresholds that this report reached.
    pub events: Vec<BudgetEvent>,
}

impl Ledger {
    /// Takes a report at this time, in Unix milliseconds. The slice stays reserved for its holder for `kept` after
    /// its last report, and longer while no other holder needs it: [`KEPT`], or [`LEASE`] if no holder can be cut
    /// off.
    pub fn report(
        &mut self,
        rules: &BudgetRules,
        holder: &str,
        report: Report,
        kept: Duration,
        now: u64,
    ) -> Given {
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
        let until = now.saturating_add(millis(if holds == 0 { REMEMBERED } else { kept }));
        self.slices
            .insert(holder.to_owned(), Slice { tokens: holds, report: report.number, until });
        Given { holds, used, others, is_wanted, events }
    }

    /// The sum of the other holders' slices.
    fn held_beside(&self, holder: &str) -> u64 {
        let others = self.slices.iter().filter(|(other, _)| other.as_str() != holder);
        others.fold(0, |sum, (_, slice)| sum.saturating_add(slice.tokens))
    }

    /// Ends a holder whose process is gone: takes back its slice, and books its unreported spending, once. The next
    /// report returns the events for thresholds that this reaches.
    pub fn end(&mut self, holder: &str, unheard: Unheard, now: u64) {
        let Unheard { number, reported, spent } = unheard;
        let heard = self.slices.get(holder).map_or(0, |slice| slice.report);
        let next = number.saturating_add(1);
        for (number, tokens) in [(number, reported), (next, spent)] {
            if number > heard {
                self.state.used = self.state.used.saturating_add(tokens);
            }
        }
        let until = now.saturating_add(millis(REMEMBERED));
        self.slices.insert(holder.to_owned(), Slice { tokens: 0, report: next.max(heard), until });
    }

    /// The spent amount, and the thresholds that were reported.
    #[must_use]
    pub fn state(&self) -> BudgetState {
        self.state
    }

    /// Until this time a holder needs tokens of others, in Unix milliseconds.
    #[must_use]
    pub fn wanted_until(&self) -> u64 {
        self.wanted_until
    }

    /// Writes the ledger as JSON.
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

    /// Reads the output of [`Ledger::write`]; `None` if the text has another form.
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
