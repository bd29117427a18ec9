//! `[keys.NAME]`: what holds for a gateway key, and keys that are said here.

use super::reasoning::reasoning;
use super::secret::{Credential, Sources, one};
use super::table::Section;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::settings::Partial;
use thinkthrough_store::KeyHash;

/// `[keys.NAME]`
#[derive(Clone, Debug)]
pub(crate) struct GateKey {
    /// The name is the tenant's.
    pub(crate) tenant: Tenant,
    /// How the key is known; `None`: it is in the store, under this name.
    pub(crate) hash: Option<KeyHash>,
    /// The names of models that may be asked for.
    pub(crate) models: Vec<String>,
    /// The providers that may be asked.
    pub(crate) providers: Vec<String>,
    /// Whether it may use a provider's own API.
    pub(crate) raw: bool,
    pub(crate) reasoning: Partial,
}

/// The keys of `[keys.NAME]`, but for those of settings.
pub(super) const KEYS: [&str; 5] = ["hash", "key", "models", "providers", "raw"];

pub(super) fn entry(section: Section<'_>, sources: Sources<'_>) -> Result<GateKey, String> {
    section.later(&["budget", "limits"])?;
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
        Some(Credential::Given(key)) => Some(KeyHash::of(key.expose())),
        // A key that is nowhere would let nobody in, or worse, leave the gateway without any.
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
        reasoning: reasoning(section)?,
    })
}
