//! `[client]`: how requests go upstream.

use super::places;
use super::table::Section;
use std::path::Path;
use std::time::Duration;
use thinkthrough_client::{AnswerCaps, ClientConfig, ProxyRules};
use toml::Value;

/// The keys of `[client]`.
pub(super) const KEYS: [&str; 10] = [
    "ca_file",
    "proxy",
    "connect_timeout",
    "first_byte_timeout",
    "idle_timeout",
    "answer_timeout",
    "answer_bytes",
    "answer_line_bytes",
    "answer_event_bytes",
    "answer_events",
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
                section.wrong(key, "a time, like 30, \"30s\", \"15m\" or \"500ms\"")
            })?;
        }
    }
    answer_caps(section, &mut client.answer)
}

/// Reads the limits of one answer. A line is a part of an event and an event a part of an answer, so that a limit
/// without a setting is at most the limit of the larger part.
fn answer_caps(section: Section<'_>, caps: &mut AnswerCaps) -> Result<(), String> {
    let number = |key: &str| match section.table.get(key) {
        None => Ok(None),
        Some(value) => {
            let number = value.as_integer().and_then(|it| usize::try_from(it).ok());
            let number = number.filter(|number| *number > 0);
            let what = if key == "answer_events" { "events" } else { "bytes" };
            let wrong = || section.wrong(key, &format!("a number of {what} greater than 0"));
            number.map(Some).ok_or_else(wrong)
        }
    };
    let (line, event) = (number("answer_line_bytes")?, number("answer_event_bytes")?);
    let all = number("answer_bytes")?;
    for (part, part_key, whole, whole_key) in [
        (line, "answer_line_bytes", event, "answer_event_bytes"),
        (line, "answer_line_bytes", all, "answer_bytes"),
        (event, "answer_event_bytes", all, "answer_bytes"),
    ] {
        if let (Some(part), Some(whole)) = (part, whole)
            && part > whole
        {
            return Err(format!(
                "`client.{part_key}` cannot be more than `client.{whole_key}`, of which it is a \
                 part; it is {part}, and the other {whole}"
            ));
        }
    }
    // A higher limit of a part raises the limit of the whole.
    caps.bytes = all.unwrap_or(caps.bytes.max(event.or(line).unwrap_or_default()));
    caps.event = event.unwrap_or(caps.event.max(line.unwrap_or_default())).min(caps.bytes);
    caps.line = line.unwrap_or(caps.line).min(caps.event);
    caps.events = number("answer_events")?.unwrap_or(caps.events);
    Ok(())
}

/// A time: a number of seconds, or one with its unit.
pub(super) fn duration(value: &Value) -> Option<Duration> {
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
