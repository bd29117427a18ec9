//! Answers of the Responses API that are kept by their ids, so that a caller can go on from one, read it or delete it
//! where the upstream keeps none itself.
//!
//! An id is found by its digest under the tenant's own key, and what is kept is sealed for that id. Answers that go on
//! from each other are one conversation: they stay or go as a whole.

use crate::clock::now;
use crate::error::StoreError;
use crate::keys::TenantKeys;
use crate::row::{NewResponse, ResponseRow};
use crate::seal::{Kind, bind};
use crate::store::Store;
use thinkthrough_core::plane::Tenant;

/// The answers of one tenant that are kept by their ids. Clones are handles to the same ones.
#[derive(Clone, Debug)]
pub struct Responses {
    store: Store,
    tenant: Tenant,
}

/// How many answers may stand behind one that is gone on from.
const LONGEST: u32 = 1_000;

impl Store {
    /// The kept answers of a tenant.
    #[must_use]
    pub fn responses(&self, tenant: &Tenant) -> Responses {
        Responses { store: self.clone(), tenant: tenant.clone() }
    }
}

impl Responses {
    /// Keeps an answer under its id, and the one that it goes on from; one that is there already is replaced.
    ///
    /// # Errors
    /// When the store cannot be written, or the tenant was erased meanwhile.
    pub async fn put(
        &self,
        id: &str,
        bytes: &[u8],
        previous: Option<&str>,
    ) -> Result<(), StoreError> {
        for _ in 0..2 {
            let keys = self.store.keys_or_new(&self.tenant).await?;
            let (key_id, key) = keys.current().ok_or(StoreError::Closed)?;
            let digest = digest(&keys, id);
            let sealed = key.seal(bytes, &self.place(&digest));
            let new = NewResponse {
                tenant: keys.nr,
                id: digest.to_vec(),
                previous: previous.map(|previous| self::digest(&keys, previous).to_vec()),
                key_id,
                sealed: sealed.map_err(|_| self.store.no_random())?,
                now: now(),
            };
            if self.store.backend().put_response(new).await? {
                return Ok(());
            }
            // The tenant was erased meanwhile, and begins anew.
            self.store.forget(&self.tenant);
        }
        Err(StoreError::Erased(self.tenant.clone()))
    }

    /// The answer with this id, if it is kept.
    ///
    /// # Errors
    /// When the store cannot be read, or the answer was altered or damaged.
    pub async fn get(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.read(id, 1).await?.pop())
    }

    /// The answer with this id behind those that it goes on from, the first one first; empty where it is not kept.
    /// One that was deleted or is gone ends the list towards its beginning.
    ///
    /// # Errors
    /// When the store cannot be read, or one of the answers was altered or damaged.
    pub async fn chain(&self, id: &str) -> Result<Vec<Vec<u8>>, StoreError> {
        self.read(id, LONGEST).await
    }

    /// Deletes the answer with this id; whether it was kept. Those that go on from it stay.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn delete(&self, id: &str) -> Result<bool, StoreError> {
        let Some(keys) = self.store.keys(&self.tenant).await? else { return Ok(false) };
        self.store.backend().remove_response(keys.nr, digest(&keys, id).to_vec()).await
    }

    async fn read(&self, id: &str, limit: u32) -> Result<Vec<Vec<u8>>, StoreError> {
        let Some(keys) = self.store.keys(&self.tenant).await? else { return Ok(Vec::new()) };
        let id = digest(&keys, id).to_vec();
        let mut rows = self.store.backend().responses(keys.nr, id, limit).await?;
        let keys =
            self.store.keys_with(keys, &self.tenant, rows.iter().map(|row| row.key_id)).await?;
        self.store.touch(rows.iter().map(|row| row.thread));
        rows.reverse();
        rows.iter().map(|row| self.open(&keys, row)).collect()
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

fn digest(keys: &TenantKeys, id: &str) -> [u8; 32] {
    // A key of its own, so that no digest of an id is ever one that restoration asks for.
    let key = blake3::derive_key("thinkthrough 2026-11 ids of kept responses", keys.lookup.bytes());
    *blake3::keyed_hash(&key, id.as_bytes()).as_bytes()
}
