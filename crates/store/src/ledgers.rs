//! Ledgers shared by several processes: the spent amount and the leases of each budget, and the leases of each rate
//! limit.
//!
//! The core computes the effect of a report on a ledger. The ledger is read, changed here, and written only if no
//! other process changed it meanwhile. There is no lock and no session state between the two statements, so every
//! connection pooler works.

use crate::backend::Backend;
use crate::error::StoreError;
use crate::ledger_row::{LedgerRow, SliceRow};
use crate::store::Store;
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_limits::{
    BudgetRules, Given, KEPT, LEASE, Ledger, RateGiven, RateLedger, RateLimits, RateReport, Report,
};

/// Ledgers that were unused for this long are deleted. A key's budget lasts longest, and every request of the key
/// uses it.
const AGE: Duration = Duration::from_secs(400 * 24 * 60 * 60);
/// A ledger beyond the bound of its tenant stays until it was unused for this long, because it may have a lease as
/// long.
const RECENT: Duration = Duration::from_secs(60 * 60);
/// The number of attempts at a change that conflicts with other changes.
const TRIES: usize = 100;

/// The key of a ledger: tenant and name of a budget or limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LedgerKey {
    pub(crate) tenant: String,
    pub(crate) name: String,
}

impl LedgerKey {
    /// The budget of this kind (`session`, `day`, ...) and name. The store keeps only a digest of the name.
    #[must_use]
    pub fn new(tenant: &Tenant, kind: &str, name: &str) -> Self {
        LedgerKey::of(tenant.as_str(), kind, name)
    }

    /// The rate limit of a provider, shared by all tenants.
    #[must_use]
    pub fn of_provider(provider: &str) -> Self {
        // No tenant has this name.
        LedgerKey::of("", "provider", provider)
    }

    fn of(tenant: &str, kind: &str, name: &str) -> Self {
        let mut digest = blake3::Hasher::new_derive_key("thinkthrough 2026-11 names of ledgers");
        for part in [tenant, kind, name] {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        let name = digest.finalize().to_hex().to_string();
        LedgerKey { tenant: tenant.to_owned(), name }
    }
}

/// The ledgers of all tenants.
#[derive(Clone, Debug)]
pub struct Ledgers {
    store: Store,
}

impl Store {
    /// Access to the ledgers of this store.
    #[must_use]
    pub fn ledgers(&self) -> Ledgers {
        Ledgers { store: self.clone() }
    }

    /// Deletes ledgers that were unused for a long time. If a tenant has more than `most`, its longest unused ones
    /// are deleted too.
    pub(crate) async fn prune_ledgers(&self, most: u64, now: i64) -> Result<(), StoreError> {
        let before =
            |age: Duration| now.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        self.backend().prune_ledgers(before(AGE)).await?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.backend().prune_many_ledgers(most, before(RECENT)).await
    }
}

impl Ledgers {
    /// The tokens spent of a budget, as far as they were reported.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn used(&self, key: &LedgerKey) -> Result<u64, StoreError> {
        let LedgerKey { tenant, name } = key.clone();
        let (_, row) = self.store.backend().ledger(tenant, name).await?;
        let ledger = row.and_then(|(_, body)| Ledger::read(&body));
        Ok(ledger.map_or(0, |ledger| ledger.state().used))
    }

    /// Reports the amount that a holder spent and the amount it wants, at this time in Unix milliseconds. Returns its
    /// new lease. An unreadable ledger starts again from zero.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn report(
        &self,
        key: &LedgerKey,
        rules: &BudgetRules,
        holder: &str,
        report: Report,
        now: u64,
    ) -> Result<Given, StoreError> {
        // In a file, a living holder can report whenever others can, so its lease may end after `LEASE`.
        let kept = match self.store.backend() {
            Backend::Sqlite(_) => LEASE,
            Backend::Postgres(_) => KEPT,
        };
        let change = |body: &str, _| {
            let mut ledger = Ledger::read(body).unwrap_or_default();
            let given = ledger.report(rules, holder, report, kept, now);
            (ledger.write(), given)
        };
        self.change(key, change).await
    }

    /// Ends the lease of a process that is gone. Its free part is released, and its unreported part is booked.
    pub(crate) async fn end(&self, row: &SliceRow) -> Result<(), StoreError> {
        let change = |body: &str, now: i64| {
            let mut ledger = Ledger::read(body).unwrap_or_default();
            ledger.end(&row.holder, row.unheard, now.unsigned_abs());
            (ledger.write(), ())
        };
        let key = LedgerKey { tenant: row.tenant.clone(), name: row.name.clone() };
        self.change(&key, change).await
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Reports the places that a holder has and wants of a rate limit. Returns its new lease. The time is the
    /// database's; for a file, this machine's.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn report_places(
        &self,
        key: &LedgerKey,
        limits: &RateLimits,
        holder: &str,
        report: RateReport,
    ) -> Result<RateGiven, StoreError> {
        let change = |body: &str, now: i64| {
            let mut ledger = RateLedger::read(body).unwrap_or_default();
            let given = ledger.report(limits, holder, report, now.unsigned_abs());
            (ledger.write(), given)
        };
        self.change(key, change).await
    }

    /// Reads a ledger and the time, applies `change`, and writes the result unless another process was faster.
    async fn change<T>(
        &self,
        key: &LedgerKey,
        change: impl Fn(&str, i64) -> (String, T),
    ) -> Result<T, StoreError> {
        let LedgerKey { tenant, name } = key;
        for _ in 0..TRIES {
            let (now, row) = self.store.backend().ledger(tenant.clone(), name.clone()).await?;
            let (version, body) = row.unwrap_or_default();
            let (body, given) = change(&body, now);
            let (tenant, name) = (tenant.clone(), name.clone());
            let row = LedgerRow { tenant, name, version, body, now };
            if self.store.backend().swap_ledger(row).await? {
                return Ok(given);
            }
        }
        Err(StoreError::Busy("a ledger".to_owned()))
    }
}
