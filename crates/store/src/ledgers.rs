//! Ledgers that several processes share: what is spent of each budget, and who holds slices of the rest; and who holds how
//! many places of a limit.
//!
//! What a report does to a ledger is arithmetic of the core. It is read, changed here, and written only if nobody changed
//! it meanwhile; no lock is held between the two, and no state of a session, so that any pooler may stand in between.

use crate::backend::Backend;
use crate::error::StoreError;
use crate::ledger_row::{LedgerRow, SliceRow};
use crate::store::Store;
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_limits::{
    BudgetRules, Given, KEPT, LEASE, Ledger, RateGiven, RateLedger, RateLimits, RateReport, Report,
};

/// A ledger that nobody used for so long goes; the longest that a budget counts for is a key's, which is used by every
/// request.
const AGE: Duration = Duration::from_secs(400 * 24 * 60 * 60);
/// A ledger beyond the bound of its tenant stays until nobody used it for so long: a slice of it may be held as long.
const RECENT: Duration = Duration::from_secs(60 * 60);
/// So often a change is tried again that another one came before.
const TRIES: usize = 100;

/// Which budget, or limit, of whose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LedgerKey {
    pub(crate) tenant: String,
    pub(crate) name: String,
}

impl LedgerKey {
    /// The budget of this kind (`session`, `day`, ...) and name. Names are kept as digests.
    #[must_use]
    pub fn new(tenant: &Tenant, kind: &str, name: &str) -> Self {
        LedgerKey::of(tenant.as_str(), kind, name)
    }

    /// What a provider may be asked for, by all tenants.
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
    /// What is spent of budgets.
    #[must_use]
    pub fn ledgers(&self) -> Ledgers {
        Ledgers { store: self.clone() }
    }

    /// Takes out the ledgers that nobody used for a long time, and of a tenant with more than `most` those that were not
    /// used for the longest time.
    pub(crate) async fn prune_ledgers(&self, most: u64, now: i64) -> Result<(), StoreError> {
        let before =
            |age: Duration| now.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        self.backend().prune_ledgers(before(AGE)).await?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.backend().prune_many_ledgers(most, before(RECENT)).await
    }
}

impl Ledgers {
    /// The tokens that are spent of a budget, as far as they were reported.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn used(&self, key: &LedgerKey) -> Result<u64, StoreError> {
        let LedgerKey { tenant, name } = key.clone();
        let (_, row) = self.store.backend().ledger(tenant, name).await?;
        let ledger = row.and_then(|(_, body)| Ledger::read(&body));
        Ok(ledger.map_or(0, |ledger| ledger.state().used))
    }

    /// Reports what a holder spent and what it wants, at this time in Unix milliseconds, and gives what it holds from
    /// then on. What cannot be read is begun anew, as if nothing had been spent.
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
        // Who lives can write to a file that others can write to.
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

    /// The process of this holder is gone: its slice is free, and what it did not come to report is booked.
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

    /// Reports what a holder has of a limit and what it wants, and gives what it holds from then on. The time is the
    /// database's; in a file, this machine's.
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

    /// Writes what is made of a ledger and the time, if nobody changed it meanwhile.
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
