//! The master key at hand: checked against the store, and read anew when another process changed it.

use crate::backend::Backend;
use crate::error::StoreError;
use crate::master::{self, Given, KeySource, Master};
use crate::row::InstallRow;
use crate::seal::{Broken, Key};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// The master key at hand.
pub(crate) struct Held {
    source: KeySource,
    /// Where the store is, for messages.
    at: String,
    master: StdMutex<Arc<Master>>,
    /// Held by whoever reads it anew; when the source last gave a key that is not the store's.
    renewing: Mutex<Option<Instant>>,
}

/// How long a source that gave the wrong key is not asked again: it may be a program.
const AGAIN: Duration = Duration::from_secs(5);

impl Held {
    /// Reads the master key, which a new store takes as its own; gives the store's own key, too.
    pub(crate) async fn open(
        source: &KeySource,
        backend: &Backend,
        at: &str,
    ) -> Result<(Self, Key), StoreError> {
        let stored = backend.install().await?;
        // Several machines share a server, and a key that one of them made would be nobody else's.
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

    /// Where the key comes from.
    pub(crate) fn source(&self) -> &KeySource {
        &self.source
    }

    pub(crate) fn get(&self) -> Arc<Master> {
        Arc::clone(&self.master.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the key anew if the store has another one than `known`; says whether there is another one at hand now.
    ///
    /// # Errors
    /// When the store has another key, and the source does not give it.
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

/// The key that the store has, of those that are given.
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
    // Nothing is added with a key that is not the store's.
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
