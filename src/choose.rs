//! Which model answers: from its name, or from what is there.

use crate::account::{self, auth};
use crate::config::{Config, Credential, Headers, ModelEntry};
use crate::environment::{Lookup, usable};
use crate::failure::Failure;
use crate::{local, role, simulated};
use thinkthrough_client::{Auth, Secret, Transport};
use thinkthrough_core::budget::RateLimits;
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::echo::short;
use thinkthrough_core::exchange::Handling;
use thinkthrough_core::price::Price;
use thinkthrough_core::provider::{self, Auth as AuthForm, Endpoint, Provider, Target};
use thinkthrough_core::settings::Partial;
use thinkthrough_core::wire::{Dialect, WireId};

/// A model, ready to be asked.
pub(crate) struct Chosen {
    /// The name that it was found by, which finds it again.
    pub(crate) name: String,
    /// The entry of `[models]` that it was found in, if it was.
    pub(crate) entry: Option<String>,
    pub(crate) target: Target,
    pub(crate) transport: Transport,
    pub(crate) auth: Auth,
    /// What the configuration says under the model.
    pub(crate) reasoning: Partial,
    /// How a gateway treats requests to it.
    pub(crate) handling: Handling,
    /// How it came to be chosen, for people.
    pub(crate) why: String,
    /// What may be asked of its provider within a minute.
    pub(crate) limits: RateLimits,
    /// Why it cannot be asked: the key that it needs is nowhere.
    pub(crate) missing_key: Option<String>,
    /// Where its key comes from, as part of a sentence.
    pub(crate) key_from: Option<String>,
}

impl Chosen {
    /// It runs inside the program and only plays a model.
    pub(crate) fn is_simulated(&self) -> bool {
        matches!(self.transport, Transport::InProcess { .. })
    }
}

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
    if let Some(entry) = config.first_model() {
        return named(config, &entry.name, env, "the first model of the configuration".to_owned());
    }
    for provider in provider::ALL {
        let key = provider.keys.iter().find(|key| usable(env(key)).is_some());
        if let (Some(key), Some(model)) = (key, provider.default_model) {
            let name = format!("{}/{model}", provider.id);
            return named(config, &name, env, format!("`{key}` is set"));
        }
    }
    if !config.names_models()
        && let Some((provider, model)) = local::first_model().await
    {
        let why = "a local server answers".to_owned();
        return named(config, &format!("{provider}/{model}"), env, why);
    }
    let why = "no key is set and no local server answers, so a simulated model does".to_owned();
    named(config, "sim/default", env, why)
}

/// The model of this name; no other is looked for.
pub(crate) fn choose_named(
    config: &Config,
    name: &str,
    env: Lookup<'_>,
) -> Result<Chosen, Failure> {
    named(config, name, env, format!("asked for as `{name}`"))
}

pub(crate) fn named(
    config: &Config,
    name: &str,
    env: Lookup<'_>,
    why: String,
) -> Result<Chosen, Failure> {
    Ok(Chosen { name: name.to_owned(), ..look_up(config, name, env, why)? })
}

fn look_up(config: &Config, name: &str, env: Lookup<'_>, why: String) -> Result<Chosen, Failure> {
    if let Some(name) = name.strip_prefix("role:") {
        let mut chosen = named(config, role::model(config, name)?, env, why)?;
        role::play(name, &chosen.target.rule, &mut chosen.reasoning);
        return Ok(chosen);
    }
    if let Some(entry) = config.entry_for(name) {
        return entry_of(config, entry, name, env, why);
    }
    if let Some((provider, model)) = name.split_once('/') {
        if provider == "sim" {
            return simulator(config, model, why);
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
    if let Some(entry) = config.entry_for_any() {
        return entry_of(config, entry, name, env, why);
    }
    if let [only] = config.providers.as_slice() {
        return at(config, &only.name, name, env, why);
    }
    Err(Failure::Failed(format!(
        "no provider is known for the model `{}`; {}",
        short(name),
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
    // One whose address only the user can say comes last.
    let has_address = |provider: &&&Provider| {
        provider.endpoint(None).is_some_and(|endpoint| !endpoint.base_url.is_empty())
    };
    let with_keys = || provider::ALL.iter().filter(with_key);
    let found = with_keys().find(has_address).or_else(|| with_keys().next());
    found.map(|provider| provider.id.to_owned())
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
        simulator(config, model, why)?
    } else {
        at(config, &entry.provider, model, env, why)?
    };
    if let Some(contract) = entry.contract {
        chosen.target = chosen.target.with_contract(contract, "config");
    }
    entry.forms.apply(&mut chosen.target);
    let headers = &entry.forms.headers;
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
        // A wire that the provider does not speak at its own address: nothing else of it is known, and another
        // provider's address is none of its.
        (None, Some(endpoint)) => own(endpoint, Dialect::UNKNOWN, model),
        (None, None) => {
            let name = short(name);
            let known = provider::Known;
            return Err(Failure::Failed(format!("`{name}` is no provider; known are {known}")));
        }
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
    if let Some(entry) = entry {
        entry.headers.apply(&mut target);
    }
    let keys = built_in.map_or(&[][..], |provider| provider.keys);
    let is_set = keys.iter().find(|key| usable(env(key)).is_some());
    let from_env = || is_set.and_then(|key| usable(env(key))).map(Secret::new);
    let account = built_in.and_then(Provider::account).map(account::variable);
    let in_env = || is_set.copied().or(account).or(keys.first().copied());
    let key_from = entry
        .and_then(|entry| entry.key_from.clone())
        .or_else(|| in_env().map(|name| format!("`{name}`")));
    let (key, missing) = match entry.and_then(|entry| entry.key.clone()) {
        Some(Credential::Given(key)) => (Some(key), None),
        Some(Credential::Missing(variables)) => (None, Some(variables)),
        None => {
            let key = match (from_env(), built_in.and_then(Provider::account)) {
                (None, Some(account)) => account::in_environment(account, env)?,
                (key, _) => key,
            };
            // An entry without a key may be for a server that needs none.
            let needs = target.auth != AuthForm::None && entry.is_none() && key.is_none();
            let keys = built_in.into_iter().flat_map(|provider| provider.keys).copied();
            let keys = keys.chain(account).collect::<Vec<_>>().join("` or `");
            (key, Some(keys).filter(|keys| needs && !keys.is_empty()))
        }
    };
    let auth = auth(target.auth, key)?;
    let missing_key = missing.map(|keys| format!("`{name}` needs a key; set `{keys}`"));
    let missing_key = missing_key.or_else(|| no_header(name, &entry?.headers));
    let client = config.connections.client(&config.client);
    let client = client.map_err(|error| Failure::Failed(error.to_string()))?;
    let transport = Transport::Http(client);
    let limits = entry.map_or(RateLimits::UNLIMITED, |entry| entry.limits);
    let (name, reasoning, handling) = (String::new(), Partial::default(), Handling::default());
    target.price = price(config, &target, built_in);
    let entry = None;
    Ok(Chosen {
        name,
        entry,
        target,
        transport,
        auth,
        reasoning,
        handling,
        why,
        limits,
        missing_key,
        key_from,
    })
}

/// What the model costs: what the configuration says, else what is built in. A server of one's own on this machine is paid
/// for by nobody, whatever it counts.
fn price(config: &Config, target: &Target, built_in: Option<&Provider>) -> Option<Price> {
    let said = config.price_for(&target.provider, built_in.map(|it| it.id), &target.model);
    let is_own = built_in.is_some_and(|it| it.local_port.is_some()) && local::is_here(target);
    said.or(target.price).or(is_own.then_some(Price::FREE))
}

/// A header whose value is nowhere.
fn no_header(name: &str, headers: &Headers) -> Option<String> {
    let (header, variable) = headers.missing().next()?;
    Some(format!("`{name}` needs the header `{header}`; set `{variable}`"))
}

/// How a wire's credential usually travels is what its first provider does.
fn any_endpoint(wire: WireId) -> Option<&'static Endpoint> {
    let all = provider::ALL.iter().flat_map(|provider| provider.endpoints);
    // A cloud that takes the wire with its own credentials is no example for others.
    all.filter(|it| !it.base_url.is_empty()).find(|it| it.wire == wire)
}

/// A provider of the user's own: the wire and nothing else is known.
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

/// A simulated provider in this process, with the rules of the one that it imitates.
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
            // The simulator's own rule, as `think sim --list` states it.
            let contract = Contract::plain(Return::ToolCalls, "reasoning_content").required();
            own(endpoint, Dialect::PLAIN, listed.model).with_contract(contract, "simulator")
        }
    };
    target.provider = "sim".to_owned();
    target.base_url = format!("http://sim.localhost/{id}");
    // Nobody is paid for what only plays a model, unless the configuration plays that, too.
    target.price = config.price_for("sim", None, id).or(Some(Price::FREE));
    let auth = auth(target.auth, Some(Secret::new("simulated")))?;
    let (name, reasoning, limits) = (String::new(), Partial::default(), RateLimits::UNLIMITED);
    let (entry, handling, missing_key) = (None, Handling::default(), None);
    let key_from = None;
    Ok(Chosen {
        name,
        entry,
        target,
        transport,
        auth,
        reasoning,
        handling,
        why,
        limits,
        missing_key,
        key_from,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The model that is chosen where none is named, and why. A key behind `!` is set to white space.
    fn unnamed(config: &str, keys: &[&str]) -> (String, String) {
        let env = |name: &str| {
            let value = if keys.contains(&name) { "a key" } else { " " };
            keys.iter().any(|key| key.trim_start_matches('!') == name).then(|| value.to_owned())
        };
        let config = crate::config::of_text(config, &env, Path::new("/")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let chosen = runtime.block_on(choose(&config, None, &env)).map_err(|it| it.to_string());
        let chosen = chosen.unwrap();
        (chosen.name, chosen.why)
    }

    /// The first two providers that have a key and a model of their own.
    fn two() -> [&'static Provider; 2] {
        let mut with_key = provider::ALL
            .iter()
            .filter(|provider| !provider.keys.is_empty() && provider.default_model.is_some());
        [with_key.next().unwrap(), with_key.next().unwrap()]
    }

    /// What is chosen for a provider's key.
    fn by_key(provider: &Provider) -> (String, String) {
        let model = provider.default_model.unwrap();
        (format!("{}/{model}", provider.id), format!("`{}` is set", provider.keys[0]))
    }

    #[test]
    fn t_1_a_wire_that_a_provider_does_not_speak_leads_to_no_other_provider() {
        let speaks = |it: &&&Provider| it.endpoints.iter().any(|it| it.wire == WireId::Converse);
        let provider = provider::ALL.iter().find(|it| !speaks(it)).unwrap();
        let of = |more: &str| {
            let id = provider.id;
            let text = format!("[providers.{id}]\nwire = \"converse\"\napi_key = \"k\"\n{more}");
            let config = crate::config::of_text(&text, &|_| None, Path::new("/")).unwrap();
            choose_named(&config, &format!("{id}/m"), &|_| None).map(|it| it.target.base_url)
        };
        let refused = of("").unwrap_err().to_string();
        assert!(refused.contains("set `base_url`"), "{refused}");
        assert_eq!(of("base_url = \"http://here/v1\"").ok().as_deref(), Some("http://here/v1"));
    }

    #[test]
    fn without_a_name_the_configuration_counts_then_keys_then_what_is_here() {
        let own = "[providers.own]\nextends = \"openai-compatible\"\nbase_url = \"http://x\"\n";
        let any = "[models.\"*\"]\nprovider = \"own\"\n";
        let mine = "[models.mine]\nprovider = \"own\"\nmodel = \"m\"\n";
        let [one, two] = two();
        let (key, other) = (one.keys[0], two.keys[0]);
        let blank = format!("!{key}");
        let said = |name: &str, why: &str| (name.to_owned(), why.to_owned());
        let played = "no key is set and no local server answers, so a simulated model does";
        let cases: [(String, &[&str], (String, String)); 7] = [
            (
                format!("default_model = \"own/big\"\n{own}{mine}"),
                &[key],
                said("own/big", "the configuration's `default_model`"),
            ),
            (
                format!("{own}{any}{mine}"),
                &[key],
                said("mine", "the first model of the configuration"),
            ),
            // A pattern names no model.
            (format!("{own}{any}"), &[key], by_key(one)),
            (String::new(), &[other], by_key(two)),
            (String::new(), &[other, key], by_key(one)),
            // A key of white space is none.
            (own.to_owned(), &[&blank, other], by_key(two)),
            // Whoever configures a provider is not given whatever listens on this machine.
            (own.to_owned(), &[&blank], said("sim/default", played)),
        ];
        for (config, keys, expected) in cases {
            assert_eq!(unnamed(&config, keys), expected, "{config}");
        }
    }

    #[test]
    fn a_price_is_that_of_the_configuration_else_the_built_in_one_and_own_servers_are_free() {
        let text = "[providers.far]\nextends = \"ollama\"\nbase_url = \"http://10.1.2.3:11434\"\n\
            [prices.\"mistral/magistral-*\"]\ninput = 7\noutput = 9\n\
            [models.own]\nprovider = \"mistral\"\nmodel = \"magistral-x\"\n\
            price = { input = 1, output = 2 }\n";
        let config = crate::config::of_text(text, &|_| None, Path::new("/")).unwrap();
        let of = |name: &str| choose_named(&config, name, &|_| None).map(|it| it.target.price);
        let input = |name: &str| of(name).unwrap().map(|price| price.rates.input);
        assert_eq!(input("mistral/magistral-x"), Some(7_000_000));
        assert_eq!(input("own"), Some(1_000_000));
        assert_eq!(input("mistral/mistral-large-latest").unwrap() % 100_000, 0);
        assert_eq!(of("ollama/any").unwrap(), Some(Price::FREE));
        assert_eq!(of("sim/default").unwrap(), Some(Price::FREE));
        // Somebody else's machine is another matter, and so is a model that nobody has heard of.
        assert_eq!(of("far/any").unwrap(), None);
        assert_eq!(of("mistral/unheard-of").unwrap(), None);
    }

    #[test]
    fn a_wire_is_learned_from_a_provider_that_has_an_address() {
        for wire in WireId::ALL {
            let like = any_endpoint(*wire).unwrap();
            assert!(!like.base_url.is_empty(), "{wire}");
        }
    }
}
