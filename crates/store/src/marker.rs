//! The marker of a store in a file. It shows that gateway keys were created for this store.
//!
//! A store that was lost, emptied, or replaced by an older backup looks as if it never had keys, and would admit
//! callers without a key. As long as the marker exists, the gateway refuses them. The name of the marker is a digest
//! of the store's path. It is in the folder of the master key, so `rm thinkthrough.db*` does not remove it. The
//! master key authenticates it, and a damaged marker counts as present.
//!
//! A folder that is moved keeps its markers, under the digests of the old paths. So any marker of the folder counts,
//! unless it names another existing store.

use crate::master::{hex, private_file, sync_folder};
use crate::seal::{self, Key};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The first line, which is the version of the format.
const HEAD: &str = "thinkthrough keys 1";
/// Prefix of the file name.
const BEGIN: &str = "gateway-keys-";
/// Number of hexadecimal digits of the path's digest in the file name.
const DIGITS: usize = 32;
/// Context for deriving the key of the authentication code.
const CONTEXT: &str = "thinkthrough 2026-11 marker that gateway keys were made";

/// The marker of one store.
#[derive(Clone)]
pub(crate) struct Marker {
    path: PathBuf,
    folder: PathBuf,
    /// The path of the store, for people who find the marker.
    store: String,
    key: Key,
}

/// The state of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// There is no file.
    Absent,
    /// A marker of a store whose file does not exist.
    Stray(PathBuf),
    /// A valid marker. `changes` is the number of key changes when it was written.
    Whole { changes: i64 },
    /// The marker is altered or cannot be read.
    Damaged,
}

impl Marker {
    /// The marker in `folder` of the store in the file `store`.
    pub(crate) fn of(folder: &Path, store: &Path, master: &Key) -> Self {
        let folder = folder.to_owned();
        let path = folder.join(name_of(store));
        let store = store.to_string_lossy().escape_debug().to_string();
        let key = Key::new(blake3::derive_key(CONTEXT, master.bytes()));
        Marker { path, folder, store, key }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the marker. Blocks.
    pub(crate) fn read(&self) -> Mark {
        match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.stray(),
            Err(_) => Mark::Damaged,
            Ok(bytes) => self.parse(&bytes).unwrap_or(Mark::Damaged),
        }
    }

    /// Looks for a marker in the folder that does not belong to another store. An unreadable entry counts as one.
    fn stray(&self) -> Mark {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Mark::Absent,
            Err(_) => return Mark::Damaged,
        };
        for entry in entries {
            let Ok(entry) = entry else { return Mark::Damaged };
            let name = entry.file_name();
            if name.to_str().is_some_and(is_name) && !is_of_a_store(&entry.path()) {
                return Mark::Stray(entry.path());
            }
        }
        Mark::Absent
    }

    fn parse(&self, bytes: &[u8]) -> Option<Mark> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (said, code) = text.strip_suffix('\n')?.rsplit_once('\n')?;
        let code = blake3::Hash::from_hex(code).ok()?;
        // Compared in constant time.
        let is_ours = self.code(said) == code;
        let (_, changes) = said.rsplit_once("\nchanges ")?;
        let changes = changes.parse().ok()?;
        is_ours.then_some(Mark::Whole { changes })
    }

    fn code(&self, said: &str) -> blake3::Hash {
        blake3::keyed_hash(self.key.bytes(), said.as_bytes())
    }

    /// Writes or replaces the marker and syncs it to disk. Blocks.
    pub(crate) fn write(&self, changes: i64) -> io::Result<()> {
        let said = format!("{HEAD}\nstore {}\nchanges {changes}", self.store);
        let text = format!("{said}\n{}\n", self.code(&said));
        let mark = seal::random::<8>().map_err(|_| io::ErrorKind::Other)?;
        let mut unnamed = OsString::from(self.path.as_os_str());
        unnamed.push(format!(".{}.new", hex(&mark)));
        let unnamed = PathBuf::from(unnamed);
        let written = private_file(&unnamed).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&unnamed, &self.path)
        });
        if written.is_err() {
            // The file may not exist.
            drop(fs::remove_file(&unnamed));
        }
        sync_folder(&self.path);
        written
    }
}

fn name_of(store: &Path) -> String {
    let digest = blake3::hash(store.as_os_str().as_encoded_bytes()).to_hex();
    format!("{BEGIN}{digest:.DIGITS$}")
}

fn is_name(name: &str) -> bool {
    name.strip_prefix(BEGIN).is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whether this marker names an existing file.
fn is_of_a_store(marker: &Path) -> bool {
    let text = fs::read_to_string(marker).unwrap_or_default();
    let store = text.lines().nth(1).and_then(|line| line.strip_prefix("store "));
    store.map(Path::new).is_some_and(|store| {
        marker.file_name().is_some_and(|name| *name == *name_of(store)) && store.is_file()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("think-mark-{}-{name}", std::process::id()));
            drop(fs::remove_dir_all(&path));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn marker(&self, key: u8) -> Marker {
            Marker::of(&self.0, &self.0.join("a.db"), &Key::new([key; 32]))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn it_is_read_back_and_written_over() {
        let folder = Folder::new("back");
        let marker = folder.marker(1);
        let name = marker.path().file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("gateway-keys-") && name.len() == 13 + DIGITS, "{name}");
        assert_eq!(marker.read(), Mark::Absent);
        for changes in [1, 7, i64::MAX] {
            marker.write(changes).unwrap();
            assert_eq!(marker.read(), Mark::Whole { changes });
        }
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn t_5_a_marker_counts_for_every_store_of_its_folder_unless_its_own_exists() {
        let folder = Folder::new("moved");
        let other = Marker::of(&folder.0, &folder.0.join("b.db"), &Key::new([2; 32]));
        assert_eq!(other.read(), Mark::Absent);
        let marker = folder.marker(1);
        marker.write(1).unwrap();
        let stray = Mark::Stray(marker.path().to_owned());
        assert_eq!(other.read(), stray);
        fs::write(folder.0.join("a.db"), "").unwrap();
        assert_eq!(other.read(), Mark::Absent, "each store has its own");
        fs::write(marker.path(), "damaged").unwrap();
        assert_eq!(other.read(), stray);
        fs::rename(marker.path(), folder.0.join("gateway-keys-0")).unwrap();
        assert_eq!(other.read(), Mark::Absent, "it is called otherwise");
    }

    #[test]
    fn t_5_every_changed_bit_and_every_cut_is_seen_and_it_never_looks_absent() {
        let folder = Folder::new("bits");
        let marker = folder.marker(1);
        marker.write(12).unwrap();
        let whole = fs::read(marker.path()).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(marker.path(), &bytes).unwrap();
            // The code is hexadecimal, so the case of its letters does not matter.
            let is_same = bytes.to_ascii_lowercase() == whole;
            assert!(is_same || marker.read() == Mark::Damaged, "{bit}");
        }
        for length in 0..whole.len() {
            fs::write(marker.path(), &whole[..length]).unwrap();
            assert_eq!(marker.read(), Mark::Damaged, "{length}");
        }
        fs::write(marker.path(), &whole).unwrap();
        assert_eq!(folder.marker(2).read(), Mark::Damaged, "of another master key");
    }

    #[test]
    fn a_folder_in_its_place_is_one_that_is_there() {
        let folder = Folder::new("dir");
        let marker = folder.marker(1);
        fs::create_dir(marker.path()).unwrap();
        assert_eq!(marker.read(), Mark::Damaged);
        assert!(marker.write(1).is_err());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing else is left");
    }
}
