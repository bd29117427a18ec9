//! `[store]`: where conversations and thoughts are kept, and where the key is that they are sealed with.

use super::limits::limit;
use super::places::{Lookup, data_folder, from_file};
use super::table::Section;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thinkthrough_limits::Limit;
use thinkthrough_store::{KeySource, Limits, Location};
use toml::Value;

/// The place of conversations and thoughts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    /// The database; neither a file nor its folder need exist yet.
    pub(crate) location: Location,
    /// The source of the master key.
    pub(crate) key: KeySource,
    /// The age and quota of records in the vault of a gateway.
    pub(crate) limits: Limits,
    /// The folder of traces that wait for a server; a store in a file has its journal beside it.
    pub(crate) spool: Option<PathBuf>,
}

/// The keys of `[store]`.
pub(super) const KEYS: [&str; 7] = [
    "url",
    "key",
    "keep_days",
    "max_bytes_per_tenant",
    "max_records_per_tenant",
    "max_budgets_per_tenant",
    "spool",
];

/// `[store]`, or the usual place.
pub(super) fn store(
    section: Option<Section<'_>>,
    folder: &Path,
    lookup: Lookup<'_>,
) -> Result<Option<Store>, String> {
    let usual = data_folder(lookup).map(|usual| usual.join("thinkthrough.db"));
    let Some(section) = section else { return Ok(usual.map(beside)) };
    section.only(&KEYS)?;
    let limits = vault_limits(section)?;
    let key = section.table.get("key").map(|key| key_source(key, folder)).transpose()?;
    let spool = section.table.get("spool").map(|it| spool(it, folder)).transpose()?;
    let store = match section.string("url")? {
        Some(url) if is_server(&url) => {
            let key = key.clone().ok_or(
                "`store.url` is a PostgreSQL server, which needs `store.key`: { file = \"FILE\" }, \
                 { env = \"NAME\" } or { command = \"...\" }; make one with `openssl rand -hex 32`",
            )?;
            let usual = || data_folder(lookup).map(|folder| folder.join("spool"));
            let spool = spool.unwrap_or_else(usual);
            return Ok(Some(Store { location: Location::Postgres(url), key, limits, spool }));
        }
        _ if spool.is_some() => {
            return Err("`store.spool` is for a PostgreSQL server; a store in a file has its \
                        journal beside it, so leave it out"
                .to_owned());
        }
        Some(url) => Store { limits, ..beside(sqlite(&url, folder)?) },
        None => usual.map(|file| Store { limits, ..beside(file) }).ok_or_else(|| {
            "`store` needs `url`, because neither `XDG_DATA_HOME` nor `HOME` is set".to_owned()
        })?,
    };
    Ok(Some(match key {
        Some(key) => Store { key, ..store },
        None => store,
    }))
}

/// Reads the limits of the vault; a missing limit has its default.
fn vault_limits(section: Section<'_>) -> Result<Limits, String> {
    const DAY: u64 = 24 * 60 * 60;
    let most = |limit: Limit| match limit {
        Limit::AtMost(number) => number.get(),
        Limit::Unlimited => u64::MAX,
    };
    let said = |key: &str| limit(section, key).map(|limit| limit.map(most));
    let usual = Limits::default();
    let age = said("keep_days")?.map(|days| Duration::from_secs(days.saturating_mul(DAY)));
    Ok(Limits {
        age: age.unwrap_or(usual.age),
        bytes: said("max_bytes_per_tenant")?.unwrap_or(usual.bytes),
        records: said("max_records_per_tenant")?.unwrap_or(usual.records),
        budgets: said("max_budgets_per_tenant")?.unwrap_or(usual.budgets),
        ..usual
    })
}

/// Reads the folder of traces that wait for a server; `None` keeps them in memory only.
fn spool(value: &Value, folder: &Path) -> Result<Option<PathBuf>, String> {
    match value {
        Value::Boolean(false) => Ok(None),
        Value::String(path) if !path.is_empty() => Ok(Some(from_file(folder, path))),
        _ => Err("`store.spool` must be a folder or `false`".to_owned()),
    }
}

fn is_server(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

/// Describes a store in a file, with its key in a file beside it under the same name.
fn beside(file: PathBuf) -> Store {
    let key = KeySource::File(file.with_extension("key"));
    Store { location: Location::Sqlite(file), key, limits: Limits::default(), spool: None }
}

fn sqlite(url: &str, folder: &Path) -> Result<PathBuf, String> {
    // The number of slashes matters only in this way: `sqlite:a.db` and `sqlite://a.db` are relative,
    // `sqlite:///a.db` is not.
    let path = url.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path));
    match path.filter(|path| !path.is_empty() && !path.starts_with(':')) {
        Some(path) => Ok(from_file(folder, path)),
        None => Err(format!(
            "`store.url` cannot be `{url}`; write `sqlite:FILE` or `postgres://user@host/database`"
        )),
    }
}

fn key_source(value: &Value, folder: &Path) -> Result<KeySource, String> {
    const FORMS: &str =
        "`store.key` must be one of { file = \"FILE\" }, { env = \"NAME\" }, { command = \"...\" }";
    let table = value.as_table().ok_or(FORMS)?;
    let inner = Section { name: "store.key", table }.only(&["file", "env", "command"])?;
    let sources = [
        inner.string("file")?.map(|file| KeySource::File(from_file(folder, &file))),
        inner.string("env")?.map(KeySource::Env),
        inner.command("command", folder)?.map(KeySource::Command),
    ];
    let mut said = sources.into_iter().flatten();
    match (said.next(), said.next()) {
        (Some(source), None) => Ok(source),
        _ => Err(FORMS.to_owned()),
    }
}
