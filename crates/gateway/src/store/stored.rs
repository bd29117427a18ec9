//! Implements the gateway's vault traits for the store.

use crate::store::vault::{
    Facts, KeptResponses, Later, Ledgers, Looked, Lost, Owner, SharedPlaces, Soon, Spill, Vault,
    VaultError, Vaults,
};
use std::sync::Arc;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::{Head, Kept, Key, Secret};
use thinkthrough_limits::{BudgetRules, Given, RateGiven, RateLimits, RateReport, Report, Unheard};
use thinkthrough_store::{About, Backlog, Fact, LedgerKey, Responses, Store, StoreError};

impl Vaults for Store {
    fn of<'a>(&'a self, tenant: &'a Tenant) -> Later<'a, Arc<dyn Vault>> {
        Box::pin(async move {
            let vault = self.vault(tenant);
            let secret = vault.secret().await?;
            let one: Arc<dyn Vault> = Arc::new(One { vault, secret });
            Ok(one)
        })
    }

    fn pass_through(&self, endpoint: &str, credential: &str) -> Option<Tenant> {
        self.pass_through_tenant(endpoint, credential)
    }

    fn kept_responses(&self, tenant: &Tenant) -> Option<Arc<dyn KeptResponses>> {
        Some(Arc::new(self.responses(tenant)))
    }

    fn facts(&self) -> Option<Arc<dyn Facts>> {
        Some(Arc::new(Store::facts(self)))
    }

    fn ledgers(&self) -> Option<Arc<dyn Ledgers>> {
        Some(Arc::new(Store::ledgers(self)))
    }

    fn places(&self) -> Option<Arc<dyn SharedPlaces>> {
        Some(Arc::new(Store::ledgers(self)))
    }

    fn backlog(&self) -> Backlog {
        Store::backlog(self)
    }
}

impl Facts for thinkthrough_store::Facts {
    fn put(&self, fact: Fact) -> Later<'_, bool> {
        Box::pin(async move { Ok(Self::put(self, &fact).await?) })
    }

    fn remove(&self, about: About, until: u64) -> Later<'_, ()> {
        Box::pin(async move { Ok(Self::remove(self, &about, until).await?) })
    }

    fn read(&self, now: u64) -> Later<'_, Option<Vec<Fact>>> {
        Box::pin(async move { Ok(Self::read(self, now).await?) })
    }
}

impl Ledgers for thinkthrough_store::Ledgers {
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        rules: &'a BudgetRules,
        holder: &'a str,
        report: Report,
        now: u64,
    ) -> Later<'a, Given> {
        Box::pin(async move { Ok(Self::report(self, key, rules, holder, report, now).await?) })
    }

    fn used<'a>(&'a self, key: &'a LedgerKey) -> Later<'a, u64> {
        Box::pin(async move { Ok(Self::used(self, key).await?) })
    }

    fn note<'a>(&'a self, key: &'a LedgerKey, holder: &'a str, unheard: Unheard) -> Soon<'a> {
        Box::pin(Self::note(self, key, holder, unheard))
    }

    fn forget<'a>(&'a self, holder: &'a str) -> Soon<'a> {
        Box::pin(Self::forget(self, holder))
    }
}

impl SharedPlaces for thinkthrough_store::Ledgers {
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        limits: &'a RateLimits,
        holder: &'a str,
        report: RateReport,
    ) -> Later<'a, RateGiven> {
        Box::pin(async move { Ok(self.report_places(key, limits, holder, report).await?) })
    }
}

impl KeptResponses for Responses {
    fn put(&self, id: String, answer: Vec<u8>, previous: Option<String>) -> Later<'_, ()> {
        Box::pin(async move { Ok(Responses::put(self, &id, &answer, previous.as_deref()).await?) })
    }

    fn chain(&self, id: String) -> Later<'_, Vec<Vec<u8>>> {
        Box::pin(async move { Ok(Responses::chain(self, &id).await?) })
    }

    fn get(&self, id: String) -> Later<'_, Option<Vec<u8>>> {
        Box::pin(async move { Ok(Responses::get(self, &id).await?) })
    }

    fn delete(&self, id: String) -> Later<'_, bool> {
        Box::pin(async move { Ok(Responses::delete(self, &id).await?) })
    }

    fn put_resource(&self, provider: String, id: String, row: Vec<u8>) -> Later<'_, ()> {
        Box::pin(async move { Ok(Responses::put_resource(self, &provider, &id, &row).await?) })
    }

    fn resource(&self, provider: String, id: String) -> Later<'_, Option<Vec<u8>>> {
        Box::pin(async move { Ok(Responses::resource(self, &provider, &id).await?) })
    }

    fn resource_owners(
        &self,
        provider: String,
        ids: Vec<String>,
    ) -> Later<'_, Vec<(String, Owner)>> {
        Box::pin(async move { Ok(Responses::resource_owners(self, &provider, &ids).await?) })
    }
}

/// The vault of one tenant.
pub(crate) struct One {
    pub(crate) vault: thinkthrough_store::Vault,
    pub(crate) secret: Secret,
}

impl Vault for One {
    fn secret(&self) -> Secret {
        self.secret.clone()
    }

    fn lookup(&self, keys: Vec<Key>) -> Later<'_, Looked> {
        Box::pin(async move {
            let looked = self.vault.lookup(&keys).await?;
            Ok(Looked { found: looked.found, open: Arc::new(looked.opener) })
        })
    }

    fn records(&self, ids: Vec<String>) -> Later<'_, Looked> {
        Box::pin(async move {
            let looked = self.vault.records(ids).await?;
            Ok(Looked { found: looked.found, open: Arc::new(looked.opener) })
        })
    }

    fn hand_over(
        &self,
        records: Vec<(Head, Kept)>,
        lost: Lost,
    ) -> Later<'_, Option<Later<'static, ()>>> {
        let lost = Box::new(|_: &StoreError| lost());
        Box::pin(async move {
            let commit = self.vault.hand_over(records, lost).await?;
            Ok(commit.map(|commit| -> Later<'static, ()> {
                Box::pin(async move { Ok(commit.done().await?) })
            }))
        })
    }

    fn spill(&self) -> Option<Spill> {
        self.vault.spill()
    }

    fn poison(&self, records: Vec<String>) -> Later<'_, u64> {
        Box::pin(async move { Ok(self.vault.poison(records).await?) })
    }
}

impl From<StoreError> for VaultError {
    fn from(error: StoreError) -> Self {
        VaultError(error.to_string())
    }
}
