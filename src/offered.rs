//! The available models: those of the configuration, or else of the built-in providers and local servers, and
//! simulated ones.

use crate::choose::{Chosen, choose_named};
use crate::config::{Config, ProviderEntry};
use crate::environment::{Environment, Lookup};
use crate::local;
use crate::reach::{Named, SIMULATED};
use std::collections::HashSet;
use thinkthrough_client::Auth;
use thinkthrough_core::price::Price;
use thinkthrough_core::provider::{self, Provider};

#[derive(Clone, Debug)]
pub(crate) struct Offered {
    pub(crate) name: String,
    pub(crate) provider: String,
    /// The context window in tokens, if it is known.
    pub(crate) context: Option<u64>,
    pub(crate) price: Option<Price>,
    /// The remedy, if its provider needs a key that is not set.
    pub(crate) missing: Option<String>,
    /// The state of its provider or key, in a few words.
    pub(crate) detail: String,
}

/// The configured models, then those of providers with a key, of local servers, and simulated ones.
pub(crate) async fn offered(config: &Config, env: Lookup<'_>) -> Vec<Offered> {
    let (own, local) = tokio::join!(configured(config, env), local::served(config));
    let named = config.models.iter().filter(|entry| !entry.is_pattern());
    let named =
        named.map(|entry| of(config, env, &entry.name, &format!("{}, configured", entry.provider)));
    let local = local.into_iter().map(|(provider, model)| {
        let name = format!("{provider}/{model}");
        of(config, env, &name, "local server")
    });
    let simulated = thinkthrough_conformance::list().into_iter().map(|listed| {
        of(
            config,
            env,
            &format!("{SIMULATED}/{}", listed.id),
            &format!("simulated, {}", listed.wire),
        )
    });
    let keyed = keyed(config, env);
    once(named.chain(own).chain(keyed).chain(local).chain(simulated))
}

/// All models of built-in providers with a rule or a price. Models of providers without a key have a remedy.
pub(crate) fn known(config: &Config, env: Lookup<'_>) -> Vec<Offered> {
    let around = Environment { variables: env, served: &[], brings_key: false, has_habits: false };
    let reach = config.reach(around);
    let rest = provider::ALL.iter().filter(|_| !reach.is_configured()).map(|it| Named::from(*it));
    let providers = reach.providers().iter().copied().chain(rest);
    let named = providers.filter_map(|named| Some((named.name, named.built_in?)));
    let names = named.flat_map(|(name, provider)| {
        let priced = Price::known(provider.id).map(str::to_owned);
        ruled(provider).into_iter().chain(priced).map(move |model| format!("{name}/{model}"))
    });
    // A provider without a built-in address is available only if the configuration has its address.
    let names: Vec<String> = names.filter(|name| choose_named(config, name, env).is_ok()).collect();
    once(names.iter().map(|name| of(config, env, name, "")))
}

/// Removes duplicates. A configured local server may also be found at its port.
fn once(all: impl Iterator<Item = Offered>) -> Vec<Offered> {
    let mut known = HashSet::new();
    all.filter(|offered| known.insert(offered.name.clone())).collect()
}

fn of(config: &Config, env: Lookup<'_>, name: &str, detail: &str) -> Offered {
    let chosen = choose_named(config, name, env);
    let prefix = name.split_once('/').map_or(name, |(prefix, _)| prefix).to_owned();
    match chosen {
        Ok(chosen) => Offered {
            name: name.to_owned(),
            context: Some(chosen.target.rule.context).filter(|tokens| *tokens > 0),
            price: chosen.target.price,
            missing: chosen.missing_key.as_deref().map(remedy),
            provider: chosen.target.provider,
            detail: detail.to_owned(),
        },
        Err(failure) => Offered {
            name: name.to_owned(),
            provider: prefix,
            context: None,
            price: None,
            missing: Some(failure.to_string()),
            detail: failure.to_string(),
        },
    }
}

/// The models of the configured providers: exact names from their rules, or else the lists of their servers.
async fn configured(config: &Config, env: Lookup<'_>) -> Vec<Offered> {
    let asked: Vec<_> =
        config.providers.iter().map(|entry| tokio::spawn(names(config, env, entry))).collect();
    let mut all = Vec::new();
    for (entry, asked) in config.providers.iter().zip(asked) {
        // A failure of one provider must not hide the models of others.
        for model in asked.await.unwrap_or_default() {
            let name = format!("{}/{model}", entry.name);
            let detail = choose_named(config, &name, env).map(|chosen| detail(&chosen));
            all.push(of(config, env, &name, &detail.unwrap_or_default()));
        }
    }
    all
}

/// The model names of a configured provider. The future sends the request to its server, if one is needed.
fn names(
    config: &Config,
    env: Lookup<'_>,
    entry: &ProviderEntry,
) -> impl Future<Output = Vec<String>> + use<> {
    let known = entry.extends.as_deref().and_then(provider::find).map(ruled).unwrap_or_default();
    // Only if no rule has an exact name, the server is asked.
    let chosen = choose_named(config, &format!("{}/any", entry.name), env).ok();
    async move {
        match chosen {
            Some(chosen) if known.is_empty() => {
                local::models_of(chosen.target, chosen.transport, chosen.auth).await
            }
            _ => known,
        }
    }
}

/// Describes the credential of a configured model.
fn detail(chosen: &Chosen) -> String {
    match (&chosen.missing_key, &chosen.auth) {
        (Some(missing), _) => remedy(missing),
        (None, Auth::None) => "configured, without a key".to_owned(),
        (None, Auth::Bearer(_) | Auth::Header { .. } | Auth::Query { .. }) => {
            "configured, its key is set".to_owned()
        }
        (None, Auth::Aws(_) | Auth::Token(_)) => "configured, with an account".to_owned(),
    }
}

/// Removes the provider from the sentence about a missing key, because its name is already in the list.
fn remedy(missing: &str) -> String {
    missing.split_once("` ").map_or(missing, |it| it.1).to_owned()
}

/// The models of built-in providers whose key is set. Empty if the configuration names providers.
fn keyed(config: &Config, env: Lookup<'_>) -> Vec<Offered> {
    let around = Environment { variables: env, served: &[], brings_key: false, has_habits: false };
    let reach = config.reach(around);
    let keyed = reach.providers().iter().filter(|_| !reach.is_configured());
    let names = keyed.filter_map(|named| named.built_in).flat_map(|provider| {
        ruled(provider).into_iter().map(|model| format!("{}/{model}", provider.id))
    });
    names.map(|name| of(config, env, &name, "its key is set")).collect()
}

/// The default model of a provider, and the exact names of its rules.
fn ruled(provider: &Provider) -> Vec<String> {
    let rules = provider.endpoints.iter().flat_map(|endpoint| endpoint.models);
    let names = rules.map(|rule| rule.pattern).filter(|pattern| !pattern.contains('*'));
    provider.default_model.into_iter().chain(names).map(str::to_owned).collect()
}
