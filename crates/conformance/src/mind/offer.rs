//! A tool on offer, read once for all clauses that are compared with it.

use std::collections::HashSet;

use serde_json::Value;

use super::Tool;
use super::fill::{is_path, required};
use super::reading::Clause;
use super::trade::{Trade, asks_about_place};
use super::words::{bare, is_file, keys};
use crate::json::Keyed;

/// Words and parameters of a tool.
pub(super) struct Offer<'a> {
    pub(super) tool: &'a Tool,
    pub(super) trade: Trade,
    /// The properties that a call must have.
    pub(super) required: Vec<(&'a String, &'a Value)>,
    /// The tool takes several numbers, which a list such as "2 and 40" must not tear apart.
    pub(super) spans_clauses: bool,
    /// The question says that this tool is to be called.
    pub(super) is_named: bool,
    /// The tool reads a file, which the request has to name.
    pub(super) wants_file: bool,
    name: HashSet<String>,
    description: HashSet<String>,
    parameters: HashSet<String>,
}

impl<'a> Offer<'a> {
    /// Reads a tool for a question with these words in small letters.
    pub(super) fn of(tool: &'a Tool, question: &[&str]) -> Self {
        let name = keys(&tool.name);
        let trade = Trade::of(&name);
        let required: Vec<_> = required(&tool.schema).collect();
        let number = |(_, schema): &&(&String, &Value)| {
            matches!(schema.at("type").as_str(), Some("integer" | "number"))
        };
        let properties = tool.schema.at("properties").as_object().into_iter().flatten();
        Self {
            spans_clauses: required.iter().filter(number).count() > 1,
            is_named: is_named(&tool.name, question) || trade == Trade::Shell && runs(question),
            wants_file: trade == Trade::Reader && required.iter().any(|(name, _)| is_path(name)),
            description: keys(&tool.description),
            parameters: properties.flat_map(|(key, _)| keys(key)).collect(),
            tool,
            trade,
            required,
            name,
        }
    }

    /// The tool looks at files and changes nothing, as far as its name tells.
    pub(super) fn only_looks(&self) -> bool {
        let name = self.tool.name.to_lowercase();
        ["read", "list", "glob", "grep"].iter().any(|word| name.starts_with(word))
    }

    /// How well the tool fits the clause.
    pub(super) fn score(&self, clause: &Clause<'_>) -> usize {
        let Clause { text, words } = clause;
        let mut points = 0;
        for word in words {
            points += if self.name.contains(word) { 4 } else { 0 };
            points += if self.description.contains(word) { 2 } else { 0 };
            points += usize::from(self.parameters.contains(word));
        }
        if bare(text).any(|word| word == self.tool.name) {
            points += 10;
        }
        points
            + match self.trade {
                Trade::Reader if bare(text).any(is_file) => 6,
                Trade::Lister if asks_about_place(text, words) && !bare(text).any(is_file) => 4,
                Trade::Shell if asks_about_place(text, words) => 3,
                Trade::Lister | Trade::Reader | Trade::Shell | Trade::Other => 0,
            }
    }
}

/// The words name this tool. A name that is an everyday word counts only beside a word that makes it a name.
fn is_named(name: &str, words: &[&str]) -> bool {
    const BEFORE: [&str; 4] = ["call", "run", "tool", "use"];
    const BEHIND: [&str; 2] = ["command", "tool"];
    let is_everyday = name.bytes().all(|byte| byte.is_ascii_alphabetic());
    let name = name.to_lowercase();
    let is_beside = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        before.is_some_and(|word| BEFORE.contains(word))
            || words.get(at + 1).is_some_and(|word| BEHIND.contains(word))
    };
    let mut places = words.iter().enumerate().filter(|(_, word)| **word == name);
    places.any(|(at, _)| !is_everyday || is_beside(at))
}

/// The words ask for a command.
fn runs(words: &[&str]) -> bool {
    words.windows(2).any(|pair| pair == ["run", "the"]) && words.contains(&"command")
}
