//! Thoughts of an answer in progress, moved from memory to a file beside the journal, sealed with the tenant's key.

use crate::error::StoreError;
use crate::journal::spill::{Extent, SpillFile, SpillFiles};
use crate::keys::TenantKeys;
use crate::seal::{Broken, Kind, bind};
use crate::store::Store;
use crate::vault::Vault;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::plane::{Exact as _, Tenant};
use thinkthrough_core::restore::Kept;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a thought waits for the keys of its tenant, and for its turn to be written.
const WAIT: Duration = Duration::from_secs(1);

/// Thoughts of one answer in a file. Clones share the file, which is deleted with the last one.
#[derive(Clone)]
pub struct Spill(Arc<Inner>);

struct Inner {
    store: Store,
    tenant: Tenant,
    files: SpillFiles,
    keys: OnceCell<Arc<TenantKeys>>,
    /// Made with the first thought.
    file: Mutex<Option<SpillFile>>,
}

/// The place of a thought in its file.
#[derive(Clone, Copy, Debug)]
pub struct Spilled {
    number: u64,
    key: u32,
    extent: Extent,
}

impl Vault {
    /// A file for thoughts of one answer. `None` if the store is on a server.
    #[must_use]
    pub fn spill(&self) -> Option<Spill> {
        let (store, tenant) = self.parts();
        let files = store.spill_files()?.clone();
        let (keys, file) = (OnceCell::new(), Mutex::default());
        Some(Spill(Arc::new(Inner { store, tenant, files, keys, file })))
    }
}

impl Spill {
    /// Writes a thought. Gives it back if the file cannot be written, or if the files of this process are full.
    ///
    /// # Errors
    /// The thought.
    pub async fn write(&self, kept: Kept) -> Result<Spilled, Kept> {
        let Ok(Ok(keys)) = timeout(WAIT, self.keys()).await else { return Err(kept) };
        let Ok(Some(turn)) = timeout(WAIT, self.0.files.turn()).await else { return Err(kept) };
        let (spill, kept) = (self.clone(), Arc::new(kept));
        let plain = Arc::clone(&kept);
        let written = spawn_blocking(move || {
            let _turn = turn;
            spill.0.write(&keys, &plain)
        });
        let written = written.await;
        match written {
            Ok(Ok(spilled)) => Ok(spilled),
            Ok(Err(_)) | Err(_) => Err(Arc::unwrap_or_clone(kept)),
        }
    }

    /// Reads thoughts. `None`: at least one cannot be read.
    pub async fn read(&self, all: Vec<Spilled>) -> Option<Vec<Kept>> {
        let keys = self.keys().await.ok()?;
        let turn = self.0.files.turn().await?;
        let spill = self.clone();
        let read = spawn_blocking(move || {
            let _turn = turn;
            let file = spill.0.file();
            let read = |it| spill.0.read(file.as_ref()?, &keys, it);
            all.into_iter().map(read).collect()
        });
        read.await.ok().flatten()
    }

    async fn keys(&self) -> Result<Arc<TenantKeys>, StoreError> {
        let Inner { store, tenant, keys, .. } = &*self.0;
        keys.get_or_try_init(|| store.keys_or_new(tenant)).await.cloned()
    }
}

impl Inner {
    fn file(&self) -> MutexGuard<'_, Option<SpillFile>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, keys: &TenantKeys, kept: &Kept) -> io::Result<Spilled> {
        let mut file = self.file();
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert(self.files.make()?),
        };
        let (key, current) = keys.current().ok_or(io::ErrorKind::NotFound)?;
        let number = file.next();
        let sealed = current.seal(kept.to_bytes(), &self.place(file, number));
        let sealed = sealed.map_err(|Broken| io::Error::other("no random bytes"))?;
        Ok(Spilled { number, key, extent: file.write(&sealed)? })
    }

    fn read(&self, file: &SpillFile, keys: &TenantKeys, at: Spilled) -> Option<Kept> {
        let sealed = file.read(at.extent).ok()?;
        let plain = keys.data(at.key)?.open(&sealed, &self.place(file, at.number)).ok()?;
        Kept::from_bytes(&plain)
    }

    fn place(&self, file: &SpillFile, number: u64) -> Vec<u8> {
        bind(Kind::Spilled, &[self.tenant.as_str(), &file.name().to_string_lossy()], &[number])
    }
}

/// Deletes the file on a blocking thread.
impl Drop for Inner {
    fn drop(&mut self) {
        let file = self.file().take();
        if let (Some(file), Ok(runtime)) = (file, Handle::try_current()) {
            runtime.spawn_blocking(move || drop(file));
        }
    }
}

impl fmt::Debug for Spill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spill")
    }
}
