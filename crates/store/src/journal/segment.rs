//! One file of a journal: created, locked, written and deleted.
//!
//! A file belongs to the process that holds its lock. The system releases the lock when the process ends, even by a
//! crash.

use super::disk::{Disk, write_all};
use super::format::{self, HEAD, Kind, Mark};
use crate::master::hex;
use crate::seal::random;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many names are tried if another process has the name or the lock.
const TRIES: usize = 8;
/// Bytes of the time in a file name, so that older files are read first. `RANDOM` random bytes follow.
const TIME: usize = 6;
const RANDOM: usize = 4;

/// A file that is locked by this process. Callers use it one at a time, except for the count of uncommitted items.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    file: File,
    disk: Arc<dyn Disk>,
    /// The file may end with an incomplete entry, so that it takes no further entries.
    is_torn: AtomicBool,
    /// The offset of the next entry.
    len: AtomicU64,
    /// The number of its items that the database has not committed.
    left: AtomicUsize,
}

impl Segment {
    /// Makes a file whose path begins with `base`. If it `is_synced`, its name survives a power cut.
    pub(super) fn make(
        base: &Path,
        mark: Mark,
        disk: &Arc<dyn Disk>,
        is_synced: bool,
    ) -> io::Result<Self> {
        let mut last = io::ErrorKind::AlreadyExists.into();
        for _ in 0..TRIES {
            let path = beside(base, &new_name()?);
            let made = disk.make(options().create_new(true), &path);
            match made.and_then(|file| begun(&path, file, mark, &**disk)) {
                Ok(file) => {
                    if is_synced && let Err(error) = synced(folder(base), &**disk) {
                        drop(fs::remove_file(path));
                        return Err(error);
                    }
                    return Ok(Segment::of(path, file, disk, HEAD as u64));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Opens and reads the file of an ended process. Returns `None` if the process lives, or the file is gone.
    pub(super) fn left_behind(
        path: &Path,
        disk: &Arc<dyn Disk>,
    ) -> io::Result<Option<(Self, Vec<u8>)>> {
        let mut file = options().open(path)?;
        if file.try_lock().is_err() || !path.exists() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some((Segment::of(path.to_owned(), file, disk, bytes.len() as u64), bytes)))
    }

    fn of(path: PathBuf, file: File, disk: &Arc<dyn Disk>, len: u64) -> Self {
        let (disk, is_torn) = (Arc::clone(disk), AtomicBool::new(false));
        let (len, left) = (AtomicU64::new(len), AtomicUsize::new(0));
        Segment { path, file, disk, is_torn, len, left }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// Counts further uncommitted items.
    pub(super) fn add_left(&self, entries: usize) {
        self.left.fetch_add(entries, Ordering::Relaxed);
    }

    /// Counts committed items, and returns the number of the uncommitted ones.
    pub(super) fn take_left(&self, entries: usize) -> usize {
        let before = self.left.fetch_sub(entries, Ordering::Relaxed);
        before.saturating_sub(entries)
    }

    pub(super) fn is_taken(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Appends entries: all or none. If `is_synced`, they survive a power cut once this returns.
    pub(super) fn write(&self, entries: &[u8], is_synced: bool) -> Result<(), Failed> {
        if self.is_torn.load(Ordering::Relaxed) {
            return Err(Failed { is_torn: true, error: io::Error::other("it is torn") });
        }
        let written = write_all(&*self.disk, &self.file, entries);
        let written = written.and_then(|()| match is_synced {
            true => self.disk.sync(&self.file),
            false => Ok(()),
        });
        let Err(error) = written else {
            self.len.fetch_add(entries.len() as u64, Ordering::Relaxed);
            return Ok(());
        };
        // A part of the entries may be in the file.
        let is_torn = self.disk.set_len(&self.file, self.len()).is_err();
        self.is_torn.store(is_torn, Ordering::Relaxed);
        Err(Failed { is_torn, error })
    }

    pub(super) fn read(&self, place: u64, len: usize) -> io::Result<Vec<u8>> {
        let (mut file, mut bytes) = (&self.file, vec![0; len]);
        // The seek does not move later writes, because the file is in append mode.
        file.seek(SeekFrom::Start(place))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Notes that the database has all entries before this offset. If the note cannot be written, the entries are
    /// replayed one day, which changes nothing.
    pub(super) fn mark_taken(&self, place: u64) -> Result<(), Failed> {
        let mut entry = Vec::new();
        let put = |out: &mut Vec<u8>| out.extend(place.to_le_bytes());
        format::put(&mut entry, self.len(), Kind::Taken, put);
        self.write(&entry, false)
    }

    pub(super) fn cut(&self, place: usize) {
        let place = place as u64;
        if place < self.len() && self.disk.set_len(&self.file, place).is_ok() {
            self.len.store(place, Ordering::Relaxed);
        }
    }

    /// Deletes all entries. Returns whether that worked.
    pub(super) fn clear(&self) -> bool {
        self.cut(HEAD);
        self.len() == HEAD as u64
    }

    /// Deletes the file while it is locked.
    pub(super) fn remove(&self) {
        // A file that stays is read once more, which changes nothing.
        drop(fs::remove_file(&self.path));
    }
}

#[derive(Debug)]
pub(super) struct Failed {
    /// A part of the entries may be in the file.
    pub(super) is_torn: bool,
    pub(super) error: io::Error,
}

/// The journals whose paths begin with `base`, the oldest first.
pub(super) fn all(base: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(base))? {
        let name = entry?.file_name();
        if is_journal(base, &name) {
            // Spelled like the paths of this process's own files, so that it recognises these.
            found.push(base.with_file_name(name));
        }
    }
    found.sort_unstable();
    Ok(found)
}

pub(super) fn folder(base: &Path) -> &Path {
    let folder = base.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Whether a process holds the lock of this file.
pub(super) fn is_held(path: &Path) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn begun(path: &Path, file: File, mark: Mark, disk: &dyn Disk) -> io::Result<File> {
    // Another process may have locked the new file first, because it looked like one of an ended process.
    file.try_lock().map_err(io::Error::from)?;
    if !path.exists() {
        return Err(io::ErrorKind::NotFound.into());
    }
    if let Err(error) = write_all(disk, &file, &format::head(mark)) {
        drop(fs::remove_file(path));
        return Err(error);
    }
    Ok(file)
}

/// Syncs a folder, so that its names survive a power cut.
fn synced(folder: &Path, disk: &dyn Disk) -> io::Result<()> {
    // Other systems cannot open a folder, and their file systems keep the names.
    if cfg!(unix) { disk.sync(&File::open(folder)?) } else { Ok(()) }
}

/// The owner alone can read the file, and writes append.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn prefix(base: &Path) -> OsString {
    let mut name = base.file_name().unwrap_or_default().to_owned();
    name.push("-");
    name
}

fn beside(base: &Path, own: &str) -> PathBuf {
    let mut name = prefix(base);
    name.push(own);
    base.with_file_name(name)
}

fn new_name() -> io::Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = u64::try_from(now).unwrap_or(u64::MAX).to_be_bytes();
    let random = random::<RANDOM>().map_err(|_| io::Error::other("no random bytes"))?;
    let [_, _, time @ ..]: [u8; 2 + TIME] = now;
    Ok(hex(&time) + &hex(&random))
}

/// Whether this is a journal's name. Copies that were put aside have longer names.
fn is_journal(base: &Path, name: &OsStr) -> bool {
    let (prefix, name) = (prefix(base), name.as_encoded_bytes());
    name.strip_prefix(prefix.as_encoded_bytes()).is_some_and(|own| {
        own.len() == 2 * (TIME + RANDOM) && own.iter().all(u8::is_ascii_hexdigit)
    })
}
