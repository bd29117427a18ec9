//! Where records are kept, as far as the gateway needs to know.
//!
//! Whatever happens there, traffic goes on: a look-up that fails or takes too long finds nothing, and a record that
//! cannot be kept is counted.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::budget::{
    BudgetRules, Given, RateGiven, RateLimits, RateReport, Report, Unheard,
};
use thinkthrough_core::exchange::Found;
use thinkthrough_core::plane::{Open, Tenant};
use thinkthrough_core::restore::{Head, Kept, Key, Secret};
use thinkthrough_store::{About, Backlog, Fact, LedgerKey};

pub use thinkthrough_store::{Owner, Spill};

/// How long a request waits for a store, in all; then it goes on as if nothing were known. The end of its answer is in it.
pub(crate) const LOOKUP: Duration = Duration::from_millis(100);
/// How long the end of an answer waits for a commit of its record.
pub(crate) const APPEND: Duration = Duration::from_millis(20);

/// Something that comes later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, VaultError>> + Send + 'a>>;

/// Something that is done later, as far as it can be.
pub type Soon<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Is told that records were lost.
pub type Lost = Box<dyn FnOnce() + Send>;

/// Why a vault did not do what was asked, in a sentence for logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultError(pub String);

impl std::fmt::Display for VaultError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for VaultError {}

/// The records of all tenants.
pub trait Vaults: Send + Sync {
    /// The records of one tenant.
    fn of<'a>(&'a self, tenant: &'a Tenant) -> Later<'a, Arc<dyn Vault>>;

    /// The tenant that a caller's own credential at an upstream stands for; `None` where it says nothing about who
    /// that is.
    fn pass_through(&self, endpoint: &str, credential: &str) -> Option<Tenant>;

    /// The answers of one tenant that are kept by their ids; `None` where none are.
    fn kept_responses(&self, _tenant: &Tenant) -> Option<Arc<dyn KeptResponses>> {
        None
    }

    /// What refusals taught, all tenants; `None` where that is not kept, or cannot be reached yet.
    fn facts(&self) -> Option<Arc<dyn Facts>> {
        None
    }

    /// What is spent of budgets; `None` where that is kept by nobody.
    fn ledgers(&self) -> Option<Arc<dyn Ledgers>> {
        None
    }

    /// Who holds how many places of limits; `None` where gateways share none.
    fn places(&self) -> Option<Arc<dyn SharedPlaces>> {
        None
    }

    /// Whether there is a store at all, be it one that cannot be reached.
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

    /// What the store has not taken yet.
    fn backlog(&self) -> Backlog {
        Backlog::default()
    }
}

/// What refusals taught about models, for all tenants and all gateways.
pub trait Facts: Send + Sync {
    /// Keeps a fact in place of an older one about the same. Says whether it is kept: not where its tenant was erased.
    fn put(&self, fact: Fact) -> Later<'_, bool>;

    /// Takes out what was learned about this up to then, in Unix milliseconds.
    fn remove(&self, about: About, until: u64) -> Later<'_, ()>;

    /// All facts that hold at this time; `None` where nothing changed since they were read last.
    fn read(&self, now: u64) -> Later<'_, Option<Vec<Fact>>>;
}

/// What is spent of budgets, by all gateways.
pub trait Ledgers: Send + Sync {
    /// Takes what a holder spent and what it wants, at this time in Unix milliseconds, and gives what it holds.
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        rules: &'a BudgetRules,
        holder: &'a str,
        report: Report,
        now: u64,
    ) -> Later<'a, Given>;

    /// The tokens that are spent, as far as they were reported.
    fn used<'a>(&'a self, key: &'a LedgerKey) -> Later<'a, u64>;

    /// Writes down what the ledger may not have heard of a holder, where the sudden end of this process does not lose it.
    /// Ledgers that end with the process have no such place.
    fn note<'a>(&'a self, _key: &'a LedgerKey, _holder: &'a str, _unheard: Unheard) -> Soon<'a> {
        Box::pin(std::future::ready(()))
    }

    /// The holder has nothing any more, and the ledger heard everything.
    fn forget<'a>(&'a self, _holder: &'a str) -> Soon<'a> {
        Box::pin(std::future::ready(()))
    }
}

/// Who holds how many places of limits, of all gateways.
pub trait SharedPlaces: Send + Sync {
    /// Takes what a holder has of a limit and what it wants, and gives what it holds.
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        limits: &'a RateLimits,
        holder: &'a str,
        report: RateReport,
    ) -> Later<'a, RateGiven>;
}

/// Answers of one tenant that are kept by their ids, each perhaps behind the one that it goes on from.
pub trait KeptResponses: Send + Sync {
    /// Keeps an answer.
    fn put(&self, id: String, answer: Vec<u8>, previous: Option<String>) -> Later<'_, ()>;

    /// The answer with this id behind those that it goes on from, the first one first; empty where it is not kept.
    fn chain(&self, id: String) -> Later<'_, Vec<Vec<u8>>>;

    /// The answer with this id, if it is kept.
    fn get(&self, id: String) -> Later<'_, Option<Vec<u8>>>;

    /// Deletes the answer with this id; whether it was kept.
    fn delete(&self, id: String) -> Later<'_, bool>;

    /// Records that the tenant owns the resource with this id at a provider, with what is known of it.
    fn put_resource(&self, provider: String, id: String, row: Vec<u8>) -> Later<'_, ()>;

    /// What is known of the tenant's own resource with this id at a provider.
    fn resource(&self, provider: String, id: String) -> Later<'_, Option<Vec<u8>>>;

    /// The owners of resources with these ids at a provider, without ids that no tenant owns.
    fn resource_owners(
        &self,
        provider: String,
        ids: Vec<String>,
    ) -> Later<'_, Vec<(String, Owner)>>;
}

/// The records of one tenant.
pub trait Vault: Send + Sync {
    /// The tenant's secret for look-ups.
    fn secret(&self) -> Secret;

    /// The records with any of these keys, and what opens them.
    fn lookup(&self, keys: Vec<Key>) -> Later<'_, Looked>;

    /// The records with these ids, and what opens them.
    fn records(&self, ids: Vec<String>) -> Later<'_, Looked>;

    /// Keeps the records of one answer. This gateway finds them once this is done; where nothing is given back, the store
    /// takes them soon, and `lost` is told if it does not. What is given back is still to be done: then every gateway
    /// finds them.
    fn hand_over(
        &self,
        records: Vec<(Head, Kept)>,
        lost: Lost,
    ) -> Later<'_, Option<Later<'static, ()>>>;

    /// A file for thoughts of an answer that is still coming. `None`: they stay in memory.
    fn spill(&self) -> Option<Spill> {
        None
    }

    /// Marks records that a provider refused, so that no look-up finds them any more. Gives how many were marked now.
    fn poison(&self, records: Vec<String>) -> Later<'_, u64>;
}

/// What a look-up gave.
pub struct Looked {
    /// The records.
    pub found: Vec<Found>,
    /// What opens them.
    pub open: Arc<dyn Open + Send + Sync>,
}

impl Looked {
    /// Both.
    pub(crate) fn and(mut self, more: Looked) -> Self {
        self.found.extend(more.found);
        Looked { found: self.found, open: Arc::new(Either(self.open, more.open)) }
    }

    /// Nothing.
    pub(crate) fn nothing() -> Self {
        Looked { found: Vec::new(), open: Arc::new(Shut) }
    }
}

/// Opens what one of them opens.
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

/// Opens nothing, for there is nothing to open.
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
