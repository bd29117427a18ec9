//! Chooses the model: by its name, or a default from the configuration and the environment.

use crate::account::auth;
use crate::address::{self, Given};
use crate::config::{Config, Credential, Headers};
use crate::environment::{Environment, Lookup, Served};
use crate::failure::{Failure, say};
use crate::provider_key::ProviderKey;
use crate::reach::{Destination, Named, Reach, SIMULATED, key_variable};
use crate::{local, role, simulated};
use thinkthrough_client::{Auth, Secret, Transport};
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::echo::short;
use thinkthrough_core::exchange::Handling;
use thinkthrough_core::price::Price;
use thinkthrough_core::provider::{self, Auth as AuthForm, Endpoint, Provider, Target};
use thinkthrough_core::settings::Partial;
use thinkthrough_core::wire::{Dialect, WireId};
use thinkthrough_limits::RateLimits;

/// A model with its address, credential and settings.
pub(crate) struct Chosen {
    /// The name that was looked up. A further look-up of it finds the same model.
    pub(crate) name: String,
    /// The entry of `[models]` that names it, if any.
    pub(crate) entry: Option<String>,
    pub(crate) target: Target,
    pub(crate) transport: Transport,
    pub(crate) auth: Auth,
    /// The reasoning settings of the model's entry.
    pub(crate) reasoning: Partial,
    /// How a gateway treats requests to the model.
    pub(crate) handling: Handling,
    /// The reason of the choice, for people.
    pub(crate) why: String,
    /// The limits per minute of the provider.
    pub(crate) limits: RateLimits,
    /// A sentence about a required key that is not set.
    pub(crate) missing_key: Option<String>,
    /// The source of the key, as part of a sentence.
    pub(crate) key_from: Option<String>,
    pub(crate) needs_key: bool,
    /// The address that the environment gives the provider.
    pub(crate) given: Option<Given>,
    /// The default model, if it replaces an unknown name.
    pub(crate) stand_in: Option<String>,
}

impl Chosen {
    fn new(target: Target, transport: Transport, auth: Auth, why: String) -> Self {
        Chosen {
            name: String::new(),
            entry: None,
            target,
            transport,
            auth,
            reasoning: Partial::default(),
            handling: Handling::default(),
            why,
            limits: RateLimits::UNLIMITED,
            missing_key: None,
            key_from: None,
            needs_key: false,
            given: None,
            stand_in: None,
        }
    }

    /// The model is a simulator inside this process.
    pub(crate) fn is_simulated(&self) -> bool {
        matches!(self.transport, Transport::InProcess { .. })
    }
}

/// Finds the model of this name, or the default model.
pub(crate) async fn choose(
    config: &Config,
    name: Option<&str>,
    env: Lookup<'_>,
) -> Result<Chosen, Failure> {
    let Some(name) = name else { return unnamed(config, env).await };
    let served = local::served(config).await;
    named(config, name, client(env, &served), format!("asked for as `{name}`"))
}

impl Chosen {
    /// Prints the model and the reason of the choice.
    pub(crate) fn announce(&self) {
        let Chosen { target, why, .. } = self;
        say(format_args!("model: {}/{} ({why})", target.provider, target.model));
    }
}

/// Finds the model of this name, without asking local servers for their models.
pub(crate) fn choose_named(
    config: &Config,
    name: &str,
    env: Lookup<'_>,
) -> Result<Chosen, Failure> {
    named(config, name, client(env, &[]), format!("asked for as `{name}`"))
}

/// The environment of a client. A client sends only requests for which it has the key.
fn client<'a>(variables: Lookup<'a>, served: &'a [Served]) -> Environment<'a> {
    Environment { variables, served, brings_key: true, has_habits: false }
}

async fn unnamed(config: &Config, env: Lookup<'_>) -> Result<Chosen, Failure> {
    let at = |name: &str, why: String| named(config, name, client(env, &[]), why);
    if let Some(name) = &config.default_model {
        return at(name, "the configuration's `default_model`".to_owned());
    }
    if let Some(entry) = config.first_model() {
        return at(&entry.name, "the first model of the configuration".to_owned());
    }
    let keyless = Environment { brings_key: false, ..client(env, &[]) };
    let reach = config.reach(keyless);
    if let Some((name, key)) = first_with_key(config, &reach, env) {
        return at(&name, format!("{key} is set"));
    }
    if let Some(only) = reach.only() {
        return of_only(config, only, env).await;
    }
    if reach.is_configured() {
        let why =
            "the configuration names no model and no key is set, so a simulated model answers";
        return at("sim/default", why.to_owned());
    }
    if let Some((provider, model)) = local::first_model().await {
        return at(&format!("{provider}/{model}"), "a local server answers".to_owned());
    }
    let why = "no key is set and no local server answers, so a simulated model does";
    at("sim/default", why.to_owned())
}

/// The default model of the only provider, or else the first model in the list of its server.
async fn of_only(config: &Config, only: Named<'_>, env: Lookup<'_>) -> Result<Chosen, Failure> {
    let provider = only.name;
    let at = |model: &str, why: &str| {
        named(config, &format!("{provider}/{model}"), client(env, &[]), why.to_owned())
    };
    if let Some(model) = only.built_in.and_then(|it| it.default_model) {
        return at(model, "the default of the configuration's only provider");
    }
    // A provider's models share one address, so any name finds it.
    let server = at("any", "")?;
    if let Some(missing) = server.missing_key {
        return Err(Failure::Failed(missing));
    }
    let listed = local::models_of(server.target, server.transport, server.auth).await;
    match listed.first() {
        Some(model) => at(model, "the first model that the configuration's only provider lists"),
        None => Err(Failure::Failed(format!(
            "`{provider}` lists no model; name one with `-m {provider}/MODEL`, or set `default_model` in the configuration"
        ))),
    }
}

/// The model that replaces the names that agents send by habit. Local servers and the simulated model count only
/// without a configuration.
fn default_model(config: &Config, reach: &Reach<'_>, around: Environment<'_>) -> Option<String> {
    let named = config.named_default().map(str::to_owned);
    if named.is_some() || !around.has_habits {
        return named;
    }
    let keyed = first_with_key(config, reach, around.variables).map(|(name, _)| name);
    let found = || {
        let (provider, model) = reach.local_models().first()?;
        Some(format!("{provider}/{model}"))
    };
    let unconfigured = || found().unwrap_or_else(|| "sim/default".to_owned());
    keyed.or_else(|| (!reach.is_configured()).then(unconfigured))
}

/// The default model of the first provider that has one and whose key is set, with the source of the key.
fn first_with_key(config: &Config, reach: &Reach<'_>, env: Lookup<'_>) -> Option<(String, String)> {
    let with_key = |named: &Named<'_>| {
        let entry = config.providers.iter().find(|entry| entry.name == named.name);
        let (key, source) = entry.map_or((None, None), |it| (it.key.as_ref(), it.key_from.clone()));
        let variable = || key_variable(named.built_in?, env).map(|name| format!("`{name}`"));
        let source = match key {
            Some(Credential::Given(_)) => source,
            Some(Credential::Missing(_)) => None,
            None => variable(),
        };
        Some((format!("{}/{}", named.name, named.built_in?.default_model?), source?))
    };
    provider::ALL.iter().find_map(|provider| {
        let own = reach.providers().iter();
        let mut own = own.filter(|it| it.built_in.is_some_and(|it| it.id == provider.id));
        own.find_map(with_key)
    })
}

pub(crate) fn named(
    config: &Config,
    name: &str,
    around: Environment<'_>,
    why: String,
) -> Result<Chosen, Failure> {
    Ok(Chosen { name: name.to_owned(), ..look_up(config, name, around, why)? })
}

fn look_up(
    config: &Config,
    name: &str,
    around: Environment<'_>,
    why: String,
) -> Result<Chosen, Failure> {
    if let Some(name) = name.strip_prefix("role:") {
        let mut chosen = named(config, role::model(config, name)?, around, why)?;
        role::play(name, &chosen.target.rule, &mut chosen.reasoning);
        return Ok(chosen);
    }
    let reach = config.reach(around);
    let default = default_model(config, &reach, around);
    match reach.find(name, default.as_deref()) {
        Some(Destination::Entry(entry)) => entry_of(config, entry, name, around.variables, why),
        Some(Destination::Simulated(id)) => simulator(config, id, why),
        Some(Destination::Provider { name, model }) => {
            at(config, name, model, around.variables, why)
        }
        Some(Destination::Default(model)) => {
            let why = format!("{why}; nothing has this name, so the default model answers");
            let stand_in = Some(model.to_owned());
            Ok(Chosen { stand_in, ..look_up(config, model, around, why)? })
        }
        None => Err(Failure::Failed(reach.nowhere(name, &short(name)))),
    }
}

/// Finds a provider, without a model.
pub(crate) fn provider_named(
    config: &Config,
    name: &str,
    around: Environment<'_>,
) -> Result<Chosen, Failure> {
    let reach = config.reach(around);
    if reach.has(name) {
        return at(config, name, "-", around.variables, String::new());
    }
    let known: Vec<&str> = reach.providers().iter().map(|it| it.name).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Err(Failure::Failed(format!("no provider `{}` is there; there are: {known}", short(name))))
}

fn entry_of(
    config: &Config,
    name: &str,
    asked: &str,
    env: Lookup<'_>,
    why: String,
) -> Result<Chosen, Failure> {
    let entry = config.models.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| Failure::Failed(format!("no entry is called `{name}`")))?;
    let model = entry.model.as_deref().unwrap_or(asked);
    let mut chosen = if entry.provider == SIMULATED {
        simulator(config, model, why)?
    } else {
        at(config, &entry.provider, model, env, why)?
    };
    if let Some(contract) = entry.contract {
        chosen.target = chosen.target.with_contract(contract, "config");
    }
    entry.forms.apply(&mut chosen.target);
    let headers = &entry.forms.headers;
    if headers.given().next().is_some() {
        chosen.missing_key = None;
    }
    chosen.missing_key = chosen.missing_key.or_else(|| no_header(&entry.name, headers));
    chosen.entry = Some(entry.name.clone());
    chosen.reasoning = entry.reasoning.clone();
    chosen.target.price = entry.price.or(chosen.target.price);
    chosen.handling = entry.handling;
    Ok(chosen)
}

fn at(
    config: &Config,
    name: &str,
    model: &str,
    env: Lookup<'_>,
    why: String,
) -> Result<Chosen, Failure> {
    let entry = config.providers.iter().find(|entry| entry.name == name);
    let id = entry.map_or(Some(name), |entry| entry.extends.as_deref());
    let built_in = id.and_then(provider::find);
    let wire = entry.and_then(|entry| entry.wire);
    let spoken = built_in.and_then(|it| Some((it, it.endpoint(wire)?)));
    let mut target = match (spoken, wire.and_then(any_endpoint)) {
        (Some((provider, endpoint)), _) => Target::of(provider, endpoint, model),
        // The provider does not speak this wire at its own address. Its dialect for the wire is unknown, and another
        // provider's address must not receive its key.
        (None, Some(endpoint)) => own(endpoint, Dialect::UNKNOWN, model),
        (None, None) => {
            let name = short(name);
            let known = provider::Known;
            return Err(Failure::Failed(format!("`{name}` is no provider; known are {known}")));
        }
    };
    target.provider = name.to_owned();
    let key = ProviderKey::of(entry, built_in, target.auth != AuthForm::None, env)?;
    let configured = entry.and_then(|entry| entry.base_url.as_deref());
    let given = match spoken.filter(|_| configured.is_none() && key.is_usual) {
        Some((provider, endpoint)) => address::given(config, provider, endpoint, env)?,
        None => None,
    };
    let obeyed = given.as_ref().filter(|given| !given.is_circle);
    let base_url = configured.or(obeyed.map(|given| given.base_url.as_str()));
    if let Some(base_url) = base_url {
        target.base_url = base_url.trim_end_matches('/').to_owned();
    }
    if target.base_url.is_empty() {
        return Err(Failure::Failed(format!(
            "`{name}` has no address of its own; set `base_url` under `[providers.{name}]`"
        )));
    }
    let why = why + &obeyed.map(|given| format!(", at {given}")).unwrap_or_default();
    if let Some(contract) = entry.and_then(|entry| entry.contract) {
        target = target.with_contract(contract, "config");
    }
    if let Some(entry) = entry {
        entry.headers.apply(&mut target);
    }
    let auth = auth(target.auth, key.secret)?;
    let missing_key = key.missing.map(|keys| format!("`{name}` needs a key; set `{keys}`"));
    let missing_key = missing_key.or_else(|| no_header(name, &entry?.headers));
    // A user's own server may need no key.
    let is_keyless = matches!(auth, Auth::None) && target.auth != AuthForm::None;
    let needs_key = missing_key.is_some() || (is_keyless && base_url.is_none());
    let client = config.connections.client(&config.client);
    let client = client.map_err(|error| Failure::Failed(error.to_string()))?;
    target.price = price(config, &target, built_in);
    Ok(Chosen {
        limits: entry.map_or(RateLimits::UNLIMITED, |entry| entry.limits),
        missing_key,
        needs_key,
        key_from: key.source,
        given,
        ..Chosen::new(target, Transport::Http(client), auth, why)
    })
}

/// The price of the model: the configured one, or else the built-in one. A local server of the user is free, even if
/// it reports usage.
fn price(config: &Config, target: &Target, built_in: Option<&Provider>) -> Option<Price> {
    let said = config.price_for(&target.provider, built_in.map(|it| it.id), &target.model);
    let is_own = built_in.is_some_and(|it| it.local_port.is_some()) && local::is_here(target);
    said.or(target.price).or(is_own.then_some(Price::FREE))
}

/// A sentence about a configured header whose variable is not set.
fn no_header(name: &str, headers: &Headers) -> Option<String> {
    let (header, variable) = headers.missing().next()?;
    Some(format!("`{name}` needs the header `{header}`; set `{variable}`"))
}

/// An example of how the wire carries its credential: the first provider of the wire.
fn any_endpoint(wire: WireId) -> Option<&'static Endpoint> {
    let all = provider::ALL.iter().flat_map(|provider| provider.endpoints);
    // A cloud without an address here uses credentials of its own kind, which are no example for other providers.
    all.filter(|it| !it.base_url.is_empty()).find(|it| it.wire == wire)
}

/// A user's own provider, whose wire is known but not its rules.
fn own(like: &Endpoint, dialect: Dialect, model: &str) -> Target {
    let plain = Endpoint {
        wire: like.wire,
        auth: like.auth,
        headers: like.headers,
        dialect,
        ..Endpoint::CHAT
    };
    let nobody = Provider {
        id: "",
        keys: &[],
        address: None,
        default_model: None,
        local_port: None,
        endpoints: &[],
    };
    Target::of(&nobody, &plain, model)
}

/// A simulated provider in this process, with the rules of its original.
fn simulator(config: &Config, id: &str, why: String) -> Result<Chosen, Failure> {
    let list = thinkthrough_conformance::list();
    let unknown = || {
        let ids: Vec<_> = list.iter().map(|listed| listed.id).collect();
        let id = short(id);
        Failure::Failed(format!("`sim/{id}` is no simulated model; there are {}", ids.join(", ")))
    };
    let listed = list.iter().find(|listed| listed.id == id).ok_or_else(unknown)?;
    let transport = simulated::transport(id).ok_or_else(unknown)?;
    let wire =
        WireId::parse(listed.wire).map_err(|unknown| Failure::Failed(unknown.to_string()))?;
    let imitated = provider::find(listed.provider)
        .and_then(|provider| Some((provider, provider.endpoint(Some(wire))?)));
    let mut target = match imitated {
        Some((provider, endpoint)) => Target::of(provider, endpoint, listed.model),
        None => {
            let endpoint = any_endpoint(wire).ok_or_else(unknown)?;
            // The simulator's own rule, the same as in `think sim --list`.
            let contract = Contract::plain(Return::ToolCalls, "reasoning_content").required();
            own(endpoint, Dialect::PLAIN, listed.model).with_contract(contract, "simulator")
        }
    };
    target.provider = SIMULATED.to_owned();
    target.base_url = format!("http://sim.localhost/{id}");
    // A simulator is free, unless the configuration has a price for it.
    target.price = config.price_for(SIMULATED, None, id).or(Some(Price::FREE));
    let auth = auth(target.auth, Some(Secret::new("simulated")))?;
    Ok(Chosen::new(target, transport, auth, why))
}

#[cfg(test)]
mod tests;
