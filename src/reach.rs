//! Finds the provider for the name of a model.
//!
//! The clients, all routes of the gateway and the check of the configuration use this module. If a configuration
//! names providers, requests go to those only. Any other prefix is a part of the model's name, so that a name alone
//! sends no prompt to a stranger.

use crate::account;
use crate::environment::{Environment, Lookup, Served, usable};
use crate::nearest::nearest;
use thinkthrough_core::echo::short;
use thinkthrough_core::provider::{self, ModelRule, Provider, glob};

/// The provider of the simulated models, which run in this process.
pub(crate) const SIMULATED: &str = "sim";

/// Names that coding agents request by default.
const BY_HABIT: [&str; 2] = ["claude-*", "gpt-*"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination<'a> {
    /// The entry of `[models]` with this name.
    Entry(&'a str),
    /// A provider, and the model by the provider's name for it.
    Provider { name: &'a str, model: &'a str },
    /// The simulated model with this id.
    Simulated(&'a str),
    /// The default model, for a name that coding agents request by default.
    Default(&'a str),
}

/// A provider, and its built-in rules if there are any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) built_in: Option<&'static Provider>,
}

impl From<&'static Provider> for Named<'_> {
    fn from(provider: &'static Provider) -> Self {
        Named { name: provider.id, built_in: Some(provider) }
    }
}

/// The models and providers that names can lead to.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    /// The names in `[models]`, in file order.
    entries: Vec<&'a str>,
    /// The configured providers, or else those whose key is set.
    providers: Vec<Named<'a>>,
    /// Further providers that a prefix can name. Empty with a configuration.
    by_prefix: Vec<&'static str>,
    /// The models in the lists of local servers. Empty with a configuration.
    served: &'a [Served],
    is_configured: bool,
}

impl<'a> Reach<'a> {
    /// Takes the configured providers with their built-in originals, and the models with their providers.
    pub(crate) fn configured(
        providers: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
        models: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let named = |(name, extends): (&'a str, Option<&str>)| Named {
            name,
            built_in: extends.and_then(provider::find),
        };
        let mut providers: Vec<Named<'a>> = providers.into_iter().map(named).collect();
        let mut entries = Vec::new();
        for (name, provider) in models {
            entries.push(name);
            if provider != SIMULATED && providers.iter().all(|it| it.name != provider) {
                providers.push(named((provider, Some(provider))));
            }
        }
        let is_configured = !providers.is_empty() || !entries.is_empty();
        let (by_prefix, served) = (Vec::new(), &[][..]);
        Reach { entries, providers, by_prefix, served, is_configured }
    }

    /// Adds the environment if the configuration names no provider.
    pub(crate) fn within(self, around: Environment<'a>) -> Self {
        if self.is_configured {
            return self;
        }
        let can_name = |it: &&&'static Provider| {
            around.brings_key || it.local_port.is_some() || has_account(it, around)
        };
        Reach {
            providers: keyed(around.variables).map(Named::from).collect(),
            by_prefix: provider::ALL.iter().filter(can_name).map(|it| it.id).collect(),
            served: around.served,
            ..self
        }
    }

    /// Finds the destination of a name. Names that agents send by habit lead to the default model if no model has
    /// them.
    pub(crate) fn find(
        &self,
        name: &'a str,
        default_model: Option<&'a str>,
    ) -> Option<Destination<'a>> {
        let leads =
            |provider: &Named<'a>| Destination::Provider { name: provider.name, model: name };
        self.entry(name)
            .or_else(|| self.served(name))
            .or_else(|| self.prefixed(name))
            .or_else(|| self.ruled(name).as_ref().map(leads))
            .or_else(|| self.any())
            .or_else(|| by_habit(name, default_model))
            .or_else(|| self.only().as_ref().map(leads))
    }

    /// The entry with this name, or else the matching pattern with the most letters, and the first of equal ones.
    pub(crate) fn entry(&self, name: &str) -> Option<Destination<'a>> {
        let letters = |entry: &str| entry.bytes().filter(|byte| *byte != b'*').count();
        let exact = self.entries.iter().find(|entry| **entry == name);
        let matching = || {
            let patterns = self.entries.iter().filter(|it| it.contains('*') && letters(it) > 0);
            // `max_by_key` returns the last of equal elements.
            patterns.filter(|it| glob(it, name)).rev().max_by_key(|it| letters(it))
        };
        exact.or_else(matching).map(|entry| Destination::Entry(entry))
    }

    /// The entry `"*"`, which accepts any name without another destination.
    pub(crate) fn any(&self) -> Option<Destination<'a>> {
        let is_any = |entry: &&&str| !entry.is_empty() && entry.bytes().all(|byte| byte == b'*');
        self.entries.iter().find(is_any).map(|entry| Destination::Entry(entry))
    }

    /// A model in the list of a local server.
    fn served(&self, name: &'a str) -> Option<Destination<'a>> {
        let (provider, _) = self.served.iter().find(|(_, model)| model == name)?;
        Some(Destination::Provider { name: provider, model: name })
    }

    fn prefixed(&self, name: &'a str) -> Option<Destination<'a>> {
        let (prefix, model) = name.split_once('/')?;
        if prefix == SIMULATED {
            return Some(Destination::Simulated(model));
        }
        self.has(prefix).then_some(Destination::Provider { name: prefix, model })
    }

    /// Returns true if a prefix can name this provider.
    pub(crate) fn has(&self, provider: &str) -> bool {
        self.providers.iter().any(|it| it.name == provider) || self.by_prefix.contains(&provider)
    }

    /// The first provider with a rule for the model. Providers whose address only the user knows come last.
    fn ruled(&self, name: &str) -> Option<Named<'a>> {
        let is_ruled =
            |it: &&Named<'_>| it.built_in.is_some_and(|it| rules(it, name).next().is_some());
        let has_address = |it: &&Named<'_>| {
            let endpoint = it.built_in.and_then(|it| it.endpoint(None));
            self.is_configured || endpoint.is_some_and(|it| !it.base_url.is_empty())
        };
        let ruled = || self.providers.iter().filter(is_ruled);
        ruled().find(has_address).or_else(|| ruled().next()).copied()
    }

    pub(crate) fn only(&self) -> Option<Named<'a>> {
        match self.providers.as_slice() {
            [only] if self.is_configured => Some(*only),
            _ => None,
        }
    }

    /// The configured providers, or else those whose key is set.
    pub(crate) fn providers(&self) -> &[Named<'a>] {
        &self.providers
    }

    /// The models in the lists of local servers. Empty with a configuration.
    pub(crate) fn local_models(&self) -> &'a [Served] {
        self.served
    }

    /// Returns true if the configuration names providers or models.
    pub(crate) fn is_configured(&self) -> bool {
        self.is_configured
    }

    /// The reason why a name has no destination, and the remedy.
    pub(crate) fn nowhere(&self, name: &str, shown: &str) -> String {
        let split = name.split_once('/');
        let prefix = split.and_then(|(prefix, _)| provider::find(prefix));
        if let Some(why) = self.misspelt(split).or_else(|| self.unkeyed(name, shown)) {
            return why;
        }
        let why = match prefix {
            Some(it) if self.is_configured => {
                format!(
                    "`{shown}` leads nowhere, because the configuration names no provider `{}`",
                    it.id
                )
            }
            Some(it) if !it.keys.is_empty() => {
                format!(
                    "`{}` needs a key for `{shown}`; set `{}`, or send one",
                    it.id,
                    it.keys.join("` or `")
                )
            }
            Some(_) | None => format!("no provider is known for the model `{shown}`"),
        };
        format!("{why}; {}", self.choices())
    }

    /// The error for a prefix that resembles a provider.
    fn misspelt(&self, split: Option<(&str, &str)>) -> Option<String> {
        let (prefix, model) = split.filter(|(prefix, _)| provider::find(prefix).is_none())?;
        let built_in = provider::ALL.iter().filter(|_| !self.is_configured).map(|it| it.id);
        let known: Vec<&str> = self.providers.iter().map(|it| it.name).chain(built_in).collect();
        let near = nearest(prefix, &known)?;
        let (prefix, model) = (short(prefix), short(model));
        Some(format!("no provider is called `{prefix}`; did you mean `{near}/{model}`?"))
    }

    /// The error for a model whose provider is known by a rule but has no key.
    fn unkeyed(&self, name: &str, shown: &str) -> Option<String> {
        let has_address = |it: &&&'static Provider| {
            !it.keys.is_empty() && it.endpoint(None).is_some_and(|it| !it.base_url.is_empty())
        };
        let is_its = |it: &&&'static Provider| rules(it, name).next().is_some();
        let maker = provider::ALL.iter().filter(has_address).find(is_its)?;
        let is_named = name.contains('/') || self.is_configured;
        let keys = maker.keys.join("` or `");
        let id = maker.id;
        (!is_named).then(|| {
            format!(
                "`{shown}` is a model of `{id}`, which needs a key; set `{keys}`, or ask for `{id}/{shown}` with a key of your own"
            )
        })
    }

    fn choices(&self) -> String {
        if !self.is_configured {
            return format!(
                "write it as `provider/model`, with one of {}, or `sim/default`",
                provider::Known
            );
        }
        let providers: Vec<&str> = self.providers.iter().map(|it| it.name).collect();
        let by_provider = match providers.as_slice() {
            [] => String::new(),
            names => format!("`provider/model` with one of {}", names.join(", ")),
        };
        match (self.entries.as_slice(), by_provider.as_str()) {
            ([], way) => format!("write {way}"),
            (entries, "") => format!("configured are {}", entries.join(", ")),
            (entries, way) => format!("configured are {}; or write {way}", entries.join(", ")),
        }
    }
}

fn by_habit<'a>(name: &str, default_model: Option<&'a str>) -> Option<Destination<'a>> {
    let is_habit = BY_HABIT.iter().any(|pattern| glob(pattern, name));
    default_model.filter(|default| is_habit && *default != name).map(Destination::Default)
}

/// The rules of a provider that match a model. Rules for every name are left out, because they do not show that the
/// model is of this provider.
pub(crate) fn rules<'p>(
    provider: &'p Provider,
    model: &'p str,
) -> impl Iterator<Item = &'p ModelRule> {
    let rules = provider.endpoints.iter().flat_map(|endpoint| endpoint.models);
    rules.filter(move |rule| !rule.pattern.trim_matches('*').is_empty() && rule.matches(model))
}

/// The built-in providers whose key is set, in order of preference.
pub(crate) fn keyed(variables: Lookup<'_>) -> impl Iterator<Item = &'static Provider> {
    provider::ALL.iter().copied().filter(move |it| key_variable(it, variables).is_some())
}

/// The environment variable with a provider's key, if it is set.
pub(crate) fn key_variable(provider: &Provider, variables: Lookup<'_>) -> Option<&'static str> {
    provider.keys.iter().copied().find(|key| usable(variables(key)).is_some())
}

fn has_account(provider: &Provider, around: Environment<'_>) -> bool {
    let variable = provider.account().map(account::variable);
    variable.is_some_and(|variable| usable((around.variables)(variable)).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVED: &str = "openai/gpt-oss-120b";

    /// Providers, models with their providers, a name, and its expected destination.
    type Case = (
        &'static [&'static str],
        &'static [(&'static str, &'static str)],
        &'static str,
        &'static str,
    );

    fn told(destination: Option<Destination<'_>>) -> String {
        match destination {
            Some(Destination::Entry(name)) => format!("[{name}]"),
            Some(Destination::Provider { name, model }) => format!("{name}: {model}"),
            Some(Destination::Simulated(id)) => format!("sim: {id}"),
            Some(Destination::Default(name)) => format!("default {name}"),
            None => "nowhere".to_owned(),
        }
    }

    #[test]
    fn a0_a_name_is_looked_up_in_the_order_of_the_contract() {
        let own = &["house", "deepseek"][..];
        let models = &[("openai/a", "house"), ("openai/*", "house"), ("openai/ab*", "house")][..];
        let any = &[("openai/a", "house"), ("*", "house")][..];
        let cases: [Case; 17] = [
            (own, models, "openai/a", "[openai/a]"),
            (own, models, "openai/b", "[openai/*]"),
            (own, models, "openai/abc", "[openai/ab*]"),
            (own, models, "house/openai/a", "house: openai/a"),
            (own, models, "sim/default", "sim: default"),
            (own, models, "deepseek-v4", "deepseek: deepseek-v4"),
            // Prefixes and rules of providers count only if the provider is configured.
            (own, models, "google/gemma-4-27b", "nowhere"),
            (own, models, "kimi-k3", "nowhere"),
            (own, any, "google/gemma-4-27b", "[*]"),
            (own, any, "claude-opus-5", "[*]"),
            (own, models, "claude-opus-5", "default openai/a"),
            (own, models, "gpt-9", "default openai/a"),
            (&["house"], &[], "google/gemma-4-27b", "house: google/gemma-4-27b"),
            (&["house"], &[], "ollama/x", "house: ollama/x"),
            // A model's provider counts as configured, even without an entry of its own.
            (&[], &[("a", "deepseek")], "deepseek/b", "deepseek: b"),
            (&["house"], &[("a", "deepseek")], "b", "nowhere"),
            (&["house"], &[("a", "sim")], "b", "house: b"),
        ];
        for (providers, models, name, expected) in cases {
            let own = providers.iter().map(|it| (*it, Some(*it)));
            let reach = Reach::configured(own, models.iter().copied());
            let default_model = models.first().map(|(name, _)| *name);
            assert_eq!(told(reach.find(name, default_model)), expected, "{name}");
        }
    }

    #[test]
    fn a0_without_a_configuration_servers_and_keys_count_and_then_prefixes() {
        let config = crate::config::of_text("", &|_| None, std::path::Path::new("/")).unwrap();
        let served = [("vllm", SERVED.to_owned()), ("vllm", "own".to_owned())];
        let find = |key: &'static str, brings_key, name| {
            let variables = move |name: &str| (name == key).then(|| "a key".to_owned());
            let around = Environment {
                variables: &variables,
                served: &served,
                brings_key,
                has_habits: false,
            };
            told(config.reach(around).find(name, None))
        };
        for (key, brings_key, name, expected) in [
            ("OPENAI_API_KEY", true, SERVED, "vllm: openai/gpt-oss-120b"),
            ("OPENAI_API_KEY", false, "own", "vllm: own"),
            ("OPENAI_API_KEY", false, "openai/m", "openai: m"),
            ("OPENAI_API_KEY", false, "gpt-5.6", "openai: gpt-5.6"),
            ("OPENAI_API_KEY", false, "mistral/m", "nowhere"),
            ("OPENAI_API_KEY", true, "mistral/m", "mistral: m"),
            ("", false, "openai/m", "nowhere"),
            ("", true, "openai/m", "openai: m"),
            ("", true, "gpt-5.6", "nowhere"),
            ("", false, "ollama/m", "ollama: m"),
            ("", false, "sim/default", "sim: default"),
            ("AWS_ACCESS_KEY_ID", false, "bedrock/m", "bedrock: m"),
        ] {
            assert_eq!(find(key, brings_key, name), expected, "{key} {brings_key} {name}");
        }
    }
}
