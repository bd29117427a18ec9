//! New keys for a store that everybody goes on working with.
//!
//! A key that the store has is never the only one that is written down nowhere: the source has the new key behind the old
//! one before anything is locked with it, and the old one goes only when nothing is locked with it any more. So whatever
//! ends this at any moment leaves a source that opens the store; of two keys, the one that fits counts.

use crate::error::StoreError;
use crate::location::Location;
use crate::master::{self, KeySource};
use crate::relock::{Relock, Relocked};
use crate::seal::Key;
use crate::store::Store;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// What became of a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// How many tenants have a new data key. `None` where only a rotation was ended that had been interrupted.
    pub tenants: Option<u64>,
    /// The source has the key before still, in front of the new one; who looks after it takes it out.
    pub has_old: bool,
    /// The log of the store still has the keys as they were locked before, because another process reads it.
    pub lingers: bool,
}

/// The keys that a source gives while they are changed.
struct Change {
    old: Key,
    new: Key,
    /// Where this process itself writes them.
    file: Option<KeyFile>,
}

/// A key file that nobody else changes now.
struct KeyFile {
    path: PathBuf,
    _lock: File,
}

impl Store {
    /// Gives the store another master key, and each tenant a data key for what comes from now on; what was stored before
    /// stays readable. Others go on working meanwhile: they read the key anew when they meet something that is locked
    /// with it, and use a tenant's new data key within a minute.
    ///
    /// The new key is the one that stands behind the old one in the key's source. For the key file of an SQLite store it
    /// is made here.
    ///
    /// # Errors
    /// When the source has no new key and it is not for us to make one, or the store cannot be written.
    pub async fn rotate_keys(&self, location: &Location) -> Result<Rotation, StoreError> {
        let known = self.master().get();
        let (source, location) = (self.master().source().clone(), location.clone());
        let (at, old) = (self.at().to_owned(), known.key.clone());
        let begun = tokio::task::spawn_blocking(move || begin(&source, &location, &at, &old));
        let change = begun.await.map_err(|_| StoreError::Closed)??;
        let mut rotation =
            Rotation { tenants: None, has_old: change.file.is_none(), lingers: false };
        // The store has the new key already where an earlier rotation did not come to its end.
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
    /// When the file is there already or cannot be written.
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

/// The key that the store has and the one that it gets. The source has both once this returns. Blocks.
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
        // Only this machine has the file, because only it has the store.
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

/// Nobody else changes the keys in this folder until the file is dropped.
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
