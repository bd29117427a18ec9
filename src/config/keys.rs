//! `[keys.NAME]`: settings of a gateway key, and keys that the configuration defines.

use super::limits::{budgets, limits};
use super::reasoning::reasoning;
use super::secret::{Credential, Sources, one};
use super::table::Section;
use std::collections::BTreeSet;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::settings::Partial;
use thinkthrough_limits::{Budgets, RateLimits};
use thinkthrough_store::KeyHash;

/// `[keys.NAME]`
#[derive(Clone, Debug)]
pub(crate) struct GateKey {
    /// The name is the tenant's.
    pub(crate) tenant: Tenant,
    /// The digest of the key; `None` if the key is in the store, under this name.
    pub(crate) hash: Option<KeyHash>,
    /// The names of models that may be asked for.
    pub(crate) models: Vec<String>,
    /// The providers that may be asked.
    pub(crate) providers: Vec<String>,
    /// Whether it may use a provider's own API.
    pub(crate) raw: bool,
    /// Whether the viewer shows it everybody's requests.
    pub(crate) admin: bool,
    pub(crate) reasoning: Partial,
    /// How many requests it may make in any minute, and how many tokens these may cost.
    pub(crate) limits: RateLimits,
    /// The budgets of its requests, for reasoning and in all.
    pub(crate) budgets: Budgets,
}

/// The least length of a key that a person made up, and the least number of different letters, so that it cannot be
/// guessed over the network.
const SHORTEST: usize = 16;
const DISTINCT: usize = 6;

fn strong<'a>(key: &'a str, at: &str, name: &str) -> Result<&'a str, String> {
    let distinct: BTreeSet<char> = key.chars().collect();
    let is_plain = key.bytes().all(|byte| byte.is_ascii_graphic());
    if key.len() >= SHORTEST && distinct.len() >= DISTINCT && is_plain {
        return Ok(key);
    }
    Err(format!(
        "`{at}` is too easy to guess: a key has at least {SHORTEST} letters, digits and signs, \
         {DISTINCT} of them different; take one that `think keys create {name}` makes"
    ))
}

/// Checks that no two tenants share a key, which would not identify its sender.
pub(super) fn distinct(keys: &[GateKey]) -> Result<(), String> {
    for (at, key) in keys.iter().enumerate() {
        let earlier = keys.iter().take(at);
        let same = |other: &&GateKey| key.hash.is_some() && other.hash == key.hash;
        if let Some(other) = earlier.clone().find(same) {
            return Err(format!(
                "`keys.{}` and `keys.{}` are the same key; give each its own",
                other.tenant, key.tenant
            ));
        }
    }
    Ok(())
}

/// The keys of `[keys.NAME]`, but for those of settings.
pub(super) const KEYS: [&str; 8] =
    ["admin", "budget", "hash", "key", "limits", "models", "providers", "raw"];

pub(super) fn entry(section: Section<'_>, sources: Sources<'_>) -> Result<GateKey, String> {
    section.only(&[&KEYS[..], &super::reasoning::KEYS].concat())?;
    let name = section.own_name();
    let tenant = Tenant::named(&name)
        .map_err(|error| format!("`{}` cannot be the name of a key: {error}", section.name))?;
    let hash = section.string("hash")?.map(|text| {
        KeyHash::parse(&text).ok_or_else(|| {
            format!("`{}` must be the digest that `think keys create` printed", section.at("hash"))
        })
    });
    let at = section.at("key");
    let key = match section.table.get("key").map(|value| one(value, &at, sources)).transpose()? {
        Some(Credential::Given(key)) => {
            let name = section.own_name();
            Some(KeyHash::of(strong(key.expose(), &at, &name)?))
        }
        // A missing key would let no caller in, or worse, leave the gateway without any key.
        Some(Credential::Missing(variable)) => {
            return Err(format!("`{at}` needs `{variable}`, which is not set"));
        }
        None => None,
    };
    let hash = match (hash.transpose()?, key) {
        (Some(_), Some(_)) => {
            return Err(format!("`{}` has `hash` and `key`; keep one of them", section.name));
        }
        (hash, key) => hash.or(key),
    };
    let all = || vec!["*".to_owned()];
    Ok(GateKey {
        tenant,
        hash,
        models: section.strings("models")?.unwrap_or_else(all),
        providers: section.strings("providers")?.unwrap_or_else(all),
        raw: section.boolean("raw")?.unwrap_or(false),
        admin: section.boolean("admin")?.unwrap_or(false),
        reasoning: reasoning(section)?,
        limits: limits(section)?,
        budgets: budgets(section)?,
    })
}
