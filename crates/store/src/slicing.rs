//! Keeps budgets correct after a crash of a gateway.
//!
//! When a process is gone, it no longer locks its journal. Another process then reads the journal and
//! [ends](Ledger::end) its leases: the spent amounts are booked, and the rest is released.
//!
//! [Ledger::end]: thinkthrough_limits::Ledger::end

use crate::error::StoreError;
use crate::journal::{Journal, Spot};
use crate::ledger_row::SliceRow;
use crate::ledgers::{LedgerKey, Ledgers};
use crate::store::Store;
use std::collections::HashMap;
use std::time::Duration;
use thinkthrough_limits::Unheard;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// The longest journal that is read.
const LONGEST: u64 = 64 << 20;
/// The most attempts for an entry that the database rejects while it accepts others.
const TRIES: u32 = 5;
/// The pause between two attempts grows from the first value to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

impl Ledgers {
    /// Writes to the journal that a holder may have a lease, and the amount that its ledger may not know yet. So a
    /// crash of this process does not change the books. Calls for one holder must not overlap.
    pub async fn note(&self, key: &LedgerKey, holder: &str, unheard: Unheard) {
        let slices = self.store().slices();
        let LedgerKey { tenant, name } = key.clone();
        slices.note(SliceRow { tenant, name, holder: holder.to_owned(), unheard, order: 0 }).await;
        let said = slices.journal().and_then(Journal::said);
        said.into_iter().for_each(|said| self.store().note(said));
    }

    /// Drops the entries of a holder without a lease whose amounts are all reported.
    pub async fn forget(&self, holder: &str) {
        self.store().slices().forget(holder).await;
    }
}

impl Store {
    /// Ends the leases of ended processes, in the background.
    pub(crate) async fn take_slices_over(&self) {
        let Some(journal) = self.slices().journal() else { return };
        let mut left = Vec::new();
        // Entries of one holder may be in several files, so all files are read first.
        loop {
            let journal = journal.clone();
            let next = spawn_blocking(move || journal.left_behind::<SliceRow>(LONGEST)).await;
            let Some(next) = next.ok().flatten() else { break };
            next.said.into_iter().for_each(|said| self.note(said));
            left.extend(next.rows);
        }
        if !left.is_empty() {
            tokio::spawn(end_all(self.clone(), journal.clone(), left));
        }
    }
}

/// Ends these leases. Waits as long as the database is down.
async fn end_all(store: Store, journal: Journal, left: Vec<(SliceRow, Spot)>) {
    let (mut last, mut spots) = (HashMap::<String, SliceRow>::new(), Vec::new());
    for (row, spot) in left {
        spots.push(spot);
        let is_older = last.get(&row.holder).is_some_and(|other| other.order > row.order);
        if !is_older {
            last.insert(row.holder.clone(), row);
        }
    }
    for row in last.values() {
        if let Err(error) = end(&store, row).await {
            store.note(format!(
                "what a gateway that ended had spent of a budget is not booked: {error}; it was {} tokens",
                row.unheard.reported.saturating_add(row.unheard.spent)
            ));
        }
    }
    journal.taken(spots).await;
}

/// Ends one lease. Fails if the database rejects it but accepts others.
async fn end(store: &Store, row: &SliceRow) -> Result<(), StoreError> {
    let [mut pause, longest] = PAUSES;
    let mut tries = 0;
    loop {
        match store.ledgers().end(row).await {
            Ok(()) => return Ok(()),
            Err(error) if error.is_everybodys() => {}
            Err(error) if tries == TRIES => return Err(error),
            Err(_) => tries += 1,
        }
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}
