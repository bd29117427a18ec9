//! Facts about models that refusals taught. They are remembered for the life of the program, and with a store for a
//! day. Gateways on the same store share them.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use thinkthrough_core::exchange::Repair;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Target;
use thinkthrough_store::{About, Fact, Facts, Store, StoreError};
use tokio::task::JoinSet;

/// The learned facts. Clones are handles to the same ones.
#[derive(Clone, Default)]
pub struct Lessons {
    facts: Option<Arc<Facts>>,
    known: Arc<Mutex<Vec<(About, Repair)>>>,
    writing: Arc<Mutex<JoinSet<()>>>,
}

impl Lessons {
    /// Reads the facts of a store. Further facts are stored there.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn of(store: &Store) -> Result<Self, StoreError> {
        let facts = store.facts();
        let mut all = facts.read(now()).await?.unwrap_or_default();
        all.retain(|fact| fact.about.tenant == Tenant::local());
        all.sort_unstable_by_key(|fact| fact.since);
        let known = all.into_iter().filter_map(|it| Some((it.about, Repair::taught(&it.text)?)));
        let known = Arc::new(Mutex::new(known.collect()));
        Ok(Lessons { facts: Some(Arc::new(facts)), known, writing: Arc::default() })
    }

    /// The model with the learned facts applied.
    #[must_use]
    pub fn taught<'t>(&self, target: &'t Target) -> Cow<'t, Target> {
        let about = about(target);
        let fact = lock(&self.known).iter().rfind(|(it, _)| *it == about).map(|(_, fact)| *fact);
        let taught = fact.and_then(|fact| fact.taught_to(target));
        taught.map_or(Cow::Borrowed(target), Cow::Owned)
    }

    /// Remembers a fact from a refusal. The caller does not wait for the store: if the write fails, the fact is
    /// learned once more.
    pub fn learn(&self, target: &Target, fact: Repair) {
        let about = about(target);
        let mut known = lock(&self.known);
        known.retain(|(it, _)| *it != about);
        known.push((about.clone(), fact));
        let Some((facts, text)) = self.facts.clone().zip(fact.fact()) else { return };
        let fact = Fact { about, text, since: now() };
        lock(&self.writing).spawn(async move { drop(facts.put(&fact).await) });
    }

    /// Waits until all facts are written.
    pub async fn end(&self) {
        let all = std::mem::take(&mut *lock(&self.writing));
        all.join_all().await;
    }
}

impl fmt::Debug for Lessons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lessons").field("known", &*lock(&self.known)).finish_non_exhaustive()
    }
}

fn about(target: &Target) -> About {
    let (endpoint, model) = (target.base_url.clone(), target.model.clone());
    About { tenant: Tenant::local(), endpoint, model }
}

/// Unix milliseconds.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
