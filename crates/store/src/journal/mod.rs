//! The journal beside a store in a file: what was acknowledged and the database has not taken yet.
//!
//! An answer does not wait for a commit of the database. Its record is written here first, with one `write`, which the
//! sudden end of this process does not undo; it is found in memory from then on (`unwritten.rs`), and the database takes
//! it some milliseconds later, with others (`waiting.rs`). What a process that ended left in its journal the next one
//! takes that opens the store.
//!
//! - Each process has journals of its own, which it locks: nobody else reads or shortens one as long as it lives.
//! - Whoever looks for records has one, so that gateways on one file see each other: while there are several, what the
//!   next request may want is committed at once, because another of them may be asked.
//! - A journal holds what rows of the database will, sealed and keyed: it shows nothing that these would not.
//! - Entries are taken in their order, and how far is written down, so that little of what was taken is met again; and
//!   to meet it changes nothing, but where retention had taken it out within that moment.
//! - A power cut may take records that stand only here. Traces are synced, because nobody waits for them.

mod disk;
#[cfg(test)]
mod faults;
mod format;
mod record;
mod segment;
pub(crate) mod spill;

use crate::aside;
use crate::seal::Key;
use disk::{Disk, System};
use format::{HEAD, Kind, Mark, NoHead};
pub(crate) use record::Journaled;
use segment::{Failed, Segment};
use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant, SystemTime};
use tokio::task::spawn_blocking;

/// How many bytes of records that were taken stay in a file before it is cleared: less often than it is written to.
const KEPT: u64 = 256 << 10;
/// How long a file gets before another one is begun, because there was no moment at which all of it was taken. Some slice is
/// held at any moment, and all of them are few.
const LONG: u64 = 4 << 20;
const LONG_OF_SLICES: u64 = 256 << 10;
/// How long nothing is tried after a file could not be written.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a folder has to be as it is before its time says that it is: clocks of file systems tick.
const SETTLED: Duration = Duration::from_millis(50);
/// How much memory is kept for the next entries.
const BUFFER: usize = 64 << 10;

/// The journal of this process. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct Journal(Arc<Inner>);

/// What a journal holds: each has files of its own, which say so in their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Records of the vault, which answers wait for.
    Records,
    /// Traces, which nobody waits for.
    Traces,
    /// What this process holds of budgets, and spent of them.
    Slices,
}

struct Inner {
    /// The file of the store, or the place of its spool.
    store: PathBuf,
    /// What the names of its files begin with.
    base: PathBuf,
    holds: Holds,
    mark: Mark,
    disk: Arc<dyn Disk>,
    state: Mutex<State>,
    /// So many answers it did not take, which waited for the database.
    fallbacks: AtomicU64,
}

#[derive(Default)]
struct State {
    /// What is written to; made with the first entry.
    current: Option<Arc<Segment>>,
    buffer: Vec<u8>,
    /// Nothing is written before.
    again: Option<Instant>,
    /// It could not be written when that was tried last.
    is_failing: bool,
    /// What is to be said about that, a sentence; once, until it works again.
    said: Option<String>,
    /// Whether another process has a journal, as long as the folder was not changed since.
    alone: Option<(SystemTime, bool)>,
    /// Files of this process, and of those that ended, which were looked into.
    met: HashSet<PathBuf>,
}

impl State {
    /// Nothing more is written to this file, which goes once all of it is taken.
    fn leave(&mut self) {
        let old = self.current.take();
        old.iter().filter(|segment| segment.is_taken()).for_each(|it| it.remove());
    }
}

/// Where an entry stands.
#[derive(Clone)]
pub(crate) struct Spot {
    segment: Arc<Segment>,
    /// The place behind it.
    end: u64,
}

/// What a process left behind.
pub(crate) struct Left<T> {
    /// In the order in which they were written.
    pub(crate) rows: Vec<(T, Spot)>,
    /// What is to be said about it, a sentence.
    pub(crate) said: Option<String>,
}

impl Journal {
    /// Of the store in this file. The key names it: a journal beside another store's file is none of its own.
    pub(crate) fn new(store: &Path, install: &Key, holds: Holds) -> Self {
        let name = blake3::keyed_hash(install.bytes(), b"the journal of a store");
        let mark = name.as_bytes().first_chunk().copied().unwrap_or_default();
        Journal::on(store, mark, Arc::new(System), holds)
    }

    fn on(store: &Path, mark: Mark, disk: Arc<dyn Disk>, holds: Holds) -> Self {
        let mut base = store.as_os_str().to_owned();
        base.push(match holds {
            Holds::Records => ".journal",
            Holds::Traces => ".traces",
            Holds::Slices => ".slices",
        });
        let (store, base, state) = (store.to_owned(), base.into(), Mutex::default());
        let fallbacks = AtomicU64::new(0);
        Journal(Arc::new(Inner { store, base, holds, mark, disk, state, fallbacks }))
    }

    /// What its files are called, for messages.
    pub(crate) fn names(&self) -> String {
        format!("{}-*", self.0.base.display())
    }

    /// An answer waits for the database in its stead.
    pub(crate) fn falls_back(&self) {
        self.0.fallbacks.fetch_add(1, Ordering::Relaxed);
    }

    /// How many did since the process began.
    pub(crate) fn fallbacks(&self) -> u64 {
        self.0.fallbacks.load(Ordering::Relaxed)
    }

    /// What is to be said, once, where it could not be written.
    pub(crate) fn said(&self) -> Option<String> {
        // Nobody waits for whoever writes.
        self.0.state.try_lock().ok()?.said.take()
    }

    /// Writes records down, and hands `queued` over with the place where they stand, in the order of their places; gives
    /// it back where they could not be written.
    pub(crate) async fn append<Q: Queued>(&self, queued: Q) -> Result<(), Q> {
        let queued = match self.try_append(queued) {
            Ok(written) => return written,
            Err(queued) => queued,
        };
        // Another thread writes. Should its disk stand still, this one goes on serving others.
        self.append_beside(queued).await
    }

    /// As [`Journal::append`], by a thread that serves nobody: for what is large, and what nobody waits for.
    pub(crate) async fn append_beside<Q: Queued>(&self, queued: Q) -> Result<(), Q> {
        let journal = self.clone();
        let written = spawn_blocking(move || journal.0.append(&mut journal.0.hold(), queued));
        // A runtime that ends lets nothing be acknowledged any more.
        written.await.unwrap_or(Ok(()))
    }

    fn try_append<Q: Queued>(&self, queued: Q) -> Result<Result<(), Q>, Q> {
        match self.0.state.try_lock() {
            Ok(mut state) => Ok(self.0.append(&mut state, queued)),
            Err(TryLockError::Poisoned(state)) => {
                Ok(self.0.append(&mut state.into_inner(), queued))
            }
            Err(TryLockError::WouldBlock) => Err(queued),
        }
    }

    /// The database has these, which stand behind each other.
    pub(crate) async fn taken(&self, spots: Vec<Spot>) {
        let journal = self.clone();
        // What waits for a disk keeps no thread that serves others.
        drop(spawn_blocking(move || journal.0.taken(&spots)).await);
    }

    /// Others see from now on that somebody is here. Says whether nobody else is.
    pub(crate) async fn appear(&self) -> bool {
        let journal = self.clone();
        let appeared = spawn_blocking(move || {
            let mut state = journal.0.hold();
            // Where no file can be made, others are not seen to be here either.
            let _segment = journal.0.current(&mut state);
            journal.0.is_alone(&mut state)
        });
        appeared.await.unwrap_or(true)
    }

    /// Nothing is written for a while: a file of which all was taken goes.
    pub(crate) async fn close(&self) {
        let journal = self.clone();
        drop(spawn_blocking(move || journal.0.hold().leave()).await);
    }

    /// What the oldest journal holds whose process ended, if there is one that takes no more than `room`. Whoever has
    /// its spots has the file. Blocks.
    pub(crate) fn left_behind<T: Journaled>(&self, room: u64) -> Option<Left<T>> {
        let paths = segment::all(&self.0.base).unwrap_or_default();
        paths.into_iter().find_map(|path| self.0.left_in(&path, room))
    }
}

impl Holds {
    /// What it is called in messages.
    fn as_str(self) -> &'static str {
        match self {
            Holds::Records => "records",
            Holds::Traces => "traces",
            Holds::Slices => "slices of budgets",
        }
    }

    /// Whether what is written outlives a loss of power before it counts as written. An answer would have to wait for
    /// that.
    fn is_synced(self) -> bool {
        self == Holds::Traces
    }

    /// How long a file gets before another one is begun.
    fn long(self) -> u64 {
        match self {
            Holds::Records | Holds::Traces => LONG,
            Holds::Slices => LONG_OF_SLICES,
        }
    }

    /// How many bytes of what was taken stay in a file before it is cleared. Traces are read without a key, and nobody
    /// waits for them: nothing of one stays here, where it would outlive its erasure.
    fn kept(self) -> u64 {
        match self {
            Holds::Records | Holds::Slices => KEPT,
            Holds::Traces => HEAD as u64,
        }
    }
}

/// What waits for the database.
pub(crate) trait Queued: Send + 'static {
    type Row: Journaled;

    /// Another gateway may look for it at once, so that while there are others it is committed instead.
    const IS_LOOKED_UP: bool;

    /// What is to be written down.
    fn rows(&self) -> &[Arc<Self::Row>];

    /// It stands here now, and goes where the database takes it from.
    fn queue(self, spot: Spot);
}

impl Inner {
    fn hold(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append<Q: Queued>(&self, state: &mut State, queued: Q) -> Result<(), Q> {
        if Q::IS_LOOKED_UP && !self.is_alone(state) {
            return Err(queued);
        }
        let Some(segment) = self.current(state) else {
            self.fallbacks.fetch_add(1, Ordering::Relaxed);
            return Err(queued);
        };
        let buffer = &mut state.buffer;
        buffer.clear();
        let (begin, mut is_whole) = (segment.len(), true);
        for one in queued.rows() {
            is_whole &= format::put(buffer, begin, Q::Row::KIND, |out| one.put(out));
        }
        let too_large = || Failed { is_torn: false, error: io::ErrorKind::FileTooLarge.into() };
        let written =
            if is_whole { segment.write(buffer, self.holds.is_synced()) } else { Err(too_large()) };
        buffer.shrink_to(BUFFER);
        match written {
            Ok(()) => {
                state.is_failing = false;
                segment.add_left(1);
                let end = segment.len();
                queued.queue(Spot { segment, end });
                Ok(())
            }
            Err(failed) => {
                self.fails(state, &failed.error);
                self.fallbacks.fetch_add(1, Ordering::Relaxed);
                if failed.is_torn {
                    state.leave();
                }
                Err(queued)
            }
        }
    }

    /// Where the next entry goes.
    fn current(&self, state: &mut State) -> Option<Arc<Segment>> {
        if state.again.is_some_and(|again| Instant::now() < again) {
            return None;
        }
        state.again = None;
        if state.current.as_ref().is_none_or(|segment| segment.len() >= self.holds.long()) {
            match Segment::make(&self.base, self.mark, &self.disk, self.holds.is_synced()) {
                Ok(segment) => {
                    state.leave();
                    state.met.insert(segment.path().to_owned());
                    state.current = Some(Arc::new(segment));
                }
                Err(error) => self.fails(state, &error),
            }
        }
        state.current.clone()
    }

    /// It could not be written: that is tried again in a while, and said once.
    fn fails(&self, state: &mut State, error: &io::Error) {
        state.again = Some(Instant::now() + AGAIN);
        if !std::mem::replace(&mut state.is_failing, true) {
            let (journal, waits) = match self.holds {
                Holds::Records => ("journal", "answers wait until the database has them"),
                Holds::Traces => ("journal of traces", "traces wait in memory for the database"),
                Holds::Slices => (
                    "journal of budgets",
                    "what is spent is kept in memory until the database has it",
                ),
            };
            state.said = Some(format!(
                "the {journal} beside `{}` cannot be written ({error}): {waits}; make room in its folder, or make that \
                 writable",
                self.store.display()
            ));
        }
    }

    /// Whether no other process has a journal beside this store.
    fn is_alone(&self, state: &mut State) -> bool {
        let changed = fs::metadata(segment::folder(&self.base));
        let changed = changed.as_ref().map(fs::Metadata::modified);
        // Where nobody can look nobody can write.
        let Ok(Ok(changed)) = changed else { return true };
        if let Some((at, is_alone)) = state.alone
            && at == changed
        {
            return is_alone;
        }
        let others = segment::all(&self.base).unwrap_or_default();
        let is_other = |path: &PathBuf| !state.met.contains(path) && segment::is_held(path);
        let is_alone = !others.iter().any(is_other);
        let is_settled = changed.elapsed().is_ok_and(|since| since > SETTLED);
        state.alone = is_settled.then_some((changed, is_alone));
        is_alone
    }

    fn taken(&self, spots: &[Spot]) {
        let mut state = self.hold();
        for own in spots.chunk_by(|one, next| Arc::ptr_eq(&one.segment, &next.segment)) {
            let Some(Spot { segment, end }) = own.last() else { continue };
            let is_current =
                state.current.as_ref().is_some_and(|current| Arc::ptr_eq(current, segment));
            match segment.take_left(own.len()) {
                0 if !is_current => segment.remove(),
                0 if segment.len() > self.holds.kept() && segment.clear() => {}
                _ => {
                    let marked = segment.mark_taken(*end);
                    if marked.is_err_and(|failed| failed.is_torn) && is_current {
                        state.leave();
                    }
                }
            }
        }
    }

    /// `None`: its process lives, nothing is left in it, or it cannot be read now.
    fn left_in<T: Journaled>(&self, path: &Path, room: u64) -> Option<Left<T>> {
        let is_small = path.metadata().is_ok_and(|file| file.len() <= room);
        if !is_small || self.hold().met.contains(path) {
            return None;
        }
        let (segment, bytes) = match Segment::left_behind(path, &self.disk) {
            Ok(left) => {
                let left = left?;
                self.hold().met.insert(path.to_owned());
                left
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => return Some(self.say(path, &format!("it cannot be read: {error}"))),
        };
        match format::read_head(&bytes) {
            Ok(mark) if mark == self.mark => self.rows_of(segment, &bytes),
            Ok(_) => self.put_aside(&segment, "it belongs to another store"),
            Err(NoHead::Cut) => {
                segment.remove();
                None
            }
            Err(NoHead::Version(version)) => {
                let why = format!("it has version {version}, so that a newer `think` reads it");
                Some(self.say(path, &why))
            }
            Err(NoHead::Damaged) => self.put_aside(&segment, "it was changed at its beginning"),
        }
    }

    fn rows_of<T: Journaled>(&self, segment: Segment, bytes: &[u8]) -> Option<Left<T>> {
        let entries = format::read(bytes);
        let place = |payload: &[u8]| payload.try_into().map(u64::from_le_bytes).ok();
        let marks = entries.whole.iter().filter(|entry| entry.kind == Kind::Taken);
        let taken = marks.filter_map(|entry| place(entry.payload)).max().unwrap_or(HEAD as u64);
        let mut damaged_at = entries.damaged_at;
        let mut rows = Vec::new();
        for entry in entries.whole.iter().filter(|it| it.kind == T::KIND && it.end > taken) {
            match T::read(entry.payload) {
                Some(row) => rows.push((row, entry.end)),
                None => {
                    let end = usize::try_from(entry.end).unwrap_or_default();
                    damaged_at = damaged_at.or(Some(end));
                }
            }
        }
        let mut said = None;
        if let Some(at) = damaged_at {
            let path = segment.path();
            let copy = match aside::copy(path) {
                Ok(copy) => copy,
                Err(error) => return Some(self.say(path, &format!("it was changed: {error}"))),
            };
            said = Some(format!(
                "the journal `{}` was changed behind the program's back at byte {at}: {} {} in it are whole and \
                 were taken, and a copy of it is `{}`; delete the copy when it is of no use",
                path.display(),
                rows.len(),
                self.holds.as_str(),
                copy.display()
            ));
        }
        if rows.is_empty() {
            segment.remove();
            return said.map(|said| Left { rows: Vec::new(), said: Some(said) });
        }
        // What was not written to its end would stand before the next mark.
        segment.cut(entries.end);
        segment.add_left(rows.len());
        let segment = Arc::new(segment);
        let at = |(row, end)| (row, Spot { segment: Arc::clone(&segment), end });
        Some(Left { rows: rows.into_iter().map(at).collect(), said })
    }

    /// Nothing of it can be taken; it is kept under another name.
    fn put_aside<T>(&self, segment: &Segment, why: &str) -> Option<Left<T>> {
        match aside::copy(segment.path()) {
            Ok(copy) => {
                segment.remove();
                let (path, copy) = (segment.path().display(), copy.display());
                let said = format!(
                    "the journal `{path}` was not taken: {why}; it is kept as `{copy}`; delete that when it is of no use"
                );
                Some(Left { rows: Vec::new(), said: Some(said) })
            }
            Err(error) => Some(self.say(segment.path(), &format!("{why}, and {error}"))),
        }
    }

    /// It stays where it is, which is said once.
    fn say<T>(&self, path: &Path, why: &str) -> Left<T> {
        self.hold().met.insert(path.to_owned());
        let said = format!("the journal `{}` was not taken, and stays: {why}", path.display());
        Left { rows: Vec::new(), said: Some(said) }
    }
}

/// Nobody writes to it any more: what was taken need not be met again.
impl Drop for Inner {
    fn drop(&mut self) {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).leave();
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("store", &self.0.store).finish_non_exhaustive()
    }
}
