//! `[reasoning]`, and other systems' names for the same settings.

use super::table::Section;
use crate::nearest::nearest;
use thinkthrough_core::settings::{Key, Partial};
use toml::Value;

/// The keys of a section that have settings.
pub(super) const KEYS: [&str; 3] = ["reasoning", "thinking", "show_thinking"];

/// Reads the settings of a section: `reasoning = { ... }`, `thinking = { context_mode = ... }`, `show_thinking`.
pub(super) fn reasoning(section: Section<'_>) -> Result<Partial, String> {
    reasoning_and(section, &[])
}

/// Like [`reasoning`], but accepts `more` keys of `thinking`, which the caller reads.
pub(super) fn reasoning_and(section: Section<'_>, more: &[&str]) -> Result<Partial, String> {
    let mut partial = Partial::default();
    for (key, value) in section.table("reasoning")?.into_iter().flatten() {
        let at = section.at("reasoning");
        if Key::parse(&format!("reasoning.{key}")).is_none() {
            return Err(unknown(&at, key));
        }
        // `0` means no limit, in configuration only.
        let is_none = key == "maxTokens" && word(value).as_deref() == Some("0");
        let text = if is_none { Some("unlimited".to_owned()) } else { word(value) };
        put(&mut partial, &format!("reasoning.{key}"), text, &format!("{at}.{key}"))?;
    }
    if let Some(table) = section.table("thinking")? {
        let at = section.at("thinking");
        let inner = Section { name: &at, table };
        inner.only(&[&["context_mode"], more].concat())?;
        if let Some(value) = inner.table.get("context_mode") {
            put(&mut partial, "thinking.context_mode", word(value), &inner.at("context_mode"))?;
        }
    }
    if let Some(value) = section.table.get("show_thinking") {
        put(&mut partial, "show_thinking", word(value), &section.at("show_thinking"))?;
    }
    Ok(partial)
}

fn unknown(at: &str, key: &str) -> String {
    let known = Key::ALL.map(Key::short);
    match nearest(key, &known) {
        Some(near) => format!("`{at}.{key}` is no setting; did you mean `{near}`?"),
        None => format!("`{at}.{key}` is no setting; the settings are {}", known.join(", ")),
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Boolean(_) | Value::Integer(_) => Some(value.to_string()),
        Value::Array(_) | Value::Datetime(_) | Value::Float(_) | Value::Table(_) => None,
    }
}

fn put(partial: &mut Partial, name: &str, text: Option<String>, at: &str) -> Result<(), String> {
    let wrong = || format!("`{at}` must be a word, a number or true or false");
    let text = text.ok_or_else(wrong)?;
    let mut said = Partial::default();
    let key = said.set(name, &text).map_err(|error| error.to_string())?;
    if partial.get(key).is_some() {
        return Err(format!("`{at}` says the same as `{}`; keep one of them", key.as_str()));
    }
    partial.set(name, &text).map_err(|error| error.to_string())?;
    Ok(())
}
