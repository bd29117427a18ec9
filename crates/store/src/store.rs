//! The façade.

use crate::backend::Backend;
use crate::clock::{Clock, now};
use crate::error::StoreError;
use crate::keys::{NewKeys, TenantKeys};
use crate::known_keys::KnownKeys;
use crate::location::Location;
use crate::master::{KeySource, Master};
use crate::postgres::Postgres;
use crate::row::InstallRow;
use crate::seal::{Broken, Key, Kind, bind};
use crate::sqlite::Sqlite;
use crate::touched::Touched;
use crate::waiting::Waiting;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;

/// A store. Clones are handles to the same one.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    at: String,
    backend: Backend,
    master: Master,
    install_key: Key,
    /// The keys of the tenants that were here, by name.
    tenants: Mutex<HashMap<String, Arc<TenantKeys>>>,
    /// Keys of tenants that nothing was kept for so far, by name.
    made: Mutex<HashMap<String, NewKeys>>,
    touched: Touched,
    waiting: Waiting,
    clock: Clock,
    known_keys: KnownKeys,
}

/// How many conversations of the vault are taken out at once.
const STEP: u32 = 64;

/// How many tenants that nothing was kept for are remembered. Credentials can be made up, so there must be an end.
const MADE: usize = 10_000;
/// How many tenants' keys are at hand.
const OPEN: usize = 10_000;

/// How long uses of conversations are gathered before they are written down.
const SOON: Duration = Duration::from_secs(1);

/// What the check of the master key says once opened.
const CHECK: &[u8] = b"thinkthrough";

impl Store {
    /// Opens a store. A file that is not there is made, with its key; a server's key must be given.
    ///
    /// # Errors
    /// When the place or the key cannot be used, the key is not the store's, or a newer version made the store.
    pub async fn open(location: &Location, key: &KeySource) -> Result<Self, StoreError> {
        let at = location.to_string();
        let backend = match location {
            Location::Postgres(url) => Backend::Postgres(Postgres::open(url, at.clone()).await?),
            Location::Sqlite(path) => {
                let path = path.clone();
                let opened = tokio::task::spawn_blocking(move || Sqlite::open(&path)).await;
                Backend::Sqlite(opened.map_err(|_| StoreError::Closed)??)
            }
        };
        let stored = backend.install().await?;
        // Several machines share a server, and a key that one of them made would be nobody else's.
        let may_create = stored.is_none() && matches!(backend, Backend::Sqlite(_));
        let (key, store) = (key.clone(), at.clone());
        let master = tokio::task::spawn_blocking(move || key.read(&store, may_create)).await;
        let master = master.map_err(|_| StoreError::Closed)??;
        let install_key = unlock(&backend, &master, stored, &at).await?;
        let inner = Inner {
            at,
            backend,
            master,
            install_key,
            tenants: Mutex::default(),
            made: Mutex::default(),
            touched: Touched::default(),
            waiting: Waiting::default(),
            clock: Clock::default(),
            known_keys: KnownKeys::default(),
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// Destroys the keys of a tenant and everything that was locked with them; gives how many conversations that
    /// were, or `None` where the store knows no such tenant.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn erase(&self, tenant: &Tenant) -> Result<Option<u64>, StoreError> {
        self.forget(tenant);
        let row = self.backend().tenant(tenant.as_str().to_owned()).await?;
        let removed = self.backend().remove_tenant(tenant.as_str().to_owned()).await;
        let is_gone = matches!(removed, Ok(_) | Err(StoreError::Lingers(_)));
        if let Some(row) = row.filter(|_| is_gone) {
            // Without its keys nobody can read these any more; there may be many, so they go in steps.
            loop {
                let threads = self.backend().oldest(row.nr, STEP).await?;
                if threads.is_empty() {
                    break;
                }
                self.backend().remove_threads(threads).await?;
            }
        }
        removed
    }

    /// Gives a tenant a new data key, which locks what comes from now on; what was locked before stays readable. Gives
    /// the new key's number, or `None` where the store knows no such tenant.
    ///
    /// Other processes go on with the key that they know, and read what comes under the new one.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn rotate(&self, tenant: &Tenant) -> Result<Option<u32>, StoreError> {
        self.forget(tenant);
        let Some(keys) = self.keys(tenant).await? else { return Ok(None) };
        let id = keys.current().map_or(1, |(id, _)| id.saturating_add(1));
        let wrapped = TenantKeys::another(tenant, id, &self.inner.master);
        let wrapped = wrapped.map_err(|_| self.no_random())?;
        // Of two that do so at once, both get the key of the one that was first.
        self.backend().add_data_key(keys.nr, id, wrapped).await?;
        self.forget(tenant);
        Ok(self.keys(tenant).await?.and_then(|keys| keys.current().map(|(id, _)| id)))
    }

    /// Where the store is, for messages.
    #[must_use]
    pub fn at(&self) -> &str {
        &self.inner.at
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.inner.backend
    }

    /// Notes that conversations were used; once a day for each that is written down, by nobody who waits.
    pub(crate) fn touch(&self, threads: impl Iterator<Item = i64>) {
        let now = now();
        if !self.inner.touched.add(threads, now) {
            return;
        }
        let store = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(SOON).await;
            // What cannot be written now is noted again tomorrow.
            drop(store.backend().touch(store.inner.touched.take(), now).await);
        });
    }

    pub(crate) fn waiting(&self) -> &Waiting {
        &self.inner.waiting
    }

    pub(crate) fn known_keys(&self) -> &KnownKeys {
        &self.inner.known_keys
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// The key that names tenants after their credentials.
    pub(crate) fn install_key(&self) -> &Key {
        &self.inner.install_key
    }

    /// The system gave no random bytes.
    pub(crate) fn no_random(&self) -> StoreError {
        no_random(&self.inner.at)
    }

    /// The keys of a tenant that was here before.
    pub(crate) async fn keys(
        &self,
        tenant: &Tenant,
    ) -> Result<Option<Arc<TenantKeys>>, StoreError> {
        if let Some(keys) = self.tenants().get(tenant.as_str()) {
            return Ok(Some(Arc::clone(keys)));
        }
        // The way that is gone once a tenant makes no room in the one that is gone with every request.
        let found = Box::pin(self.backend().tenant(tenant.as_str().to_owned())).await?;
        let Some(row) = found else { return Ok(None) };
        let keys = TenantKeys::open(tenant, &row, &self.inner.master)?;
        Ok(Some(self.remember(tenant, keys)))
    }

    /// The keys of a tenant, which gets some if it has none.
    pub(crate) async fn keys_or_new(&self, tenant: &Tenant) -> Result<Arc<TenantKeys>, StoreError> {
        let known = self.keys(tenant).await?;
        let made = self.made().remove(tenant.as_str());
        let told = made.as_ref().map(|made| made.lookup.clone());
        let keys = match known {
            Some(keys) => keys,
            None => {
                let made = made.map_or_else(|| self.make(tenant), Ok)?;
                let NewKeys { locked_lookup, locked_data, .. } = made;
                let name = tenant.as_str().to_owned();
                let adding = self.backend().add_tenant(name, locked_lookup, locked_data);
                let added = Box::pin(adding).await?;
                let row = added.ok_or(StoreError::Closed)?;
                self.remember(tenant, TenantKeys::open(tenant, &row, &self.inner.master)?)
            }
        };
        // Another process was first: what was told of ours is of no use any more.
        match told {
            Some(told) if told.bytes() != keys.lookup.bytes() => {
                Err(StoreError::Erased(tenant.clone()))
            }
            Some(_) | None => Ok(keys),
        }
    }

    /// The look-up key of a tenant. One that a credential stands for gets its keys, and is written down with what it
    /// first keeps: anybody can make credentials up, and what is kept of them an upstream has accepted.
    pub(crate) async fn lookup_key(&self, tenant: &Tenant) -> Result<Key, StoreError> {
        if !tenant.is_credential() {
            return Ok(self.keys_or_new(tenant).await?.lookup.clone());
        }
        let known = self.keys(tenant).await?;
        let mut made = self.made();
        if let Some(keys) = known {
            made.remove(tenant.as_str());
            return Ok(keys.lookup.clone());
        }
        if let Some(made) = made.get(tenant.as_str()) {
            return Ok(made.lookup.clone());
        }
        if made.len() >= MADE {
            made.clear();
        }
        let new = self.make(tenant)?;
        let lookup = new.lookup.clone();
        made.insert(tenant.as_str().to_owned(), new);
        Ok(lookup)
    }

    fn make(&self, tenant: &Tenant) -> Result<NewKeys, StoreError> {
        TenantKeys::make(tenant, &self.inner.master).map_err(|_| self.no_random())
    }

    fn made(&self) -> std::sync::MutexGuard<'_, HashMap<String, NewKeys>> {
        self.inner.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the keys of a tenant anew next time: another process may have erased them.
    pub(crate) fn forget(&self, tenant: &Tenant) {
        self.tenants().remove(tenant.as_str());
    }

    fn remember(&self, tenant: &Tenant, keys: TenantKeys) -> Arc<TenantKeys> {
        let keys = Arc::new(keys);
        let mut tenants = self.tenants();
        if tenants.len() >= OPEN {
            tenants.clear();
        }
        tenants.insert(tenant.as_str().to_owned(), Arc::clone(&keys));
        keys
    }

    fn tenants(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<TenantKeys>>> {
        self.inner.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks the master key, which a new store takes as its own, and opens the store's own key.
async fn unlock(
    backend: &Backend,
    master: &Master,
    stored: Option<InstallRow>,
    at: &str,
) -> Result<Key, StoreError> {
    let (check, own) = (bind(Kind::Check, &[], &[]), bind(Kind::InstallKey, &[], &[]));
    let wrong = || StoreError::WrongKey { from: master.from.clone(), at: at.to_owned() };
    let fits = |row: &InstallRow| master.key.open(&row.key_check, &check).is_ok();
    // Nothing is added with a key that is not the store's.
    if stored.as_ref().is_some_and(|row| !fits(row)) {
        return Err(wrong());
    }
    let row = match stored.filter(|row| row.install_key.is_some()) {
        Some(row) => row,
        None => {
            let new = || {
                let wrapped = master.key.wrap(&Key::random()?, &own)?;
                Ok((master.key.seal(CHECK, &check)?, wrapped))
            };
            let (sealed, wrapped) = new().map_err(|_: Broken| no_random(at))?;
            let kept = backend.keep_install(sealed, wrapped).await?;
            kept.filter(fits).ok_or_else(wrong)?
        }
    };
    let key = row.install_key.and_then(|wrapped| master.key.unwrap(&wrapped, &own).ok());
    key.ok_or_else(|| StoreError::Damaged { what: format!("the install key of the store `{at}`") })
}

fn no_random(at: &str) -> StoreError {
    StoreError::Database {
        at: at.to_owned(),
        message: "the system gives no random bytes".to_owned(),
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.inner.at).finish()
    }
}
