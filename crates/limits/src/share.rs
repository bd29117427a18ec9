//! One process's part of a budget that several processes share.

use super::{Given, Report, Unheard};

/// A slice of a budget in one process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// The whole slice: reserved, spent and not yet reported, or idle.
    holds: u64,
    reserved: u64,
    /// The part of the reservations that running answers have already used.
    came: u64,
    /// Spent since the last report.
    spent: u64,
    /// In a report whose answer did not come yet.
    reported: u64,
    /// Spent by all processes, as of the last answer of the ledger.
    used: u64,
    /// The slices of other processes, as of the last answer of the ledger.
    others: u64,
    /// Reserved since the last beat, and between that and the one before it.
    taken: u64,
    taken_before: u64,
    number: u64,
}

impl Share {
    /// The tokens that can be reserved without asking the ledger.
    #[must_use]
    pub fn idle(&self) -> u64 {
        let bound = self.reserved.saturating_add(self.spent).saturating_add(self.reported);
        self.holds.saturating_sub(bound)
    }

    /// Reserves tokens of the slice, if enough are idle. A call whose answer takes more than its reservation reserves
    /// again in this way, and settles all of it at once.
    pub fn reserve(&mut self, tokens: u64) -> bool {
        if tokens > self.idle() {
            return false;
        }
        self.reserved = self.reserved.saturating_add(tokens);
        self.taken = self.taken.saturating_add(tokens);
        true
    }

    /// Counts tokens of a reservation that were already used. They [go](Share::goes) when the call settles.
    pub fn comes(&mut self, tokens: u64) {
        self.came = self.came.saturating_add(tokens);
    }

    /// Removes the used tokens of a call that settles or is given up.
    pub fn goes(&mut self, tokens: u64) {
        self.came = self.came.saturating_sub(tokens);
    }

    /// Replaces a call's reservation by its spent tokens.
    pub fn settle(&mut self, reserved: u64, spent: u64) {
        self.reserved = self.reserved.saturating_sub(reserved);
        self.spent = self.spent.saturating_add(spent);
    }

    /// Whether the ledger has something to hear.
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.spent > 0 || self.reported > 0
    }

    /// The spent amount that the ledger may not know. It includes the tokens of running answers, which are spent even
    /// if the process ends now.
    #[must_use]
    pub fn unheard(&self) -> Unheard {
        let Share { number, reported, spent, came, .. } = *self;
        Unheard { number, reported, spent: spent.saturating_add(came) }
    }

    /// No tokens are held, and the ledger needs no report.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.holds == 0 && self.reserved == 0 && !self.has_news()
    }

    /// Tokens spent by all processes, as far as this process knows.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used.saturating_add(self.spent).saturating_add(self.reported)
    }

    /// The tokens that calls of this process have reserved.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reserved
    }

    /// The unspent rest of a budget of `max`, as far as this process knows.
    #[must_use]
    pub fn left(&self, max: u64) -> u64 {
        max.saturating_sub(self.used())
    }

    /// The unspent and unreserved rest of a budget of `max`, as far as this process knows.
    #[must_use]
    pub fn free(&self, max: u64) -> u64 {
        self.left(max).saturating_sub(self.reserved.saturating_add(self.others))
    }

    /// Begins a report that wants so much more, and gives back idle tokens except for `spare`. A report without an
    /// answer is repeated, with the new `wants`.
    pub fn begin(&mut self, wants: u64, spare: u64) -> Report {
        if self.reported == 0 {
            self.number += 1;
            (self.reported, self.spent) = (self.spent, 0);
        }
        let keeps = self.reserved.saturating_add(self.spent).saturating_add(self.idle().min(spare));
        // Returned tokens cannot be reserved any more.
        self.holds = keeps.saturating_add(self.reported);
        Report { number: self.number, spent: self.reported, keeps, wants }
    }

    /// Applies the ledger's answer to a report.
    pub fn heard(&mut self, report: Report, given: &Given) {
        self.holds = self.holds.saturating_sub(report.keeps).saturating_sub(self.reported);
        self.holds = self.holds.saturating_add(given.holds);
        (self.reported, self.used, self.others) = (0, given.used, given.others);
    }

    /// The likely demand of the near future: the most that was reserved between two beats.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.max(self.taken_before)
    }

    /// Marks the end of a period of fixed length. Reservations from before the last two periods do not count as
    /// likely demand any more.
    pub fn beat(&mut self) {
        self.taken_before = std::mem::take(&mut self.taken);
    }
}
