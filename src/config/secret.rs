//! Credentials in the configuration: said there, or by the name of an environment variable or a file.

use super::places::{Lookup, from_file};
use super::table::Section;
use std::path::Path;
use thinkthrough_client::Secret;
use thinkthrough_store::{StoreError, read_private};
use toml::Value;

/// The sources of values that the configuration only names.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    /// The environment.
    pub(super) lookup: Lookup<'a>,
    /// The folder that files are named from.
    pub(super) folder: &'a Path,
}

/// A credential that the configuration speaks of.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// It is there.
    Given(Secret),
    /// The environment variables for it, joined by `or`, are empty. That is no error until the credential is needed.
    Missing(String),
}

/// `api_key = "..."`, `{ env = "NAME" }` or `{ file = "FILE" }`, or the keys of `api_keys = [...]` that are there: the first one, and the
/// others.
pub(super) fn api_key(
    section: Section<'_>,
    sources: Sources<'_>,
) -> Result<(Option<Credential>, Vec<Secret>), String> {
    let Some(list) = section.table.get("api_keys") else {
        let at = section.at("api_key");
        let key = section.table.get("api_key").map(|value| one(value, &at, sources)).transpose()?;
        return Ok((key, Vec::new()));
    };
    if section.table.contains_key("api_key") {
        return Err(format!("`{}` has `api_key` and `api_keys`; keep one of them", section.name));
    }
    let at = section.at("api_keys");
    let list = list.as_array().filter(|list| !list.is_empty()).ok_or_else(|| {
        format!("`{at}` must be a list of keys, each a string or {{ env = \"NAME\" }}")
    })?;
    let mut absent = Vec::new();
    let mut given = Vec::new();
    for value in list {
        match one(value, &at, sources)? {
            Credential::Given(key) => given.push(key),
            Credential::Missing(variable) => absent.push(variable),
        }
    }
    let mut given = given.into_iter();
    let first = given.next().map(Credential::Given);
    let first = first.unwrap_or_else(|| Credential::Missing(absent.join("` or `")));
    Ok((Some(first), given.collect()))
}

/// Returns the configured place of a provider's key, for messages about a rejected key.
pub(super) fn source(section: Section<'_>) -> Option<String> {
    let at = |key: &str| format!("`{}`", section.at(key));
    let Some(value) = section.table.get("api_key") else {
        return section.table.get("api_keys").map(|_| at("api_keys"));
    };
    let word = |key: &str| value.get(key).and_then(Value::as_str);
    Some(match (word("env"), word("file")) {
        (Some(name), _) => format!("`{name}`"),
        (None, Some(file)) => format!("the file `{file}`"),
        (None, None) => at("api_key"),
    })
}

/// Reads a string, an environment variable, or a file that only the user may read.
pub(super) fn one(value: &Value, at: &str, sources: Sources<'_>) -> Result<Credential, String> {
    const FORMS: &str = "must be a string, { env = \"NAME\" } or { file = \"FILE\" }";
    let table = match value {
        Value::String(key) => return Ok(Credential::Given(Secret::new(key.clone()))),
        Value::Table(table) => table,
        _ => return Err(format!("`{at}` {FORMS}")),
    };
    let inner = Section { name: at, table }.only(&["env", "file"])?;
    match (inner.string("env")?, inner.string("file")?) {
        (Some(name), None) => {
            let value = (sources.lookup)(&name).filter(|value| !value.trim().is_empty());
            Ok(value.map_or(Credential::Missing(name), |it| Credential::Given(Secret::new(it))))
        }
        (None, Some(file)) => {
            let path = from_file(sources.folder, &file);
            let text = read_private(&path).map_err(|error| match error {
                StoreError::Key { from, message } => format!("`{at}`: {from}: {message}"),
                error => format!("`{at}`: {error}"),
            })?;
            let absent =
                || format!("`{at}` names the file `{}`, which is not there", path.display());
            Ok(Credential::Given(Secret::new(text.ok_or_else(absent)?.as_str())))
        }
        _ => Err(format!("`{at}` {FORMS}")),
    }
}
