//! Arguments for a call, filled from the schema and from the words of the request.

use serde_json::{Map, Value, json};

use super::Tool;
use super::trade::Trade;
use super::words::{bare, is_file, quoted, shortened, telling};
use crate::json::Keyed;

/// The arguments of a call: every required property, and optional ones for which the clause has a value.
/// `nth` picks the second-best values, for a second call of the same tool.
pub(super) fn arguments(tool: &Tool, clause: &str, question: &str, nth: usize) -> Value {
    object(&tool.schema, &Words { clause, question, nth, trade: Trade::of(tool) }, 0)
}

/// The clause has a value for a required argument of the tool, beyond what any clause would give.
pub(super) fn has_value(tool: &Tool, clause: &str) -> bool {
    if spans_clauses(tool) {
        return false;
    }
    let words = Words { clause, question: "", nth: 0, trade: Trade::of(tool) };
    required(&tool.schema).any(|(name, schema)| {
        schema.at("type") == "string" && !words.candidates(name).is_empty()
            || matches!(schema.at("type").as_str(), Some("integer" | "number"))
                && words.numbers().next().is_some()
    })
}

/// The tool takes several numbers, which a list such as "2 and 40" must not tear apart.
pub(super) fn spans_clauses(tool: &Tool) -> bool {
    let number = |(_, schema): &(&String, &Value)| {
        matches!(schema.at("type").as_str(), Some("integer" | "number"))
    };
    required(&tool.schema).filter(number).count() > 1
}

/// The tool reads a file and the request names none.
pub(super) fn needs_file(tool: &Tool, question: &str) -> bool {
    let path = required(&tool.schema).any(|(name, _)| is_path(name));
    path && Trade::of(tool) == Trade::Reader && !bare(question).any(is_file)
}

/// Everything that the tool requires can be taken from the request or has a value that always fits.
pub(super) fn is_ready(tool: &Tool, question: &str) -> bool {
    let words = Words { clause: question, question, nth: 0, trade: Trade::of(tool) };
    let fits = |(name, schema): (&String, &Value)| {
        fixed(schema, &words).is_some()
            || match schema.at("type").as_str() {
                Some("string") => {
                    !words.candidates(name).is_empty()
                        || is_path(name) && words.trade != Trade::Reader
                }
                Some(_) | None => true,
            }
    };
    !needs_file(tool, question) && words.trade != Trade::Shell && required(&tool.schema).all(fits)
}

/// Makes the arguments of a second call differ where a path can be spelled in two ways.
pub(super) fn vary(arguments: &mut Value, schema: &Value) {
    let paths = schema.at("properties").as_object().into_iter().flatten();
    let Some((name, _)) = paths.into_iter().find(|(name, _)| is_path(name)) else { return };
    let other = if arguments.at(name) == "." { "./" } else { "." };
    arguments.set(name, json!(other));
}

/// The property holds a path.
pub(super) fn is_path(name: &str) -> bool {
    let name = name.to_lowercase();
    ["path", "file", "dir", "folder"].iter().any(|part| name.contains(part))
}

/// The property holds a path at which no file can be.
fn is_folder(name: &str) -> bool {
    let name = name.to_lowercase();
    ["dir", "folder"].iter().any(|part| name.contains(part))
}

fn required(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let names = schema.at("required").as_array().cloned().unwrap_or_default();
    let properties = schema.at("properties").as_object().into_iter().flatten();
    properties.filter(move |(name, _)| names.iter().any(|wanted| wanted.as_str() == Some(name)))
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
        let named = is_path(name) && !words.candidates(name).is_empty();
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
            let number = words.numbers().nth(words.nth).and_then(|word| word.parse::<i64>().ok());
            number.map_or_else(|| lowest(schema), |number| json!(number))
        }
        Some("number") => {
            let number = words.numbers().nth(words.nth).and_then(|word| word.parse::<f64>().ok());
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
        let lower = words.question.to_lowercase();
        let said = choices.iter().find(|choice| {
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

/// The words from which arguments are taken.
struct Words<'a> {
    clause: &'a str,
    question: &'a str,
    nth: usize,
    trade: Trade,
}

impl<'a> Words<'a> {
    fn string(&self, name: &str) -> String {
        let mut found = self.candidates(name);
        if found.is_empty() {
            let whole = Self { clause: self.question, question: "", ..*self };
            found = whole.candidates(name);
        }
        let chosen = found.get(self.nth).or_else(|| found.last());
        chosen.map_or_else(|| self.fallback(name), |text| (*text).to_owned())
    }

    /// Values in the clause that fit a property of this name, best first.
    fn candidates(&self, name: &str) -> Vec<&'a str> {
        let lower = name.to_lowercase();
        if is_path(name) {
            let mut paths = self.paths();
            paths.retain(|path| !is_folder(name) || !is_file(path));
            return paths;
        }
        if self.trade == Trade::Shell {
            return Vec::new();
        }
        if lower.contains("url") || lower.contains("uri") {
            return bare(self.clause).filter(|word| word.contains("://")).collect();
        }
        let mut out = quoted(self.clause);
        out.extend(self.names());
        out
    }

    /// Paths of the kind that the tool wants: folders for a lister, files for a reader.
    fn paths(&self) -> Vec<&'a str> {
        let slash = |word: &&str| word.contains('/') && !word.contains("://");
        let words = bare(self.clause);
        match self.trade {
            Trade::Lister => words.filter(|word| slash(word) && !is_file(word)).collect(),
            Trade::Reader => {
                words.filter(|word| is_file(word) || slash(word) && !word.ends_with('/')).collect()
            }
            Trade::Shell | Trade::Other => {
                words.filter(|word| is_file(word) || slash(word)).collect()
            }
        }
    }

    /// Proper names: capitalised words that do not open the clause.
    fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let count = bare(self.clause).count();
        bare(self.clause).enumerate().filter_map(move |(place, word)| {
            let capital = word.chars().next().is_some_and(char::is_uppercase);
            let opening = place == 0 && count > 2;
            (capital && !opening && word.len() > 1 && !is_file(word)).then_some(word)
        })
    }

    fn numbers(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        bare(self.clause).filter(|word| word.parse::<f64>().is_ok())
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
            let file = bare(self.clause).find(|word| is_file(word));
            return file.map_or_else(|| "ls".to_owned(), |file| format!("cat {file}"));
        }
        let found = telling(self.clause);
        let sought = ["pattern", "query", "regex", "term", "keyword"]
            .iter()
            .any(|part| lower.contains(part));
        if let (true, Some(last)) = (sought, found.last()) {
            return (*last).to_owned();
        }
        if found.is_empty() { shortened(self.question, 6) } else { found.join(" ") }
    }
}
