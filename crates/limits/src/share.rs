//! What one process knows of a budget that it shares.

use super::{Given, Report, Unheard};

/// A slice of a budget, and what this process does with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// All that is held: reserved, spent and not yet reported, or idle.
    holds: u64,
    reserved: u64,
    /// So much of what is reserved has been used already by answers that go on.
    came: u64,
    /// Spent since the last report.
    spent: u64,
    /// In a report whose answer did not come yet.
    reported: u64,
    /// Spent by everybody, as far as it was heard.
    used: u64,
    /// What other processes hold, as far as it was heard.
    others: u64,
    /// Reserved since the last beat, and between that and the one before it.
    taken: u64,
    taken_before: u64,
    number: u64,
}

impl Share {
    /// What can be reserved without asking the ledger.
    #[must_use]
    pub fn idle(&self) -> u64 {
        let bound = self.reserved.saturating_add(self.spent).saturating_add(self.reported);
        self.holds.saturating_sub(bound)
    }

    /// Reserves tokens of the slice, if there are so many idle ones. A call whose answer takes more than it reserved
    /// reserves again in this way, and settles all of it at once.
    pub fn reserve(&mut self, tokens: u64) -> bool {
        if tokens > self.idle() {
            return false;
        }
        self.reserved = self.reserved.saturating_add(tokens);
        self.taken = self.taken.saturating_add(tokens);
        true
    }

    /// So much of what a call reserved has been used already. It [goes](Share::goes) when the call settles.
    pub fn comes(&mut self, tokens: u64) {
        self.came = self.came.saturating_add(tokens);
    }

    /// A call of which so much had come settles, or is given up.
    pub fn goes(&mut self, tokens: u64) {
        self.came = self.came.saturating_sub(tokens);
    }

    /// A call that had reserved so many spent so many.
    pub fn settle(&mut self, reserved: u64, spent: u64) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.spent = self.spent.saturating_add(spent);
    }

    /// Whether the ledger has something to hear.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.spent > 0 || self.reported > 0
    }

    /// What the ledger may not have heard. What has come of answers that go on is spent should they be cut off now.
    #[must_use]
    pub fn unheard(&self) -> Unheard {
        let Share { number, reported, spent, came, .. } = *self;
        Unheard { number, reported, spent: spent.saturating_add(came) }
    }

    /// Nothing is held, and nothing is to be said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.holds == 0 && self.reserved == 0 && !self.has_news()
    }

    /// Tokens spent by everybody, as far as it is known here.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.saturating_add(self.spent).saturating_add(self.reported)
    }

    /// What calls of this process have reserved.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// What nobody has spent of a budget of `max`, as far as it is known here.
    #[must_use]
    pub fn left(&self, max: u64) -> u64 {
        max.saturating_sub(self.used())
    }

    /// What nobody has spent and no call has reserved of a budget of `max`, as far as it is known here.
    #[must_use]
    pub fn free(&self, max: u64) -> u64 {
        self.left(max).saturating_sub(self.reserved.saturating_add(self.others))
    }

    /// Begins a report that wants so much more, and gives back what is idle but for `spare`. One that was begun and
    /// not heard is made again as it was, with what is wanted now.
    pub fn begin(&mut self, wants: u64, spare: u64) -> Report {
        if self.reported == 0 {
            self.number += 1;
            (self.reported, self.spent) = (self.spent, 0);
        }
        let keeps = self.reserved.saturating_add(self.spent).saturating_add(self.idle().min(spare));
        // What is given back cannot be reserved any more.
        self.holds = keeps.saturating_add(self.reported);
        Report { number: self.number, spent: self.reported, keeps, wants }
    }

    /// The report was heard; `kept` is what it said that this process keeps.
    pub fn heard(&mut self, report: Report, given: &Given) {
        self.holds = self.holds.saturating_sub(report.keeps).saturating_sub(self.reported);
        self.holds = self.holds.saturating_add(given.holds);
        (self.reported, self.used, self.others) = (0, given.used, given.others);
    }

    /// What is likely to be asked for soon: as much as was reserved between two beats.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.max(self.taken_before)
    }

    /// Some time went by, the same each time; what was not asked for again in twice that is not likely any more.
    pub fn beat(&mut self) {
        self.taken_before = std::mem::take(&mut self.taken);
    }
}
