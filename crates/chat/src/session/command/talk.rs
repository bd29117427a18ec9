//! Commands about conversations and their models.

use super::super::Session;
use super::super::message::{Effect, Keep};
use super::super::model::Model;
use super::Word;
use crate::attachment::{shown, words};
use crate::instructions::without_changes;
use crate::resumption;
use crate::screen::model::Level;
use crate::search;
use thinkthrough_core::content::Speaker;
use thinkthrough_store::Within;

pub(super) fn model(session: &mut Session, rest: &str) {
    if rest.is_empty() {
        session.say("looking for models");
        session.effect(Effect::ListModels);
    } else {
        session.effect(Effect::Choose(rest.to_owned()));
    }
}

pub(super) fn compress(session: &mut Session, rest: &str) {
    if !rest.starts_with("at ") && is_busy(session) {
        return;
    }
    match rest {
        "" => match session.plan() {
            Some(plan) => session.compress(plan, None),
            None => session.notice(Level::Info, "there is nothing to compress yet"),
        },
        "undo" => {
            if session.conversation.decompress() {
                session.effect(Effect::Keep(Keep::Compressed(None)));
                session.is_stale = true;
                session.notice(Level::Info, "the summary is taken back; everything is sent again");
            } else {
                session.notice(Level::Info, "nothing is compressed");
            }
        }
        _ => match rest.strip_prefix("at ").map(|word| (word, threshold(word))) {
            Some((_, Some(percent))) => {
                let old = at(session.compress_at);
                session.compress_at = percent;
                session.notice(Level::Info, format!("compression: {old} -> {}", at(percent)));
            }
            Some((word, None)) => {
                let text = format!("`{word}` is no threshold; write 1 to 100 percent, or `never`");
                session.notice(Level::Error, text);
            }
            None => {
                let text =
                    "there are `/compress`, `/compress undo` and `/compress at PERCENT|never`";
                session.notice(Level::Error, text);
            }
        },
    }
}

/// A part of the context window in percent; 0 for never.
fn threshold(word: &str) -> Option<u8> {
    let word = word.trim();
    let percent = word.strip_suffix('%').unwrap_or(word).trim().parse::<u8>().ok();
    if word == "never" { Some(0) } else { percent.filter(|it| (1..=100).contains(it)) }
}

fn at(percent: u8) -> String {
    if percent == 0 { "never".to_owned() } else { format!("at {percent} %") }
}

/// Shows an error if an answer or a command is in progress, and returns whether one is.
pub(super) fn is_busy(session: &mut Session) -> bool {
    let is_busy = session.is_asking() || session.compressing.is_some();
    if is_busy {
        let what = if session.shell.is_some() { "a command runs" } else { "an answer comes in" };
        session.notice(Level::Error, format!("not while {what}; press Esc to interrupt it"));
    }
    is_busy
}

pub(super) fn new(session: &mut Session, _: &str) {
    if !is_busy(session) {
        session.clear();
        session.effect(Effect::Keep(Keep::Leave));
        session.say("a new conversation");
    }
}

pub(super) fn retry(session: &mut Session, _: &str) {
    if !is_busy(session) {
        session.retry();
    }
}

pub(super) fn sessions(session: &mut Session, _: &str) {
    if !is_busy(session) {
        session.effect(Effect::Keep(Keep::List));
    }
}

pub(super) fn fork(session: &mut Session, rest: &str) {
    if is_busy(session) {
        return;
    }
    let Ok(turns) = (if rest.is_empty() { Ok(0) } else { rest.parse::<usize>() }) else {
        let text = format!("`{rest}` is no number of turns; `/fork 1` leaves the last one out");
        return session.notice(Level::Error, text);
    };
    let contents = session.conversation().contents();
    let starts: Vec<usize> = contents
        .iter()
        .enumerate()
        .filter(|(_, content)| content.speaker == Speaker::Human)
        .map(|(index, _)| index)
        .collect();
    let at = match turns {
        0 => contents.len(),
        turns => match starts.len().checked_sub(turns).and_then(|at| starts.get(at)) {
            Some(at) => *at,
            None => {
                let text = format!("the conversation has only {} turns", starts.len());
                return session.notice(Level::Error, text);
            }
        },
    };
    if contents.is_empty() {
        return session.notice(Level::Error, "there is nothing to copy yet");
    }
    session.fork(at);
}

pub(super) fn delete(session: &mut Session, rest: &str) {
    if is_busy(session) {
        return;
    }
    let Some(id) = session.conversation().id.clone() else {
        return session.notice(Level::Info, "nothing of this conversation is stored yet");
    };
    if rest == "yes" {
        session.effect(Effect::Keep(Keep::Delete(id)));
    } else {
        let text = "`/delete yes` deletes this conversation and every thought in it for good";
        session.notice(Level::Warning, text);
    }
}

pub(super) fn search(session: &mut Session, rest: &str) {
    let mut within = Within::All;
    let mut words = Vec::new();
    let mut parts = rest.split_whitespace();
    while let Some(part) = parts.next() {
        let place = match part.strip_prefix("--in=") {
            Some(place) => Some(place),
            None if part == "--in" => Some(parts.next().unwrap_or_default()),
            None => None,
        };
        match place.map(|place| (place, place_of(place))) {
            None => words.push(part),
            Some((_, Some(place))) => within = place,
            Some((place, None)) => {
                let text = format!("`--in` cannot be `{place}`; allowed: thoughts, answers, all");
                return session.notice(Level::Error, text);
            }
        }
    }
    if words.is_empty() {
        return session
            .notice(Level::Error, "`/search` needs words, like `/search parser --in thoughts`");
    }
    let shows_thoughts = session.layers.resolve().include_in_response.value;
    if let Err(why) = search::may_look(within, shows_thoughts) {
        return session.notice(Level::Error, why);
    }
    let words = words.join(" ");
    session.effect(Effect::Keep(Keep::Search { words, within, shows_thoughts }));
}

fn place_of(word: &str) -> Option<Within> {
    match word {
        "all" => Some(Within::All),
        "answers" => Some(Within::Answers),
        "thoughts" => Some(Within::Thoughts),
        _ => None,
    }
}

pub(super) fn search_words(_: &Session, before: &[&str]) -> Vec<Word> {
    let words: &[&str] = match before.split_last() {
        Some((&"--in", _)) => &["all", "answers", "thoughts"],
        Some(_) if !before.contains(&"--in") => &["--in"],
        _ => &[],
    };
    let word = |text: &&str| Word {
        text: (*text).to_owned(),
        about: String::new(),
        goes_on: text.starts_with('-'),
    };
    words.iter().map(word).collect()
}

pub(super) fn system(session: &mut Session, rest: &str) {
    if rest.is_empty() {
        let contents = session.conversation().contents();
        let held = session.instructions.held(contents);
        let changes = "`/system TEXT` changes them";
        let text = match held {
            Some(held) => format!("instructions for the model ({changes}):\n\n{}", shown(&held)),
            None => format!("there are no instructions for the model; {changes}"),
        };
        return session.notice(Level::Info, text);
    }
    session.instructions.own = Some(rest.to_owned());
    session.notice(Level::Info, "the next question goes out with these instructions");
}

pub(super) fn quit(session: &mut Session, _: &str) {
    session.effect(Effect::Quit);
}

pub(super) fn undo(session: &mut Session, _: &str) {
    if is_busy(session) {
        return;
    }
    let contents = session.conversation().contents();
    let at = contents.iter().rposition(|content| content.speaker == Speaker::Human);
    let Some((at, question)) = at.and_then(|at| Some((at, contents.get(at)?))) else {
        return session.notice(Level::Error, "there is no question to take back yet");
    };
    let text = question.visible_text();
    let words = words(without_changes(&text)).to_owned();
    let runs = session.runs.iter().filter(|(asked, _)| *asked >= at).map(|(_, run)| *run).collect();
    session.runs.retain(|(asked, _)| *asked < at);
    session.cut(at);
    if session.conversation.id.is_some() {
        session.effect(Effect::Keep(Keep::Fork(at)));
    }
    session.effect(Effect::UndoFiles(runs));
    session.composer.put(&words);
    session.say("the last question is taken back; what it said is kept in another conversation");
}

impl Session {
    fn fork(&mut self, at: usize) {
        self.cut(at);
        self.effect(Effect::Keep(Keep::Fork(at)));
    }

    /// Continues with the first messages only.
    pub(in crate::session) fn cut(&mut self, at: usize) {
        self.conversation.truncate(at);
        self.view.transcript = crate::screen::model::Transcript::default();
        self.show_all();
        self.view.focus = None;
        self.is_stale = true;
    }

    /// Changes the model, and reports the effect on the thoughts of the model before.
    pub(in crate::session) fn on_chosen(&mut self, chosen: Result<Box<Model>, String>) {
        if let Some(state) = self.resuming.take() {
            return self.on_resumed(&state, chosen);
        }
        let model = match chosen {
            Ok(model) => *model,
            Err(error) => return self.notice(Level::Error, error),
        };
        let before = self.withheld();
        self.switch(model);
        let mut text = format!("now `{}`", self.model.name);
        if self.model.is_simulated {
            text.push_str(", a simulated model");
        }
        if self.withheld() > before {
            text.push_str(&format!(": {}", resumption::withheld(self.withheld())));
        }
        if self.run.is_some() {
            text.push_str("; the answer under way is still from the other one");
        }
        if let Some(missing) = &self.model.missing_key {
            text.push_str(&format!("; {missing}"));
        }
        self.notice(Level::Info, text);
        self.keep_model();
    }
}
