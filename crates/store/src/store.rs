//! The store: one façade over a file or a server.

mod tenants;

use crate::backend::Backend;
use crate::clock::{Clock, now};
use crate::error::StoreError;
use crate::held::Held;
use crate::journal::spill::SpillFiles;
use crate::journal::{Holds, Journal};
use crate::keys::TenantKeys;
use crate::location::Location;
use crate::marker::{Mark, Marker};
use crate::master::KeySource;
use crate::notes::Notes;
use crate::postgres::Postgres;
use crate::recent::Recent;
use crate::refusals::Refusals;
use crate::seal::Key;
use crate::slices::Slices;
use crate::spool::Spool;
use crate::sqlite::Sqlite;
use crate::touched::Touched;
use crate::unfinished::Unfinished;
use crate::unwritten::Unwritten;
use crate::waiting::{Answer, Waiting};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf, absolute};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tenants::KeysAtHand;
use thinkthrough_core::plane::Tenant;
use tokio::sync::OnceCell;

/// A store. Clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    at: String,
    backend: Backend,
    master: Held,
    install_key: Key,
    /// The keys of tenants that were used, by name.
    tenants: Mutex<HashMap<String, KeysAtHand>>,
    /// Look-up keys of tenants without any records so far, by name.
    made: Mutex<HashMap<String, Key>>,
    /// The locks of tenants that are being added, by name.
    adding: Mutex<HashMap<String, std::sync::Weak<tokio::sync::Mutex<()>>>>,
    touched: Touched,
    waiting: Waiting<Answer>,
    refusals: Refusals,
    spool: Spool,
    slices: Slices,
    /// Set once other processes on the file can see that this process looks for records.
    appeared: OnceCell<()>,
    /// `None` for a server.
    journal: Option<Journal>,
    spill_files: Option<SpillFiles>,
    unwritten: Unwritten,
    unfinished: Unfinished,
    recent: Recent,
    clock: Clock,
    /// The file; `None` for a server.
    file: Option<PathBuf>,
    /// The place of its marker, unless it is the default.
    markers: OnceLock<Markers>,
    notes: Notes,
    /// Set once a record of another version was found.
    unread: OnceLock<()>,
}

/// The place of the marker that shows that gateway keys were made. If the master key is in a file, it is that file's
/// folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markers {
    /// The folder if the master key is not in a file. Default: the store's folder.
    pub folder: Option<PathBuf>,
    /// Whether no key is made if the marker cannot be written.
    pub are_needed: bool,
}

/// How often keys of a tenant are tried while another process changes the master key.
const TRIES: usize = 3;

/// Conversations of the vault that are deleted in one step.
const STEP: u32 = 64;

/// Traces that are deleted in one step.
pub(crate) const TRACES: u32 = 500;

/// How long uses of conversations are collected before they are written.
const SOON: Duration = Duration::from_secs(1);

impl Store {
    /// Opens a store. A missing file is created, with its key. The key of a server must exist.
    ///
    /// # Errors
    /// When the place or the key cannot be used, the key is not the store's, or a newer version made the store.
    pub async fn open(location: &Location, key: &KeySource) -> Result<Self, StoreError> {
        let location = location.settled().await;
        let (at, notes) = (location.to_string(), Notes::default());
        let (backend, said) = match &location {
            Location::Postgres(url) => {
                let server = Postgres::open(url, at.clone(), notes.clone()).await?;
                (Backend::Postgres(server), Vec::new())
            }
            Location::Sqlite(path) => {
                let path = path.clone();
                let opened = tokio::task::spawn_blocking(move || Sqlite::open(&path)).await;
                let (file, said) = opened.map_err(|_| StoreError::Closed)??;
                (Backend::Sqlite(file), said)
            }
        };
        said.into_iter().for_each(|said| notes.add(said));
        let (master, install_key) = Held::open(key, &backend, &at).await?;
        let file = match location {
            Location::Sqlite(path) => Some(path),
            Location::Postgres(_) => None,
        };
        let journal = |holds| file.as_deref().map(|file| Journal::new(file, &install_key, holds));
        let slices = Slices::default();
        journal(Holds::Slices).into_iter().for_each(|journal| slices.keep_in(journal));
        let (journal, spool) = (journal(Holds::Records), Spool::new(journal(Holds::Traces)));
        let spill_files = journal.as_ref().map(Journal::spill_files);
        let inner = Inner {
            at,
            backend,
            master,
            install_key,
            tenants: Mutex::default(),
            made: Mutex::default(),
            adding: Mutex::default(),
            touched: Touched::default(),
            waiting: Waiting::answers(),
            refusals: Refusals::default(),
            spool,
            slices,
            appeared: OnceCell::new(),
            journal,
            spill_files,
            unwritten: Unwritten::default(),
            unfinished: Unfinished::default(),
            recent: Recent::default(),
            clock: Clock::default(),
            file,
            markers: OnceLock::new(),
            notes,
            unread: OnceLock::new(),
        };
        let store = Store { inner: Arc::new(inner) };
        store.take_over().await;
        Ok(store)
    }

    /// Destroys the keys of a tenant and all data locked with them. Returns the number of its conversations, or
    /// `None` if the store does not know the tenant.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn erase(&self, tenant: &Tenant) -> Result<Option<u64>, StoreError> {
        self.forget(tenant);
        // Later rows of the tenant are refused.
        self.flush().await;
        self.flush_traces().await;
        let name = || tenant.as_str().to_owned();
        while self.backend().erase_traces(name(), TRACES).await? > 0 {}
        self.traces().forget_words().await?;
        self.backend().erase_ledgers(name()).await?;
        let row = self.backend().tenant(name()).await?;
        let removed = self.backend().remove_tenant(tenant.as_str().to_owned()).await;
        let is_gone = matches!(removed, Ok(_) | Err(StoreError::Lingers(_)));
        if let Some(row) = row.filter(|_| is_gone) {
            // These are unreadable without their keys. There may be many, so they are deleted in steps.
            loop {
                let threads = self.backend().oldest(row.nr, STEP).await?;
                if threads.is_empty() {
                    break;
                }
                self.backend().remove_threads(threads).await?;
            }
        }
        removed
    }

    /// Gives a tenant a new data key for later data. Earlier data stays readable. Returns the number of the new key,
    /// or `None` if the store does not know the tenant.
    ///
    /// Other processes continue with the key that they have, and can read data under the new one.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn rotate(&self, tenant: &Tenant) -> Result<Option<u32>, StoreError> {
        self.forget(tenant);
        let Some(keys) = self.keys(tenant).await? else { return Ok(None) };
        let id = keys.current().map_or(1, |(id, _)| id.saturating_add(1));
        for _ in 0..TRIES {
            let master = self.inner.master.get();
            let wrapped = TenantKeys::another(tenant, id, &master).map_err(|_| self.no_random())?;
            // If two processes do this at once, both get the key of the first one.
            self.backend().add_data_key(keys.nr, id, wrapped, master.check.clone()).await?;
            if !self.inner.master.renew(self.backend(), &master).await? {
                break;
            }
        }
        self.forget(tenant);
        Ok(self.keys(tenant).await?.and_then(|keys| keys.current().map(|(id, _)| id)))
    }

    /// The location of the store, for messages.
    #[must_use]
    pub fn at(&self) -> &str {
        &self.inner.at
    }

    pub(crate) fn master(&self) -> &Held {
        &self.inner.master
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    /// Notes that conversations were used. Each is written once a day, in the background.
    pub(crate) fn touch(&self, threads: impl Iterator<Item = i64>) {
        let now = now();
        if !self.inner.touched.add(threads, now) {
            return;
        }
        let store = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(SOON).await;
            // A failed write is noted again tomorrow.
            drop(store.backend().touch(store.inner.touched.take(), now).await);
        });
    }

    pub(crate) fn waiting(&self) -> &Waiting<Answer> {
        &self.inner.waiting
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.inner.refusals
    }

    pub(crate) fn spool(&self) -> &Spool {
        &self.inner.spool
    }

    pub(crate) fn slices(&self) -> &Slices {
        &self.inner.slices
    }

    /// Makes this process visible to others on the store, before it reads or stores records.
    pub(crate) async fn be_seen(&self) {
        self.inner.appeared.get_or_init(|| self.appear()).await;
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.inner.journal.as_ref()
    }

    /// `None` for a server.
    pub(crate) fn spill_files(&self) -> Option<&SpillFiles> {
        self.inner.spill_files.as_ref()
    }

    pub(crate) fn unwritten(&self) -> &Unwritten {
        &self.inner.unwritten
    }

    pub(crate) fn unfinished(&self) -> &Unfinished {
        &self.inner.unfinished
    }

    pub(crate) fn recent(&self) -> &Recent {
        &self.inner.recent
    }

    /// Takes the messages about the store since the last call, one sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.inner.notes.take()
    }

    /// Waits for a new message.
    pub async fn noted(&self) {
        self.inner.notes.noted().await;
    }

    pub(crate) fn note(&self, text: String) {
        self.inner.notes.add(text);
    }

    /// Adds a message about records of another version, once.
    pub(crate) fn note_unread(&self) {
        if self.inner.unread.set(()).is_ok() {
            let at = self.at();
            self.note(format!(
                "the store `{at}` has thoughts of another version, which this one does not read; use a newer `think`"
            ));
        }
    }

    /// Sets the place of the marker that shows that gateway keys were made. Call this before keys are read or made.
    /// Later calls have no effect.
    pub fn set_markers(&self, markers: Markers) {
        let _ = self.inner.markers.set(markers);
    }

    /// The marker, under the current master key. `None` for a server.
    fn marker(&self) -> Option<Marker> {
        let file = self.inner.file.as_deref()?;
        let said = self.inner.markers.get().and_then(|markers| markers.folder.clone());
        let folder = match self.inner.master.source() {
            KeySource::File(key) => absolute(key).ok()?.parent().map(Path::to_owned),
            KeySource::Command(_) | KeySource::Env(_) => said,
        };
        let folder = folder.or_else(|| file.parent().map(Path::to_owned))?;
        Some(Marker::of(&folder, file, &self.inner.master.get().key))
    }

    /// Whether the store gets a marker once it has keys.
    pub(crate) fn has_marker(&self) -> bool {
        self.inner.file.is_some()
    }

    /// Writes the marker with the number of changes of the keys.
    pub(crate) async fn mark_keys(&self, changes: i64) -> Result<(), StoreError> {
        let Some(marker) = self.marker() else { return Ok(()) };
        let path = marker.path().to_owned();
        let written = tokio::task::spawn_blocking(move || marker.write(changes)).await;
        let error = match written.map_err(|_| StoreError::Closed)? {
            Ok(()) => return Ok(()),
            Err(error) => StoreError::Marker { path, message: error.to_string() },
        };
        if self.inner.markers.get().is_none_or(|markers| markers.are_needed) {
            return Err(error);
        }
        self.note(error.to_string());
        Ok(())
    }

    /// Whether the marker shows that gateway keys were made. Writes a missing or damaged marker of a store with keys.
    /// `changes` counts the changes of these keys.
    pub(crate) async fn mark_of_keys(&self, changes: Option<i64>) -> bool {
        let Some(marker) = self.marker() else { return false };
        let path = marker.path().display().to_string();
        let mark = tokio::task::spawn_blocking(move || marker.read()).await;
        // A marker that cannot be read counts as damaged.
        match (mark.unwrap_or(Mark::Damaged), changes) {
            (Mark::Absent, None) => return false,
            (Mark::Stray(other), None) => self.note(format!(
                "keys of the gateway were made for a store that is gone, as `{}` says, and the store `{}` has none, so \
                 nobody is let in; put the store of these keys in its place, make a key with `think keys create`, or \
                 set `[server] keyless = true`",
                other.display(),
                self.at()
            )),
            (Mark::Absent | Mark::Damaged | Mark::Stray(_), Some(changes)) => {
                if let Err(error) = self.mark_keys(changes).await {
                    self.note(error.to_string());
                }
            }
            (Mark::Whole { changes: marked }, Some(changes)) if marked > changes => {
                self.note(format!(
                    "the store `{}` is older than its keys: they were changed since ({} times), so \
                     that a revoked key may hold again; see `think keys list`",
                    self.at(),
                    marked.saturating_sub(changes)
                ));
            }
            (Mark::Whole { .. }, Some(_)) => {}
            (Mark::Damaged | Mark::Whole { .. }, None) => self.note(format!(
                "keys of the gateway were made for the store `{}`, as `{path}` says, and it has \
                 none, so nobody is let in; put a backup that has them in its place, make a key \
                 with `think keys create`, or set `[server] keyless = true`",
                self.at()
            )),
        }
        true
    }

    /// Whether the file of the store was removed or replaced since it was opened. Later writes are lost when the
    /// process ends.
    pub(crate) async fn is_displaced(&self) -> bool {
        // If the check fails, the file counts as present.
        let is_displaced = !self.backend().is_in_place().await.unwrap_or(true);
        if is_displaced {
            self.note(format!(
                "the file of the store `{}` was removed or replaced while it is open, and what is kept from now on is \
                 lost; put the file back, and start the gateway again",
                self.at()
            ));
        }
        is_displaced
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// The key for the names of tenants that are known only by a credential.
    pub(crate) fn install_key(&self) -> &Key {
        &self.inner.install_key
    }

    pub(crate) fn no_random(&self) -> StoreError {
        StoreError::no_random(&self.inner.at)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.inner.at).finish()
    }
}
