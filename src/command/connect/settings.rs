//! Members of a settings file, whichever format it has.

use super::{json, toml};
use std::fmt;
use thinkthrough_json::Raw;

/// The format of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON, with or without comments.
    Json,
    Toml,
}

impl Form {
    /// Sets a member, and keeps every other byte.
    pub(super) fn set(self, text: &str, path: &[String], value: &Value) -> Result<String, String> {
        match self {
            Form::Json => json::put(text, path, &value.json(path.len())),
            Form::Toml => toml::put(text, path, &value.toml(path)),
        }
    }

    /// The value of a member, in a spelling that all spellings of the value share.
    pub(super) fn value(self, text: &str, path: &[String]) -> Result<Option<String>, String> {
        match self {
            Form::Json => json::value(text, path),
            Form::Toml => toml::value(text, path),
        }
    }

    /// Gives a member the value that it has in another text, or removes it if it has none there.
    pub(super) fn copy(self, text: &str, path: &[String], from: &str) -> Result<String, String> {
        match self {
            Form::Json => match json::raw(from, path)? {
                Some(raw) => json::put(text, path, &raw),
                None => removed(text, path, from, json::remove, json::is_empty),
            },
            Form::Toml => match toml::raw(from, path)? {
                Some(raw) => toml::put(text, path, &raw),
                None => toml::remove(text, path),
            },
        }
    }

    /// Whether the text has no member at all.
    pub(super) fn is_blank(self, text: &str) -> bool {
        match self {
            Form::Json => text.trim().is_empty() || json::is_empty(text, &[]).unwrap_or(false),
            Form::Toml => text.trim().is_empty(),
        }
    }
}

/// Removes a member, and the objects around it that are empty then and were not there before.
fn removed(
    text: &str,
    path: &[String],
    before: &str,
    remove: fn(&str, &[String]) -> Result<String, String>,
    is_empty: fn(&str, &[String]) -> Result<bool, String>,
) -> Result<String, String> {
    let mut text = remove(text, path)?;
    let mut around = path;
    while let Some((_, outer)) = around.split_last() {
        let is_own = json::raw(before, outer)?.is_none();
        if outer.is_empty() || !is_own || !is_empty(&text, outer)? {
            break;
        }
        text = remove(&text, outer)?;
        around = outer;
    }
    Ok(text)
}

/// A value of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    True,
    Table(Vec<(String, Value)>),
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        Value::Text(text.to_owned())
    }

    pub(super) fn table(members: Vec<(&str, Value)>) -> Self {
        Value::Table(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// JSON text over several lines, whose members stand this deep.
    fn json(&self, depth: usize) -> String {
        match self {
            Value::Text(text) => quoted(text),
            Value::True => "true".to_owned(),
            Value::Table(members) => {
                let inner = "  ".repeat(depth + 1);
                let member = |(key, value): &(String, Value)| {
                    format!("{inner}{}: {}", quoted(key), value.json(depth + 1))
                };
                let lines: Vec<String> = members.iter().map(member).collect();
                format!("{{\n{}\n{}}}", lines.join(",\n"), "  ".repeat(depth))
            }
        }
    }

    /// TOML text: a value, or a table with its header.
    fn toml(&self, path: &[String]) -> String {
        match self {
            // Strings of JSON are strings of TOML.
            Value::Text(text) => quoted(text),
            Value::True => "true".to_owned(),
            Value::Table(members) => {
                let line =
                    |(key, value): &(String, Value)| format!("{key} = {}\n", value.toml(&[]));
                let lines: String = members.iter().map(line).collect();
                format!("[{}]\n{lines}", path.join("."))
            }
        }
    }
}

fn quoted(text: &str) -> String {
    Raw::string(text).as_str().to_owned()
}

/// A member that gets a value.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) path: Vec<String>,
    pub(super) value: Value,
    is_secret: bool,
}

impl Change {
    pub(super) fn new(path: &[&str], value: Value) -> Self {
        let path = path.iter().map(|&key| key.to_owned()).collect();
        Change { path, value, is_secret: false }
    }

    pub(super) fn text(path: &[&str], text: &str) -> Self {
        Change::new(path, Value::text(text))
    }

    /// Hides the value if it holds a key.
    pub(super) fn secret(self, is_secret: bool) -> Self {
        Change { is_secret, ..self }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.join(".");
        match &self.value {
            Value::Text(_) if self.is_secret => write!(f, "`{path}` is the key of the gateway"),
            Value::Text(text) if text.is_empty() => write!(f, "`{path}` is empty"),
            Value::Text(text) => write!(f, "`{path}` is `{text}`"),
            Value::True => write!(f, "`{path}` is `true`"),
            Value::Table(_) => write!(f, "`{path}` describes the gateway"),
        }
    }
}
