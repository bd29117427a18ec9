//! The queue of traces that are not in the database yet. They are in a journal, which survives a crash of this
//! process, or else in memory.

use crate::journal::{Journal, Spot};
use crate::row::TraceRow;
use crate::unindexed::Unindexed;
use crate::waiting::{Room, SOON, Waiting, Waits};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The most bytes of queued traces while a store does not answer.
const LIMIT: usize = 64 << 20;
/// The number of traces in one commit.
const BATCH: usize = 256;
/// The time that traces in the journal wait for a common commit. The cost of a commit grows with the changed pages,
/// and many traces change the same ones.
const GATHERED: Duration = Duration::from_millis(250);

/// Called with the tenant and the id of a trace that was lost.
pub type LostTrace = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// The place of a queued trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePlace {
    /// In a journal. The end of this process does not lose it.
    Spooled,
    /// In memory only.
    Waiting,
}

/// The queue of traces.
pub(crate) struct Spool {
    pub(crate) waiting: Waiting<Batch>,
    journal: OnceLock<Journal>,
    /// The places by trace id.
    places: Mutex<HashMap<String, Place>>,
    /// True shortly before the process ends. The next process indexes the rest.
    is_closing: AtomicBool,
    /// True if the last attempt to index words failed.
    is_failing: AtomicBool,
    unindexed: Mutex<Unindexed>,
}

struct Place {
    tenant: String,
    is_spooled: bool,
}

/// Traces that were queued together.
pub(crate) struct Batch {
    pub(crate) rows: Vec<Arc<TraceRow>>,
    pub(crate) lost: Option<LostTrace>,
    /// The position in the journal.
    pub(crate) spot: Option<Spot>,
    pub(crate) _room: Room,
}

impl Waits for Batch {
    fn weight(&self) -> usize {
        self.rows.len()
    }
}

impl Spool {
    /// Stops indexing. Returns when a step in progress has ended.
    pub(crate) async fn ends_indexing(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        drop(self.waiting.turn().await);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// Notes that indexing works.
    pub(crate) fn indexes(&self) {
        self.is_failing.store(false, Ordering::Relaxed);
    }

    /// Notes that indexing failed. Returns true if it worked before, so that the caller reports it.
    pub(crate) fn fails_to_index(&self) -> bool {
        !self.is_failing.swap(true, Ordering::Relaxed)
    }

    /// The counter of traces that this process committed and that are not indexed yet.
    pub(crate) fn unindexed(&self) -> MutexGuard<'_, Unindexed> {
        self.unindexed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the next commit is due. Traces in memory are not delayed, because the end of this process would
    /// lose them.
    pub(crate) async fn gathered(&self) {
        self.waiting.gathered(if self.in_memory() > 0 { SOON } else { GATHERED }).await;
    }

    /// Creates a queue, perhaps with a journal.
    pub(crate) fn new(journal: Option<Journal>) -> Self {
        let spool = Spool {
            waiting: Waiting::new(LIMIT, BATCH),
            journal: OnceLock::new(),
            places: Mutex::default(),
            is_closing: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
            unindexed: Mutex::default(),
        };
        journal.into_iter().for_each(|journal| spool.keep_in(journal));
        spool
    }

    /// Uses this journal, unless there is one already.
    pub(crate) fn keep_in(&self, journal: Journal) {
        // The first journal stays, because it contains queued traces.
        drop(self.journal.set(journal));
    }

    /// The journal, if there is one.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.get()
    }

    /// The place and the tenant of a queued trace.
    pub(crate) fn place(&self, id: &str) -> Option<(TracePlace, String)> {
        let places = self.places();
        let Place { tenant, is_spooled } = places.get(id)?;
        let place = if *is_spooled { TracePlace::Spooled } else { TracePlace::Waiting };
        Some((place, tenant.clone()))
    }

    /// Number of queued traces.
    pub(crate) fn len(&self) -> usize {
        self.places().len()
    }

    /// Number of traces that are only in memory.
    pub(crate) fn in_memory(&self) -> usize {
        self.places().values().filter(|place| !place.is_spooled).count()
    }

    fn places(&self) -> MutexGuard<'_, HashMap<String, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds traces. Returns true if the caller has to start a writer task.
    pub(crate) fn add(&self, batch: Batch) -> bool {
        {
            let mut places = self.places();
            let is_spooled = batch.spot.is_some();
            for row in &batch.rows {
                let place = Place { tenant: row.tenant.clone(), is_spooled };
                places.insert(row.id.clone(), place);
            }
        }
        self.waiting.add(batch)
    }

    fn forget(&self, batches: &[Batch]) {
        let mut places = self.places();
        batches.iter().flat_map(|batch| &batch.rows).for_each(|row| _ = places.remove(&row.id));
    }

    /// Removes traces that were stored or lost.
    pub(crate) async fn end(&self, batches: Vec<Batch>) {
        self.forget(&batches);
        let spots: Vec<Spot> = batches.into_iter().filter_map(|batch| batch.spot).collect();
        // Entries of other processes, or from before the store was open, are freed in the same way.
        if let Some(journal) = self.journal().filter(|_| !spots.is_empty()) {
            journal.taken(spots).await;
        }
    }

    /// Stops writing for now and closes the journal.
    pub(crate) async fn close(&self) {
        if let Some(journal) = self.journal() {
            journal.close().await;
        }
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").field("waiting", &self.len()).finish_non_exhaustive()
    }
}
