//! What is known of the gateway's keys, so that not every request asks the store.

use crate::backend::Backend;
use crate::error::StoreError;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex as StdMutex, PoisonError};
use std::time::{Duration, Instant};
use thinkthrough_core::plane::Tenant;
use tokio::sync::Mutex;

/// What is known of the gateway's keys.
#[derive(Default)]
pub(crate) struct KnownKeys {
    known: StdMutex<Option<Known>>,
    /// Held by whoever asks the store; the others wait for the answer.
    asking: Mutex<()>,
}

struct Known {
    /// When the store was asked.
    asked_at: Instant,
    /// The count of changes then.
    changes: i64,
    /// Owners by the digest of their key. Whoever tries keys cannot choose digests, so that the time this takes says
    /// nothing about a key.
    owners: HashMap<[u8; 32], Tenant>,
}

impl KnownKeys {
    /// Whose key has this digest, if anybody's, and how old that knowledge is.
    pub(crate) fn look(&self, hash: &[u8; 32]) -> Option<(Option<Tenant>, Duration)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.as_ref()?;
        Some((known.owners.get(hash).cloned(), known.asked_at.elapsed()))
    }

    /// Asks the store, unless somebody else did so since this was called.
    pub(crate) async fn refresh(&self, backend: &Backend) -> Result<(), StoreError> {
        let called_at = Instant::now();
        let _asking = self.asking.lock().await;
        let (asked_at, changes) = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.as_ref().map(|known| (known.asked_at, known.changes)).unzip()
        };
        if asked_at.is_some_and(|asked_at| asked_at >= called_at) {
            return Ok(());
        }
        let asked_at = Instant::now();
        // The count first: keys that change right behind it are read now, and once more next time.
        let count = backend.key_changes().await?;
        let owners = if changes == Some(count) { None } else { Some(owners(backend).await?) };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match (owners, known.as_mut()) {
            (None, Some(known)) => known.asked_at = asked_at,
            (owners, _) => {
                *known =
                    Some(Known { asked_at, changes: count, owners: owners.unwrap_or_default() });
            }
        }
        Ok(())
    }
}

async fn owners(backend: &Backend) -> Result<HashMap<[u8; 32], Tenant>, StoreError> {
    let rows = backend.keys().await?;
    let owners = rows.into_iter().filter(|row| !row.is_revoked).filter_map(|row| {
        let hash: [u8; 32] = row.hash.as_slice().try_into().ok()?;
        Some((hash, Tenant::named(&row.name).ok()?))
    });
    Ok(owners.collect())
}

impl fmt::Debug for KnownKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownKeys(..)")
    }
}
