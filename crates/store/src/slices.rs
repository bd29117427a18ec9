//! A journal of the budget leases of this gateway, and of the amounts spent from them that are not reported yet.
//!
//! A gateway spends its lease of a budget without asking, and reports the amount after the answers. Until then only
//! this journal knows the amount, and also that there is a lease. The code for leases of ended processes is in
//! `slicing.rs`.
//!
//! An entry is the complete state of one holder, so only the holder's last entry counts. The journal frees entries in
//! their order, so an old entry that still counts is copied to the end if it blocks many others.

use crate::journal::{Journal, Queued, Spot};
use crate::ledger_row::SliceRow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The most outdated entries in a journal: `LOOSE` for each valid one, plus `SPARE`.
const LOOSE: usize = 4;
const SPARE: usize = 64;

/// The leases in the journal of this process. Clones are handles to the same.
#[derive(Clone, Default)]
pub(crate) struct Slices(Arc<Inner>);

#[derive(Default)]
struct Inner {
    journal: OnceLock<Journal>,
    written: Mutex<Written>,
    /// Admits one clean-up at a time.
    cleaning: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Written {
    /// All entries that are still in the journal, in its order.
    entries: VecDeque<(Arc<SliceRow>, Spot)>,
    /// The order of the valid entry of each holder.
    counts: HashMap<String, u64>,
    last: u64,
}

/// An entry to append to the journal.
struct HandedOver {
    slices: Slices,
    row: [Arc<SliceRow>; 1],
    /// True for a copy of an older entry.
    is_copy: bool,
}

impl Queued for HandedOver {
    type Row = SliceRow;

    // Entries are read only after their process has ended.
    const IS_LOOKED_UP: bool = false;

    fn rows(&self) -> &[Arc<SliceRow>] {
        &self.row
    }

    fn queue(self, spot: Spot) {
        let [row] = self.row;
        let mut written = self.slices.written();
        if !self.is_copy {
            written.counts.insert(row.holder.clone(), row.order);
        }
        written.entries.push_back((row, spot));
    }
}

impl Slices {
    /// Uses this journal, unless there is one already.
    pub(crate) fn keep_in(&self, journal: Journal) {
        // The first journal stays, because it contains the entries so far.
        drop(self.0.journal.set(journal));
    }

    /// The journal, if there is one.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.0.journal.get()
    }

    /// Writes the new state of a holder. Calls for one holder must not overlap.
    pub(crate) async fn note(&self, mut row: SliceRow) {
        let Some(journal) = self.journal() else { return };
        {
            let mut written = self.written();
            written.last += 1;
            row.order = written.last;
        }
        if self.write(journal, row, false).await {
            self.clean(journal).await;
        }
    }

    /// Drops the entries of a holder without a lease whose amounts are all reported.
    pub(crate) async fn forget(&self, holder: &str) {
        let was_there = self.written().counts.remove(holder).is_some();
        if let Some(journal) = self.journal().filter(|_| was_there) {
            self.clean(journal).await;
        }
    }

    async fn write(&self, journal: &Journal, row: SliceRow, is_copy: bool) -> bool {
        let handed_over = HandedOver { slices: self.clone(), row: [Arc::new(row)], is_copy };
        journal.append(handed_over).await.is_ok()
    }

    /// Frees entries that are outdated.
    async fn clean(&self, journal: &Journal) {
        // A clean-up in progress does this work too.
        let Ok(_one) = self.0.cleaning.try_lock() else { return };
        loop {
            let (spots, first) = self.written().loose();
            if !spots.is_empty() {
                journal.taken(spots).await;
            }
            let Some(first) = first else { return };
            // The copy at the end replaces the entry at the front.
            if !self.write(journal, SliceRow::clone(&first), true).await {
                return;
            }
            let moved = self.written().entries.pop_front().map(|(_, spot)| spot);
            journal.taken(moved.into_iter().collect()).await;
        }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.0.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops writing for now and closes the journal.
    pub(crate) async fn close(&self) {
        if let Some(journal) = self.journal() {
            journal.close().await;
        }
    }
}

impl Written {
    fn counts(&self, row: &SliceRow) -> bool {
        self.counts.get(&row.holder) == Some(&row.order)
    }

    /// Takes the outdated entries at the front if there are enough for a write. Also returns the first valid entry if
    /// it blocks too many others.
    fn loose(&mut self) -> (Vec<Spot>, Option<Arc<SliceRow>>) {
        let count = self.entries.iter().take_while(|(row, _)| !self.counts(row)).count();
        let is_long = self.entries.len() > SPARE + LOOSE * self.counts.len();
        if count < SPARE && !is_long && !self.counts.is_empty() {
            return (Vec::new(), None);
        }
        let spots = self.entries.drain(..count).map(|(_, spot)| spot).collect();
        let first = self.entries.front().filter(|_| is_long);
        (spots, first.map(|(row, _)| Arc::clone(row)))
    }
}
