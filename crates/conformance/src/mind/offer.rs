//! A tool on offer, prepared once for comparison with all clauses.

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
    /// The required properties.
    pub(super) required: Vec<(&'a String, &'a Value)>,
    /// The tool takes several numbers. Its arguments come from the whole question, because a list
    /// such as "2 and 40" spans clauses.
    pub(super) spans_clauses: bool,
    /// The question names this tool, or asks the shell to run a command.
    pub(super) is_named: bool,
    /// The tool reads a file, and the request must name the file.
    pub(super) wants_file: bool,
    name: HashSet<String>,
    description: HashSet<String>,
    parameters: HashSet<String>,
}

impl<'a> Offer<'a> {
    /// Prepares a tool for a question with these words in lower case.
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

    /// Whether the tool only reads or searches, by the start of its name.
    pub(super) fn only_looks(&self) -> bool {
        let name = self.tool.name.to_lowercase();
        ["read", "list", "glob", "grep"].iter().any(|word| name.starts_with(word))
    }

    /// Points for the words that tool and clause share, and for a fitting purpose of the tool.
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

/// Whether the words name this tool. A name of letters alone may be an everyday word, so that it
/// counts only next to a word such as "call" or "tool".
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

/// Whether the words ask to run a command.
fn runs(words: &[&str]) -> bool {
    words.windows(2).any(|pair| pair == ["run", "the"]) && words.contains(&"command")
}
