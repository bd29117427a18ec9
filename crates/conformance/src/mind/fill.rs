//! Fills the arguments of a call from the schema and from the words of the request.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::offer::Offer;
use super::reading::{Clause, Reading};
use super::trade::Trade;
use super::words::{is_file, shortened};
use crate::json::Keyed;

/// The mind looks for at most this many values of an enumeration.
const CHOICES: usize = 256;

/// Most characters of a string argument.
const VALUE: usize = 1024;

/// Most words of an argument if no word of the request looks like a value for it.
const TELLING: usize = 64;

/// The arguments of a call: every required property, and optional paths that the clause names.
///
/// `nth` is 1 for a second call of the same tool, and selects the next best values.
pub(super) fn arguments(
    offer: &Offer<'_>,
    clause: &Reading<'_>,
    question: &Reading<'_>,
    nth: usize,
) -> Value {
    object(&offer.tool.schema, &Words { clause, question, nth, trade: offer.trade }, 0)
}

/// Whether the clause has a value for one of the first four required arguments. Always false for a
/// tool whose arguments come from the whole question.
pub(super) fn has_value(offer: &Offer<'_>, clause: &Clause<'_>) -> bool {
    if offer.spans_clauses {
        return false;
    }
    let clause = Reading::of(clause.text);
    let words = Words { clause: &clause, question: &clause, nth: 0, trade: offer.trade };
    offer.required.iter().take(4).any(|(name, schema)| {
        schema.at("type") == "string" && words.candidate(name, words.clause).is_some()
            || matches!(schema.at("type").as_str(), Some("integer" | "number"))
                && !clause.numbers.is_empty()
    })
}

/// Whether the tool reads a file and the request names none.
pub(super) fn needs_file(offer: &Offer<'_>, question: &Reading<'_>) -> bool {
    offer.wants_file && question.files.is_empty()
}

/// Whether each required argument has a value, from the request or by default. Never true for a
/// shell, whose command would be a guess.
pub(super) fn is_ready(offer: &Offer<'_>, question: &Reading<'_>) -> bool {
    let words = Words { clause: question, question, nth: 0, trade: offer.trade };
    let fits = |(name, schema): &(&String, &Value)| {
        fixed(schema, &words).is_some()
            || match schema.at("type").as_str() {
                Some("string") => {
                    words.candidate(name, question).is_some()
                        || is_path(name) && words.trade != Trade::Reader
                }
                Some(_) | None => true,
            }
    };
    !needs_file(offer, question) && words.trade != Trade::Shell && offer.required.iter().all(fits)
}

/// Changes a path in the arguments to another spelling, so that a second call differs from the
/// first.
pub(super) fn vary(arguments: &mut Value, schema: &Value) {
    let paths = schema.at("properties").as_object().into_iter().flatten();
    let Some((name, _)) = paths.into_iter().find(|(name, _)| is_path(name)) else { return };
    let other = if arguments.at(name) == "." { "./" } else { "." };
    arguments.set(name, json!(other));
}

/// Whether a property with this name holds a path.
pub(super) fn is_path(name: &str) -> bool {
    let name = name.to_lowercase();
    ["path", "file", "dir", "folder"].iter().any(|part| name.contains(part))
}

/// Whether a property with this name holds a search term or pattern.
fn is_sought(name: &str) -> bool {
    let name = name.to_lowercase();
    ["pattern", "query", "regex", "term", "keyword"].iter().any(|part| name.contains(part))
}

/// Whether a property with this name holds the path of a folder.
fn is_folder(name: &str) -> bool {
    let name = name.to_lowercase();
    ["dir", "folder"].iter().any(|part| name.contains(part))
}

/// The properties that a schema requires.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let names = schema.at("required").as_array().into_iter().flatten();
    let names: HashSet<&str> = names.filter_map(Value::as_str).collect();
    let properties = schema.at("properties").as_object().into_iter().flatten();
    properties.filter(move |(name, _)| names.contains(name.as_str()))
}

fn object(schema: &Value, words: &Words<'_>, depth: usize) -> Value {
    let mut out = Map::new();
    let (mut numbers, mut strings) = (0, 0);
    for (name, property) in required(schema) {
        let taken = match property.at("type").as_str() {
            Some("integer" | "number") => &mut numbers,
            Some(_) | None => &mut strings,
        };
        let place = Words { nth: words.nth + *taken, ..*words };
        *taken += 1;
        out.insert(name.clone(), value(name, property, &place, depth));
    }
    for (name, property) in schema.at("properties").as_object().into_iter().flatten() {
        let named = is_path(name) && words.candidate(name, words.clause).is_some();
        if !out.contains_key(name) && named && property.at("type") == "string" {
            out.insert(name.clone(), value(name, property, words, depth));
        }
    }
    Value::Object(out)
}

fn value(name: &str, schema: &Value, words: &Words<'_>, depth: usize) -> Value {
    if let Some(fixed) = fixed(schema, words) {
        return fixed;
    }
    let kind = match schema.at("type") {
        Value::Array(kinds) => {
            kinds.iter().find_map(|kind| kind.as_str().filter(|kind| *kind != "null"))
        }
        Value::String(kind) => Some(kind.as_str()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    match kind.map(str::to_lowercase).as_deref() {
        Some("integer") => {
            let number = words.number().and_then(|word| word.parse::<i64>().ok());
            number.map_or_else(|| lowest(schema), |number| json!(number))
        }
        Some("number") => {
            let number = words.number().and_then(|word| word.parse::<f64>().ok());
            number.map_or_else(|| lowest(schema), |number| json!(number))
        }
        Some("boolean") => Value::Bool(false),
        Some("null") => Value::Null,
        Some("array") if depth < 4 => json!([value(name, schema.at("items"), words, depth + 1)]),
        Some("object") if depth < 4 => object(schema, words, depth + 1),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some(_) | None => Value::String(words.string(name)),
    }
}

fn fixed(schema: &Value, words: &Words<'_>) -> Option<Value> {
    if let Some(choices) = schema.at("enum").as_array() {
        let lower = &words.question.lower;
        let said = choices.iter().take(CHOICES).find(|choice| {
            choice.as_str().is_some_and(|text| lower.contains(&text.to_lowercase()))
        });
        return said.or_else(|| choices.first()).cloned();
    }
    let map = schema.as_object()?;
    map.get("const").or_else(|| map.get("default")).cloned()
}

fn lowest(schema: &Value) -> Value {
    schema.get("minimum").filter(|value| value.is_number()).cloned().unwrap_or_else(|| json!(1))
}

/// The texts that string and number arguments come from.
struct Words<'a> {
    clause: &'a Reading<'a>,
    question: &'a Reading<'a>,
    nth: usize,
    trade: Trade,
}

impl<'a> Words<'a> {
    fn string(&self, name: &str) -> String {
        if self.trade == Trade::Lister && is_sought(name) {
            return "*".to_owned();
        }
        let found =
            self.candidate(name, self.clause).or_else(|| self.candidate(name, self.question));
        let text = found.map_or_else(|| self.fallback(name), str::to_owned);
        text.chars().take(VALUE).collect()
    }

    /// The value of the text that fits a property with this name best. `nth` selects a later one.
    fn candidate(&self, name: &str, text: &Reading<'a>) -> Option<&'a str> {
        let nth = |found: &[&'a str]| found.get(self.nth).or_else(|| found.last()).copied();
        let lower = name.to_lowercase();
        if is_path(name) {
            let mut paths =
                text.paths(self.trade).filter(|path| !is_folder(name) || !is_file(path));
            let mut last = paths.next();
            for _ in 0..self.nth {
                last = paths.next().or(last);
            }
            return last;
        }
        if self.trade == Trade::Shell {
            return None;
        }
        if lower.contains("url") || lower.contains("uri") {
            return nth(&text.addresses);
        }
        nth(&text.names)
    }

    fn number(&self) -> Option<&'a str> {
        self.clause.numbers.get(self.nth).copied()
    }

    fn fallback(&self, name: &str) -> String {
        if is_path(name) {
            return ".".to_owned();
        }
        let lower = name.to_lowercase();
        if lower.contains("url") || lower.contains("uri") {
            return "https://example.com/".to_owned();
        }
        if lower.contains("date") {
            return "2026-01-01".to_owned();
        }
        if self.trade == Trade::Shell {
            let file = self.clause.files.first();
            return file.map_or_else(|| "ls".to_owned(), |file| format!("cat {file}"));
        }
        let found = &self.clause.telling;
        if let (true, Some(last)) = (is_sought(name), found.last()) {
            return (*last).to_owned();
        }
        if found.is_empty() {
            return shortened(self.question.text, 6);
        }
        found.iter().take(TELLING).copied().collect::<Vec<_>>().join(" ")
    }
}
