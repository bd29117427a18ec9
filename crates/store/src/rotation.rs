//! Rotation of the keys of a store that stays in use.
//!
//! A key in use is always written down: the source has the new key after the old one before the new key locks any
//! data, and the old key is removed only when it no longer locks any data. So an interruption at any moment leaves a
//! source that opens the store. If the source has two keys, the store uses the matching one.

use crate::error::StoreError;
use crate::location::Location;
use crate::master::{self, KeySource};
use crate::relock::{Relock, Relocked};
use crate::seal::Key;
use crate::store::Store;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// The result of a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Number of tenants with a new data key. `None` if this only finished an interrupted rotation.
    pub tenants: Option<u64>,
    /// The source still has the old key in front of the new one. The operator has to remove it.
    pub has_old: bool,
    /// The log of the store still contains the keys under the old lock, because another process reads it.
    pub lingers: bool,
}

/// The old and the new master key during a rotation.
struct Change {
    old: Key,
    new: Key,
    /// The key file, if this process writes it.
    file: Option<KeyFile>,
}

/// A key file, locked against changes by other processes.
struct KeyFile {
    path: PathBuf,
    _lock: File,
}

impl Store {
    /// Replaces the master key of the store, and the data key of each tenant for new data. Existing data stays
    /// readable. Other processes go on working: they read the master key again when they meet data that is locked
    /// with the new one, and use a tenant's new data key within a minute.
    ///
    /// The new master key is the second one in the key's source. For the key file of an SQLite store it is created
    /// here.
    ///
    /// # Errors
    /// When the source has no new key and this process may not create one, or when the store cannot be written.
    pub async fn rotate_keys(&self, location: &Location) -> Result<Rotation, StoreError> {
        let known = self.master().get();
        let (source, location) = (self.master().source().clone(), location.clone());
        let (at, old) = (self.at().to_owned(), known.key.clone());
        let begun = tokio::task::spawn_blocking(move || begin(&source, &location, &at, &old));
        let change = begun.await.map_err(|_| StoreError::Closed)??;
        let mut rotation =
            Rotation { tenants: None, has_old: change.file.is_none(), lingers: false };
        // If an earlier rotation was interrupted, the store may have the new key already.
        if change.new.bytes() != known.key.bytes() {
            let (old, new) = (change.old.clone(), change.new.clone());
            let relock = Relock { check: known.check.clone(), old, new };
            match self.backend().relock(relock).await? {
                Relocked::Done(tenants) => rotation.tenants = Some(tenants),
                Relocked::Moved => {
                    return Err(self.stays("another process rotated its keys just now"));
                }
                Relocked::Damaged(what) => return Err(StoreError::Damaged { what }),
            }
            rotation.lingers = self.backend().forget_log().await.is_err();
        }
        self.master().renew(self.backend(), &known).await?;
        self.forget_all();
        if let Some(KeyFile { path, _lock }) = &change.file {
            rotation.has_old = master::replace(path, &[change.new]).is_err();
        }
        Ok(rotation)
    }

    /// Writes the master key into a new file that only its owner can read.
    ///
    /// # Errors
    /// When the file already exists or cannot be written.
    pub fn backup_key(&self, file: &Path) -> Result<(), StoreError> {
        master::backup(&self.master().get().key, file)
    }

    fn stays(&self, why: &str) -> StoreError {
        stays(self.at(), why)
    }
}

fn stays(at: &str, why: &str) -> StoreError {
    StoreError::NotRotated { at: at.to_owned(), message: why.to_owned() }
}

/// Determines the old and the new key. The source has both when this returns. Blocks.
fn begin(
    source: &KeySource,
    location: &Location,
    at: &str,
    old: &Key,
) -> Result<Change, StoreError> {
    let file = match source {
        KeySource::File(path) => Some(hold(path, at)?),
        KeySource::Command(_) | KeySource::Env(_) => None,
    };
    let given = source.read(at, false)?;
    let is_old = |key: &Key| key.bytes() == old.bytes();
    match (given.keys.as_slice(), file) {
        ([first, new], file) if is_old(first) || is_old(new) => {
            if is_old(new) && file.is_none() {
                return Err(stays(
                    at,
                    &format!(
                        "it has the second key of {} already; take the first one out, and put a new one behind the other",
                        given.from
                    ),
                ));
            }
            Ok(Change { old: first.clone(), new: new.clone(), file })
        }
        // The store is a file on this machine, so the key file is used on no other machine.
        ([first], Some(file)) if is_old(first) && matches!(location, Location::Sqlite(_)) => {
            let random = Key::random();
            let new = random.map_err(|_| stays(at, "the system gives no random bytes"))?;
            let both = [first.clone(), new.clone()];
            master::replace(&file.path, &both).map_err(|error| StoreError::File {
                path: file.path.clone(),
                message: error.to_string(),
            })?;
            Ok(Change { old: first.clone(), new, file: Some(file) })
        }
        ([first], _) if is_old(first) => Err(stays(
            at,
            &format!(
                "{} has no new key yet; make one with `openssl rand -hex 32`, put it there behind the old one, with a space \
             between them, for every gateway, and run this again",
                given.from
            ),
        )),
        _ => Err(stays(at, "another process rotates its keys now; try again")),
    }
}

/// Locks the folder of a key file against other rotations until the result is dropped.
fn hold(path: &Path, at: &str) -> Result<KeyFile, StoreError> {
    let no = |error: std::io::Error| StoreError::File {
        path: path.to_owned(),
        message: error.to_string(),
    };
    let path = fs::canonicalize(path).map_err(no)?;
    let folder = File::open(path.parent().unwrap_or(Path::new("."))).map_err(no)?;
    match folder.try_lock() {
        Ok(()) => Ok(KeyFile { path, _lock: folder }),
        Err(TryLockError::WouldBlock) => {
            Err(stays(at, "another process rotates its keys now; try again"))
        }
        Err(TryLockError::Error(error)) => Err(no(error)),
    }
}
