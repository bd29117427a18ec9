//! Traces of a time at which the store could not be opened yet: they stand in a journal of their own, and go into the
//! store once it is open, in this process or another.
//!
//! The key of a store stands in its database, so that the ordinary journal cannot be named before. This one is named
//! after the master key, which is at hand.

use crate::error::StoreError;
use crate::journal::{Holds, Journal, Queued, Spot};
use crate::location::Location;
use crate::master::{KeySource, hex, private_folder};
use crate::row::TraceRow;
use crate::seal::Key;
use crate::store::Store;
use crate::trace::NewTrace;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::RwLock;
use tokio::task::spawn_blocking;

/// How many bytes of traces may stand in it.
const LIMIT: usize = 64 << 20;

/// A journal for traces while their store is not open. Clones are handles to the same one.
#[derive(Clone)]
pub struct EarlyTraces(Arc<Inner>);

struct Inner {
    /// `None`: the store is open, and takes what stands here.
    journal: RwLock<Option<Journal>>,
    /// So many bytes stand in it, about.
    bytes: AtomicUsize,
    /// Whose the traces are that stand in it, by their ids.
    tenants: Mutex<HashMap<String, String>>,
}

/// Traces on their way into the journal.
struct Early {
    inner: Arc<Inner>,
    rows: Vec<Arc<TraceRow>>,
}

impl Queued for Early {
    type Row = TraceRow;

    const IS_LOOKED_UP: bool = false;

    fn rows(&self) -> &[Arc<TraceRow>] {
        &self.rows
    }

    // The database takes it from the file.
    fn queue(self, _: Spot) {
        let whose = |row: &Arc<TraceRow>| (row.id.clone(), row.tenant.clone());
        self.inner.tenants().extend(self.rows.iter().map(whose));
    }
}

impl EarlyTraces {
    /// The journal for a store at this place: beside a file, and for a server in this folder, without which there is
    /// none.
    ///
    /// # Errors
    /// When the master key cannot be read.
    pub async fn before(
        location: &Location,
        key: &KeySource,
        spool: Option<&Path>,
    ) -> Result<Option<Self>, StoreError> {
        let (at, source) = (location.to_string(), key.clone());
        let given = spawn_blocking(move || source.read(&at, false)).await;
        let given = given.map_err(|_| StoreError::Closed)??;
        // While the master key is changed the first one is the store's, or will not be for long.
        let location = location.settled().await;
        let journal = given.keys.first().and_then(|master| journal(&location, spool, master));
        let Some(journal) = journal else { return Ok(None) };
        if let Some(folder) = spool.map(Path::to_owned) {
            // What cannot be made is noticed when a trace is to be written there.
            drop(spawn_blocking(move || private_folder(&folder)).await);
        }
        let (bytes, tenants) = (AtomicUsize::new(0), Mutex::default());
        Ok(Some(EarlyTraces(Arc::new(Inner {
            journal: RwLock::new(Some(journal)),
            bytes,
            tenants,
        }))))
    }

    /// Writes traces down. `false`: they are not there, because that cannot be done now, there is no room for them, or
    /// the store is open.
    pub async fn keep(&self, traces: Vec<NewTrace>) -> bool {
        // Whoever closes it waits.
        let journal = self.0.journal.read().await;
        let Some(journal) = journal.as_ref() else { return false };
        let rows: Vec<_> =
            traces.into_iter().map(|trace| Arc::new(TraceRow::from(trace))).collect();
        let size = rows.iter().map(|row| row.size()).sum::<usize>();
        if self.0.bytes.load(Ordering::Relaxed) + size > LIMIT {
            return false;
        }
        let early = Early { inner: Arc::clone(&self.0), rows };
        let is_kept = journal.append_beside(early).await.is_ok();
        if is_kept {
            self.0.bytes.fetch_add(size, Ordering::Relaxed);
        }
        is_kept
    }

    /// Whose the trace of this id is, if it stands here.
    #[must_use]
    pub fn tenant(&self, id: &str) -> Option<String> {
        self.0.tenants().get(id).cloned()
    }

    /// How many stand here.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.tenants().len()
    }

    /// Nothing is written any more: the store may take what stands here.
    pub async fn close(&self) {
        drop(self.0.journal.write().await.take());
    }

    /// The store has what stood here.
    pub fn forget(&self) {
        self.0.tenants().clear();
    }
}

impl Inner {
    fn tenants(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn journal(location: &Location, spool: Option<&Path>, master: &Key) -> Option<Journal> {
    let context = "thinkthrough 2026-11 traces before their store is open";
    let key = Key::new(blake3::derive_key(context, master.bytes()));
    let base = match location {
        Location::Sqlite(file) => {
            let mut base = file.as_os_str().to_owned();
            base.push(".early");
            PathBuf::from(base)
        }
        Location::Postgres(_) => {
            let name = blake3::keyed_hash(key.bytes(), b"the spool before a store is open");
            let name = name.as_bytes().first_chunk::<8>().map(|name| hex(name)).unwrap_or_default();
            spool?.join(format!("early-{name}"))
        }
    };
    Some(Journal::new(&base, &key, Holds::Traces))
}

impl Store {
    /// Takes the traces that were written down before a store could be opened, of processes that ended and of this one,
    /// which writes none any more. For a server they stand in this folder.
    pub async fn take_early_traces(&self, location: &Location, spool: Option<&Path>) {
        let location = location.settled().await;
        if let Some(journal) = journal(&location, spool, &self.master().get().key) {
            self.take_traces_of(&journal).await;
        }
    }
}

impl fmt::Debug for EarlyTraces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EarlyTraces").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
