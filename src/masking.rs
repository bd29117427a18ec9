//! The masker of this process, with all secrets of its configuration registered.

use crate::config::Config;
use crate::config::secret::Credential;
use crate::failure::Failure;
use crate::keeper::Keeper;
use crate::stored;
use std::sync::Arc;
use thinkthrough_chat::Cover;
use thinkthrough_client::{Secret, private_parts};
use thinkthrough_gateway::{Covering, FindMasker, Heard};
use thinkthrough_mask::{Masker, Tiers, passwords};
use thinkthrough_store::Location;

/// The endings of variable names for secrets.
const SECRET: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "PASSWORD"];

/// A masker with a key drawn for this run, that knows the secrets in the environment.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn masker(tiers: Tiers) -> Result<Masker, Failure> {
    Ok(keyed(tiers, &drawn()?))
}

fn drawn() -> Result<[u8; 32], Failure> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| {
        Failure::Failed(format!("the system has no random numbers: {error}; try again later"))
    })?;
    Ok(key)
}

/// Returns the masker for requests and events. With a store its key makes the placeholders, so that a conversation is
/// sent with the same placeholders after a restart and by every gateway.
///
/// # Errors
/// Fails if the system has no random numbers.
pub(crate) fn found(
    config: &Config,
    keeper: &Keeper,
    heard: &Arc<Heard>,
) -> Result<FindMasker, Failure> {
    let (secrets, tiers) = (secrets(config), tiers(config));
    let until_open = with(tiers, &drawn()?, &secrets);
    let (keeper, covering) = (keeper.clone(), Covering::new(Arc::clone(heard)));
    Ok(Arc::new(move || match keeper.store() {
        Some(store) => covering.masker(true, || with(tiers, &store.mask_key(), &secrets)),
        None => covering.masker(false, || until_open.clone()),
    }))
}

/// All tiers, plus personal data if the configuration wants it.
pub(crate) fn tiers(config: &Config) -> Tiers {
    if config.masking.personal { Tiers::ALL.and(Tiers::PERSONAL) } else { Tiers::ALL }
}

/// Returns the masker for the requests of a client; `None` if requests are not masked.
///
/// # Errors
/// Fails if the store cannot be opened, or if the system has no random numbers.
pub(crate) async fn of_requests(config: &Config) -> Result<Option<Masker>, Failure> {
    if !config.masking.requests {
        return Ok(None);
    }
    let key = match stored::existing(config).await? {
        Some(store) => store.mask_key(),
        None => drawn()?,
    };
    Ok(Some(with(tiers(config), &key, &secrets(config))))
}

/// A masker with a key drawn for this run, that knows the secrets in the environment and in the configuration.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn of_process(config: &Config, tiers: Tiers) -> Result<Masker, Failure> {
    Ok(with(tiers, &drawn()?, &secrets(config)))
}

/// Returns the masker for displayed conversations, for people and programs.
///
/// # Errors
/// Fails if the system has no random numbers.
pub(crate) fn of_output(config: &Config) -> Result<Cover, Failure> {
    let tiers = match config.masking.personal {
        true => Tiers::CERTAIN.and(Tiers::PERSONAL),
        false => Tiers::CERTAIN,
    };
    let masker = config.masking.output.then(|| of_process(config, tiers)).transpose()?;
    Ok(Cover::new(masker))
}

/// A masker with this key, that knows the secrets in the environment and these.
pub(crate) fn with(tiers: Tiers, key: &[u8; 32], secrets: &[Secret]) -> Masker {
    let mut masker = keyed(tiers, key);
    secrets.iter().for_each(|secret| {
        masker.register(secret.expose());
    });
    masker
}

/// The credentials of the configuration: keys, secret parts of headers, and the password of the store's server.
pub(crate) fn secrets(config: &Config) -> Vec<Secret> {
    let first = config.providers.iter().filter_map(|provider| match &provider.key {
        Some(Credential::Given(secret)) => Some(secret.clone()),
        Some(Credential::Missing(_)) | None => None,
    });
    let more = config.providers.iter().flat_map(|provider| provider.more_keys.iter().cloned());
    let own = config.providers.iter().flat_map(|provider| provider.headers.given());
    let headers = own.chain(config.models.iter().flat_map(|model| model.forms.headers.given()));
    let headers = headers.flat_map(|(name, value)| private_parts(name, value.expose()));
    let store = match config.store.as_ref().map(|store| &store.location) {
        Some(Location::Postgres(url)) => passwords(url),
        Some(Location::Sqlite(_)) | None => Vec::new(),
    };
    let store = store.iter().map(Secret::new);
    first.chain(more).chain(headers.map(Secret::new)).chain(store).collect()
}

/// A masker with this key, that knows the secrets in the environment.
pub(crate) fn keyed(tiers: Tiers, key: &[u8; 32]) -> Masker {
    let mut masker = Masker::new(tiers, key);
    for (name, value) in std::env::vars_os() {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        if SECRET.iter().any(|end| name.to_ascii_uppercase().ends_with(end)) {
            masker.register(value);
        }
        for password in passwords(value) {
            masker.register(&password);
        }
    }
    masker
}
