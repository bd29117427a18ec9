//! Read-only access to a store, for requests that are shown and not sent.

use crate::store::stored::One;
use crate::store::vault::{
    Facts, KeptResponses, Later, Ledgers, Looked, Lost, Vault, VaultError, Vaults,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::{Head, Kept, Key, Secret};
use thinkthrough_limits::{BudgetRules, Given, KEPT, Ledger, Report};
use thinkthrough_store::{LedgerKey, Store};

/// The vaults of a store that need not exist yet. They write nothing to it: a new tenant gets no secret, and budgets are
/// reserved in memory.
pub struct ReadOnly {
    store: Option<Store>,
    ledgers: Arc<LedgerCopies>,
}

impl ReadOnly {
    /// Reads this store. `None` is a store that does not exist yet.
    #[must_use]
    pub fn new(store: Option<Store>) -> Self {
        let kept = store.as_ref().map(Store::ledgers);
        ReadOnly { store, ledgers: Arc::new(LedgerCopies { kept, own: Mutex::default() }) }
    }
}

impl Vaults for ReadOnly {
    fn of<'a>(&'a self, tenant: &'a Tenant) -> Later<'a, Arc<dyn Vault>> {
        Box::pin(async move {
            let vault = self.store.as_ref().map(|store| store.vault(tenant));
            let Some(vault) = vault else { return Ok(Arc::new(NewTenant) as Arc<dyn Vault>) };
            Ok(match vault.known_secret().await? {
                Some(secret) => Arc::new(One { vault, secret }),
                None => Arc::new(NewTenant),
            })
        })
    }

    fn pass_through(&self, endpoint: &str, credential: &str) -> Option<Tenant> {
        self.store.as_ref()?.pass_through_tenant(endpoint, credential)
    }

    fn kept_responses(&self, tenant: &Tenant) -> Option<Arc<dyn KeptResponses>> {
        Some(Arc::new(self.store.as_ref()?.responses(tenant)))
    }

    fn facts(&self) -> Option<Arc<dyn Facts>> {
        Some(Arc::new(self.store.as_ref()?.facts()))
    }

    fn ledgers(&self) -> Option<Arc<dyn Ledgers>> {
        Some(Arc::<LedgerCopies>::clone(&self.ledgers))
    }
}

/// A tenant that is not in the store.
struct NewTenant;

impl Vault for NewTenant {
    fn secret(&self) -> Secret {
        Secret::new([0; 32])
    }

    fn lookup(&self, _: Vec<Key>) -> Later<'_, Looked> {
        Box::pin(std::future::ready(Ok(Looked::nothing())))
    }

    fn records(&self, _: Vec<String>) -> Later<'_, Looked> {
        Box::pin(std::future::ready(Ok(Looked::nothing())))
    }

    fn hand_over(&self, _: Vec<(Head, Kept)>, _: Lost) -> Later<'_, Option<Later<'static, ()>>> {
        Box::pin(std::future::ready(Err(VaultError("the store is only read".to_owned()))))
    }

    fn poison(&self, _: Vec<String>) -> Later<'_, u64> {
        Box::pin(std::future::ready(Ok(0)))
    }
}

/// Ledgers in memory, each with the spent tokens of the store's ledger.
struct LedgerCopies {
    kept: Option<thinkthrough_store::Ledgers>,
    own: Mutex<HashMap<LedgerKey, Ledger>>,
}

impl LedgerCopies {
    async fn spent(&self, key: &LedgerKey) -> Result<u64, VaultError> {
        match &self.kept {
            Some(kept) => Ok(kept.used(key).await?),
            None => Ok(0),
        }
    }
}

impl Ledgers for LedgerCopies {
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        rules: &'a BudgetRules,
        holder: &'a str,
        report: Report,
        now: u64,
    ) -> Later<'a, Given> {
        Box::pin(async move {
            let spent = self.spent(key).await?;
            let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
            let ledger = own.entry(key.clone()).or_insert_with(|| {
                let before = Report { number: 1, spent, keeps: 0, wants: 0 };
                let mut ledger = Ledger::default();
                ledger.report(rules, "the store", before, KEPT, now);
                ledger
            });
            Ok(ledger.report(rules, holder, report, KEPT, now))
        })
    }

    fn used<'a>(&'a self, key: &'a LedgerKey) -> Later<'a, u64> {
        Box::pin(self.spent(key))
    }
}
