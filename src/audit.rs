//! The traces of what models thought, as the configuration wants them.

use crate::config::Config;
use crate::config::secret::Credential;
use crate::keeper::Keeper;
use crate::masking::keyed;
use std::sync::OnceLock;
use thinkthrough_client::Secret;
use thinkthrough_core::mask::{Masker, Tiers};
use thinkthrough_gateway::Audit;
use thinkthrough_store::Store;

/// Begins to keep traces, where the configuration wants any and there is a place for them.
pub(crate) fn start(config: &Config, keeper: &Keeper) -> Option<Audit> {
    if !config.traces.on || !keeper.has_place {
        return None;
    }
    let secrets = secrets(config);
    let (keeper, masker) = (keeper.clone(), OnceLock::new());
    Some(Audit::start(Box::new(move || {
        let store = keeper.store()?;
        let masker = masker.get_or_init(|| masker_of(store, &secrets));
        Some((store.traces(), masker.clone()))
    })))
}

/// What covers secrets: those that this process was given, and whatever looks like one.
fn masker_of(store: &Store, secrets: &[Secret]) -> Masker {
    let mut masker = keyed(Tiers::ALL, &store.mask_key());
    secrets.iter().for_each(|secret| {
        masker.register(secret.expose());
    });
    masker
}

/// The credentials of the configuration.
fn secrets(config: &Config) -> Vec<Secret> {
    let first = config.providers.iter().filter_map(|provider| match &provider.key {
        Some(Credential::Given(secret)) => Some(secret.clone()),
        Some(Credential::Missing(_)) | None => None,
    });
    let more = config.providers.iter().flat_map(|provider| provider.more_keys.iter().cloned());
    first.chain(more).collect()
}
