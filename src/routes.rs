//! Where the gateway's models lead, from the configuration and the environment.

use crate::choose::{Chosen, named};
use crate::config::Config;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_client::{Auth, Secret, account};
use thinkthrough_core::provider;
use thinkthrough_core::settings::{Key, Partial};
use thinkthrough_gateway::{Listed, Models, Pool, Route, Unrouted};

/// How many names are remembered; callers choose them, so there must be an end.
const REMEMBERED: usize = 1_024;

/// The models of one configuration. Names that were looked up once keep their connections.
pub(crate) struct Routes {
    config: Config,
    env: fn(&str) -> Option<String>,
    /// One for each provider with several keys, whatever model is asked for.
    pools: HashMap<String, Vec<Secret>>,
    made: Mutex<HashMap<String, Arc<Pool>>>,
    known: Mutex<HashMap<String, Arc<Route>>>,
}

impl Routes {
    pub(crate) fn new(config: Config, env: fn(&str) -> Option<String>) -> Self {
        let pools = config.providers.iter().filter(|entry| !entry.more_keys.is_empty());
        let pools = pools.map(|entry| (entry.name.clone(), entry.more_keys.clone())).collect();
        Routes { config, env, pools, made: Mutex::default(), known: Mutex::default() }
    }

    fn remembered(&self, name: &str) -> Option<Arc<Route>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).cloned()
    }

    fn remember(&self, name: &str, route: &Arc<Route>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(name.to_owned(), Arc::clone(route));
    }

    fn route(&self, chosen: Chosen) -> Route {
        let Chosen { entry, target, transport, auth, reasoning, handling, limits, .. } = chosen;
        let pool = self.pool(&target.provider, &auth);
        let reasoning = over(&for_everybody(&self.config.reasoning), &reasoning);
        let entry = self.config.models.iter().find(|it| Some(&it.name) == entry.as_ref());
        let fallback = entry.map(|entry| entry.fallback.clone()).unwrap_or_default();
        let provider = self.config.providers.iter().find(|it| it.name == target.provider);
        let on_disconnect = provider.map(|entry| entry.on_disconnect).unwrap_or_default();
        let forward_headers = provider.map(|it| it.forward_headers.clone()).unwrap_or_default();
        Route {
            target,
            transport,
            auth,
            reasoning,
            handling,
            fallback,
            on_disconnect,
            pool,
            forward_headers,
            limits,
        }
    }

    fn pool(&self, provider: &str, first: &Auth) -> Option<Arc<Pool>> {
        let more = self.pools.get(provider)?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = made.entry(provider.to_owned()).or_insert_with(|| {
            let others = more.iter().filter_map(|key| alike(first, key));
            Arc::new(Pool::new(std::iter::once(first.clone()).chain(others).collect()))
        });
        Some(Arc::clone(pool))
    }
}

/// Another key in the same form.
fn alike(first: &Auth, key: &Secret) -> Option<Auth> {
    let secret = key.clone();
    if let Some(account) = account::read(&secret) {
        return account.ok();
    }
    Some(match first {
        Auth::Bearer(_) => Auth::Bearer(secret),
        Auth::Header { name, .. } => Auth::Header { name: name.clone(), secret },
        Auth::Query { name, .. } => Auth::Query { name: name.clone(), secret },
        // Beside an account, a plain key is what goes with OpenAI's own API.
        Auth::Aws(_) | Auth::Token(_) => Auth::Bearer(secret),
        Auth::None => return None,
    })
}

/// What `[reasoning]` says to all callers of the gateway: whether and how much a model thinks is theirs to ask for.
fn for_everybody(reasoning: &Partial) -> Partial {
    Partial { enabled: None, effort: None, max_tokens: None, ..reasoning.clone() }
}

/// The values of `above`, and those of `below` where it says nothing.
fn over(below: &Partial, above: &Partial) -> Partial {
    let mut both = below.clone();
    for key in Key::ALL {
        if let Some(word) = above.get(key) {
            // A value that was read once is read again.
            let _ = both.set(key.as_str(), &word);
        }
    }
    both
}

impl Models for Routes {
    fn find(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        if let Some(route) = self.remembered(name) {
            return Ok(route);
        }
        let chosen = named(&self.config, name, &self.env, String::new());
        let chosen = chosen.map_err(|failure| Unrouted(failure.to_string()))?;
        let route = Arc::new(self.route(chosen));
        self.remember(name, &route);
        Ok(route)
    }

    fn provider(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        // A provider's own API needs no model; any name gives its address and credential.
        self.find(&format!("{name}/-"))
    }

    fn list(&self) -> Vec<Listed> {
        let configured = self.config.models.iter().filter(|entry| !entry.is_pattern());
        let mut list: Vec<Listed> = configured
            .map(|entry| Listed { name: entry.name.clone(), provider: entry.provider.clone() })
            .collect();
        for provider in with_key(self.env) {
            let Some(model) = provider.default_model else { continue };
            list.push(listed(provider.id, model));
        }
        let providers = self.config.providers.iter();
        for provider in providers {
            let id = provider.extends.as_deref();
            let model = id.and_then(provider::find).and_then(|it| it.default_model);
            list.extend(model.map(|model| listed(&provider.name, model)));
        }
        let mut seen = HashSet::new();
        list.retain(|listed| seen.insert(listed.name.clone()));
        // Where something else is there, simulators are still found by their names.
        if list.is_empty() && self.config.providers.is_empty() {
            let simulators = thinkthrough_conformance::list().into_iter();
            list.extend(simulators.map(|simulator| listed("sim", simulator.id)));
        }
        list
    }
}

/// The built-in providers whose key is set.
pub(crate) fn with_key(
    env: fn(&str) -> Option<String>,
) -> impl Iterator<Item = &'static provider::Provider> {
    let has_key = move |provider: &&provider::Provider| {
        provider.keys.iter().any(|key| crate::environment::usable(env(key)).is_some())
    };
    provider::ALL.iter().copied().filter(has_key)
}

fn listed(provider: &str, model: &str) -> Listed {
    Listed { name: format!("{provider}/{model}"), provider: provider.to_owned() }
}
