//! The routes of the gateway's models, from the configuration and the environment.

use crate::address::Given;
use crate::choose::{Chosen, named, provider_named};
use crate::config::Config;
use crate::environment::{Environment, Served};
use crate::failure::say;
use crate::reach::{Named, Reach, key_variable};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_client::{Auth, Secret, account};
use thinkthrough_core::settings::{Key, Partial};
use thinkthrough_gateway::{Listed, Models, Pool, Route, Unrouted};

/// How many names are remembered; callers choose them, so there must be an end.
const REMEMBERED: usize = 1_024;

/// The models of one configuration. Names that were looked up once keep their connections.
pub(crate) struct Routes {
    base: Arc<Base>,
    known: Mutex<HashMap<String, Arc<Route>>>,
    /// Callers bring a key of their own.
    brings_key: bool,
    /// The models of such callers, if they differ.
    with_key: Option<Arc<Routes>>,
}

/// Shared by the routes of all callers.
struct Base {
    config: Config,
    env: fn(&str) -> Option<String>,
    /// The models that local servers list.
    served: Vec<Served>,
    /// One for each provider with several keys, whatever model is asked for.
    pools: HashMap<String, Vec<Secret>>,
    made: Mutex<HashMap<String, Arc<Pool>>>,
    /// Whether the log names the default model already.
    has_told_default: AtomicBool,
}

impl Base {
    fn around(&self, brings_key: bool) -> Environment<'_> {
        // Callers that pay for themselves choose for themselves.
        let has_habits = !self.config.server.pass_through;
        Environment { variables: &self.env, served: &self.served, brings_key, has_habits }
    }

    fn reach(&self, brings_key: bool) -> Reach<'_> {
        self.config.reach(self.around(brings_key))
    }

    fn tell_default(&self, model: &str) {
        if !self.has_told_default.swap(true, Ordering::Relaxed) {
            say(format_args!(
                "names like `claude-*` and `gpt-*` that lead nowhere else go to the default model `{model}`"
            ));
        }
    }
}

impl Routes {
    pub(crate) fn new(
        config: Config,
        env: fn(&str) -> Option<String>,
        served: Vec<Served>,
    ) -> Self {
        let pools = config.providers.iter().filter(|entry| !entry.more_keys.is_empty());
        let pools = pools.map(|entry| (entry.name.clone(), entry.more_keys.clone())).collect();
        let (made, has_told_default) = (Mutex::default(), AtomicBool::new(false));
        let base = Arc::new(Base { config, env, served, pools, made, has_told_default });
        let is_open = !base.reach(false).is_configured();
        let of = |brings_key, with_key| {
            let base = Arc::clone(&base);
            Routes { base, known: Mutex::default(), brings_key, with_key }
        };
        let with_key = is_open.then(|| Arc::new(of(true, None)));
        of(false, with_key)
    }

    /// Whether the configuration says which providers there are.
    pub(crate) fn are_configured(&self) -> bool {
        self.base.reach(false).is_configured()
    }

    /// The models that local servers list.
    pub(crate) fn served(&self) -> &[Served] {
        &self.base.served
    }

    /// The addresses that variables give to the providers, each with the provider's name.
    pub(crate) fn given_addresses(&self) -> Vec<(String, Result<Given, String>)> {
        let around = self.base.around(false);
        let given = |named: &Named<'_>| {
            let chosen = provider_named(&self.base.config, named.name, around);
            let given = chosen.map(|chosen| chosen.given).map_err(|it| it.to_string());
            Some((named.name.to_owned(), given.transpose()?))
        };
        self.base.reach(false).providers().iter().filter_map(given).collect()
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
        let Chosen {
            entry, target, transport, auth, reasoning, handling, limits, needs_key, ..
        } = chosen;
        let pool = self.pool(&target.provider, &auth);
        let reasoning = over(&for_everybody(&self.base.config.reasoning), &reasoning);
        let entry = self.base.config.models.iter().find(|it| Some(&it.name) == entry.as_ref());
        let fallback = entry.map(|entry| entry.fallback.clone()).unwrap_or_default();
        let provider = self.base.config.providers.iter().find(|it| it.name == target.provider);
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
            needs_key,
        }
    }

    fn pool(&self, provider: &str, first: &Auth) -> Option<Arc<Pool>> {
        let more = self.base.pools.get(provider)?;
        let mut made = self.base.made.lock().unwrap_or_else(PoisonError::into_inner);
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
        // With a cloud account, a plain key is for OpenAI's own API and goes in its form.
        Auth::Aws(_) | Auth::Token(_) => Auth::Bearer(secret),
        Auth::None => return None,
    })
}

/// The settings of `[reasoning]` for all callers of the gateway. Callers themselves choose whether and how much a
/// model thinks.
fn for_everybody(reasoning: &Partial) -> Partial {
    Partial { enabled: None, effort: None, max_tokens: None, ..reasoning.clone() }
}

/// Returns the values of `above`, and the values of `below` for missing ones.
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
        let around = self.base.around(self.brings_key);
        let chosen = named(&self.base.config, name, around, String::new());
        let chosen = chosen.map_err(|failure| Unrouted(failure.to_string()))?;
        if let Some(model) = &chosen.stand_in {
            self.base.tell_default(model);
        }
        let route = Arc::new(self.route(chosen));
        self.remember(name, &route);
        Ok(route)
    }

    fn provider(&self, name: &str) -> Result<Arc<Route>, Unrouted> {
        let around = self.base.around(self.brings_key);
        let chosen = provider_named(&self.base.config, name, around);
        let chosen = chosen.map_err(|failure| Unrouted(failure.to_string()))?;
        Ok(Arc::new(self.route(chosen)))
    }

    fn with_key(&self) -> Option<Arc<dyn Models>> {
        self.with_key.clone().map(|routes| -> Arc<dyn Models> { routes })
    }

    fn list(&self) -> Vec<Listed> {
        let configured = self.base.config.models.iter().filter(|entry| !entry.is_pattern());
        let mut list: Vec<Listed> = configured
            .map(|entry| Listed { name: entry.name.clone(), provider: entry.provider.clone() })
            .collect();
        let reach = self.base.reach(self.brings_key);
        for named in reach.providers() {
            let Some(provider) = named.built_in else { continue };
            let is_entry = self.base.config.providers.iter().any(|it| it.name == named.name);
            let is_there = is_entry || key_variable(provider, &self.base.env).is_some();
            let model = provider.default_model.filter(|_| is_there);
            list.extend(model.map(|model| listed(named.name, model)));
        }
        let local = reach.local_models().iter();
        list.extend(local.map(|(provider, model)| listed(provider, model)));
        // If there are other models, simulators are not listed, but can still be named.
        if list.is_empty() && self.base.config.providers.is_empty() {
            let simulators = thinkthrough_conformance::list().into_iter();
            list.extend(simulators.map(|simulator| listed("sim", simulator.id)));
        }
        if let Some(default) = self.base.config.named_default()
            && let Ok(route) = self.find(default)
        {
            // Clients without a choice of models take the first one.
            let provider = route.target.provider.clone();
            list.insert(0, Listed { name: default.to_owned(), provider });
        }
        let mut seen = HashSet::new();
        list.retain(|listed| seen.insert(listed.name.clone()));
        list
    }
}

fn listed(provider: &str, model: &str) -> Listed {
    Listed { name: format!("{provider}/{model}"), provider: provider.to_owned() }
}
