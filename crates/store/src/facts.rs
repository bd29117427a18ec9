//! What refusals taught about models, for a day, so that gateways know it that have not heard them.
//!
//! A fact is found by the digest of its endpoint and model under the tenant's own key, and stands in a seal only.

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

/// How long a fact holds; then the model is asked as if nothing were known, for providers change.
pub const FACT_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// So many facts are read at most, the latest.
const MOST: u32 = 10_000;
/// So many facts one tenant has at most, the latest.
const MOST_OF_TENANT: u32 = 1_000;

/// A model where it is asked, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct About {
    /// Who asks.
    pub tenant: Tenant,
    /// The address under which the model is asked.
    pub endpoint: String,
    /// What it is called there.
    pub model: String,
}

/// What a refusal taught about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The model.
    pub about: About,
    /// The fact, in the words of whoever learned it.
    pub text: String,
    /// When it was learned, in Unix milliseconds.
    pub since: u64,
}

/// The facts of all tenants, and which of them were read.
pub struct Facts {
    store: Store,
    known: Mutex<Known>,
}

/// What was read.
#[derive(Default)]
struct Known {
    mark: Option<FactMark>,
    /// By their numbers; `None`: it does not open.
    facts: HashMap<i64, Option<Fact>>,
}

impl Store {
    /// What refusals taught; nothing of it was read yet.
    #[must_use]
    pub fn facts(&self) -> Facts {
        Facts { store: self.clone(), known: Mutex::default() }
    }

    /// Takes out the facts that do not hold any more.
    pub(crate) async fn prune_facts(&self, now: i64) -> Result<(), StoreError> {
        if self.backend().fact_mark().await?.count == 0 {
            return Ok(());
        }
        let (after, before) = holding(now);
        self.backend().prune_facts(after, before).await
    }
}

impl Facts {
    /// Keeps a fact in place of an older one about the same. Says whether it is kept: not where the tenant was erased since
    /// this process read its keys.
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

    /// Takes out what was learned about this up to then, in Unix milliseconds.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn remove(&self, about: &About, until: u64) -> Result<(), StoreError> {
        let Some(keys) = self.store.keys(&about.tenant).await? else { return Ok(()) };
        self.store.backend().remove_fact(keys.nr, digest(&keys, about), millis(until)).await
    }

    /// All facts that hold at this time, in Unix milliseconds, the latest of many; `None` where nothing changed since they
    /// were read last. One that was altered or damaged counts as not there.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn read(&self, now: u64) -> Result<Option<Vec<Fact>>, StoreError> {
        // The mark first: what changes right behind it is read now, and once more next time.
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

    /// The keys of a tenant; none where it was erased, or what stands there is no key.
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

/// Between these times a fact was learned that holds now. One of tomorrow was learned by a clock that is wrong.
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
    // A key of its own, so that no digest of a model is ever one that restoration asks for.
    let key = blake3::derive_key("thinkthrough 2026-11 models of facts", keys.lookup.bytes());
    let mut digest = blake3::Hasher::new_keyed(&key);
    for part in [&about.endpoint, &about.model] {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    digest.finalize().as_bytes().to_vec()
}
