//! Files for thoughts of answers in progress.
//!
//! A file is needed only by its answer, and is deleted with it. The files of an ended process are useless: the next
//! process that opens the store deletes them unread.

use super::disk::Disk;
use super::format::{self, Kind};
use super::segment::{self, Segment};
use super::{Journal, Mark};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most bytes in all such files of a process.
const LIMIT: u64 = 256 << 20;

/// The files of this process. Clones share one limit.
#[derive(Clone)]
pub(crate) struct SpillFiles(Arc<Shared>);

struct Shared {
    base: PathBuf,
    mark: Mark,
    disk: Arc<dyn Disk>,
    bytes: AtomicU64,
    /// A few answers write or read at a time, because sealing copies the thought.
    turns: Arc<Semaphore>,
}

const TURNS: usize = 2;

pub(crate) struct SpillFile {
    files: SpillFiles,
    segment: Segment,
    bytes: u64,
}

/// The location of a payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    at: u64,
    len: usize,
}

impl Journal {
    /// The spill files beside this journal's store.
    pub(crate) fn spill_files(&self) -> SpillFiles {
        let mut base = self.0.store.as_os_str().to_owned();
        base.push(".spill");
        let (mark, disk) = (self.0.mark, Arc::clone(&self.0.disk));
        let (bytes, turns) = (AtomicU64::new(0), Arc::new(Semaphore::new(TURNS)));
        SpillFiles(Arc::new(Shared { base: base.into(), mark, disk, bytes, turns }))
    }
}

impl SpillFiles {
    /// Makes the file of an answer. Blocks.
    pub(crate) fn make(&self) -> io::Result<SpillFile> {
        let segment = Segment::make(&self.0.base, self.0.mark, &self.0.disk, false)?;
        Ok(SpillFile { files: self.clone(), segment, bytes: 0 })
    }

    /// Waits until the answer may write or read. `None`: the files are closed.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.turns).acquire_owned().await.ok()
    }

    /// Deletes the files of processes that ended. Blocks.
    pub(crate) fn sweep(&self) {
        for path in segment::all(&self.0.base).unwrap_or_default() {
            if !segment::is_held(&path) {
                // A file that cannot be deleted is found again by the next process.
                drop(fs::remove_file(path));
            }
        }
    }

    fn reserve(&self, bytes: u64) -> bool {
        let fits = |all: u64| all.checked_add(bytes).filter(|all| *all <= LIMIT);
        self.0.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    fn free(&self, bytes: u64) {
        self.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl SpillFile {
    pub(crate) fn name(&self) -> &OsStr {
        self.segment.path().file_name().unwrap_or_default()
    }

    /// The number of the next entry, which no other entry of the file has.
    pub(crate) fn next(&self) -> u64 {
        self.segment.len()
    }

    /// Writes an entry. Blocks.
    pub(crate) fn write(&mut self, payload: &[u8]) -> io::Result<Extent> {
        let (start, mut entry) = (self.segment.len(), Vec::new());
        if !format::put(&mut entry, start, Kind::Spilled, |out| out.extend_from_slice(payload)) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let bytes = entry.len() as u64;
        if !self.files.reserve(bytes) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Err(failed) = self.segment.write(&entry, false) {
            self.files.free(bytes);
            return Err(failed.error);
        }
        self.bytes += bytes;
        let len = payload.len();
        Ok(Extent { at: start + bytes - len as u64, len })
    }

    /// Reads the payload of an entry. Blocks.
    pub(crate) fn read(&self, extent: Extent) -> io::Result<Vec<u8>> {
        self.segment.read(extent.at, extent.len)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.segment.remove();
        self.files.free(self.bytes);
    }
}
