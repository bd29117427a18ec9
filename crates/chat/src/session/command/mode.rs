//! Commands about the way of working: `/plan`, `/theme`, `/init`, and the user's own commands.

use super::super::Session;
use super::super::message::Effect;
use super::{Word, talk};
use crate::screen::model::Level;
use crate::screen::theme::Background;

/// The request behind `/init`.
const INIT: &str = "Look at this folder and write `AGENTS.md` for coding agents that work here: what the project is, \
    how it is built and tested, its layout, and its rules. Read the files that say so first. If there is such a file \
    already, improve it. At most 60 lines.";

pub(super) fn init(session: &mut Session, _: &str) {
    if !talk::is_busy(session) {
        session.submit(INIT.to_owned().into());
    }
}

pub(super) fn plan(session: &mut Session, rest: &str) {
    let is_on = match rest {
        "" => !session.view.status.is_planning,
        "on" => true,
        "off" => false,
        other => {
            let text = format!("`/plan {other}` is nothing; there are on, off");
            return session.notice(Level::Error, text);
        }
    };
    session.view.status.is_planning = is_on;
    session.effect(Effect::Plan(is_on));
    let text = if is_on {
        "plan mode: only tools that read run; `/plan off` ends it"
    } else {
        "plan mode is off; tools run again as they may"
    };
    session.notice(Level::Info, text);
}

pub(super) fn theme(session: &mut Session, rest: &str) {
    let background = match rest {
        "" => None,
        "auto" => Some(None),
        "dark" => Some(Some(Background::Dark)),
        "light" => Some(Some(Background::Light)),
        other => {
            let text = format!("`/theme {other}` is nothing; there are dark, light, auto");
            return session.notice(Level::Error, text);
        }
    };
    session.effect(match background {
        Some(background) => Effect::Theme(background),
        None => Effect::OtherTheme,
    });
}

impl Session {
    /// Sends the text of the user's own command with this name. Returns whether there is one.
    pub(super) fn run_own(&mut self, name: &str, rest: &str) -> bool {
        let own = self.commands.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        let Some(text) = own.map(|own| own.with(rest)) else { return false };
        self.submit(text.into());
        true
    }

    /// The user's own commands for the menu.
    pub(super) fn own_names(&self) -> impl Iterator<Item = (Word, bool)> {
        self.commands.iter().map(|it| {
            (Word { text: it.name.clone(), about: it.about().to_owned(), goes_on: false }, true)
        })
    }
}
