//! A journal for traces that were made before the store could be opened. The traces go into the store once it is
//! open, in this process or another.
//!
//! The name of the ordinary journal depends on a key in the database. The name of this one depends on the master key,
//! which is known earlier.

use crate::error::StoreError;
use crate::journal::{Holds, Journal, Queued, Spot};
use crate::location::Location;
use crate::master::{KeySource, hex, private_folder};
use crate::row::TraceRow;
use crate::seal::Key;
use crate::sealed_items::bare_rows;
use crate::store::Store;
use crate::trace::NewTrace;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::RwLock;
use tokio::task::spawn_blocking;

/// The most bytes of traces in the journal.
const LIMIT: usize = 64 << 20;

/// A journal for traces while their store is not open. Clones are handles to the same one.
#[derive(Clone)]
pub struct EarlyTraces(Arc<Inner>);

struct Inner {
    /// `None` when the store is open and takes over the journal.
    journal: RwLock<Option<Journal>>,
    /// The approximate size of the journal.
    bytes: AtomicUsize,
    /// The tenants of the traces in the journal, by trace id.
    tenants: Mutex<HashMap<String, String>>,
}

/// Traces to append to the journal.
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

    // The database gets the traces from the file later.
    fn queue(self, _: Spot) {
        let whose = |row: &Arc<TraceRow>| (row.id.clone(), row.tenant.clone());
        self.inner.tenants().extend(self.rows.iter().map(whose));
    }
}

impl EarlyTraces {
    /// Opens the journal for a store at this location: next to a file, or for a server in the folder `spool`. Returns
    /// `None` for a server without such a folder.
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
        // During a change of the master key, the first key is the store's, or will soon be removed.
        let location = location.settled().await;
        let journal = given.keys.first().and_then(|master| journal(&location, spool, master));
        let Some(journal) = journal else { return Ok(None) };
        if let Some(folder) = spool.map(Path::to_owned) {
            // If this fails, the first write to the journal reports it.
            drop(spawn_blocking(move || private_folder(&folder)).await);
        }
        let (bytes, tenants) = (AtomicUsize::new(0), Mutex::default());
        Ok(Some(EarlyTraces(Arc::new(Inner {
            journal: RwLock::new(Some(journal)),
            bytes,
            tenants,
        }))))
    }

    /// Writes traces to the journal. Returns `false` if they could not be written, if there is no room, or if the
    /// store is open.
    pub async fn keep(&self, traces: Vec<NewTrace>) -> bool {
        // `close` waits for this lock.
        let journal = self.0.journal.read().await;
        let Some(journal) = journal.as_ref() else { return false };
        // Only the open store has the keys for items.
        let rows = bare_rows(traces);
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

    /// The tenant of a trace in the journal.
    #[must_use]
    pub fn tenant(&self, id: &str) -> Option<String> {
        self.0.tenants().get(id).cloned()
    }

    /// Number of traces in the journal.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.tenants().len()
    }

    /// Stops writing, so that the store can take over the journal.
    pub async fn close(&self) {
        drop(self.0.journal.write().await.take());
    }

    /// Forgets the traces after the store took them over.
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
    /// Takes over the traces of such journals, from ended processes and from this one, which must have closed its
    /// journal. For a server the journals are in the folder `spool`.
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
