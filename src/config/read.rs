//! Reads the configuration file.

use super::limits::budget;
use super::places::{self, Lookup};
use super::reasoning::{KEYS, reasoning};
use super::secret::Sources;
use super::table::Section;
use super::{
    Config, Surroundings, client, keys, masking, models, prices, providers, references, server,
    store, surroundings, tools, traces, trust,
};
use crate::connections::Connections;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thinkthrough_client::{ClientConfig, ProxyRules};
use thinkthrough_core::settings::Partial;
use thinkthrough_limits::runaway::Runaway;
use toml::{Table, Value};

/// Reads the file of `--config`, or else the file at its default place if it exists.
pub(crate) fn read(named: Option<&Path>, lookup: Lookup<'_>) -> Result<Config, String> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => match places::config_file(lookup).filter(|path| path.exists()) {
            Some(path) => path,
            None => return without_file(lookup),
        },
    };
    let text = trust::read(&path)?;
    read_text(path, &text, lookup)
}

/// Reads this text as the configuration file at this path.
pub(crate) fn read_text(path: PathBuf, text: &str, lookup: Lookup<'_>) -> Result<Config, String> {
    let within = |message: String| format!("in `{}`: {message}", path.display());
    let table: Table = text.parse().map_err(|error| within(in_a_line(text, &error)))?;
    let config = config(&table, lookup, &places::folder_of(&path)).map_err(within)?;
    if let Some(dangling) = references::dangling(&table).into_iter().next() {
        return Err(within(dangling));
    }
    let warnings = warnings_of(&table, lookup);
    Ok(Config { path: Some(path), warnings, ..config })
}

/// Warnings about variables that the file names and the environment lacks, at most one for each variable.
pub(super) fn warnings_of(table: &Table, lookup: Lookup<'_>) -> Vec<String> {
    let mut found = references::unset(table, lookup);
    found.extend(references::keyless(table, lookup));
    let mut known = BTreeSet::new();
    found.retain(|(variable, _)| known.insert(variable.clone()));
    found.into_iter().map(|(_, warning)| warning).collect()
}

/// Converts the parser's message of several lines into one line.
fn in_a_line(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    let message = too_large(text, error).unwrap_or(message);
    format!("line {line}, column {column}: {message}; `think config check` shows the place")
}

/// The message for a number that exceeds TOML's range. It names the key, which the parser does not report: `number`
/// is replaced by two small numbers, and the results are compared.
pub(super) fn too_large(text: &str, error: &toml::de::Error) -> Option<String> {
    let span = error.span()?;
    let number = text.get(span.clone())?;
    let digits = number.trim_start_matches(['-', '+']);
    if digits.is_empty() || !digits.bytes().all(|it| it.is_ascii_digit() || it == b'_') {
        return None;
    }
    let with = |other: &str| -> Option<Value> {
        let text = [text.get(..span.start)?, other, text.get(span.end..)?].concat();
        text.parse().ok().map(Value::Table)
    };
    let at = differs_at(&with("0")?, &with("1")?)?;
    Some(format!(
        "`{}` cannot be `{number}`: no number here is more than {}; \"unlimited\" is none at all, where there can be none",
        at.join("."),
        i64::MAX
    ))
}

/// The path of keys to the one value in which two tables differ.
fn differs_at(one: &Value, other: &Value) -> Option<Vec<String>> {
    let (Value::Table(one), Value::Table(other)) = (one, other) else {
        return (one != other).then(Vec::new);
    };
    one.iter().find_map(|(name, value)| {
        let below = differs_at(value, other.get(name)?)?;
        Some(std::iter::once(name.clone()).chain(below).collect())
    })
}

/// Reads a configuration text as if it were a file in this folder.
#[cfg(test)]
pub(crate) fn of_text(text: &str, lookup: Lookup<'_>, folder: &Path) -> Result<Config, String> {
    config(&text.parse().map_err(|error: toml::de::Error| error.to_string())?, lookup, folder)
}

fn without_file(lookup: Lookup<'_>) -> Result<Config, String> {
    Ok(Config {
        path: None,
        warnings: Vec::new(),
        default_model: None,
        reasoning: Partial::default(),
        providers: Vec::new(),
        models: Vec::new(),
        prices: Vec::new(),
        profiles: Vec::new(),
        client: ClientConfig { proxy: ProxyRules::from_env(lookup), ..ClientConfig::default() },
        connections: Connections::default(),
        listeners: Vec::new(),
        roles: Vec::new(),
        tools: Vec::new(),
        mcp: Vec::new(),
        keys: Vec::new(),
        budget: budget(None)?,
        compress_at: COMPRESS_AT,
        system: None,
        surroundings: Surroundings::ALL,
        mouse: true,
        runaway: Runaway::default(),
        server: server::server(None, Path::new(""))?,
        store: store::store(None, Path::new(""), lookup)?,
        is_store_named: false,
        traces: traces::traces(None)?,
        masking: masking::masking(None)?,
    })
}

pub(super) fn config(table: &Table, lookup: Lookup<'_>, folder: &Path) -> Result<Config, String> {
    const TABLES: [&str; 16] = [
        "default_model",
        "budget",
        "chat",
        "client",
        "keys",
        "masking",
        "mcp",
        "models",
        "prices",
        "profiles",
        "providers",
        "roles",
        "server",
        "store",
        "tools",
        "traces",
    ];
    let root = Section { name: "", table };
    root.only(&[&TABLES[..], &KEYS].concat())?;
    let section = |name: &'static str| {
        root.table(name).map(|table| table.map(|table| Section { name, table }))
    };
    let mut config = Config {
        default_model: root.string("default_model")?,
        reasoning: reasoning(root)?,
        budget: budget(section("budget")?)?,
        server: server::server(section("server")?, folder)?,
        store: store::store(section("store")?, folder, lookup)?,
        is_store_named: section("store")?.is_some(),
        traces: traces::traces(section("traces")?)?,
        masking: masking::masking(section("masking")?)?,
        ..without_file(lookup)?
    };
    let sources = Sources { lookup, folder };
    for (name, table) in root.tables("providers")? {
        config.providers.push(providers::entry(Section { name: &name, table }, sources)?);
    }
    for (name, table) in root.tables("models")? {
        config.models.push(models::entry(Section { name: &name, table }, sources)?);
    }
    for (name, table) in root.tables("prices")? {
        config.prices.push(prices::entry(Section { name: &name, table })?);
    }
    for (name, table) in root.tables("profiles")? {
        config.profiles.push(models::profile(Section { name: &name, table })?);
    }
    for (name, table) in root.tables("tools")? {
        config.tools.push(tools::tool(Section { name: &name, table })?);
    }
    for (name, table) in root.tables("mcp")? {
        config.mcp.push(tools::mcp(Section { name: &name, table }, sources)?);
    }
    for (name, table) in root.tables("keys")? {
        config.keys.push(keys::entry(Section { name: &name, table }, sources)?);
    }
    if config.server.keyless == Some(true) && !config.keys.is_empty() {
        return Err(
            "`server.keyless` says that no keys are wanted, and `[keys]` are there; take one \
                    of them out"
                .to_owned(),
        );
    }
    keys::distinct(&config.keys)?;
    if let Some(roles) = section("roles")? {
        for role in roles.table.keys() {
            config.roles.push((role.clone(), roles.string(role)?.unwrap_or_default()));
        }
    }
    if let Some(section) = section("chat")? {
        chat(section, &mut config)?;
    }
    if let Some(section) = section("client")? {
        client::client(section, folder, &mut config.client)?;
    }
    Ok(config)
}

/// `[chat]`
fn chat(section: Section<'_>, config: &mut Config) -> Result<(), String> {
    section.only(&["compress_at", "mouse", "runaway", "surroundings", "system"])?;
    config.mouse = section.boolean("mouse")?.unwrap_or(true);
    config.system = section.string("system")?;
    config.surroundings = surroundings::surroundings(section)?;
    config.compress_at = compress_at(section)?;
    config.runaway = runaway(section)?.unwrap_or_default();
    Ok(())
}

/// Default of `compress_at`, in percent.
const COMPRESS_AT: u8 = 80;

/// `[chat] runaway` and `[server] runaway`: the action for thoughts that repeat the same text.
pub(super) fn runaway(section: Section<'_>) -> Result<Option<Runaway>, String> {
    let Some(value) = section.table.get("runaway") else { return Ok(None) };
    let wrong = || section.wrong("runaway", "\"off\", \"warn\" or \"cut\"");
    value.as_str().and_then(Runaway::parse).map(Some).ok_or_else(wrong)
}

/// `[chat] compress_at`: percent, or `"never"`.
fn compress_at(section: Section<'_>) -> Result<u8, String> {
    let percent = match section.table.get("compress_at") {
        None => Some(COMPRESS_AT),
        Some(Value::String(word)) if word == "never" => Some(0),
        Some(value) => value
            .as_integer()
            .and_then(|it| u8::try_from(it).ok())
            .filter(|it| (1..=100).contains(it)),
    };
    percent.ok_or_else(|| section.wrong("compress_at", "1 to 100 percent, or \"never\""))
}
