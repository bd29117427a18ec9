//! Tests of the journal on a disk that fails: traffic goes on, and accepted entries survive.

use super::disk::Disk;
use super::format::Mark;
use super::{Holds, Journal, Left, Queued, Spot, segment};
use crate::row::NewRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

const MARK: Mark = *b"0123456789abcdef";

/// The behaviour of the disk: fixed, or random from a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Fine,
    Full,
    ReadOnly,
    /// Every other write is interrupted, and the others write one byte.
    Slow,
    Any,
}

#[derive(Debug)]
struct Faulty {
    mood: Mutex<Mood>,
    random: Mutex<u64>,
    is_interrupted: Mutex<bool>,
}

impl Faulty {
    fn new(mood: Mood, seed: u64) -> Arc<Self> {
        let (random, is_interrupted) = (Mutex::new(seed), Mutex::new(false));
        Arc::new(Faulty { mood: Mutex::new(mood), random, is_interrupted })
    }

    fn feels(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn below(&self, bound: u64) -> u64 {
        let mut random = self.random.lock().unwrap();
        *random = random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*random ^ (*random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)) % bound
    }

    fn mood(&self) -> Mood {
        *self.mood.lock().unwrap()
    }

    /// Writes at most this many bytes.
    fn some(mut file: &File, bytes: &[u8], most: usize) -> io::Result<usize> {
        file.write(&bytes[..bytes.len().min(most)])
    }
}

impl Disk for Faulty {
    fn make(&self, how: &OpenOptions, path: &Path) -> io::Result<File> {
        match self.mood() {
            Mood::ReadOnly => Err(ErrorKind::ReadOnlyFilesystem.into()),
            Mood::Any if self.below(5) == 0 => Err(ErrorKind::StorageFull.into()),
            _ => how.open(path),
        }
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        match self.mood() {
            Mood::Fine => file.write(bytes),
            Mood::Full => Err(ErrorKind::StorageFull.into()),
            Mood::ReadOnly => Err(ErrorKind::ReadOnlyFilesystem.into()),
            Mood::Slow => {
                let mut is_interrupted = self.is_interrupted.lock().unwrap();
                *is_interrupted = !*is_interrupted;
                match *is_interrupted {
                    true => Err(ErrorKind::Interrupted.into()),
                    false => Self::some(file, bytes, 1),
                }
            }
            Mood::Any => match self.below(8) {
                0 => Err(ErrorKind::Interrupted.into()),
                1 => Err(ErrorKind::StorageFull.into()),
                2 => Ok(0),
                3 | 4 => Self::some(file, bytes, 1 + usize::try_from(self.below(40)).unwrap()),
                _ => file.write(bytes),
            },
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        match self.mood() {
            Mood::Any if self.below(6) == 0 => Err(ErrorKind::Other.into()),
            _ => file.sync_data(),
        }
    }

    fn set_len(&self, file: &File, len: u64) -> io::Result<()> {
        match self.mood() {
            Mood::Any if self.below(3) == 0 => Err(ErrorKind::PermissionDenied.into()),
            _ => file.set_len(len),
        }
    }
}

/// A folder that is removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("think-faults-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn store(&self) -> PathBuf {
        self.0.join("store.db")
    }

    /// The common prefix of the journals' names.
    fn base(&self, holds: Holds) -> PathBuf {
        self.0.join(match holds {
            Holds::Records => "store.db.journal",
            Holds::Traces => "store.db.traces",
            Holds::Slices => "store.db.slices",
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// An answer to append, and the queue for it.
struct One {
    records: Vec<Arc<NewRecord>>,
    queue: Arc<Mutex<Vec<(String, Spot)>>>,
}

impl Queued for One {
    type Row = NewRecord;

    const IS_LOOKED_UP: bool = true;

    fn rows(&self) -> &[Arc<NewRecord>] {
        &self.records
    }

    fn queue(self, spot: Spot) {
        self.queue.lock().unwrap().push((self.records[0].id.clone(), spot));
    }
}

fn record(id: &str, size: usize) -> NewRecord {
    NewRecord {
        tenant: 1,
        id: id.to_owned(),
        parent: None,
        thread: None,
        key_id: 0,
        keys: vec![7],
        head: vec![1; size],
        kept: vec![2; size],
        now: 0,
    }
}

struct Process {
    journal: Journal,
    queue: Arc<Mutex<Vec<(String, Spot)>>>,
}

impl Process {
    fn new(folder: &Folder, disk: &Arc<Faulty>) -> Self {
        let disk: Arc<Faulty> = Arc::clone(disk);
        Process::on(folder, disk, Holds::Records)
    }

    fn on(folder: &Folder, disk: Arc<dyn Disk>, holds: Holds) -> Self {
        let journal = Journal::on(&folder.store(), MARK, disk, holds);
        Process { journal, queue: Arc::default() }
    }

    /// Appends a record. Returns whether the journal accepted it.
    async fn takes(&self, id: &str, size: usize) -> bool {
        // Skip the pause after a failure.
        self.journal.0.hold().again = None;
        let records = vec![Arc::new(record(id, size))];
        self.journal.append(One { records, queue: Arc::clone(&self.queue) }).await.is_ok()
    }

    /// Commits the first pending records. Returns their ids.
    async fn database_takes(&self, count: usize) -> Vec<String> {
        let taken: Vec<(String, Spot)> = {
            let mut queue = self.queue.lock().unwrap();
            let count = count.min(queue.len());
            queue.drain(..count).collect()
        };
        let (ids, spots) = taken.into_iter().unzip();
        self.journal.taken(spots).await;
        ids
    }
}

/// The records and messages that the next process finds after a kill. It reads a copy, because this process holds
/// locks.
fn found(folder: &Folder) -> (BTreeSet<String>, Vec<String>) {
    let copy = Folder::new();
    for path in segment::all(&folder.base(Holds::Records)).unwrap() {
        fs::copy(&path, copy.0.join(path.file_name().unwrap())).unwrap();
    }
    left_in(&copy, Holds::Records)
}

/// The records and messages that the next process finds in a folder.
fn left_in(folder: &Folder, holds: Holds) -> (BTreeSet<String>, Vec<String>) {
    let next = Journal::on(&folder.store(), MARK, Faulty::new(Mood::Fine, 0), holds);
    let (mut ids, mut said) = (BTreeSet::new(), Vec::new());
    while let Some(left) = next.left_behind(u64::MAX) {
        let left: Left<NewRecord> = left;
        ids.extend(left.rows.into_iter().map(|(record, _)| record.id));
        said.extend(left.said);
    }
    (ids, said)
}

#[tokio::test]
async fn on_a_full_or_read_only_disk_answers_are_given_back_and_it_is_said_once() {
    for (mood, words) in
        [(Mood::Full, "no storage space"), (Mood::ReadOnly, "read-only filesystem")]
    {
        let (folder, disk) = (Folder::new(), Faulty::new(Mood::Fine, 0));
        let process = Process::new(&folder, &disk);
        let is_file_there = mood == Mood::Full;
        if is_file_there {
            assert!(process.takes("before", 10).await);
        }
        disk.feels(mood);
        for id in ["one", "two", "three"] {
            assert!(!process.takes(id, 10).await, "{mood:?}");
        }
        assert_eq!(process.journal.fallbacks(), 3);
        let said = process.journal.said().unwrap();
        assert!(said.contains(words) && said.contains("store.db"), "{said}");
        assert_eq!(process.journal.said(), None, "it is said once");
        // It works again as soon as there is room, and the next failure is reported again.
        disk.feels(Mood::Fine);
        assert!(process.takes("behind", 10).await);
        assert_eq!((process.journal.fallbacks(), process.journal.said()), (3, None));
        disk.feels(Mood::Full);
        assert!(!process.takes("four", 10).await);
        assert!(process.journal.said().is_some());
        let mut expected = BTreeSet::from(["behind".to_owned()]);
        expected.extend(is_file_there.then(|| "before".to_owned()));
        assert_eq!(found(&folder), (expected, Vec::new()), "{mood:?}");
    }
}

#[tokio::test]
async fn after_it_failed_nothing_is_tried_for_a_while() {
    let (folder, disk) = (Folder::new(), Faulty::new(Mood::Full, 0));
    let process = Process::new(&folder, &disk);
    assert!(!process.takes("one", 10).await);
    disk.feels(Mood::Fine);
    let records = vec![Arc::new(record("two", 10))];
    let queued = One { records, queue: Arc::clone(&process.queue) };
    assert!(process.journal.append(queued).await.is_err());
    assert_eq!(process.journal.fallbacks(), 2);
}

#[tokio::test]
async fn interrupted_and_short_writes_are_gone_on_with() {
    let (folder, disk) = (Folder::new(), Faulty::new(Mood::Slow, 0));
    let process = Process::new(&folder, &disk);
    for id in ["one", "two"] {
        assert!(process.takes(id, 50).await);
    }
    assert_eq!((process.journal.fallbacks(), process.journal.said()), (0, None));
    let ids = ["one", "two"].map(str::to_owned).into();
    assert_eq!(found(&folder), (ids, Vec::new()));
}

/// Under any faults: accepted records that are not in the database survive a kill, refused ones do not appear, and no
/// journal looks altered.
#[tokio::test]
async fn whatever_a_disk_does_what_was_taken_is_there() {
    let (mut took, mut gave_back) = (0, 0);
    for seed in 0..150 {
        let (folder, disk) = (Folder::new(), Faulty::new(Mood::Any, seed));
        let process = Process::new(&folder, &disk);
        let (mut taken, mut in_database) = (BTreeSet::new(), BTreeSet::new());
        for at in 0..40 {
            let id = format!("{at}");
            let size = usize::try_from(disk.below(200)).unwrap();
            if process.takes(&id, size).await {
                taken.insert(id);
            } else {
                gave_back += 1;
            }
            if disk.below(4) == 0 {
                in_database.extend(process.database_takes(1).await);
            }
        }
        let (found, said) = found(&folder);
        assert_eq!(said, [""; 0], "seed {seed}");
        let lost: Vec<_> =
            taken.difference(&in_database).filter(|id| !found.contains(*id)).collect();
        assert_eq!(lost, [""; 0], "seed {seed}");
        assert!(found.is_subset(&taken), "seed {seed}: what was given back is there");
        took += taken.len();
    }
    assert!(took > 1_000 && gave_back > 1_000, "{took} {gave_back}");
}

/// A disk that simulates a power cut: files are cut to their synced length, and need a synced name.
#[derive(Debug, Default)]
struct Powered {
    /// By file name.
    synced: Mutex<BTreeMap<PathBuf, Synced>>,
}

#[derive(Debug, Default)]
struct Synced {
    len: u64,
    has_name: bool,
}

impl Powered {
    /// The folder after a power cut.
    fn cut(&self, folder: &Folder) -> Folder {
        let (after, synced) = (Folder::new(), self.synced.lock().unwrap());
        for path in segment::all(&folder.base(Holds::Traces)).unwrap() {
            if let Some(Synced { len, has_name: true }) = synced.get(&path) {
                let copy = after.0.join(path.file_name().unwrap());
                fs::copy(&path, &copy).unwrap();
                File::options().write(true).open(copy).unwrap().set_len(*len).unwrap();
            }
        }
        after
    }
}

impl Disk for Powered {
    fn make(&self, how: &OpenOptions, path: &Path) -> io::Result<File> {
        self.synced.lock().unwrap().insert(path.to_owned(), Synced::default());
        how.open(path)
    }

    fn sync(&self, synced: &File) -> io::Result<()> {
        let of = synced.metadata()?;
        for (path, file) in &mut *self.synced.lock().unwrap() {
            // Removed files cannot be synced.
            let Ok(its) = path.metadata() else { continue };
            if of.is_dir() {
                file.has_name = true;
            } else if its.ino() == of.ino() {
                file.len = of.len();
            }
        }
        Ok(())
    }
}

/// Cuts the power after each step: acknowledged traces that are not in the database survive.
#[tokio::test]
async fn k_2_a_loss_of_power_takes_no_trace_that_stands_in_a_journal() {
    let (folder, disk) = (Folder::new(), Arc::new(Powered::default()));
    let (process, drawn) = (
        Process::on(&folder, Arc::clone(&disk) as Arc<dyn Disk>, Holds::Traces),
        Faulty::new(Mood::Fine, 1),
    );
    let (mut taken, mut in_database) = (BTreeSet::new(), BTreeSet::new());
    for at in 0..200 {
        let id = format!("{at}");
        // Some are too large to share a file.
        let size = usize::try_from(drawn.below(80) * drawn.below(3_000)).unwrap();
        assert!(process.takes(&id, size).await);
        taken.insert(id);
        if drawn.below(3) == 0 {
            let count = usize::try_from(drawn.below(6)).unwrap();
            in_database.extend(process.database_takes(count).await);
        }
        let (found, said) = left_in(&disk.cut(&folder), Holds::Traces);
        let lost: Vec<_> =
            taken.difference(&in_database).filter(|id| !found.contains(*id)).collect();
        assert_eq!((lost, said), (Vec::new(), Vec::new()), "after {at}");
    }
}
