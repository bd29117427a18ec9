//! What a gateway holds of budgets, and spent without the database's knowledge, as it is written down.
//!
//! A gateway spends its slice of a budget without asking, and reports that behind the answers. What is not reported yet
//! stands here, in a journal of its own, as does that it holds a slice at all; while the database is away nothing else
//! knows it. What becomes of that when the process ends is in `slicing.rs`.
//!
//! An entry says all that is to be known of one holder, so that its last one counts. Entries are taken in their order:
//! those that still count and stand in the way of many others are written once more, behind them.

use crate::journal::{Journal, Queued, Spot};
use crate::ledger_row::SliceRow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// So many entries that count no more may stand in a journal, for each that does and besides.
const LOOSE: usize = 4;
const SPARE: usize = 64;

/// What this process wrote down. Clones are handles to the same.
#[derive(Clone, Default)]
pub(crate) struct Slices(Arc<Inner>);

#[derive(Default)]
struct Inner {
    journal: OnceLock<Journal>,
    written: Mutex<Written>,
    /// One at a time cleans up.
    cleaning: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Written {
    /// All entries that were not taken, in the order in which they stand.
    entries: VecDeque<(Arc<SliceRow>, Spot)>,
    /// The one that counts of each holder, by its order.
    counts: HashMap<String, u64>,
    last: u64,
}

/// An entry on its way into the journal.
struct HandedOver {
    slices: Slices,
    row: [Arc<SliceRow>; 1],
    /// It says again what one before it says.
    is_copy: bool,
}

impl Queued for HandedOver {
    type Row = SliceRow;

    // Nobody is asked for it as long as its process lives.
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
    /// They stand in this journal, unless there is one already.
    pub(crate) fn keep_in(&self, journal: Journal) {
        // The first one stays: it holds what was written so far.
        drop(self.0.journal.set(journal));
    }

    /// What they stand in.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.0.journal.get()
    }

    /// This is the case of a holder now. Calls for one holder come one after the other.
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

    /// This holder holds nothing any more, and its ledger heard everything.
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

    /// Takes away what counts no more.
    async fn clean(&self, journal: &Journal) {
        // Somebody else's turn is good for both.
        let Ok(_one) = self.0.cleaning.try_lock() else { return };
        loop {
            let (spots, first) = self.written().loose();
            if !spots.is_empty() {
                journal.taken(spots).await;
            }
            let Some(first) = first else { return };
            // The copy stands behind the others, and says the same.
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

    /// Nothing is written for a while.
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

    /// Those at the beginning that count no more, if they are worth a write; and the first one behind them, if it stands
    /// in the way of too many others.
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
