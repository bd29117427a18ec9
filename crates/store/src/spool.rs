//! Where traces are that the database has not taken yet: in a journal of their own, which the sudden end of this process
//! does not undo, else in memory.

use crate::journal::{Journal, Spot};
use crate::row::TraceRow;
use crate::unindexed::Unindexed;
use crate::waiting::{Room, SOON, Waiting, Waits};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How many bytes of traces may wait for a store that stands still.
const LIMIT: usize = 64 << 20;
/// How many traces one commit takes.
const BATCH: usize = 256;
/// How long traces in the journal wait for others before they are committed together: a commit costs as much as it
/// changes pages, and these are the same ones for many traces.
const GATHERED: Duration = Duration::from_millis(250);

/// Is told the tenant and the id of a trace that the database will never have.
pub type LostTrace = Arc<dyn Fn(&str, &str) + Send + Sync>;

/// Where a trace is that the database has not taken yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePlace {
    /// It stands in a journal: the end of this process does not lose it.
    Spooled,
    /// It is in memory.
    Waiting,
}

/// What the database has not taken.
pub(crate) struct Spool {
    pub(crate) waiting: Waiting<Batch>,
    journal: OnceLock<Journal>,
    /// By the trace's id.
    places: Mutex<HashMap<String, Place>>,
    /// The process is about to end: what search does not find yet, the next one indexes.
    is_closing: AtomicBool,
    /// Words could not be indexed when that was tried last.
    is_failing: AtomicBool,
    unindexed: Mutex<Unindexed>,
}

struct Place {
    tenant: String,
    is_spooled: bool,
}

/// Traces that came together.
pub(crate) struct Batch {
    pub(crate) rows: Vec<Arc<TraceRow>>,
    pub(crate) lost: Option<LostTrace>,
    /// Where they stand in the journal.
    pub(crate) spot: Option<Spot>,
    pub(crate) _room: Room,
}

impl Waits for Batch {
    fn weight(&self) -> usize {
        self.rows.len()
    }
}

impl Spool {
    /// Nothing is indexed any more once this comes back.
    pub(crate) async fn ends_indexing(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        drop(self.waiting.turn().await);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// Words were indexed.
    pub(crate) fn indexes(&self) {
        self.is_failing.store(false, Ordering::Relaxed);
    }

    /// Words could not be indexed; says whether that is new, and to be told.
    pub(crate) fn fails_to_index(&self) -> bool {
        !self.is_failing.swap(true, Ordering::Relaxed)
    }

    /// The traces that this process committed and nobody indexed yet.
    pub(crate) fn unindexed(&self) -> MutexGuard<'_, Unindexed> {
        self.unindexed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when the next commit is due. The end of this process would lose traces in memory, so these do not wait.
    pub(crate) async fn gathered(&self) {
        self.waiting.gathered(if self.in_memory() > 0 { SOON } else { GATHERED }).await;
    }

    /// With the journal that keeps them meanwhile.
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

    /// This journal keeps them meanwhile, unless there is one already.
    pub(crate) fn keep_in(&self, journal: Journal) {
        // The first one stays: what waits stands in it.
        drop(self.journal.set(journal));
    }

    /// What keeps them meanwhile.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.get()
    }

    /// Where this trace is, and whose it is.
    pub(crate) fn place(&self, id: &str) -> Option<(TracePlace, String)> {
        let places = self.places();
        let Place { tenant, is_spooled } = places.get(id)?;
        let place = if *is_spooled { TracePlace::Spooled } else { TracePlace::Waiting };
        Some((place, tenant.clone()))
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.places().len()
    }

    /// How many wait in memory alone.
    pub(crate) fn in_memory(&self) -> usize {
        self.places().values().filter(|place| !place.is_spooled).count()
    }

    fn places(&self) -> MutexGuard<'_, HashMap<String, Place>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These wait from now on. Says whether somebody has to see to them who has not been told so yet.
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

    /// They are taken, or lost.
    pub(crate) async fn end(&self, batches: Vec<Batch>) {
        self.forget(&batches);
        let spots: Vec<Spot> = batches.into_iter().filter_map(|batch| batch.spot).collect();
        // One that another process left, or that was written before the store was open, goes the same way.
        if let Some(journal) = self.journal().filter(|_| !spots.is_empty()) {
            journal.taken(spots).await;
        }
    }

    /// Nothing is written for a while.
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
