//! The current master key. It is checked against the store, and read again when another process has changed it.

use crate::backend::Backend;
use crate::error::StoreError;
use crate::master::{self, Given, KeySource, Master};
use crate::row::InstallRow;
use crate::seal::{Broken, Key};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The current master key.
pub(crate) struct Held {
    source: KeySource,
    /// The location of the store, for messages.
    at: String,
    master: StdMutex<Arc<Master>>,
    /// Locked during a renewal. The time at which the source last gave a key that does not fit the store.
    renewing: Mutex<Option<Instant>>,
}

/// The pause before a source that gave a wrong key is read again, because it may be a program.
const AGAIN: Duration = Duration::from_secs(5);

impl Held {
    /// Reads the master key, which a new store adopts. Also returns the store's own key.
    pub(crate) async fn open(
        source: &KeySource,
        backend: &Backend,
        at: &str,
    ) -> Result<(Self, Key), StoreError> {
        let stored = backend.install().await?;
        // Several machines share a server, and would not have a key that one of them created.
        let may_create = stored.is_none() && matches!(backend, Backend::Sqlite(_));
        let given = read(source, at, may_create).await?;
        let (master, install_key) = unlock(backend, &given, stored, at).await?;
        let held = Held {
            source: source.clone(),
            at: at.to_owned(),
            master: StdMutex::new(Arc::new(master)),
            renewing: Mutex::default(),
        };
        Ok((held, install_key))
    }

    /// The source of the key.
    pub(crate) fn source(&self) -> &KeySource {
        &self.source
    }

    pub(crate) fn get(&self) -> Arc<Master> {
        Arc::clone(&self.master.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the key again if the store has another one than `known`. Returns whether the current key differs from
    /// `known` now.
    ///
    /// # Errors
    /// When the store has another key and the source does not have it.
    pub(crate) async fn renew(
        &self,
        backend: &Backend,
        known: &Master,
    ) -> Result<bool, StoreError> {
        let mut failed_at = self.renewing.lock().await;
        if self.get().check != known.check {
            return Ok(true);
        }
        let Some(row) = backend.install().await?.filter(|row| row.key_check != known.check) else {
            return Ok(false);
        };
        let rotated = || StoreError::Rotated { from: known.from.clone(), at: self.at.clone() };
        if failed_at.is_some_and(|it| it.elapsed() < AGAIN) {
            return Err(rotated());
        }
        let read = read(&self.source, &self.at, false).await;
        let Some(master) = read.ok().and_then(|given| fitting(&given, &row)) else {
            *failed_at = Some(Instant::now());
            return Err(rotated());
        };
        *self.master.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(master);
        Ok(true)
    }
}

/// The given key that fits the store.
fn fitting(given: &Given, row: &InstallRow) -> Option<Master> {
    let key = given.keys.iter().find(|key| master::fits(key, &row.key_check))?;
    Some(Master { key: key.clone(), check: row.key_check.clone(), from: given.from.clone() })
}

async fn read(source: &KeySource, at: &str, may_create: bool) -> Result<Given, StoreError> {
    let (source, at) = (source.clone(), at.to_owned());
    let read = tokio::task::spawn_blocking(move || source.read(&at, may_create)).await;
    read.map_err(|_| StoreError::Closed)?
}

async fn unlock(
    backend: &Backend,
    given: &Given,
    stored: Option<InstallRow>,
    at: &str,
) -> Result<(Master, Key), StoreError> {
    let wrong = || StoreError::WrongKey { from: given.from.clone(), at: at.to_owned() };
    // Keys that do not fit the store must not lock new data.
    let known = stored.as_ref().map(|row| fitting(given, row).ok_or_else(wrong)).transpose()?;
    let row = match stored.filter(|row| row.install_key.is_some()) {
        Some(row) => row,
        None => {
            let first = given.keys.first();
            let key = known.map(|it| it.key).or_else(|| first.cloned()).ok_or_else(wrong)?;
            let new = || Ok((master::check(&key)?, master::lock_own(&Key::random()?, &key)?));
            let (check, own) = new().map_err(|_: Broken| StoreError::no_random(at))?;
            backend.keep_install(check, own).await?.ok_or_else(wrong)?
        }
    };
    let master = fitting(given, &row).ok_or_else(wrong)?;
    let own = row.install_key.and_then(|locked| master::open_own(&locked, &master.key).ok());
    let damaged = || StoreError::Damaged { what: format!("the install key of the store `{at}`") };
    Ok((master, own.ok_or_else(damaged)?))
}
