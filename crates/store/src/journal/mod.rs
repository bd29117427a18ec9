//! The journal beside a store in a file: acknowledged rows that the database has not committed yet.
//!
//! An answer does not wait for a commit. Its record is appended here with one `write`, which survives a crash of this
//! process. Until the commit, look-ups find it in memory (`unwritten.rs`). The database commits it some milliseconds
//! later, together with others (`waiting.rs`). If the process ends before that, the next process that opens the store
//! commits the rest of its journal.
//!
//! - Each process has its own journal files and locks them. No other process reads or cuts them while it lives.
//! - Each process that looks for records has a file, so that gateways on one store see each other. If there are
//!   several, records are committed at once, because the next request may go to another gateway.
//! - A journal holds the rows as the database will store them, sealed and keyed, so that it reveals no more than they
//!   do.
//! - The database commits entries in order, and the journal notes the offset. So few entries are replayed after a
//!   crash. A replay changes nothing, unless retention deleted the row in between.
//! - A power cut can lose records that are only in the journal. Traces are synced, because no answer waits for them.

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

/// A file whose entries are all committed is cleared once it is longer than this, in bytes: not after each commit.
const KEPT: u64 = 256 << 10;
/// Bytes after which another file is begun. A file grows so long only if some entry was always uncommitted. Slices
/// have few entries, but some slice is held at almost any moment, so that their file is never cleared.
const LONG: u64 = 4 << 20;
const LONG_OF_SLICES: u64 = 256 << 10;
/// The pause after a failed write.
const AGAIN: Duration = Duration::from_secs(1);
/// The modification time of a folder counts only once it is this old: a later change within one tick of the file
/// system's clock would not show.
const SETTLED: Duration = Duration::from_millis(50);
/// Capacity of the write buffer that is kept for later entries, in bytes.
const BUFFER: usize = 64 << 10;

/// The journal of this process. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct Journal(Arc<Inner>);

/// The kind of rows in a journal. Each kind has its own files, with the kind in their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Records of the vault. Answers wait until these are written.
    Records,
    /// Traces. No answer waits for these.
    Traces,
    /// The slices of budgets that this process holds, and their spent amounts.
    Slices,
}

struct Inner {
    store: PathBuf,
    /// The beginning of its file names.
    base: PathBuf,
    holds: Holds,
    mark: Mark,
    disk: Arc<dyn Disk>,
    state: Mutex<State>,
    /// Answers that waited for the database, because this journal did not accept them.
    fallbacks: AtomicU64,
}

#[derive(Default)]
struct State {
    /// The file for new entries, made with the first one.
    current: Option<Arc<Segment>>,
    buffer: Vec<u8>,
    /// No write is tried before this time.
    again: Option<Instant>,
    /// The last write failed.
    is_failing: bool,
    /// A message about that failure, as a sentence. It is made once, until a write succeeds again.
    said: Option<String>,
    /// Whether this process is alone, and the modification time of the folder for which that holds.
    alone: Option<(SystemTime, bool)>,
    /// Files of this process, and files of ended processes that were examined.
    met: HashSet<PathBuf>,
}

impl State {
    /// Stops writing to the current file. The file is deleted once all its entries are committed.
    fn leave(&mut self) {
        let old = self.current.take();
        old.iter().filter(|segment| segment.is_taken()).for_each(|it| it.remove());
    }
}

/// The location of a written item.
#[derive(Clone)]
pub(crate) struct Spot {
    segment: Arc<Segment>,
    /// The offset behind it.
    end: u64,
}

/// The rows of an ended process.
pub(crate) struct Left<T> {
    /// In the order in which they were written.
    pub(crate) rows: Vec<(T, Spot)>,
    /// A message about the file, as a sentence.
    pub(crate) said: Option<String>,
}

impl Journal {
    /// The journal of the store in this file. Its mark is a digest under the key of the installation, so that a
    /// journal of another store is not read.
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

    /// The file names as a pattern, for messages.
    pub(crate) fn names(&self) -> String {
        format!("{}-*", self.0.base.display())
    }

    /// Counts an answer that waits for the database instead.
    pub(crate) fn falls_back(&self) {
        self.0.fallbacks.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of such answers since the process began.
    pub(crate) fn fallbacks(&self) -> u64 {
        self.0.fallbacks.load(Ordering::Relaxed)
    }

    /// Takes the message about a failed write. Returns `None` while a write is in progress, too.
    pub(crate) fn said(&self) -> Option<String> {
        // The lock is not awaited: a writer may hold it for as long as its disk takes.
        self.0.state.try_lock().ok()?.said.take()
    }

    /// Writes the rows and queues them with their spot, in the order of their spots. Returns them if they could not
    /// be written, or if they have to be committed at once.
    pub(crate) async fn append<Q: Queued>(&self, queued: Q) -> Result<(), Q> {
        let queued = match self.try_append(queued) {
            Ok(written) => return written,
            Err(queued) => queued,
        };
        // Another thread writes. A slow disk must not block this thread, which serves other requests, too.
        self.append_beside(queued).await
    }

    /// Like [`Journal::append`], on a blocking thread: for large items, and items that no answer waits for.
    pub(crate) async fn append_beside<Q: Queued>(&self, queued: Q) -> Result<(), Q> {
        let journal = self.clone();
        let written = spawn_blocking(move || journal.0.append(&mut journal.0.hold(), queued));
        // The task fails only when the runtime ends. Then no answer is acknowledged any more.
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

    /// Marks items as committed. They are in the order in which they were written.
    pub(crate) async fn taken(&self, spots: Vec<Spot>) {
        let journal = self.clone();
        drop(spawn_blocking(move || journal.0.taken(&spots)).await);
    }

    /// Makes this process visible to others on the store. Returns whether it is the only one.
    pub(crate) async fn appear(&self) -> bool {
        let journal = self.clone();
        let appeared = spawn_blocking(move || {
            let mut state = journal.0.hold();
            // If no file can be made, other processes cannot make one either.
            let _segment = journal.0.current(&mut state);
            journal.0.is_alone(&mut state)
        });
        appeared.await.unwrap_or(true)
    }

    /// Stops writing for a while. A file whose entries are all committed is deleted.
    pub(crate) async fn close(&self) {
        let journal = self.clone();
        drop(spawn_blocking(move || journal.0.hold().leave()).await);
    }

    /// Reads the oldest journal of an ended process that is at most `room` bytes long. The returned spots keep its
    /// file locked. Blocks.
    pub(crate) fn left_behind<T: Journaled>(&self, room: u64) -> Option<Left<T>> {
        let paths = segment::all(&self.0.base).unwrap_or_default();
        paths.into_iter().find_map(|path| self.0.left_in(&path, room))
    }
}

impl Holds {
    fn as_str(self) -> &'static str {
        match self {
            Holds::Records => "records",
            Holds::Traces => "traces",
            Holds::Slices => "slices of budgets",
        }
    }

    /// Whether a write is synced before it is acknowledged, so that it survives a power cut. Records are not synced,
    /// because answers would have to wait.
    fn is_synced(self) -> bool {
        self == Holds::Traces
    }

    fn long(self) -> u64 {
        match self {
            Holds::Records | Holds::Traces => LONG,
            Holds::Slices => LONG_OF_SLICES,
        }
    }

    /// The length up to which a committed file is not cleared. Traces are readable without a key, so that none stays
    /// here after its commit, where it would outlive its erasure.
    fn kept(self) -> u64 {
        match self {
            Holds::Records | Holds::Slices => KEPT,
            Holds::Traces => HEAD as u64,
        }
    }
}

pub(crate) trait Queued: Send + 'static {
    type Row: Journaled;

    /// Whether other gateways may look for the rows at once. While there are others, such rows are committed, not
    /// written here.
    const IS_LOOKED_UP: bool;

    fn rows(&self) -> &[Arc<Self::Row>];

    /// Queues the item for the database, after it was written at this spot.
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

    /// Returns the file for the next entry, and makes a new one if needed.
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

    /// Handles a failed write: it is tried again after a pause, and reported once.
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
        // If the folder cannot be examined, no process can write to it.
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

    /// Reads the journal of an ended process. Returns `None` if its process lives, if it was examined before, or if
    /// it is too long, gone or empty.
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
        // Removes an incomplete entry at the end, because a mark is appended there later.
        segment.cut(entries.end);
        segment.add_left(rows.len());
        let segment = Arc::new(segment);
        let at = |(row, end)| (row, Spot { segment: Arc::clone(&segment), end });
        Some(Left { rows: rows.into_iter().map(at).collect(), said })
    }

    /// Keeps a copy of a journal that cannot be read under another name, and deletes the original.
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

    /// Leaves a journal in place, and reports that once.
    fn say<T>(&self, path: &Path, why: &str) -> Left<T> {
        self.hold().met.insert(path.to_owned());
        let said = format!("the journal `{}` was not taken, and stays: {why}", path.display());
        Left { rows: Vec::new(), said: Some(said) }
    }
}

/// Deletes the current file if all its entries are committed.
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
