//! `/profile`.

use super::super::message::{Effect, Write};
use super::super::{Profile, Session};
use super::{Word, only};
use crate::screen::model::Level;
use std::fmt::Write as _;
use thinkthrough_core::settings::Key;

pub(super) fn profile(session: &mut Session, rest: &str) {
    let (verb, name) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (verb, name.trim()) {
        ("" | "list", _) => list(session),
        ("save", name) if is_name(name) => save(session, name),
        ("load", name) if !name.is_empty() => load(session, name),
        ("delete", name) if !name.is_empty() => delete(session, name),
        ("save", name) if !name.is_empty() => {
            let text =
                format!("`{name}` is no name for a profile; use letters, digits, `-` and `_`");
            session.notice(Level::Error, text);
        }
        ("save" | "load" | "delete", _) => {
            let text = format!("`/profile {verb}` needs a name, like `/profile {verb} careful`");
            session.notice(Level::Error, text);
        }
        _ => {
            let text = format!("`/profile {verb}` is nothing; there are save, load, list, delete");
            session.notice(Level::Error, text);
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn save(session: &mut Session, name: &str) {
    let settings = session.layers.said();
    let model = session.model.name.clone();
    // The file keeps the instructions of an earlier profile of this name, too.
    let earlier = session.profiles.iter().find(|profile| profile.name == name);
    let system = earlier.and_then(|profile| profile.system.clone());
    session.profiles.retain(|profile| profile.name != name);
    session.profiles.push(Profile {
        name: name.to_owned(),
        model: Some(model.clone()),
        settings: settings.clone(),
        system,
    });
    session.effect(Effect::Write(Write::Profile { name: name.to_owned(), model, settings }));
}

fn load(session: &mut Session, name: &str) {
    let Some(profile) = session.profiles.iter().find(|it| it.name == name).cloned() else {
        return unknown(session, name);
    };
    // Settings of the session or conversation would override the profile.
    session.layers.session = Default::default();
    session.layers.conversation = Default::default();
    session.layers.profile = Some((profile.name, profile.settings));
    session.instructions.choose_profile(profile.system);
    session.changed(&format!("profile `{name}` is in use"));
    if let Some(model) = profile.model.filter(|model| *model != session.model.name) {
        session.effect(Effect::Choose(model));
    }
}

fn delete(session: &mut Session, name: &str) {
    if !session.profiles.iter().any(|profile| profile.name == name) {
        return unknown(session, name);
    }
    session.profiles.retain(|profile| profile.name != name);
    session.effect(Effect::Write(Write::NoProfile { name: name.to_owned() }));
}

fn unknown(session: &mut Session, name: &str) {
    let names: Vec<&str> = session.profiles.iter().map(|it| it.name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let text = format!("`{name}` is no profile; there are: {names}");
    session.notice(Level::Error, text);
}

fn list(session: &mut Session) {
    if session.profiles.is_empty() {
        let text = "there are no profiles; `/profile save NAME` makes one of what holds now";
        return session.notice(Level::Info, text);
    }
    let mut text = String::new();
    for profile in &session.profiles {
        let in_use = session.layers.profile.as_ref().is_some_and(|it| it.0 == profile.name);
        let mark = if in_use { " (in use)" } else { "" };
        let _ = write!(text, "- **{}**{mark}", profile.name);
        if let Some(model) = &profile.model {
            let _ = write!(text, " model `{model}`");
        }
        for key in Key::ALL {
            if let Some(value) = profile.settings.get(key) {
                let _ = write!(text, ", {}={value}", key.short());
            }
        }
        text.push('\n');
    }
    session.show_page("Profiles", text);
}

pub(super) fn words(session: &Session, before: &[&str]) -> Vec<Word> {
    match before {
        [] => only(before, &[("list", ""), ("load", ""), ("save", ""), ("delete", "")])
            .into_iter()
            .map(|word| Word { goes_on: word.text != "list", ..word })
            .collect(),
        // `save` completes no name, because a new name may be the beginning of an existing one.
        ["load" | "delete"] => session
            .profiles
            .iter()
            .map(|it| Word {
                text: it.name.clone(),
                about: it.model.clone().unwrap_or_default(),
                goes_on: false,
            })
            .collect(),
        _ => Vec::new(),
    }
}
