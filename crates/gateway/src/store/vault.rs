//! The gateway's interface to its store.
//!
//! Traffic goes on without the store: a look-up that fails or takes too long finds no records, and a record that cannot
//! be stored is counted.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::exchange::Found;
use thinkthrough_core::plane::{Open, Tenant};
use thinkthrough_core::restore::{Head, Kept, Key, Secret};
use thinkthrough_limits::{BudgetRules, Given, RateGiven, RateLimits, RateReport, Report, Unheard};
use thinkthrough_store::{About, Backlog, Fact, LedgerKey};

pub use thinkthrough_store::{Owner, Spill};

/// How long a request waits for the store in all, the end of its answer included. Then it goes on without the store.
pub(crate) const LOOKUP: Duration = Duration::from_millis(100);
/// How long the end of an answer waits for the commit of its record.
pub(crate) const APPEND: Duration = Duration::from_millis(20);

/// A future result of a vault.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, VaultError>> + Send + 'a>>;

/// A future write that may fail without a report.
pub type Soon<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Called if records were lost.
pub type Lost = Box<dyn FnOnce() + Send>;

/// The reason why a vault failed, as a sentence for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultError(pub String);

impl std::fmt::Display for VaultError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for VaultError {}

/// The vaults of all tenants.
pub trait Vaults: Send + Sync {
    /// The vault of one tenant.
    fn of<'a>(&'a self, tenant: &'a Tenant) -> Later<'a, Arc<dyn Vault>>;

    /// The tenant behind a caller's own upstream credential. `None` if the credential does not identify a caller.
    fn pass_through(&self, endpoint: &str, credential: &str) -> Option<Tenant>;

    /// The answers of one tenant that are stored by their ids. `None` if the gateway stores no such answers.
    fn kept_responses(&self, _tenant: &Tenant) -> Option<Arc<dyn KeptResponses>> {
        None
    }

    /// The facts of all tenants. `None` if they are not stored, or the store cannot be reached yet.
    fn facts(&self) -> Option<Arc<dyn Facts>> {
        None
    }

    /// The ledgers of budgets. `None` if there are no ledgers.
    fn ledgers(&self) -> Option<Arc<dyn Ledgers>> {
        None
    }

    /// The shared places of rate limits. `None` if gateways share no limits.
    fn places(&self) -> Option<Arc<dyn SharedPlaces>> {
        None
    }

    /// Whether a store is configured, even if it cannot be reached.
    fn has_store(&self) -> bool {
        true
    }

    /// Whether the store answers. While it does not, traffic goes on without it.
    fn is_up(&self) -> bool {
        true
    }

    /// Whether the store's file was removed or replaced, so that the gateway has to be started again.
    fn is_displaced(&self) -> bool {
        false
    }

    /// The records that the database has not committed yet.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
}

/// Facts about models that refusals taught, for all tenants and all gateways.
pub trait Facts: Send + Sync {
    /// Stores a fact, and replaces an older one about the same model. Returns false if its tenant was erased.
    fn put(&self, fact: Fact) -> Later<'_, bool>;

    /// Deletes the fact about this model if it was learned no later than `until`, in Unix milliseconds.
    fn remove(&self, about: About, until: u64) -> Later<'_, ()>;

    /// Returns all facts that hold at this time, or `None` if they have not changed since the last read.
    fn read(&self, now: u64) -> Later<'_, Option<Vec<Fact>>>;
}

/// The spent amounts of budgets, for all gateways.
pub trait Ledgers: Send + Sync {
    /// Reports the spent and wanted amounts of a holder at this time in Unix milliseconds, and returns its lease.
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        rules: &'a BudgetRules,
        holder: &'a str,
        report: Report,
        now: u64,
    ) -> Later<'a, Given>;

    /// The spent tokens, as far as they were reported.
    fn used<'a>(&'a self, key: &'a LedgerKey) -> Later<'a, u64>;

    /// Notes the spent amount of a holder that the ledger may not know, so that a crash of this process does not lose
    /// it. Ledgers in memory keep no notes, because they end with the process.
    fn note<'a>(&'a self, _key: &'a LedgerKey, _holder: &'a str, _unheard: Unheard) -> Soon<'a> {
        Box::pin(std::future::ready(()))
    }

    /// Deletes the note: the holder has no lease any more, and the ledger knows all of its spending.
    fn forget<'a>(&'a self, _holder: &'a str) -> Soon<'a> {
        Box::pin(std::future::ready(()))
    }
}

/// The places of rate limits, for all gateways.
pub trait SharedPlaces: Send + Sync {
    /// Reports the used and wanted places of a holder, and returns its lease.
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        limits: &'a RateLimits,
        holder: &'a str,
        report: RateReport,
    ) -> Later<'a, RateGiven>;
}

/// Answers of one tenant that are stored by their ids. An answer can continue a previous one.
pub trait KeptResponses: Send + Sync {
    /// Stores an answer, with the id of the answer that it continues.
    fn put(&self, id: String, answer: Vec<u8>, previous: Option<String>) -> Later<'_, ()>;

    /// The answer with this id and all answers that it continues, the first one first. Empty if it is not stored.
    fn chain(&self, id: String) -> Later<'_, Vec<Vec<u8>>>;

    /// The answer with this id, if it is stored.
    fn get(&self, id: String) -> Later<'_, Option<Vec<u8>>>;

    /// Deletes the answer with this id. Returns whether it was stored.
    fn delete(&self, id: String) -> Later<'_, bool>;

    /// Records that the tenant owns the resource with this id at a provider, and stores `row` with it.
    fn put_resource(&self, provider: String, id: String, row: Vec<u8>) -> Later<'_, ()>;

    /// The row of the tenant's own resource with this id at a provider.
    fn resource(&self, provider: String, id: String) -> Later<'_, Option<Vec<u8>>>;

    /// The owners of resources with these ids at a provider, without ids that no tenant owns.
    fn resource_owners(
        &self,
        provider: String,
        ids: Vec<String>,
    ) -> Later<'_, Vec<(String, Owner)>>;
}

/// The vault of one tenant.
pub trait Vault: Send + Sync {
    /// The tenant's secret for look-ups.
    fn secret(&self) -> Secret;

    /// The records with any of these keys, and their opener.
    fn lookup(&self, keys: Vec<Key>) -> Later<'_, Looked>;

    /// The records with these ids, and their opener.
    fn records(&self, ids: Vec<String>) -> Later<'_, Looked>;

    /// Stores the records of one answer. Look-ups of this gateway find them once this is done. If it returns `None`,
    /// the store commits them soon, and calls `lost` if that fails. Otherwise the caller has to await the returned
    /// commit, after which look-ups of every gateway find them.
    fn hand_over(
        &self,
        records: Vec<(Head, Kept)>,
        lost: Lost,
    ) -> Later<'_, Option<Later<'static, ()>>>;

    /// A file for thoughts of an answer in progress. `None`: they stay in memory.
    fn spill(&self) -> Option<Spill> {
        None
    }

    /// Marks records that a provider refused, so that look-ups skip them. Returns how many were newly marked.
    fn poison(&self, records: Vec<String>) -> Later<'_, u64>;
}

/// The result of a look-up.
pub struct Looked {
    /// The records.
    pub found: Vec<Found>,
    /// Opens the thoughts of the records.
    pub open: Arc<dyn Open + Send + Sync>,
}

impl Looked {
    /// Joins two results.
    pub(crate) fn and(mut self, more: Looked) -> Self {
        self.found.extend(more.found);
        Looked { found: self.found, open: Arc::new(Either(self.open, more.open)) }
    }

    /// An empty result.
    pub(crate) fn nothing() -> Self {
        Looked { found: Vec::new(), open: Arc::new(Shut) }
    }
}

/// Opens a thought with the first opener that can.
struct Either(Arc<dyn Open + Send + Sync>, Arc<dyn Open + Send + Sync>);

impl Open for Either {
    fn open(
        &self,
        key: u32,
        sealed: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, thinkthrough_core::plane::SealError> {
        self.0.open(key, sealed, aad).or_else(|_| self.1.open(key, sealed, aad))
    }
}

/// The opener of an empty result.
struct Shut;

impl Open for Shut {
    fn open(
        &self,
        key: u32,
        _: &[u8],
        _: &[u8],
    ) -> Result<Vec<u8>, thinkthrough_core::plane::SealError> {
        Err(thinkthrough_core::plane::SealError::KeyGone(key))
    }
}
