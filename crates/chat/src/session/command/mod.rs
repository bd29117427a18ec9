//! Commands: a line that begins with `/` or `:`.

mod export;
mod look;
mod mode;
mod profile;
mod set;
mod status;
mod table;
mod talk;

use super::Session;
use crate::screen::model::Level;
use std::fmt::Write as _;
use table::{BEGINNINGS, COMMANDS, KEYS, OTHER_NAMES};

/// A command.
struct Command {
    /// Its name, without the slash.
    name: &'static str,
    /// The arguments, as the help shows them.
    arguments: &'static str,
    /// The effect of the command, in a sentence.
    about: &'static str,
    run: fn(&mut Session, &str),
    /// Candidates for the last of these words, given the words before it.
    words: fn(&Session, &[&str]) -> Vec<Word>,
}

/// A word that a command accepts, and its meaning.
struct Word {
    text: String,
    about: String,
    /// The command may have more words.
    goes_on: bool,
}

/// A completion for the text in the composer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The byte position where it is inserted.
    pub(super) from: usize,
    /// The text to insert.
    pub(super) text: String,
    /// A description, for people.
    pub(super) about: String,
    /// The command may have more words.
    pub(super) goes_on: bool,
    /// The command can run with it.
    pub(super) runs: bool,
}

/// Whether a text is a command instead of a message: a slash and one word, or a colon and one word of small letters.
pub(super) fn is_command(text: &str) -> bool {
    let (Some(rest), false) = (text.strip_prefix(['/', ':']), text.contains('\n')) else {
        return false;
    };
    let word = rest.split_whitespace().next().unwrap_or_default();
    let is_of = |first: fn(&char) -> bool, other: fn(&char) -> bool| {
        rest.starts_with(|char: char| first(&char)) && word.chars().all(|char| other(&char))
    };
    if text.starts_with(':') {
        // Other texts begin with a colon too, such as `:D`.
        return is_of(char::is_ascii_lowercase, char::is_ascii_lowercase);
    }
    is_of(char::is_ascii_alphabetic, |char| char.is_ascii_alphanumeric() || "-_".contains(*char))
}

/// Whether a text is only the beginning of a command.
pub(super) fn is_bare(text: &str) -> bool {
    matches!(text.trim(), "/" | ":")
}

impl Command {
    /// Whether the command can run without an argument.
    fn runs_alone(&self) -> bool {
        self.arguments.is_empty() || self.arguments.starts_with('[')
    }
}

/// The closest command to an unknown name.
fn nearest(name: &str) -> Option<&'static Command> {
    let begins = COMMANDS.iter().find(|it| it.name.starts_with(name) || name.starts_with(it.name));
    begins.or_else(|| {
        let all = COMMANDS.iter().map(|it| (distance(name, it.name), it));
        all.min_by_key(|(far, _)| *far).filter(|(far, _)| *far <= name.len() / 2).map(|it| it.1)
    })
}

/// The edit distance of two words.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut corner = at;
        let mut left = at + 1;
        let mut next = vec![left];
        for (above, wanted) in row.iter().skip(1).zip(other.chars()) {
            let changed = corner + usize::from(letter != wanted);
            corner = *above;
            left = changed.min(left + 1).min(*above + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// Every command and key, in Markdown.
#[must_use]
pub fn help() -> String {
    let mut text = String::from("## Commands\n\n");
    for command in COMMANDS {
        let Command { name, arguments, about, .. } = command;
        let space = if arguments.is_empty() { "" } else { " " };
        let _ = writeln!(text, "- `/{name}{space}{arguments}`: {about}");
    }
    text.push_str("\nA colon does as well as a slash: `:thinking`.");
    for (other, name) in OTHER_NAMES {
        let _ = write!(text, " `/{other}` is `/{name}`.");
    }
    text.push_str("\n\n## In a message\n\n");
    for (beginning, about) in BEGINNINGS {
        let _ = writeln!(text, "- `{beginning}`: {about}");
    }
    text.push_str("\n## Keys\n\n");
    for (key, about) in KEYS {
        let _ = writeln!(text, "- **{key}**: {about}");
    }
    text
}

impl Session {
    pub(super) fn run_command(&mut self, line: &str) {
        let line = line.trim().trim_start_matches(['/', ':']);
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let name = &*name.to_ascii_lowercase();
        match find(name) {
            Some(command) => (command.run)(self, rest.trim()),
            None if self.run_own(name, rest.trim()) => {}
            None => {
                let hint = nearest(name)
                    .map_or_else(String::new, |it| format!("did you mean `/{}`? ", it.name));
                let text = format!("`/{name}` is no command; {hint}`/help` lists them");
                self.notice(Level::Error, text);
            }
        }
    }

    pub(super) fn show_help(&mut self) {
        let own = self.commands.iter().map(|it| format!("- `/{}`: {}\n", it.name, it.about()));
        let own: String = own.collect();
        let own = if own.is_empty() { own } else { format!("\n## Your own commands\n\n{own}") };
        self.show_page("Help", help() + &own);
    }

    /// The candidates for the last word of this text.
    pub(super) fn candidates(&self, text: &str) -> Vec<Candidate> {
        let Some(line) = text.strip_prefix(['/', ':']) else { return Vec::new() };
        if text.contains('\n') {
            return Vec::new();
        }
        let from = text.rfind(char::is_whitespace).map_or(1, |at| at + 1);
        let last = text.get(from..).unwrap_or_default();
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if !last.is_empty() {
            words.pop();
        }
        let rows: Vec<(Word, bool)> = match words.split_first() {
            None => COMMANDS
                .iter()
                .map(|it| {
                    let (text, about) = (it.name.to_owned(), it.about.to_owned());
                    let goes_on = !it.arguments.is_empty();
                    (Word { text, about, goes_on }, it.runs_alone())
                })
                .chain(other_names(last))
                .chain(self.own_names())
                .collect(),
            Some((name, before)) => find(name)
                .map(|command| (command.words)(self, before))
                .unwrap_or_default()
                .into_iter()
                .map(|word| {
                    let runs = !word.goes_on;
                    (word, runs)
                })
                .collect(),
        };
        let lower = last.to_lowercase();
        rows.into_iter()
            .filter(|(word, _)| word.text.to_lowercase().starts_with(&lower))
            .map(|(Word { text, about, goes_on }, runs)| Candidate {
                from,
                text,
                about,
                goes_on,
                runs,
            })
            .collect()
    }

    /// The candidate that is highlighted at first: the exact match, else the first. `None` if the line can run as it
    /// is and no letter of another word is written.
    pub(super) fn highlighted(&self, text: &str, rows: &[Candidate]) -> Option<usize> {
        let last = rows.first().and_then(|row| text.get(row.from..)).unwrap_or_default();
        let mut words = text.trim_start_matches(['/', ':']).split_whitespace();
        let command = words.next().and_then(find);
        let is_begun = words.next().is_some();
        if last.is_empty() && command.is_some_and(|it| is_begun || it.runs_alone()) {
            return None;
        }
        rows.iter().position(|row| row.text == last).or(Some(0))
    }
}

/// The command of this name.
fn find(name: &str) -> Option<&'static Command> {
    let same = |(other, _): &&(&str, &str)| other.eq_ignore_ascii_case(name);
    let name = OTHER_NAMES.iter().find(same).map_or(name, |(_, name)| name);
    COMMANDS.iter().find(|command| command.name.eq_ignore_ascii_case(name))
}

/// Other names for the menu, shown once a letter is written.
fn other_names(written: &str) -> impl Iterator<Item = (Word, bool)> {
    let names = OTHER_NAMES.iter().filter(|_| !written.is_empty());
    names.map(|(other, name)| {
        let about = format!("The same as `/{name}`.");
        (Word { text: (*other).to_owned(), about, goes_on: false }, true)
    })
}

fn none(_: &Session, _: &[&str]) -> Vec<Word> {
    Vec::new()
}

/// The candidates of a command that takes one of these words.
fn only(before: &[&str], words: &[(&str, &str)]) -> Vec<Word> {
    if !before.is_empty() {
        return Vec::new();
    }
    words
        .iter()
        .map(|(text, about)| Word {
            text: (*text).to_owned(),
            about: (*about).to_owned(),
            goes_on: false,
        })
        .collect()
}
