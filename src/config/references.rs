//! Checks that names in the configuration (providers, models, roles) exist, and that its variables are set.
//!
//! The checks read the TOML tables and not the parsed [`Config`](super::Config), so that they also work if another
//! part of the file is invalid.

use super::places::Lookup;
use crate::nearest::nearest;
use crate::reach::{Reach, SIMULATED, rules};
use std::collections::BTreeSet;
use thinkthrough_core::provider::{self, ModelRule, Provider};
use toml::{Table, Value};

/// The names in the file, in its order.
struct Names<'a> {
    providers: Vec<&'a str>,
    models: Vec<&'a str>,
    roles: Vec<&'a str>,
    reach: Reach<'a>,
}

impl<'a> Names<'a> {
    fn of(root: &'a Table) -> Self {
        let said = |entry: &'a Table, key: &str| entry.get(key).and_then(Value::as_str);
        let extended = |(name, entry): (&'a str, &'a Table)| {
            (name, Some(said(entry, "extends").unwrap_or(name)))
        };
        let provided = |(name, entry)| (name, said(entry, "provider").unwrap_or_default());
        let providers = tables(root, "providers").map(extended);
        Names {
            providers: keys(root, "providers"),
            models: keys(root, "models"),
            roles: keys(root, "roles"),
            reach: Reach::configured(providers, tables(root, "models").map(provided)),
        }
    }
}

/// A message for each unknown name, with its key and the nearest known name.
pub(super) fn dangling(root: &Table) -> Vec<String> {
    let names = Names::of(root);
    let mut found = Vec::new();
    if let Some(name) = root.get("default_model").and_then(Value::as_str) {
        found.extend(names.model("default_model", name));
    }
    for (name, entry) in tables(root, "models") {
        found.extend(names.entry(name, entry));
    }
    for (name, _) in tables(root, "prices") {
        // A pattern may match any provider.
        let provider = name.split('/').next().filter(|it| !it.contains('*') && *it != SIMULATED);
        found.extend(provider.and_then(|it| names.provider(&format!("prices.{name}"), it)));
    }
    for (name, entry) in tables(root, "profiles") {
        if let Some(model) = entry.get("model").and_then(Value::as_str) {
            found.extend(names.model(&format!("profiles.{name}.model"), model));
        }
    }
    for (key, entry) in tables(root, "keys") {
        let providers = entry.get("providers").and_then(Value::as_array).into_iter().flatten();
        // A pattern may match any provider.
        let said = providers.filter_map(Value::as_str);
        for provider in said.filter(|it| !it.contains('*') && *it != SIMULATED) {
            found.extend(names.provider(&format!("keys.{key}.providers"), provider));
        }
    }
    for (role, model) in root.get("roles").and_then(Value::as_table).into_iter().flatten() {
        if let Some(model) = model.as_str() {
            found.extend(names.of_role(role, model));
        }
    }
    found
}

/// A variable and the warning about it.
type Unset = (String, String);

/// The variables that the file names and that are unset or blank.
pub(super) fn unset(root: &Table, lookup: Lookup<'_>) -> Vec<Unset> {
    let mut found = Vec::new();
    for (key, value) in root.iter().filter(|(key, _)| *key != "keys") {
        walk(key, value, lookup, &mut found);
    }
    found
}

fn walk(at: &str, value: &Value, lookup: Lookup<'_>, found: &mut Vec<Unset>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(at, item, lookup, found)),
        Value::Table(table) => {
            if let (1, Some(name)) = (table.len(), table.get("env").and_then(Value::as_str)) {
                if lookup(name).is_none_or(|value| value.trim().is_empty()) {
                    let warning = format!("`{at}` needs `{name}`, which is not set");
                    found.push((name.to_owned(), warning));
                }
                return;
            }
            for (key, value) in table {
                walk(&format!("{at}.{key}"), value, lookup, found);
            }
        }
        Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Float(_)
        | Value::Integer(_)
        | Value::String(_) => {}
    }
}

impl Names<'_> {
    /// `[models.NAME]`
    fn entry(&self, name: &str, entry: &Table) -> Vec<String> {
        let mut found = Vec::new();
        let at = format!("models.{name}");
        let said = |key: &str| entry.get(key).and_then(Value::as_str);
        match said("provider") {
            Some(SIMULATED) => {
                found.extend(said("model").and_then(|id| simulator(&format!("{at}.model"), id)));
            }
            Some(provider) => found.extend(self.provider(&format!("{at}.provider"), provider)),
            None => {}
        }
        let fallback = entry.get("fallback").and_then(Value::as_array);
        for model in fallback.into_iter().flatten().filter_map(Value::as_str) {
            found.extend(self.model(&format!("{at}.fallback"), model));
        }
        found
    }

    fn provider(&self, at: &str, name: &str) -> Option<String> {
        if self.is_provider(name) {
            return None;
        }
        let known = self.known_providers();
        Some(format!("`{at}` is `{name}`, which is no provider; {}", instead(name, &known)))
    }

    fn is_provider(&self, name: &str) -> bool {
        self.providers.contains(&name) || provider::find(name).is_some()
    }

    /// The file's own providers first, because they are more likely to be meant.
    fn known_providers(&self) -> Vec<&str> {
        let built_in = provider::ALL.iter().map(|provider| provider.id);
        self.providers.iter().copied().chain(built_in).collect()
    }

    fn of_role(&self, role: &str, model: &str) -> Option<String> {
        if model.starts_with("role:") {
            return Some(format!(
                "`roles.{role}` is `{model}`, which is a role itself; name a model there"
            ));
        }
        self.model(&format!("roles.{role}"), model)
    }

    /// Checks a model's name as in a request.
    fn model(&self, at: &str, name: &str) -> Option<String> {
        if name.trim().is_empty() {
            return Some(format!("`{at}` is empty; name a model there"));
        }
        if let Some(role) = name.strip_prefix("role:") {
            let is_known = self.roles.contains(&role);
            let nobody = || format!("`{at}` is `{name}`, and nobody plays that role; ");
            return (!is_known).then(|| nobody() + &instead(role, &self.roles));
        }
        if self.reach.entry(name).is_some() {
            return None;
        }
        let split = name.split_once('/');
        if let Some((SIMULATED, id)) = split {
            return simulator(at, id);
        }
        let is_known = split.is_some_and(|(provider, _)| self.can_reach(provider));
        let takes_any = self.reach.any().is_some();
        // A file without models leaves all names to its only provider.
        let is_left = self.models.is_empty() && self.reach.only().is_some();
        // A rule for all vendors does not prove that this vendor exists.
        let is_ruled = || match split {
            Some(_) => self.rulers().iter().any(|it| rules(it, name).any(names_vendor)),
            None => self.rulers().iter().any(|it| has_rule(it, name)),
        };
        if is_known || takes_any || is_left || is_ruled() {
            return None;
        }
        if let Some(unnamed) = split.and_then(|(provider, _)| provider::find(provider)) {
            return Some(format!(
                "`{at}` is `{name}`, and the configuration names no provider `{id}`; add `[providers.{id}]`",
                id = unnamed.id
            ));
        }
        let instead = match split {
            Some((provider, model)) => match nearest(provider, &self.known_providers()) {
                Some(near) => format!("did you mean `{near}/{model}`?"),
                None => instead(name, &self.models),
            },
            None => instead(name, &self.models),
        };
        Some(format!("`{at}` is `{name}`, which is no model; {instead}"))
    }

    /// Returns true if a model's name can begin with this provider.
    fn can_reach(&self, provider: &str) -> bool {
        match self.reach.is_configured() {
            true => self.reach.has(provider),
            false => provider::find(provider).is_some(),
        }
    }

    /// The providers whose rules may match a model's name.
    fn rulers(&self) -> Vec<&'static Provider> {
        match self.reach.is_configured() {
            true => self.reach.providers().iter().filter_map(|it| it.built_in).collect(),
            false => provider::ALL.to_vec(),
        }
    }

    /// Warns about a model whose provider is known only by a rule, if that provider's key is not set.
    fn keyless(&self, at: &str, name: &str, lookup: Lookup<'_>) -> Option<Unset> {
        if self.reach.any().is_some() || name.contains('/') || name.starts_with("role:") {
            return None;
        }
        let entries = self.reach.providers().iter();
        let mut entries = entries.filter(|it| self.providers.contains(&it.name));
        if entries.any(|it| it.built_in.is_some_and(|it| has_rule(it, name))) {
            return None;
        }
        let ruled = self.rulers().into_iter().filter(|it| has_rule(it, name));
        let keys: BTreeSet<&str> = ruled.flat_map(|provider| provider.keys).copied().collect();
        let is_set = |key: &&str| lookup(key).is_some_and(|value| !value.trim().is_empty());
        if keys.is_empty() || keys.iter().any(is_set) {
            return None;
        }
        let keys = keys.into_iter().collect::<Vec<_>>().join("` or `");
        let warning = format!("`{at}` is `{name}`, which needs `{keys}`, and that is not set");
        Some((keys, warning))
    }
}

/// Warnings about named models whose provider has neither an entry nor a key.
pub(super) fn keyless(root: &Table, lookup: Lookup<'_>) -> Vec<Unset> {
    let names = Names::of(root);
    let mut named: Vec<(String, &str)> = Vec::new();
    let model = root.get("default_model").and_then(Value::as_str);
    named.extend(model.map(|model| ("default_model".to_owned(), model)));
    for (name, entry) in tables(root, "models") {
        let fallback = entry.get("fallback").and_then(Value::as_array).into_iter().flatten();
        let fallback = fallback.filter_map(Value::as_str);
        named.extend(fallback.map(|model| (format!("models.{name}.fallback"), model)));
    }
    for (role, model) in root.get("roles").and_then(Value::as_table).into_iter().flatten() {
        named.extend(model.as_str().map(|model| (format!("roles.{role}"), model)));
    }
    named.iter().filter_map(|(at, model)| names.keyless(at, model, lookup)).collect()
}

fn simulator(at: &str, id: &str) -> Option<String> {
    let known: Vec<_> = thinkthrough_conformance::list().iter().map(|listed| listed.id).collect();
    if known.contains(&id) {
        return None;
    }
    Some(format!("`{at}` is `{id}`, which is no simulated model; {}", instead(id, &known)))
}

/// Returns true if a rule of the provider matches the model.
fn has_rule(provider: &Provider, model: &str) -> bool {
    rules(provider, model).next().is_some()
}

fn names_vendor(rule: &ModelRule) -> bool {
    rule.pattern.split_once('/').is_some_and(|(vendor, _)| !vendor.contains('*'))
}

fn instead(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("there are: {}", known.join(", ")),
    }
}

fn keys<'a>(root: &'a Table, key: &str) -> Vec<&'a str> {
    let table = root.get(key).and_then(Value::as_table);
    table.into_iter().flat_map(Table::keys).map(String::as_str).collect()
}

fn tables<'a>(root: &'a Table, key: &str) -> impl Iterator<Item = (&'a str, &'a Table)> {
    let all = root.get(key).and_then(Value::as_table).into_iter().flatten();
    all.filter_map(|(name, value)| Some((name.as_str(), value.as_table()?)))
}
