//! A cache of the keys of tenants.

use super::{Store, TRIES};
use crate::error::StoreError;
use crate::keys::TenantKeys;
use crate::seal::Key;
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use thinkthrough_core::plane::Tenant;

/// The keys of a tenant, and the time of their last read.
pub(super) struct KeysAtHand {
    keys: Arc<TenantKeys>,
    asked_at: Instant,
}

/// The age at which cached keys are read again in the background: another process may have given the tenant a new
/// data key, or erased it.
const FRESH: Duration = Duration::from_secs(60);

/// The most tenants without stored data that are remembered. Credentials can be made up, so there must be a limit.
const MADE: usize = 10_000;
/// The most tenants with cached keys.
const OPEN: usize = 10_000;

impl Store {
    /// The keys of a tenant, if it exists.
    pub(crate) async fn keys(
        &self,
        tenant: &Tenant,
    ) -> Result<Option<Arc<TenantKeys>>, StoreError> {
        if let Some(keys) = self.at_hand(tenant) {
            return Ok(Some(keys));
        }
        // Boxed, so that this rare path does not enlarge the future of every request.
        Box::pin(self.read_keys(tenant)).await
    }

    /// The keys of a tenant. Reads them again if one of these data keys is missing, because another process may have
    /// added it.
    pub(crate) async fn keys_with(
        &self,
        keys: Arc<TenantKeys>,
        tenant: &Tenant,
        mut ids: impl Iterator<Item = u32>,
    ) -> Result<Arc<TenantKeys>, StoreError> {
        if ids.all(|id| keys.data(id).is_some()) {
            return Ok(keys);
        }
        Ok(Box::pin(self.read_keys(tenant)).await?.unwrap_or(keys))
    }

    /// Reads the keys from the store.
    async fn read_keys(&self, tenant: &Tenant) -> Result<Option<Arc<TenantKeys>>, StoreError> {
        let mut opened = Ok(None);
        for _ in 0..TRIES {
            let master = self.inner.master.get();
            let found = self.backend().tenant(tenant.as_str().to_owned()).await?;
            let Some(row) = found else {
                self.forget(tenant);
                return Ok(None);
            };
            match TenantKeys::open(tenant, &row, &master) {
                Ok(keys) => return Ok(Some(self.remember(tenant, keys))),
                Err(damaged) => opened = Err(damaged),
            }
            // The row and the master key may come from before and after a rotation.
            self.inner.master.renew(self.backend(), &master).await?;
        }
        opened
    }

    /// The keys of a tenant. Creates the tenant if it does not exist.
    pub(crate) async fn keys_or_new(&self, tenant: &Tenant) -> Result<Arc<TenantKeys>, StoreError> {
        let known = self.keys(tenant).await?;
        let (keys, told) = match known {
            Some(keys) => (keys, self.made().remove(tenant.as_str())),
            None => Box::pin(self.add_once(tenant)).await?,
        };
        // If another process created the tenant first, digests under our key are useless.
        match told {
            Some(told) if told.bytes() != keys.lookup.bytes() => {
                Err(StoreError::Erased(tenant.clone()))
            }
            Some(_) | None => Ok(keys),
        }
    }

    /// Adds a tenant, unless another task added it meanwhile. Also returns the look-up key that it was told before, if
    /// any: a record and a trace may come together, and digests under that key exist already.
    async fn add_once(
        &self,
        tenant: &Tenant,
    ) -> Result<(Arc<TenantKeys>, Option<Key>), StoreError> {
        let lock = self.adding(tenant);
        let _adding = lock.lock().await;
        if let Some(keys) = self.keys(tenant).await? {
            return Ok((keys, self.made().remove(tenant.as_str())));
        }
        let random = self.random_key()?;
        let (told, lookup) = {
            let mut made = self.made();
            let told = made.get(tenant.as_str()).cloned();
            // Requests that come meanwhile look up their records by the same key.
            let lookup = told.clone().unwrap_or(random);
            made.insert(tenant.as_str().to_owned(), lookup.clone());
            (told, lookup)
        };
        let keys = self.add(tenant, lookup).await?;
        self.made().remove(tenant.as_str());
        Ok((keys, told))
    }

    /// The lock of a tenant that is being added. Other tenants do not wait for it.
    fn adding(&self, tenant: &Tenant) -> Arc<tokio::sync::Mutex<()>> {
        let mut adding = self.inner.adding.lock().unwrap_or_else(PoisonError::into_inner);
        adding.retain(|_, lock| lock.strong_count() > 0);
        if let Some(lock) = adding.get(tenant.as_str()).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        adding.insert(tenant.as_str().to_owned(), Arc::downgrade(&lock));
        lock
    }

    /// Adds a tenant with this look-up key.
    async fn add(&self, tenant: &Tenant, lookup: Key) -> Result<Arc<TenantKeys>, StoreError> {
        for _ in 0..TRIES {
            let master = self.inner.master.get();
            let locked = TenantKeys::lock(tenant, &lookup, &master);
            let (lookup, data) = locked.map_err(|_| self.no_random())?;
            let name = tenant.as_str().to_owned();
            let added = self.backend().add_tenant(name, lookup, data, master.check.clone()).await?;
            if added.is_some() {
                return self.read_keys(tenant).await?.ok_or(StoreError::Closed);
            }
            // The master key was rotated meanwhile, so the store rejected the locked keys.
            self.inner.master.renew(self.backend(), &master).await?;
        }
        Err(StoreError::Closed)
    }

    /// The look-up key of a tenant. A tenant that stands for a credential is only stored with its first data: anyone
    /// can make up credentials, but data exists only if an upstream accepted the credential.
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
        // Another task may have added the tenant just now.
        if let Some(keys) = self.at_hand(tenant) {
            return Ok(keys.lookup.clone());
        }
        if let Some(lookup) = made.get(tenant.as_str()) {
            return Ok(lookup.clone());
        }
        if made.len() >= MADE {
            made.clear();
        }
        let lookup = self.random_key()?;
        made.insert(tenant.as_str().to_owned(), lookup.clone());
        Ok(lookup)
    }

    fn random_key(&self) -> Result<Key, StoreError> {
        Key::random().map_err(|_| self.no_random())
    }

    fn made(&self) -> MutexGuard<'_, HashMap<String, Key>> {
        self.inner.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the cached keys of all tenants.
    pub(crate) fn forget_all(&self) {
        self.tenants().clear();
        self.inner.recent.clear();
    }

    /// Drops the cached keys of a tenant, because another process may have erased it.
    pub(crate) fn forget(&self, tenant: &Tenant) {
        self.tenants().remove(tenant.as_str());
        self.inner.recent.clear();
    }

    /// The cached keys of a tenant.
    pub(crate) fn at_hand(&self, tenant: &Tenant) -> Option<Arc<TenantKeys>> {
        let (keys, is_old) = {
            let mut tenants = self.tenants();
            let known = tenants.get_mut(tenant.as_str())?;
            let is_old = known.asked_at.elapsed() >= FRESH;
            if is_old {
                // Only one of the concurrent requests reads the keys again.
                known.asked_at = Instant::now();
            }
            (Arc::clone(&known.keys), is_old)
        };
        if is_old {
            let (store, tenant) = (self.clone(), tenant.clone());
            // If the store does not answer, the cached keys stay in use.
            tokio::spawn(async move { drop(store.read_keys(&tenant).await) });
        }
        Some(keys)
    }

    fn remember(&self, tenant: &Tenant, keys: TenantKeys) -> Arc<TenantKeys> {
        let keys = Arc::new(keys);
        let mut tenants = self.tenants();
        if tenants.len() >= OPEN {
            tenants.clear();
        }
        let at_hand = KeysAtHand { keys: Arc::clone(&keys), asked_at: Instant::now() };
        tenants.insert(tenant.as_str().to_owned(), at_hand);
        keys
    }

    fn tenants(&self) -> MutexGuard<'_, HashMap<String, KeysAtHand>> {
        self.inner.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
