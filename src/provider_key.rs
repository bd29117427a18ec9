//! The credential for a provider, from the configuration or the environment.

use crate::account;
use crate::config::{Credential, ProviderEntry};
use crate::environment::{Lookup, usable};
use crate::failure::Failure;
use crate::reach::key_variable;
use thinkthrough_client::Secret;
use thinkthrough_core::provider::Provider;

/// The credential for a provider, and its source.
pub(crate) struct ProviderKey {
    pub(crate) secret: Option<Secret>,
    /// The source, as part of a sentence.
    pub(crate) source: Option<String>,
    /// The variables that should have the missing credential.
    pub(crate) missing: Option<String>,
    /// The credential is from the same variable that the provider's own tools read.
    pub(crate) is_usual: bool,
}

impl ProviderKey {
    pub(crate) fn of(
        entry: Option<&ProviderEntry>,
        built_in: Option<&Provider>,
        is_needed: bool,
        env: Lookup<'_>,
    ) -> Result<Self, Failure> {
        let account = built_in.and_then(Provider::account);
        let usual = built_in.map_or(&[][..], |provider| provider.keys).iter().copied();
        let usual: Vec<&str> = usual.chain(account.map(account::variable)).collect();
        let set = built_in.and_then(|provider| key_variable(provider, env));
        let (secret, missing) = match entry.and_then(|entry| entry.key.clone()) {
            Some(Credential::Given(key)) => (Some(key), None),
            Some(Credential::Missing(variables)) => (None, Some(variables)),
            None => {
                let secret = match (set.and_then(|it| usable(env(it))), account) {
                    (None, Some(account)) => account::in_environment(account, env)?,
                    (key, _) => key.map(Secret::new),
                };
                // A server at another address may need no key, and a header may carry one.
                let is_vendors = entry
                    .is_none_or(|it| it.base_url.is_none() && it.headers.given().next().is_none());
                let is_missing = is_needed && is_vendors && secret.is_none();
                (secret, Some(usual.join("` or `")).filter(|it| is_missing && !it.is_empty()))
            }
        };
        let in_variable = set.or(account.map(account::variable)).or(usual.first().copied());
        let said = entry.and_then(|entry| entry.key_from.clone());
        let source = said.or_else(|| in_variable.map(|name| format!("`{name}`")));
        let is_in = |name: &&str| source.as_ref() == Some(&format!("`{name}`"));
        let is_usual = secret.is_some() && usual.iter().any(is_in);
        Ok(ProviderKey { secret, source, missing, is_usual })
    }
}
