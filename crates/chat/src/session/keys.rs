//! Key bindings.

use super::command;
use super::message::{Effect, Scroll, Write};
use super::picker::Picker;
use super::prompt::shell_command;
use super::{Session, Subject};
use crate::screen::model::{Body, EntryId, Level, ThoughtState};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::time::Duration;
use thinkthrough_core::settings::{Display, Effort};

/// Within this time after Ctrl-C has stopped something, another Ctrl-C does not prepare to leave.
const SAME_PRESS: Duration = Duration::from_secs(1);
/// Lines that one key moves.
const LINE: isize = 1;

impl Session {
    pub(super) fn on_key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let was_leaving = std::mem::take(&mut self.is_leaving);
        if self.question_key(key) {
            return;
        }
        match key.code {
            KeyCode::Char('c') if control => return self.interrupt(was_leaving),
            KeyCode::Char('t') if control => return self.toggle_thinking(),
            KeyCode::Char('l') if control => return self.effect(Effect::Redraw),
            KeyCode::Char('z') if control => return self.effect(Effect::Suspend),
            KeyCode::F(2) => return self.effect(Effect::ListModels),
            KeyCode::F(3) => return self.next_effort(),
            KeyCode::F(4) => return self.switch_thinking(),
            _ => {}
        }
        if self.picker_key(key) {
            return;
        }
        let shift_or_alt = key.modifiers.intersects(KeyModifiers::SHIFT | KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter if shift_or_alt => self.composer.break_line(),
            KeyCode::Char('j') if control => self.composer.break_line(),
            KeyCode::Enter => self.enter(),
            KeyCode::Esc => self.escape(),
            KeyCode::Tab => self.complete(),
            KeyCode::F(1) => self.show_help(),
            KeyCode::Char('d') if control && self.composer.is_empty() => self.effect(Effect::Quit),
            KeyCode::Char('g') if control => self.effect(Effect::Edit(self.composer.whole())),
            KeyCode::Char('o') if control => self.open_newest(),
            KeyCode::Char('r') if control => self.search_sent(),
            // Terminals send Ctrl-_ and Ctrl-/ as one byte, which is read as Ctrl-7, or as the keys that are pressed.
            KeyCode::Char('_' | '-' | '/' | '7') if control => self.undo(),
            KeyCode::Up if key.modifiers == KeyModifiers::ALT => self.move_focus(false),
            KeyCode::Down if key.modifiers == KeyModifiers::ALT => self.move_focus(true),
            _ if self.scroll_key(key) => {}
            _ => {
                self.composer.key(key);
                self.refresh_completions();
                self.look_for_files();
            }
        }
    }

    /// Pastes text into the open list's filter, or else into the composer.
    pub(super) fn on_paste(&mut self, text: &str) {
        match &mut self.picker {
            Some(Picker::Choice(choice)) => return choice.narrow(text),
            // A user who pastes has finished reading.
            Some(Picker::Page { .. }) => self.picker = None,
            Some(Picker::Completions { .. }) | None => {}
        }
        self.question_paste();
        self.composer.paste(text);
        self.refresh_completions();
    }

    fn scroll_key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let scroll = match key.code {
            KeyCode::PageUp => Scroll::Pages(-1),
            KeyCode::PageDown => Scroll::Pages(1),
            KeyCode::Up if control => Scroll::Lines(-LINE),
            KeyCode::Down if control => Scroll::Lines(LINE),
            KeyCode::Home if control => Scroll::Top,
            KeyCode::End if control => Scroll::Bottom,
            _ => return false,
        };
        self.effect(Effect::Scroll(scroll));
        true
    }

    pub(super) fn enter(&mut self) {
        if self.composer.is_empty() {
            if let Some(id) = self.view.focus {
                self.toggle_entry(id);
            }
            return;
        }
        if self.composer.text().trim().is_empty() {
            return self.composer.clear();
        }
        let (text, mentions) = (self.composer.whole(), self.composer.mentions());
        if command::is_bare(&text) {
            // The menu was closed, and a slash alone cannot be sent.
            return self.refresh_completions();
        }
        self.picker = None;
        self.composer.take();
        if ["exit", "quit"].iter().any(|word| text.trim().eq_ignore_ascii_case(word)) {
            self.effect(Effect::Quit);
        } else if command::is_command(&text) {
            self.run_command(&text);
        } else if self.reply(&text) {
            // The text was the answer to a tool's question.
        } else if let Some(command) = shell_command(&text) {
            self.run_shell(command);
        } else {
            self.send_written(text, mentions);
        }
    }

    fn undo(&mut self) {
        self.question_fetch();
        self.composer.undo();
        self.refresh_completions();
    }

    /// Ctrl-C: closes a list or stops the answer, else clears the composer, else leaves when pressed twice at rest.
    fn interrupt(&mut self, was_leaving: bool) {
        if self.picker.take().is_some() {
            return;
        }
        if self.run.as_ref().is_some_and(|run| run.is_stopping) {
            let text = "it is being stopped; Ctrl-D leaves without waiting for it";
            return self.say_about(Subject::Stopping, text);
        }
        if self.stop() {
            self.stopped_at = Some(self.view.now);
            return;
        }
        if !self.composer.is_empty() {
            return self.composer.clear();
        }
        // A quick second press was meant to stop the same work.
        if self.stopped_at.is_some_and(|at| self.view.now < at + SAME_PRESS) {
            return;
        }
        if was_leaving {
            return self.effect(Effect::Quit);
        }
        self.is_leaving = true;
        self.say_about(Subject::Leaving, "press Ctrl-C again to leave");
    }

    fn escape(&mut self) {
        if self.view.focus.take().is_some() {
            return;
        }
        if !self.stop() {
            self.effect(Effect::Scroll(Scroll::Bottom));
        }
    }

    /// Takes the next higher effort of the model. After the highest, the session has no effort of its own.
    fn next_effort(&mut self) {
        let form = self.model.target.rule.thinking.effort;
        let words = form.map_or(&[][..], |form| form.words).iter().map(|(effort, _)| *effort);
        let only = form.and_then(|form| form.only);
        let known: Vec<Effort> = only.map_or_else(|| words.collect(), |only| only.all().collect());
        let mut efforts: Vec<Effort> =
            if known.is_empty() { vec![Effort::Low, Effort::Medium, Effort::High] } else { known };
        efforts.retain(|effort| *effort != Effort::None);
        let rank = |effort: &Effort| Effort::ALL.iter().position(|it| it == effort);
        efforts.sort_by_key(rank);
        let now = self.layers.resolve().effort.value;
        // The model's list may lack the effort in use.
        let next = efforts.iter().find(|it| now.is_none_or(|now| rank(it) > rank(&now)));
        let word = next.map_or("unset", |effort| effort.as_str());
        let text = next.map_or_else(
            || "effort: the model's own".to_owned(),
            |effort| format!("effort {}", effort.as_str()),
        );
        self.change_by_key("reasoning.effort", word, &text);
    }

    fn switch_thinking(&mut self) {
        let (word, text) = match self.layers.resolve().enabled.value {
            true => ("false", "thinking off"),
            false => ("true", "thinking on"),
        };
        self.change_by_key("reasoning.enabled", word, text);
    }

    /// Changes a setting of the session. Errors cannot occur, because keys set known values only.
    fn change_by_key(&mut self, key: &str, value: &str, text: &str) {
        if let Err(error) = self.layers.set(key, value) {
            return self.notice(Level::Error, error.to_string());
        }
        self.is_stale = true;
        self.keep_reasoning();
        let later =
            if self.run.is_some() { "; the answer under way keeps the old one" } else { "" };
        self.say(format!("{text}{later}"));
    }

    /// Switches between showing and hiding thoughts. All modes but `show` count as hidden.
    pub(super) fn toggle_thinking(&mut self) {
        let display = match self.layers.resolve().display.value {
            Display::Show => Display::Off,
            Display::Collapsed | Display::Off | Display::StreamOnly => Display::Show,
        };
        self.set_display(display);
    }

    pub(super) fn set_display(&mut self, display: Display) {
        self.layers.session.display = Some(display);
        self.keep_reasoning();
        self.view.transcript.follow_mode();
        let text = match display {
            Display::Show => "Thinking blocks: shown",
            Display::Off => "Thinking blocks: hidden",
            Display::Collapsed => "Thinking blocks: collapsed",
            Display::StreamOnly => "Thinking blocks: shown while they stream",
        };
        let is_hidden = !self.layers.resolve().include_in_response.value;
        if is_hidden && display != Display::Off {
            self.say(format!("{text}, once reasoning.includeInResponse is true again"));
        } else {
            self.say(text);
        }
    }

    /// Writes the current display of thoughts into the user's configuration, for every session.
    pub(super) fn keep_display(&mut self) {
        let display = self.layers.resolve().display.value;
        let own = self.layers.model.display.map(|_| self.model.name.clone());
        if let Some(name) = &own {
            self.shown.insert(name.clone(), display);
        }
        self.layers.user.display = Some(display);
        self.layers.model.display = self.layers.model.display.and(Some(display));
        // A lower layer now has this value, so that the session layer needs it only if a profile overrides it.
        self.layers.session.display = None;
        self.layers.conversation.display = None;
        if self.layers.resolve().display.value != display {
            self.layers.session.display = Some(display);
        }
        self.keep_reasoning();
        self.effect(Effect::Write(Write::Display(display, own)));
    }

    /// A change of the mode for all thoughts resets the choices for single thoughts, because the latest command wins.
    pub(super) fn follow_mode(&mut self, display: Display, shows_thoughts: bool) {
        if (self.view.display, self.view.shows_thoughts) != (display, shows_thoughts) {
            self.view.transcript.follow_mode();
        }
    }

    /// Opens the marked entry, or else a folded paste, or else the newest entry. Closes an open one.
    fn open_newest(&mut self) {
        if self.view.focus.is_none() && self.composer.unfold() {
            return;
        }
        let newest = || self.openable().last().copied();
        if let Some(id) = self.view.focus.or_else(newest) {
            self.toggle_entry(id);
            self.effect(Effect::Scroll(Scroll::To(id)));
        }
    }

    pub(super) fn toggle_entry(&mut self, id: EntryId) {
        let display = self.view.display;
        let is_open = match self.view.transcript.get(id) {
            Some(Body::Thought(thought)) => thought.choice.unwrap_or(match display {
                Display::Show => true,
                Display::StreamOnly => thought.running_since.is_some(),
                Display::Collapsed | Display::Off => false,
            }),
            Some(Body::Tool(tool)) => tool.choice.unwrap_or(false),
            _ => return,
        };
        self.view.transcript.choose(id, !is_open);
    }

    fn openable(&self) -> Vec<EntryId> {
        self.view
            .transcript
            .iter()
            .filter(|(_, body)| match body {
                Body::Thought(thought) => thought.state != ThoughtState::Absent,
                Body::Tool(_) => true,
                _ => false,
            })
            .map(|(id, _)| id)
            .collect()
    }

    fn move_focus(&mut self, is_down: bool) {
        let openable = self.openable();
        let at = self.view.focus.and_then(|id| openable.iter().position(|it| *it == id));
        let next = match (at, is_down) {
            (None, _) => openable.len().checked_sub(1),
            (Some(at), true) => Some(at + 1).filter(|at| *at < openable.len()),
            (Some(at), false) => Some(at.saturating_sub(1)),
        };
        self.view.focus = next.and_then(|at| openable.get(at)).copied();
        if let Some(id) = self.view.focus {
            self.effect(Effect::Scroll(Scroll::To(id)));
        }
    }
}
