//! `/set`, `/unset`, `/effort`, `/cap`, `/budget`.

use super::super::Session;
use super::Word;
use crate::screen::model::Level;
use std::fmt::Write as _;
use thinkthrough_core::settings::{Key, SettingError};

/// The names of other systems for our settings, with their values.
const OTHER_NAMES: [(&str, &[&str]); 2] = [
    ("thinking.context_mode", &["keep", "strip", "provider_default"]),
    ("show_thinking", &["true", "false"]),
];

pub(super) fn set(session: &mut Session, rest: &str) {
    let (key, value) = match rest.split_once([' ', '=', '\t']) {
        Some((key, value)) => (key.trim(), value.trim().trim_start_matches('=').trim()),
        None => (rest, ""),
    };
    if key.is_empty() {
        return list(session);
    }
    if value.is_empty() {
        return show(session, key);
    }
    change(session, key, value);
}

pub(super) fn unset(session: &mut Session, rest: &str) {
    if rest.is_empty() {
        let text = "`/unset` needs a setting, like `/unset reasoning.effort`";
        return session.notice(Level::Error, text);
    }
    match session.layers.unset(rest) {
        Ok(change) => {
            if is_about_showing(change.key) {
                session.view.transcript.follow_mode();
            }
            session.changed(&change.to_string());
        }
        Err(error) => session.notice(Level::Error, error.to_string()),
    }
}

pub(super) fn effort(session: &mut Session, rest: &str) {
    show_or_change(session, Key::Effort, rest);
}

pub(super) fn cap(session: &mut Session, rest: &str) {
    show_or_change(session, Key::MaxTokens, rest);
}

fn show_or_change(session: &mut Session, key: Key, value: &str) {
    if value.is_empty() {
        return show(session, key.as_str());
    }
    if change(session, key.as_str(), value) {
        session.tell_parameters();
    }
}

/// With a number it works like `/cap`, which had this name before.
pub(super) fn budget(session: &mut Session, rest: &str) {
    if !rest.is_empty() {
        return cap(session, rest);
    }
    let text = format!("reasoning tokens used in this session: {}", session.budget_line());
    session.notice(Level::Info, text);
}

fn change(session: &mut Session, key: &str, value: &str) -> bool {
    match session.layers.set(key, value) {
        Ok(change) => {
            if is_about_showing(change.key) {
                session.view.transcript.follow_mode();
            }
            session.changed(&change.to_string());
            true
        }
        Err(error) => {
            session.notice(Level::Error, error.to_string());
            false
        }
    }
}

fn show(session: &mut Session, name: &str) {
    let Some(key) = Key::parse(name) else {
        let error = SettingError::UnknownKey { key: name.to_owned() };
        return session.notice(Level::Error, error.to_string());
    };
    let (value, source) = session.layers.resolve().get(key);
    let text = format!(
        "{}: {value} ({}); allowed: {}. {}",
        key.as_str(),
        source.as_str(),
        key.allowed(),
        key.about()
    );
    session.notice(Level::Info, text);
}

fn list(session: &mut Session) {
    let resolved = session.layers.resolve();
    let mut text = String::from("| setting | value | from |\n| --- | --- | --- |\n");
    for key in Key::ALL {
        let (value, source) = resolved.get(key);
        let _ = writeln!(text, "| {} | {value} | {} |", key.as_str(), source.as_str());
    }
    if let Some((name, _)) = &session.layers.profile {
        let _ = writeln!(text, "\nThe profile is `{name}`.");
    }
    session.show_page("Settings", text);
}

pub(super) fn words(session: &Session, before: &[&str]) -> Vec<Word> {
    match before {
        [] => keys(session, true),
        [key] => values(key),
        _ => Vec::new(),
    }
}

pub(super) fn unset_words(session: &Session, before: &[&str]) -> Vec<Word> {
    if before.is_empty() { keys(session, false) } else { Vec::new() }
}

pub(super) fn value_words(_: &Session, before: &[&str], key: &str) -> Vec<Word> {
    if before.is_empty() { values(key) } else { Vec::new() }
}

fn keys(session: &Session, goes_on: bool) -> Vec<Word> {
    let resolved = session.layers.resolve();
    let ours = Key::ALL.into_iter().map(|key| Word {
        text: key.as_str().to_owned(),
        about: format!("{} Now {}.", key.about(), resolved.get(key).0),
        goes_on,
    });
    let others = OTHER_NAMES.iter().map(|(name, values)| Word {
        text: (*name).to_owned(),
        about: values.join(", "),
        goes_on,
    });
    ours.chain(others).collect()
}

fn values(name: &str) -> Vec<Word> {
    let allowed = match OTHER_NAMES.iter().find(|(other, _)| *other == name) {
        Some((_, values)) => values.join(", "),
        None => Key::parse(name).map(Key::allowed).unwrap_or_default(),
    };
    allowed
        .split(", ")
        // The phrase `a positive integer` is no value to complete.
        .filter(|value| !value.is_empty() && !value.contains(' '))
        .map(|value| Word { text: value.to_owned(), about: String::new(), goes_on: false })
        .collect()
}

/// Whether a setting changes the display of all thoughts.
fn is_about_showing(key: Key) -> bool {
    matches!(key, Key::Display | Key::IncludeInResponse)
}

impl Session {
    pub(super) fn budget_line(&self) -> String {
        let mut text = format!("{} of {}", self.used, self.rules.max);
        if let Some(shown) = self.budget_shown() {
            let _ = write!(
                text,
                " ({} %); warned at {} %; when spent: {}",
                shown.percent(),
                shown.warn_percent,
                self.rules.on_exceed.as_str()
            );
        }
        text
    }

    /// Reports a changed setting, which applies from the next request on.
    pub(super) fn changed(&mut self, change: &str) {
        let later =
            if self.run.is_some() { "; the answer under way keeps the old one" } else { "" };
        self.is_stale = true;
        self.keep_reasoning();
        self.notice(Level::Info, format!("{change}{later}"));
    }
}
