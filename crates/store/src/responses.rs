//! Stored answers of the Responses API. A caller can continue from an answer, read it or delete it if the upstream
//! does not store it.
//!
//! An id is found by its digest under the tenant's own key, and the answer is sealed for that id. Answers that
//! continue each other are one conversation, which is kept or deleted as a whole.

use crate::clock::now;
use crate::error::StoreError;
use crate::keys::TenantKeys;
use crate::row::{NewResponse, OwnerRow, ResponseRow};
use crate::seal::{Kind, bind};
use crate::store::Store;
use crate::unfinished::finished;
use std::collections::HashMap;
use std::sync::Arc;
use thinkthrough_core::plane::Tenant;

/// The stored answers of one tenant. Clones are handles to the same ones.
#[derive(Clone, Debug)]
pub struct Responses {
    store: Store,
    tenant: Tenant,
}

/// The owner of a provider resource, from the view of one tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The tenant itself.
    Tenant,
    /// Another tenant.
    Other,
}

/// The most answers in a chain.
const LONGEST: u32 = 1_000;

impl Store {
    /// The stored answers of a tenant.
    #[must_use]
    pub fn responses(&self, tenant: &Tenant) -> Responses {
        Responses { store: self.clone(), tenant: tenant.clone() }
    }
}

impl Responses {
    /// Stores an answer under its id, with the id of the answer that it continues. Replaces an existing answer.
    ///
    /// # Errors
    /// When the store cannot be written, or the tenant was erased meanwhile.
    pub async fn put(
        &self,
        id: &str,
        bytes: &[u8],
        previous: Option<&str>,
    ) -> Result<(), StoreError> {
        self.put_row(id, bytes, previous, None).await
    }

    /// Records that the tenant owns the resource with this id at a provider, and seals `bytes` beside it.
    ///
    /// # Errors
    /// When the store cannot be written, or the tenant was erased meanwhile.
    pub async fn put_resource(
        &self,
        provider: &str,
        id: &str,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let resource = self.resource_digest(provider, id);
        self.put_row(&row_id(provider, id), bytes, None, Some(resource)).await
    }

    /// The bytes beside the tenant's own resource with this id at a provider.
    ///
    /// # Errors
    /// When the store cannot be read, or the row was altered or damaged.
    pub async fn resource(&self, provider: &str, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.get(&row_id(provider, id)).await
    }

    /// The owners of resources with these ids at a provider, in one query. Ids that no tenant owns are left out, and
    /// an id that several tenants own is the tenant's if the tenant is one of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn resource_owners(
        &self,
        provider: &str,
        ids: &[String],
    ) -> Result<Vec<(String, Owner)>, StoreError> {
        let digests: Vec<Vec<u8>> =
            ids.iter().map(|id| self.resource_digest(provider, id)).collect();
        let rows = self.store.backend().resource_owners(digests.clone()).await?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.store.keys(&self.tenant).await?.map(|keys| keys.nr);
        let is_own = |row: &&OwnerRow| Some(row.tenant) == own;
        self.store.touch(rows.iter().filter(is_own).map(|row| row.thread));
        let mut owners: HashMap<&[u8], Owner> = HashMap::new();
        for row in &rows {
            let owner = owners.entry(&row.resource).or_insert(Owner::Other);
            if is_own(&row) {
                *owner = Owner::Tenant;
            }
        }
        let found = ids.iter().zip(&digests);
        Ok(found.filter_map(|(id, it)| Some((id.clone(), *owners.get(&**it)?))).collect())
    }

    /// The digest of a resource under the key of the installation. Every tenant computes the same digest, and the
    /// table alone does not reveal the ids.
    fn resource_digest(&self, provider: &str, id: &str) -> Vec<u8> {
        let key = blake3::derive_key(
            "thinkthrough 2026-11 owners of provider resources",
            self.store.install_key().bytes(),
        );
        let mut digest = blake3::Hasher::new_keyed(&key);
        for part in [provider, id] {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        digest.finalize().as_bytes().to_vec()
    }

    async fn put_row(
        &self,
        id: &str,
        bytes: &[u8],
        previous: Option<&str>,
        resource: Option<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let _unfinished = self.store.unfinished().write(&self.tenant, id);
        for _ in 0..2 {
            let keys = self.store.keys_or_new(&self.tenant).await?;
            let (key_id, key) = keys.current().ok_or(StoreError::Closed)?;
            let digest = digest(&keys, id);
            let sealed = key.seal(bytes, &self.place(&digest));
            let new = NewResponse {
                tenant: keys.nr,
                id: digest.to_vec(),
                previous: previous.map(|previous| self::digest(&keys, previous).to_vec()),
                resource: resource.clone(),
                key_id,
                sealed: sealed.map_err(|_| self.store.no_random())?,
                now: now(),
            };
            if self.store.backend().put_response(new).await? {
                return Ok(());
            }
            // The tenant was erased meanwhile. Create it again.
            self.store.forget(&self.tenant);
        }
        Err(StoreError::Erased(self.tenant.clone()))
    }

    /// The stored answer with this id.
    ///
    /// # Errors
    /// When the store cannot be read, or the answer was altered or damaged.
    pub async fn get(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read(id, 1).await?.pop())
    }

    /// The answer with this id and all answers before it, first one first. Empty if the answer is not stored. The
    /// chain starts after the last deleted answer.
    ///
    /// # Errors
    /// When the store cannot be read, or one of the answers was altered or damaged.
    pub async fn chain(&self, id: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.read(id, LONGEST).await
    }

    /// Deletes the answer with this id. Returns whether it was stored. Answers that continue it stay.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn delete(&self, id: &str) -> Result<bool, StoreError> {
        let Some(keys) = self.store.keys(&self.tenant).await? else { return Ok(false) };
        self.store.backend().remove_response(keys.nr, digest(&keys, id).to_vec()).await
    }

    async fn read(&self, id: &str, limit: u32) -> Result<Vec<Vec<u8>>, StoreError> {
        let unfinished = self.store.unfinished().of(&self.tenant, id);
        let (mut keys, mut rows) = self.rows(id, limit).await?;
        if rows.is_empty() && !unfinished.is_empty() {
            finished(unfinished).await;
            (keys, rows) = self.rows(id, limit).await?;
        }
        let Some(keys) = keys else { return Ok(Vec::new()) };
        let keys =
            self.store.keys_with(keys, &self.tenant, rows.iter().map(|row| row.key_id)).await?;
        self.store.touch(rows.iter().map(|row| row.thread));
        rows.reverse();
        rows.iter().map(|row| self.open(&keys, row)).collect()
    }

    /// The rows of a response and of those that it goes on from, with the keys of the tenant, if it has any.
    async fn rows(
        &self,
        id: &str,
        limit: u32,
    ) -> Result<(Option<Arc<TenantKeys>>, Vec<ResponseRow>), StoreError> {
        let Some(keys) = self.store.keys(&self.tenant).await? else {
            return Ok((None, Vec::new()));
        };
        let id = digest(&keys, id).to_vec();
        let rows = self.store.backend().responses(keys.nr, id, limit).await?;
        Ok((Some(keys), rows))
    }

    fn open(&self, keys: &TenantKeys, row: &ResponseRow) -> Result<Vec<u8>, StoreError> {
        let key = keys.data(row.key_id);
        let plain = key.and_then(|key| key.open(&row.sealed, &self.place(&row.id)).ok());
        let damaged = || StoreError::Damaged { what: "a kept response".to_owned() };
        plain.map(|plain| plain.to_vec()).ok_or_else(damaged)
    }

    fn place(&self, id: &[u8]) -> Vec<u8> {
        let mut place = bind(Kind::Response, &[self.tenant.as_str()], &[]);
        place.extend_from_slice(id);
        place
    }
}

/// The row id of a resource. It begins with a tab, so it cannot equal the id of an answer.
fn row_id(provider: &str, id: &str) -> String {
    format!("\t{provider}\t{id}")
}

fn digest(keys: &TenantKeys, id: &str) -> [u8; 32] {
    // A separate key, so that these digests never equal those of restoration.
    let key = blake3::derive_key("thinkthrough 2026-11 ids of kept responses", keys.lookup.bytes());
    *blake3::keyed_hash(&key, id.as_bytes()).as_bytes()
}
