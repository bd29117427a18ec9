//! Ledgers of budgets that several processes share: what is spent of each, and who holds slices of the rest.
//!
//! What a report does to a ledger is arithmetic of the core. It is read, changed here, and written only if nobody changed
//! it meanwhile; no lock is held between the two, and no state of a session, so that any pooler may stand in between.

use crate::error::StoreError;
use crate::row::LedgerRow;
use crate::store::Store;
use std::time::Duration;
use thinkthrough_core::budget::{BudgetRules, Given, Ledger, Report};
use thinkthrough_core::plane::Tenant;

/// A ledger that nobody used for so long goes; the longest that a budget counts for is a key's, which is used by every
/// request.
const AGE: Duration = Duration::from_secs(400 * 24 * 60 * 60);
/// So often a change is tried again that another one came before.
const TRIES: usize = 100;

/// Which budget of whose.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LedgerKey {
    tenant: String,
    name: String,
}

impl LedgerKey {
    /// The budget of this kind (`session`, `day`, ...) and name. Names are kept as digests.
    #[must_use]
    pub fn new(tenant: &Tenant, kind: &str, name: &str) -> Self {
        let mut digest = blake3::Hasher::new_derive_key("thinkthrough 2026-11 names of ledgers");
        for part in [tenant.as_str(), kind, name] {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        let name = digest.finalize().to_hex().to_string();
        LedgerKey { tenant: tenant.as_str().to_owned(), name }
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

    /// Takes out the ledgers that nobody used for a long time.
    pub(crate) async fn prune_ledgers(&self, now: i64) -> Result<(), StoreError> {
        let age = i64::try_from(AGE.as_millis()).unwrap_or(i64::MAX);
        self.backend().prune_ledgers(now.saturating_sub(age)).await
    }
}

impl Ledgers {
    /// The tokens that are spent of a budget, as far as they were reported.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn used(&self, key: &LedgerKey) -> Result<u64, StoreError> {
        let LedgerKey { tenant, name } = key.clone();
        let row = self.store.backend().ledger(tenant, name).await?;
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
        let LedgerKey { tenant, name } = key;
        for _ in 0..TRIES {
            let row = self.store.backend().ledger(tenant.clone(), name.clone()).await?;
            let (version, body) = row.unwrap_or_default();
            let mut ledger = Ledger::read(&body).unwrap_or_default();
            let given = ledger.report(rules, holder, report, now);
            let row = LedgerRow {
                tenant: tenant.clone(),
                name: name.clone(),
                version,
                body: ledger.write(),
                now: i64::try_from(now).unwrap_or(i64::MAX),
            };
            if self.store.backend().swap_ledger(row).await? {
                return Ok(given);
            }
        }
        Err(StoreError::Busy("the ledger of a budget".to_owned()))
    }
}
