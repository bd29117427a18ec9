//! Facts about models, learned from refusals and kept for a day, so that all gateways of a store know them.
//!
//! A fact is found by the digest of its endpoint and model under the tenant's own key. It is always sealed.

use crate::error::StoreError;
use crate::keys::TenantKeys;
use crate::row::{FactMark, FactRow, NewFact};
use crate::seal::{Kind, bind};
use crate::store::Store;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_json::{Doc, Writer};

/// The lifetime of a fact. Then the model is asked without it, because providers change.
pub const FACT_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The most facts to read, latest first.
const MOST: u32 = 10_000;
/// The most facts of a tenant. The latest are kept.
const MOST_OF_TENANT: u32 = 1_000;

/// A model at an endpoint, for one tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct About {
    /// The tenant that asks.
    pub tenant: Tenant,
    /// The address of the endpoint.
    pub endpoint: String,
    /// The model's name at this endpoint.
    pub model: String,
}

/// A fact about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The model.
    pub about: About,
    /// The fact in the form of the code that learned it.
    pub text: String,
    /// Time in Unix milliseconds at which it was learned.
    pub since: u64,
}

/// The facts of all tenants, with a cache of the facts read so far.
pub struct Facts {
    store: Store,
    known: Mutex<Known>,
}

/// The facts read last.
#[derive(Default)]
struct Known {
    mark: Option<FactMark>,
    /// Facts by number. `None` for a fact that does not open.
    facts: HashMap<i64, Option<Fact>>,
}

impl Store {
    /// Access to the facts of this store, with an empty cache.
    #[must_use]
    pub fn facts(&self) -> Facts {
        Facts { store: self.clone(), known: Mutex::default() }
    }

    /// Deletes expired facts.
    pub(crate) async fn prune_facts(&self, now: i64) -> Result<(), StoreError> {
        if self.backend().fact_mark().await?.count == 0 {
            return Ok(());
        }
        let (after, before) = holding(now);
        self.backend().prune_facts(after, before).await
    }
}

impl Facts {
    /// Stores a fact and replaces an older one about the same model. Returns false if it was not stored, because the
    /// tenant was erased since this process read its keys.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn put(&self, fact: &Fact) -> Result<bool, StoreError> {
        let tenant = &fact.about.tenant;
        let keys = self.store.keys_or_new(tenant).await?;
        let (key_id, key) = keys.current().ok_or(StoreError::Closed)?;
        let name = digest(&keys, &fact.about);
        let sealed = key.seal(written(fact), &place(tenant, &name));
        let new = NewFact {
            tenant: keys.nr,
            name,
            key_id,
            sealed: sealed.map_err(|_| self.store.no_random())?,
            since: millis(fact.since),
            most: MOST_OF_TENANT,
        };
        let is_kept = self.store.backend().put_fact(new).await?;
        if !is_kept {
            self.store.forget(tenant);
        }
        Ok(is_kept)
    }

    /// Deletes the fact about this model if it was learned until this time, in Unix milliseconds.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn remove(&self, about: &About, until: u64) -> Result<(), StoreError> {
        let Some(keys) = self.store.keys(&about.tenant).await? else { return Ok(()) };
        self.store.backend().remove_fact(keys.nr, digest(&keys, about), millis(until)).await
    }

    /// All facts that are valid at this time (Unix milliseconds), limited to the latest. Returns `None` if they did
    /// not change since the last read. Damaged facts are left out.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn read(&self, now: u64) -> Result<Option<Vec<Fact>>, StoreError> {
        // Read the mark first: facts that change right after it are read now, and again the next time.
        let mark = self.store.backend().fact_mark().await?;
        if self.known().mark == Some(mark) {
            return Ok(None);
        }
        let (after, before) = holding(millis(now));
        let rows = self.store.backend().facts(after, before, MOST).await?;
        let mut read = Known { mark: Some(mark), facts: HashMap::with_capacity(rows.len()) };
        for row in rows {
            let known = self.known().facts.remove(&row.nr);
            let fact = match known {
                Some(fact) => fact,
                None => self.open(&row).await?,
            };
            read.facts.insert(row.nr, fact);
        }
        let facts = read.facts.values().flatten().cloned().collect();
        *self.known() = read;
        Ok(Some(facts))
    }

    async fn open(&self, row: &FactRow) -> Result<Option<Fact>, StoreError> {
        let Ok(tenant) = Tenant::stored(&row.tenant) else { return Ok(None) };
        let mut keys = self.keys(&tenant).await?;
        if keys.as_ref().is_some_and(|keys| keys.nr != row.tenant_nr) {
            self.store.forget(&tenant);
            keys = self.keys(&tenant).await?;
        }
        let Some(keys) = keys else { return Ok(None) };
        let keys = self.store.keys_with(keys, &tenant, std::iter::once(row.key_id)).await?;
        let key = keys.data(row.key_id);
        let plain = key.and_then(|key| key.open(&row.sealed, &place(&tenant, &row.name)).ok());
        Ok(plain.and_then(|plain| read(&plain, tenant, row.since)))
    }

    /// The keys of a tenant. `None` if it was erased or its keys are damaged.
    async fn keys(&self, tenant: &Tenant) -> Result<Option<Arc<TenantKeys>>, StoreError> {
        match self.store.keys(tenant).await {
            Err(StoreError::Damaged { .. }) => Ok(None),
            keys => keys,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts").field("store", &self.store).finish_non_exhaustive()
    }
}

/// The times between which a valid fact was learned. A time far in the future comes from a wrong clock.
fn holding(now: i64) -> (i64, i64) {
    let age = i64::try_from(FACT_AGE.as_millis()).unwrap_or(i64::MAX);
    (now.saturating_sub(age), now.saturating_add(age))
}

fn millis(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

fn written(fact: &Fact) -> Vec<u8> {
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("endpoint", &fact.about.endpoint);
        w.field_str("model", &fact.about.model);
        w.field_str("fact", &fact.text);
    });
    w.finish().into_bytes()
}

fn read(plain: &[u8], tenant: Tenant, since: i64) -> Option<Fact> {
    let doc = Doc::parse(plain).ok()?;
    let member = |name: &str| doc.root().string(name);
    let (endpoint, model) = (member("endpoint")?, member("model")?);
    let about = About { tenant, endpoint, model };
    Some(Fact { about, text: member("fact")?, since: u64::try_from(since).unwrap_or_default() })
}

fn place(tenant: &Tenant, name: &[u8]) -> Vec<u8> {
    let mut place = bind(Kind::Fact, &[tenant.as_str()], &[]);
    place.extend_from_slice(name);
    place
}

fn digest(keys: &Arc<TenantKeys>, about: &About) -> Vec<u8> {
    // A separate key, so that these digests never equal those of restoration.
    let key = blake3::derive_key("thinkthrough 2026-11 models of facts", keys.lookup.bytes());
    let mut digest = blake3::Hasher::new_keyed(&key);
    for part in [&about.endpoint, &about.model] {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    digest.finalize().as_bytes().to_vec()
}
