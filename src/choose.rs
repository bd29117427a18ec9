//! Which model answers: from its name, or from what is there.

use crate::config::{Config, ModelEntry};
use crate::failure::Failure;
use crate::{local, simulated};
use http::HeaderName;
use thinkthrough_client::{Auth, Client, Secret, Transport};
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::provider::{self, Auth as AuthForm, Endpoint, Provider, Target};
use thinkthrough_core::settings::Partial;
use thinkthrough_core::wire;

/// A model, ready to be asked.
pub(crate) struct Chosen {
    pub(crate) target: Target,
    pub(crate) transport: Transport,
    pub(crate) auth: Auth,
    /// What the configuration says under the model.
    pub(crate) reasoning: Partial,
    /// How it came to be chosen, for people.
    pub(crate) why: String,
    /// Why it cannot be asked: the key that it needs is nowhere.
    pub(crate) missing_key: Option<String>,
}

/// Reads the environment; tests pass their own.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The model of this name, or the one that is used where none is named.
pub(crate) async fn choose(
    config: &Config,
    name: Option<&str>,
    env: Lookup<'_>,
) -> Result<Chosen, Failure> {
    if let Some(name) = name {
        return named(config, name, env, format!("asked for as `{name}`"));
    }
    if let Some(name) = &config.default_model {
        return named(config, name, env, "the configuration's `default_model`".to_owned());
    }
    if let Some(entry) = config.models.iter().find(|entry| entry.name != "*") {
        return named(config, &entry.name, env, "the first model of the configuration".to_owned());
    }
    for provider in provider::ALL {
        let key = provider.keys.iter().find(|key| usable(env(key)).is_some());
        if let (Some(key), Some(model)) = (key, provider.default_model) {
            let name = format!("{}/{model}", provider.id);
            return named(config, &name, env, format!("`{key}` is set"));
        }
    }
    if config.path.is_none()
        && let Some((provider, model)) = local::first_model().await
    {
        let why = "a local server answers".to_owned();
        return named(config, &format!("{provider}/{model}"), env, why);
    }
    let why = "no key is set and no local server answers, so a simulated model does".to_owned();
    named(config, "sim/default", env, why)
}

/// A value that says something.
pub(crate) fn usable(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.trim().is_empty())
}

fn named(config: &Config, name: &str, env: Lookup<'_>, why: String) -> Result<Chosen, Failure> {
    if let Some(entry) = config.models.iter().find(|entry| entry.name == name) {
        return entry_of(config, entry, name, env, why);
    }
    if let Some((provider, model)) = name.split_once('/') {
        if provider == "sim" {
            return simulator(model, why);
        }
        if config.providers.iter().any(|entry| entry.name == provider)
            || provider::find(provider).is_some()
        {
            return at(config, provider, model, env, why);
        }
    }
    if let Some(provider) = by_rule(config, name, env) {
        return at(config, &provider, name, env, why);
    }
    if let Some(entry) = config.models.iter().find(|entry| entry.name == "*") {
        return entry_of(config, entry, name, env, why);
    }
    if let [only] = config.providers.as_slice() {
        return at(config, &only.name, name, env, why);
    }
    Err(Failure::Failed(format!(
        "no provider is known for the model `{name}`; {}",
        choices(config)
    )))
}

fn choices(config: &Config) -> String {
    let models: Vec<_> = config.models.iter().map(|entry| entry.name.as_str()).collect();
    let providers = provider::Known;
    if models.is_empty() {
        return format!(
            "write it as `provider/{}`, with one of {providers}, or `sim/default`",
            "model"
        );
    }
    format!(
        "configured are {}; or write `provider/model` with one of {providers}",
        models.join(", ")
    )
}

/// A configured provider, or one whose key is set, that has a rule for the model.
fn by_rule(config: &Config, model: &str, env: Lookup<'_>) -> Option<String> {
    let has_rule = |provider: &Provider| {
        provider
            .endpoints
            .iter()
            .flat_map(|endpoint| endpoint.models)
            .any(|rule| !rule.pattern.trim_matches('*').is_empty() && rule.matches(model))
    };
    let configured = config
        .providers
        .iter()
        .find(|entry| entry.extends.as_deref().and_then(provider::find).is_some_and(has_rule));
    if let Some(entry) = configured {
        return Some(entry.name.clone());
    }
    let with_key = |provider: &&&Provider| {
        provider.keys.iter().any(|key| usable(env(key)).is_some()) && has_rule(provider)
    };
    provider::ALL.iter().find(with_key).map(|provider| provider.id.to_owned())
}

fn entry_of(
    config: &Config,
    entry: &ModelEntry,
    asked: &str,
    env: Lookup<'_>,
    why: String,
) -> Result<Chosen, Failure> {
    let model = entry.model.as_deref().unwrap_or(asked);
    let mut chosen = if entry.provider == "sim" {
        simulator(model, why)?
    } else {
        at(config, &entry.provider, model, env, why)?
    };
    if let Some(contract) = entry.contract {
        chosen.target = chosen.target.with_contract(contract, "config");
    }
    chosen.reasoning = entry.reasoning.clone();
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
    let wire = entry.and_then(|entry| entry.wire.as_deref());
    let endpoint = built_in
        .and_then(|provider| provider.endpoint(wire))
        .or_else(|| wire.and_then(any_endpoint))
        .ok_or_else(|| {
            Failure::Failed(format!("`{name}` is no provider; known are {}", provider::Known))
        })?;
    let mut target = match built_in {
        Some(provider) => Target::of(provider, endpoint, model),
        None => own(endpoint, model),
    };
    target.provider = name.to_owned();
    if let Some(base_url) = entry.and_then(|entry| entry.base_url.as_deref()) {
        target.base_url = base_url.trim_end_matches('/').to_owned();
    }
    if target.base_url.is_empty() {
        return Err(Failure::Failed(format!(
            "`{name}` has no address of its own; set `base_url` under `[providers.{name}]`"
        )));
    }
    if let Some(contract) = entry.and_then(|entry| entry.contract) {
        target = target.with_contract(contract, "config");
    }
    let from_env = || {
        let keys = built_in.map_or(&[][..], |provider| provider.keys);
        keys.iter().find_map(|key| usable(env(key))).map(Secret::new)
    };
    let key = entry.and_then(|entry| entry.key.clone()).or_else(from_env);
    let auth = auth(target.auth, key.clone())?;
    let keys = built_in.map_or(String::new(), |provider| provider.keys.join("` or `"));
    let is_missing =
        key.is_none() && target.auth != AuthForm::None && entry.is_none() && !keys.is_empty();
    let missing_key = is_missing.then(|| format!("`{name}` needs a key; set `{keys}`"));
    let client =
        Client::new(config.client.clone()).map_err(|error| Failure::Failed(error.to_string()))?;
    let transport = Transport::Http(client);
    Ok(Chosen { target, transport, auth, reasoning: Partial::default(), why, missing_key })
}

/// How a wire's credential usually travels is what its first provider does.
fn any_endpoint(wire: &str) -> Option<&'static Endpoint> {
    provider::ALL.iter().flat_map(|provider| provider.endpoints).find(|it| it.wire == wire)
}

/// A provider of the user's own: the wire and nothing else is known.
fn own(like: &Endpoint, model: &str) -> Target {
    let plain = Endpoint {
        wire: like.wire,
        base_url: "",
        auth: like.auth,
        headers: like.headers,
        dialect: wire::Dialect::PLAIN,
        models: &[],
    };
    let nobody =
        Provider { id: "", keys: &[], default_model: None, local_port: None, endpoints: &[] };
    Target::of(&nobody, &plain, model)
}

fn auth(form: AuthForm, key: Option<Secret>) -> Result<Auth, Failure> {
    let Some(secret) = key else { return Ok(Auth::None) };
    Ok(match form {
        // Local servers need no key; one that is given travels in the usual way.
        AuthForm::Bearer | AuthForm::None => Auth::Bearer(secret),
        AuthForm::Header(name) => {
            let bad = |_| Failure::Failed(format!("`{name}` is no header name"));
            Auth::Header { name: HeaderName::try_from(name).map_err(bad)?, secret }
        }
        AuthForm::Query(name) => Auth::Query { name: name.to_owned(), secret },
    })
}

/// A simulated provider in this process, with the rules of the one that it imitates.
fn simulator(id: &str, why: String) -> Result<Chosen, Failure> {
    let list = thinkthrough_conformance::list();
    let unknown = || {
        let ids: Vec<_> = list.iter().map(|listed| listed.id).collect();
        Failure::Failed(format!("`sim/{id}` is no simulated model; there are {}", ids.join(", ")))
    };
    let listed = list.iter().find(|listed| listed.id == id).ok_or_else(unknown)?;
    let transport = simulated::transport(id).ok_or_else(unknown)?;
    let imitated = provider::find(listed.provider)
        .and_then(|provider| Some((provider, provider.endpoint(Some(listed.wire))?)));
    let mut target = match imitated {
        Some((provider, endpoint)) => Target::of(provider, endpoint, listed.model),
        None => {
            let endpoint = any_endpoint(listed.wire).ok_or_else(unknown)?;
            // The simulator's own rule, as `think sim --list` states it.
            let contract = Contract::plain(Return::ToolCalls, "reasoning_content").required();
            own(endpoint, listed.model).with_contract(contract, "simulator")
        }
    };
    target.provider = "sim".to_owned();
    target.base_url = format!("http://sim.localhost/{id}");
    let auth = auth(target.auth, Some(Secret::new("simulated")))?;
    Ok(Chosen { target, transport, auth, reasoning: Partial::default(), why, missing_key: None })
}
