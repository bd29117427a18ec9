//! The keys of the gateway: those of the configuration, and those of the store.
//!
//! No caller is let in until the store's keys were read once, not even with a key of the configuration: a gateway
//! that cannot open its store would answer some callers without their thoughts, and look as if it worked. From then
//! on the last keys that were read are valid until the store reports others.

use crate::config::keys::GateKey;
use crate::keeper::Keeper;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::settings::Partial;
use thinkthrough_gateway::{Access, Keys, Looking, Pass, VaultError};
use thinkthrough_limits::{Budgets, RateLimits};
use thinkthrough_store::{KeyHash, KeyState, KeyWatch};

/// Knows every key.
pub(crate) struct Gate {
    entries: Vec<GateKey>,
    keeper: Keeper,
    wanted: Wanted,
}

/// Whether callers need a key of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Callers bring the provider's own key (`pass_through`).
    Never,
    /// They need a key once one was made.
    OnceMade,
    /// They need a key even if no key was ever made.
    Always,
}

impl Gate {
    pub(crate) fn new(entries: Vec<GateKey>, keeper: Keeper, wanted: Wanted) -> Self {
        let has_none = entries.is_empty() && keeper.has_place;
        let wanted = match wanted {
            Wanted::OnceMade if !has_none => Wanted::Always,
            said => said,
        };
        Gate { entries, keeper, wanted }
    }

    async fn look(&self, key: Option<&str>, patience: Duration) -> Result<Access, VaultError> {
        let Some(state) = self.keeper.state() else {
            return Err(VaultError("the keys were not read yet".to_owned()));
        };
        if self.wanted == Wanted::Never {
            return Ok(Access::Open);
        }
        let hash = key.map(KeyHash::of);
        let said = self.entries.iter().find(|entry| hash.is_some() && entry.hash == hash);
        if let Some(entry) = said {
            return Ok(Access::Known(Arc::new(pass(entry))));
        }
        if let Some(tenant) = key.and_then(|key| self.owner(key)) {
            return Ok(Access::Known(Arc::new(self.stored(tenant))));
        }
        match state {
            KeyState::Lost => return Ok(Access::Lost),
            KeyState::Never if self.wanted == Wanted::OnceMade => return Ok(Access::Open),
            KeyState::Never | KeyState::Made => {}
        }
        let (Some(key), Some(keys)) = (key, self.keeper.keys()) else {
            return Ok(Access::Unknown);
        };
        // A key that was made just now. A store that does not answer is not waited for.
        if keys.is_up() && tokio::time::timeout(patience, keys.renewed()).await.is_ok() {
            let tenant = self.owner(key);
            return Ok(tenant
                .map_or(Access::Unknown, |tenant| Access::Known(Arc::new(self.stored(tenant)))));
        }
        Ok(Access::Unknown)
    }

    /// The owner of a key in the store.
    fn owner(&self, key: &str) -> Option<Tenant> {
        self.keeper.keys()?.list().owner(key).cloned()
    }

    /// The configured settings of a key in the store, if there are some.
    fn stored(&self, tenant: Tenant) -> Pass {
        pass_of(self.entries.iter().filter(|entry| entry.hash.is_none()), tenant)
    }
}

/// The rights of a tenant's key: those of its entry, else all but the operator's.
pub(crate) fn pass_of<'e>(mut entries: impl Iterator<Item = &'e GateKey>, tenant: Tenant) -> Pass {
    let all = || vec!["*".to_owned()];
    entries.find(|entry| entry.tenant == tenant).map_or_else(
        || {
            let (models, providers, reasoning) = (all(), all(), Partial::default());
            let (limits, budgets) = (RateLimits::UNLIMITED, Budgets::NONE);
            let (raw, admin) = (false, false);
            Pass { tenant, models, providers, raw, admin, reasoning, limits, budgets }
        },
        pass,
    )
}

fn pass(entry: &GateKey) -> Pass {
    let GateKey { tenant, models, providers, raw, admin, reasoning, limits, budgets, .. } =
        entry.clone();
    Pass { tenant, models, providers, raw, admin, reasoning, limits, budgets }
}

impl Keys for Gate {
    fn find<'a>(&'a self, key: Option<&'a str>, patience: Duration) -> Looking<'a> {
        Box::pin(self.look(key, patience))
    }

    fn names(&self) -> Vec<String> {
        let said = self.entries.iter().map(|entry| entry.tenant.to_string());
        let list = self.keeper.keys().map(KeyWatch::list);
        let stored = list.iter().flat_map(|list| list.tenants()).map(ToString::to_string);
        said.chain(stored).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn budgets(&self) -> Vec<(Tenant, Budgets)> {
        let limited = self.entries.iter().filter(|entry| !entry.budgets.is_none());
        limited.map(|entry| (entry.tenant.clone(), entry.budgets)).collect()
    }

    fn are_known(&self) -> bool {
        let is_said = || self.entries.iter().any(|entry| entry.hash.is_some());
        match self.keeper.state() {
            None => false,
            Some(KeyState::Lost) => self.wanted == Wanted::Never || is_said(),
            Some(KeyState::Never | KeyState::Made) => true,
        }
    }
}
