//! The keys of the gateway: those of the configuration, and those of the store.

use crate::config::keys::GateKey;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::settings::Partial;
use thinkthrough_gateway::{Access, Keys, Looking, Pass, VaultError};
use thinkthrough_store::{KeyHash, Store};

/// How old may be what is known about whether there are keys at all.
const FRESH: Duration = Duration::from_secs(2);

/// Knows every key.
pub(crate) struct Gate {
    entries: Vec<GateKey>,
    store: Option<Store>,
    /// When it was looked, and whether the store has keys.
    seen: Mutex<Option<(Instant, bool)>>,
}

impl Gate {
    pub(crate) fn new(entries: Vec<GateKey>, store: Option<Store>) -> Self {
        Gate { entries, store, seen: Mutex::new(None) }
    }

    /// Whether a key is needed. Keys that were taken back count: whoever had one is not let in by that.
    pub(crate) async fn is_closed(&self) -> Result<bool, VaultError> {
        if !self.entries.is_empty() {
            return Ok(true);
        }
        let Some(store) = &self.store else { return Ok(false) };
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, has)) = seen
            && at.elapsed() < FRESH
        {
            return Ok(has);
        }
        let has = match (Box::pin(store.gateway_keys().list()).await, seen) {
            (Ok(keys), _) => !keys.is_empty(),
            // A store that fails stops no traffic where there were no keys, and lets nobody in where there were.
            (Err(_), Some((_, has))) => has,
            (Err(error), None) => return Err(VaultError(error.to_string())),
        };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), has));
        Ok(has)
    }

    async fn look(&self, key: &str) -> Result<Access, VaultError> {
        let hash = KeyHash::of(key);
        if let Some(entry) = self.entries.iter().find(|entry| entry.hash == Some(hash)) {
            return Ok(Access::Known(Arc::new(pass(entry))));
        }
        if let Some(store) = &self.store {
            let found = Box::pin(store.gateway_keys().find(key)).await;
            let found = found.map_err(|error| VaultError(error.to_string()))?;
            if let Some(tenant) = found {
                return Ok(Access::Known(Arc::new(self.stored(tenant))));
            }
        }
        Ok(if self.is_closed().await? { Access::Unknown } else { Access::Open })
    }

    /// What the configuration says about a key of the store, if it says something.
    fn stored(&self, tenant: Tenant) -> Pass {
        let entry =
            self.entries.iter().find(|entry| entry.hash.is_none() && entry.tenant == tenant);
        let all = || vec!["*".to_owned()];
        entry.map_or_else(
            || {
                let (models, providers, reasoning) = (all(), all(), Partial::default());
                Pass { tenant, models, providers, raw: false, reasoning }
            },
            pass,
        )
    }
}

fn pass(entry: &GateKey) -> Pass {
    let GateKey { tenant, models, providers, raw, reasoning, .. } = entry.clone();
    Pass { tenant, models, providers, raw, reasoning }
}

impl Keys for Gate {
    fn find<'a>(&'a self, key: Option<&'a str>) -> Looking<'a> {
        Box::pin(async move {
            match key {
                Some(key) => self.look(key).await,
                None if self.is_closed().await? => Ok(Access::Unknown),
                None => Ok(Access::Open),
            }
        })
    }
}
