//! The models that can be chosen: those of the configuration; without one those of providers whose key is set and of
//! local servers; simulated ones.

use super::env;
use crate::choose::{Chosen, choose_named};
use crate::config::{Config, ProviderEntry};
use crate::environment::Environment;
use crate::local;
use thinkthrough_chat::session::Offer;
use thinkthrough_client::Auth;
use thinkthrough_core::provider::{self, Provider};

pub(super) async fn offers(config: &Config) -> Vec<Offer> {
    let (own, local) = tokio::join!(configured(config), local::served(config));
    let named = config.models.iter().filter(|entry| !entry.is_pattern()).map(|entry| {
        let detail = format!("{}, configured", entry.provider);
        Offer { name: entry.name.clone(), detail }
    });
    let local = local.into_iter().map(|(provider, model)| Offer {
        name: format!("{provider}/{model}"),
        detail: "local server".to_owned(),
    });
    let simulated = thinkthrough_conformance::list().into_iter().map(|listed| Offer {
        name: format!("sim/{}", listed.id),
        detail: format!("simulated, {}", listed.wire),
    });
    let all = named.chain(own).chain(with_keys(config)).chain(local).chain(simulated);
    let mut offers: Vec<Offer> = Vec::new();
    for offer in all {
        // A server that is configured may also be found by its port.
        if offers.iter().all(|known| known.name != offer.name) {
            offers.push(offer);
        }
    }
    offers
}

/// The models of the configured providers: those that rules name outright, else those that their servers list.
async fn configured(config: &Config) -> Vec<Offer> {
    let asked: Vec<_> =
        config.providers.iter().map(|entry| tokio::spawn(names(config, entry))).collect();
    let mut offers = Vec::new();
    for (entry, asked) in config.providers.iter().zip(asked) {
        // Whatever goes wrong with one provider, the others are there.
        for model in asked.await.unwrap_or_default() {
            let name = format!("{}/{model}", entry.name);
            let detail = match choose_named(config, &name, &env) {
                Ok(chosen) => detail(&chosen),
                Err(failure) => failure.to_string(),
            };
            offers.push(Offer { name, detail });
        }
    }
    offers
}

/// The names of a configured provider's models; whoever has to be asked is asked when this is awaited.
fn names(config: &Config, entry: &ProviderEntry) -> impl Future<Output = Vec<String>> + use<> {
    let known = entry.extends.as_deref().and_then(provider::find).map(ruled).unwrap_or_default();
    // Where nothing names a model, the server may.
    let chosen = choose_named(config, &format!("{}/any", entry.name), &env).ok();
    async move {
        match chosen {
            Some(chosen) if known.is_empty() => {
                local::models_of(chosen.target, chosen.transport, chosen.auth).await
            }
            _ => known,
        }
    }
}

/// Whether it can be asked as it is configured.
fn detail(chosen: &Chosen) -> String {
    match (&chosen.missing_key, &chosen.auth) {
        // The name stands beside it.
        (Some(missing), _) => {
            missing.split_once("` ").map_or(missing.as_str(), |it| it.1).to_owned()
        }
        (None, Auth::None) => "configured, without a key".to_owned(),
        (None, Auth::Bearer(_) | Auth::Header { .. } | Auth::Query { .. }) => {
            "configured, its key is set".to_owned()
        }
        (None, Auth::Aws(_) | Auth::Token(_)) => "configured, with an account".to_owned(),
    }
}

/// The models of the providers whose key is there, where the configuration names none.
fn with_keys(config: &Config) -> Vec<Offer> {
    let around = Environment { variables: &env, served: &[], brings_key: false };
    let reach = config.reach(around);
    let keyed = reach.providers().iter().filter(|_| !reach.is_configured());
    keyed
        .filter_map(|named| named.built_in)
        .flat_map(|provider| {
            ruled(provider).into_iter().map(|model| Offer {
                name: format!("{}/{model}", provider.id),
                detail: "its key is set".to_owned(),
            })
        })
        .collect()
}

/// The models that a provider's rules name outright.
fn ruled(provider: &Provider) -> Vec<String> {
    let rules = provider.endpoints.iter().flat_map(|endpoint| endpoint.models);
    let names = rules.map(|rule| rule.pattern).filter(|pattern| !pattern.contains('*'));
    provider.default_model.into_iter().chain(names).map(str::to_owned).collect()
}
