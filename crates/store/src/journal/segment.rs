//! One file of a journal: made, locked, written to and taken away.
//!
//! A file belongs to whoever holds its lock, which the system takes from a process that ends, however it does.

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

/// How often a file is made whose name or lock somebody else has.
const TRIES: usize = 8;
/// How many bytes a name has behind the store's: of the time, so that older files are read first, and drawn at random.
const TIME: usize = 6;
const RANDOM: usize = 4;

/// A file that this process holds. All of it but the count of what is left is for one at a time.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    file: File,
    disk: Arc<dyn Disk>,
    /// A part of an entry may stand at its end, so that nothing is written behind that.
    is_torn: AtomicBool,
    /// Where the next entry goes.
    len: AtomicU64,
    /// How many of its entries the database has not taken.
    left: AtomicUsize,
}

impl Segment {
    /// A new one, whose path begins with `base`. One that `is_synced` outlives a loss of power from now on.
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

    /// One that a process left behind, with what stands in it; `None` where that process lives.
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

    /// How long it is.
    pub(super) fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// So many entries more wait for the database.
    pub(super) fn add_left(&self, entries: usize) {
        self.left.fetch_add(entries, Ordering::Relaxed);
    }

    /// So many were taken; gives how many are left.
    pub(super) fn take_left(&self, entries: usize) -> usize {
        let before = self.left.fetch_sub(entries, Ordering::Relaxed);
        before.saturating_sub(entries)
    }

    /// Whether none is left.
    pub(super) fn is_taken(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Writes entries behind those that are there: all or none. Where it `is_synced`, a loss of power does not take them
    /// any more when this comes back.
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
        // A part may be there.
        let is_torn = self.disk.set_len(&self.file, self.len()).is_err();
        self.is_torn.store(is_torn, Ordering::Relaxed);
        Err(Failed { is_torn, error })
    }

    /// Reads the bytes from this place on.
    pub(super) fn read(&self, place: u64, len: usize) -> io::Result<Vec<u8>> {
        let (mut file, mut bytes) = (&self.file, vec![0; len]);
        // What is written goes to the end, wherever somebody read.
        file.seek(SeekFrom::Start(place))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The database has what stands before this place. Where that cannot be written down, the entries are taken once more
    /// one day, which changes nothing.
    pub(super) fn mark_taken(&self, place: u64) -> Result<(), Failed> {
        let mut entry = Vec::new();
        let put = |out: &mut Vec<u8>| out.extend(place.to_le_bytes());
        format::put(&mut entry, self.len(), Kind::Taken, put);
        self.write(&entry, false)
    }

    /// Takes away what stands from this place on.
    pub(super) fn cut(&self, place: usize) {
        let place = place as u64;
        if place < self.len() && self.disk.set_len(&self.file, place).is_ok() {
            self.len.store(place, Ordering::Relaxed);
        }
    }

    /// Nothing in it is of use any more. Says whether it worked.
    pub(super) fn clear(&self) -> bool {
        self.cut(HEAD);
        self.len() == HEAD as u64
    }

    /// Takes the file away, while it is locked.
    pub(super) fn remove(&self) {
        // What stays is read once more, which changes nothing.
        drop(fs::remove_file(&self.path));
    }
}

/// Why entries are not in a file.
#[derive(Debug)]
pub(super) struct Failed {
    /// A part of them may be.
    pub(super) is_torn: bool,
    pub(super) error: io::Error,
}

/// The journals whose paths begin with `base`, the oldest first.
pub(super) fn all(base: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder(base))? {
        let name = entry?.file_name();
        if is_journal(base, &name) {
            // Spelled as those that this process makes, so that it knows its own.
            found.push(base.with_file_name(name));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Where they are.
pub(super) fn folder(base: &Path) -> &Path {
    let folder = base.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Whether a process has it.
pub(super) fn is_held(path: &Path) -> bool {
    let file = File::open(path);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn begun(path: &Path, file: File, mark: Mark, disk: &dyn Disk) -> io::Result<File> {
    // Whoever looks for files of dead processes may have taken it for one, before it was locked.
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

/// The names in a folder outlive a loss of power.
fn synced(folder: &Path, disk: &dyn Disk) -> io::Result<()> {
    // Elsewhere a folder cannot be opened, and its names are kept by its file system.
    if cfg!(unix) { disk.sync(&File::open(folder)?) } else { Ok(()) }
}

/// Only its owner can read it, and what is written goes to its end.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The beginning of all names.
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

/// What was put aside has a longer name.
fn is_journal(base: &Path, name: &OsStr) -> bool {
    let (prefix, name) = (prefix(base), name.as_encoded_bytes());
    name.strip_prefix(prefix.as_encoded_bytes()).is_some_and(|own| {
        own.len() == 2 * (TIME + RANDOM) && own.iter().all(u8::is_ascii_hexdigit)
    })
}
