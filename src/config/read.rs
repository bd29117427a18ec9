//! Reads the configuration file.

use super::table::Section;
use super::{Config, ModelEntry, Profile, ProviderEntry};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use thinkthrough_client::{ProxyRules, Secret};
use thinkthrough_core::contract::{Contract, Level, Return};
use thinkthrough_core::settings::Partial;
use thinkthrough_core::{provider, wire};
use toml::{Table, Value};

/// Reads the file that `--config` names, else the one at its usual place if there is one.
pub(crate) fn read(
    named: Option<&Path>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, String> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => match usual_place(lookup).filter(|path| path.exists()) {
            Some(path) => path,
            None => return Ok(without_file(lookup)),
        },
    };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        format!("the configuration `{}` cannot be read: {error}", path.display())
    })?;
    let within = |message: String| format!("in `{}`: {message}", path.display());
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        within(error.to_string().lines().collect::<Vec<_>>().join(" "))
    })?;
    let mut config = config(&table, lookup, path.parent()).map_err(within)?;
    config.path = Some(path);
    Ok(config)
}

fn usual_place(lookup: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let base = lookup("XDG_CONFIG_HOME")
        .filter(|base| Path::new(base).is_absolute())
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(lookup("HOME")?).join(".config")))?;
    Some(base.join("thinkthrough").join("config.toml"))
}

fn without_file(lookup: &dyn Fn(&str) -> Option<String>) -> Config {
    let mut config = Config::default();
    config.client.proxy = ProxyRules::from_env(lookup);
    config
}

fn config(
    table: &Table,
    lookup: &dyn Fn(&str) -> Option<String>,
    folder: Option<&Path>,
) -> Result<Config, String> {
    let root = Section { name: "", table };
    for later in ["server", "store", "roles", "tools", "mcp", "keys"] {
        if table.contains_key(later) {
            return Err(format!("`[{later}]` has no effect in this version; take it out"));
        }
    }
    root.only(&["default_model", "reasoning", "providers", "models", "profiles", "client"])?;
    let mut config = Config {
        default_model: root.string("default_model")?,
        reasoning: reasoning(root)?,
        ..without_file(lookup)
    };
    for (name, table) in root.tables("providers")? {
        config.providers.push(provider_entry(Section { name: &name, table }, lookup)?);
    }
    for (name, table) in root.tables("models")? {
        config.models.push(model_entry(Section { name: &name, table })?);
    }
    for (name, table) in root.tables("profiles")? {
        let section = Section { name: &name, table }.only(&["model", "reasoning"])?;
        config.profiles.push(Profile {
            name: last(&name),
            model: section.string("model")?,
            reasoning: reasoning(section)?,
        });
    }
    if let Some(table) = root.table("client")? {
        client(Section { name: "client", table }, folder, &mut config)?;
    }
    Ok(config)
}

/// The name of a table within its parent.
fn last(path: &str) -> String {
    path.split_once('.').map_or(path, |(_, name)| name).to_owned()
}

fn reasoning(section: Section<'_>) -> Result<Partial, String> {
    let mut partial = Partial::default();
    for (key, value) in section.table("reasoning")?.into_iter().flatten() {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Boolean(_) | Value::Integer(_) => value.to_string(),
            _ => {
                return Err(format!(
                    "`{}` must be a word, a number or true or false",
                    section.at(key)
                ));
            }
        };
        // `0` means no limit, in configuration only.
        let text = if key == "maxTokens" && text == "0" { "unlimited".to_owned() } else { text };
        let name = format!("reasoning.{key}");
        partial.set(&name, &text).map_err(|error| error.to_string())?;
    }
    Ok(partial)
}

fn provider_entry(
    section: Section<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<ProviderEntry, String> {
    section.only(&["extends", "wire", "base_url", "api_key", "contract"])?;
    let name = last(section.name);
    let extends = section.string("extends")?;
    if let Some(id) = extends.as_deref().filter(|id| provider::find(id).is_none()) {
        return Err(format!(
            "`{}`: `{id}` is no provider; known are {}",
            section.at("extends"),
            provider::Known
        ));
    }
    let extends = extends.or_else(|| provider::find(&name).map(|provider| provider.id.to_owned()));
    let wire = section.string("wire")?;
    if let Some(id) = wire.as_deref().filter(|id| wire::find(id).is_none()) {
        let known: Vec<_> = wire::ALL.iter().map(|wire| wire.id()).collect();
        return Err(format!(
            "`{}`: `{id}` is no wire; known are {}",
            section.at("wire"),
            known.join(", ")
        ));
    }
    let base_url = section.string("base_url")?;
    if extends.is_none() && (wire.is_none() || base_url.is_none()) {
        return Err(format!(
            "`{}` is a provider of your own: it needs `wire` and `base_url`, or `extends`",
            section.name
        ));
    }
    Ok(ProviderEntry {
        key: key(section, lookup)?,
        contract: contract(section)?,
        name,
        extends,
        wire,
        base_url,
    })
}

/// `api_key = "..."` or `{ env = "NAME" }`.
fn key(
    section: Section<'_>,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Secret>, String> {
    let at = section.at("api_key");
    match section.table.get("api_key") {
        None => Ok(None),
        Some(Value::String(key)) => Ok(Some(Secret::new(key.clone()))),
        Some(Value::Table(table)) => {
            let inner = Section { name: &at, table }.only(&["env"])?;
            let name = inner.string("env")?.ok_or_else(|| format!("`{at}` needs `env`"))?;
            match lookup(&name) {
                Some(key) => Ok(Some(Secret::new(key))),
                None => {
                    Err(format!("`{at}`: the environment variable `{name}` is not set; set it"))
                }
            }
        }
        Some(_) => Err(format!("`{at}` must be a string or {{ env = \"NAME\" }}")),
    }
}

fn model_entry(section: Section<'_>) -> Result<ModelEntry, String> {
    section.only(&["provider", "model", "contract", "reasoning"])?;
    Ok(ModelEntry {
        name: last(section.name),
        provider: section
            .string("provider")?
            .ok_or_else(|| format!("`{}` needs `provider`", section.name))?,
        model: section.string("model")?,
        contract: contract(section)?,
        reasoning: reasoning(section)?,
    })
}

fn contract(section: Section<'_>) -> Result<Option<Contract>, String> {
    let Some(table) = section.table("contract")? else { return Ok(None) };
    let name = section.at("contract");
    let inner = Section { name: &name, table };
    inner.only(&["return", "required", "field", "empty", "level"])?;
    let word = |key: &str| inner.string(key);
    let returns = match word("return")? {
        None => {
            return Err(format!("`{name}` needs `return`: never, current-turn, tool-calls or all"));
        }
        Some(text) => Return::parse(&text).ok_or_else(|| {
            format!(
                "`{name}.return` cannot be `{text}`; allowed: never, current-turn, tool-calls, all"
            )
        })?,
    };
    let level = match word("level")? {
        None => Level::default(),
        Some(text) => Level::parse(&text).ok_or_else(|| {
            format!("`{name}.level` cannot be `{text}`; allowed: ticket, chain, tail, calls")
        })?,
    };
    Ok(Some(Contract {
        returns,
        required: inner.boolean("required")?.unwrap_or(false),
        field: word("field")?.map(|text| kept(&text)),
        empty: word("empty")?.map(|text| kept(&text)),
        level,
        ..Contract::NONE
    }))
}

/// Keeps a configured word for the life of the process, once.
fn kept(word: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = kept.get(word) {
        return known;
    }
    let word: &'static str = Box::leak(word.to_owned().into_boxed_str());
    kept.insert(word);
    word
}

fn client(section: Section<'_>, folder: Option<&Path>, config: &mut Config) -> Result<(), String> {
    section.only(&["ca_file", "proxy", "connect_timeout", "first_byte_timeout", "idle_timeout"])?;
    let client = &mut config.client;
    client.ca_file = section
        .string("ca_file")?
        .filter(|file| !file.is_empty())
        .map(|file| folder.unwrap_or(Path::new("")).join(file));
    if let Some(proxy) = section.string("proxy")?.filter(|proxy| !proxy.is_empty()) {
        client.proxy = ProxyRules::single(&proxy, "").map_err(|error| error.to_string())?;
    }
    for (key, slot) in [
        ("connect_timeout", &mut client.timeouts.connect),
        ("first_byte_timeout", &mut client.timeouts.first_byte),
        ("idle_timeout", &mut client.timeouts.idle),
    ] {
        if let Some(value) = section.table.get(key) {
            *slot = duration(value).ok_or_else(|| {
                format!("`client.{key}` must be a time, like 30, \"30s\", \"15m\" or \"500ms\"")
            })?;
        }
    }
    Ok(())
}

fn duration(value: &Value) -> Option<Duration> {
    if let Some(seconds) = value.as_integer() {
        return u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs);
    }
    let text = value.as_str()?.trim();
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(at)?;
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    match unit.trim() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}
