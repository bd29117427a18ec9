//! The values in a text that arguments may take, found once for all arguments.

use std::collections::HashSet;

use super::trade::Trade;
use super::words::{bare, is_file, is_filler, keys, quoted};

/// A part of a request that asks for one thing.
pub(super) struct Clause<'a> {
    pub(super) text: &'a str,
    pub(super) words: HashSet<String>,
}

impl<'a> Clause<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, words: keys(text) }
    }
}

/// The values in a text, each kind in the order of the text.
pub(super) struct Reading<'a> {
    pub(super) text: &'a str,
    /// The text in lower case.
    pub(super) lower: String,
    /// Names of files.
    pub(super) files: Vec<&'a str>,
    /// Names of files, and other words with a slash that are no URLs.
    places: Vec<&'a str>,
    pub(super) addresses: Vec<&'a str>,
    pub(super) numbers: Vec<&'a str>,
    /// Quoted spans, then proper names.
    pub(super) names: Vec<&'a str>,
    /// Words that are no fillers.
    pub(super) telling: Vec<&'a str>,
}

impl<'a> Reading<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let words: Vec<&str> = bare(text).collect();
        let find = |fits: &dyn Fn(&str) -> bool| -> Vec<&'a str> {
            words.iter().copied().filter(|word| fits(word)).collect()
        };
        let mut names = quoted(text);
        names.extend(proper(&words));
        Self {
            text,
            lower: text.to_lowercase(),
            files: find(&is_file),
            places: find(&|word| is_file(word) || is_slashed(word)),
            addresses: find(&|word| word.contains("://")),
            numbers: find(&|word| word.parse::<f64>().is_ok()),
            names,
            telling: find(&|word| !is_filler(&word.to_lowercase())),
        }
    }

    /// Paths for a tool of this trade: no files for a lister, no word with a final slash for a
    /// reader.
    pub(super) fn paths(&self, trade: Trade) -> impl Iterator<Item = &'a str> {
        self.places.iter().copied().filter(move |word| match trade {
            Trade::Lister => !is_file(word),
            Trade::Reader => is_file(word) || !word.ends_with('/'),
            Trade::Shell | Trade::Other => true,
        })
    }
}

fn is_slashed(word: &str) -> bool {
    word.contains('/') && !word.contains("://")
}

/// Capitalised words, without the first word of a text of more than two words.
fn proper<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let count = words.len();
    words.iter().copied().enumerate().filter_map(move |(place, word)| {
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        let opening = place == 0 && count > 2;
        (capital && !opening && word.len() > 1 && !is_file(word)).then_some(word)
    })
}
