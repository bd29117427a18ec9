//! `[client]`: how requests go upstream.

use super::places;
use super::table::Section;
use std::path::Path;
use std::time::Duration;
use thinkthrough_client::{ClientConfig, ProxyRules};
use toml::Value;

/// The keys of `[client]`.
pub(super) const KEYS: [&str; 7] = [
    "ca_file",
    "proxy",
    "connect_timeout",
    "first_byte_timeout",
    "idle_timeout",
    "answer_timeout",
    "answer_bytes",
];

pub(super) fn client(
    section: Section<'_>,
    folder: &Path,
    client: &mut ClientConfig,
) -> Result<(), String> {
    section.only(&KEYS)?;
    client.ca_file = section
        .string("ca_file")?
        .filter(|file| !file.is_empty())
        .map(|file| places::from_file(folder, &file));
    if let Some(proxy) = section.string("proxy")?.filter(|proxy| !proxy.is_empty()) {
        client.proxy = ProxyRules::single(&proxy, "").map_err(|error| error.to_string())?;
    }
    for (key, slot) in [
        ("connect_timeout", &mut client.timeouts.connect),
        ("first_byte_timeout", &mut client.timeouts.first_byte),
        ("idle_timeout", &mut client.timeouts.idle),
        ("answer_timeout", &mut client.answer.time),
    ] {
        if let Some(value) = section.table.get(key) {
            *slot = duration(value).ok_or_else(|| {
                format!("`client.{key}` must be a time, like 30, \"30s\", \"15m\" or \"500ms\"")
            })?;
        }
    }
    if let Some(value) = section.table.get("answer_bytes") {
        let bytes = value.as_integer().and_then(|it| usize::try_from(it).ok());
        client.answer.bytes = bytes.filter(|bytes| *bytes > 0).ok_or_else(|| {
            "`client.answer_bytes` must be a number of bytes, like 268435456".to_owned()
        })?;
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
