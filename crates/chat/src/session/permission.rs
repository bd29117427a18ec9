//! What a tool waits for, and which keys answer it.
//!
//! A question comes up whenever the model likes, also in the middle of a word. So a key answers it only where nothing
//! is being written.

use super::Session;
use super::message::{Effect, Permission, Verdict};
use crate::screen::model::{Choice, Question};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;

/// How long after a question came up, or after something was written, keys still belong to the text.
const CALM: Duration = Duration::from_millis(700);

/// What can be said to a tool that waits.
const VERDICTS: [(Verdict, &str, &str); 3] = [
    (Verdict::Once, "y", "yes, this once"),
    (Verdict::Always, "a", "always in this session"),
    (Verdict::No, "n", "no"),
];
/// What Enter takes unless another is selected.
const FIRST: usize = 2;

impl Session {
    /// A tool waits for the user.
    pub(super) fn ask_permission(&mut self, permission: Permission) {
        self.permission = Some(permission);
        self.view.question = None;
        self.hold_question();
    }

    /// Keys belong to the text for a while.
    pub(super) fn hold_question(&mut self) {
        self.calm_at = self.view.now + CALM;
    }

    /// A key that writes, or sends what is written, is followed by more of them.
    pub(super) fn is_writing(&mut self, key: KeyEvent) {
        let writes = match key.code {
            KeyCode::Char(_) => !key.modifiers.contains(KeyModifiers::CONTROL),
            KeyCode::Enter => !self.composer.is_empty(),
            KeyCode::Backspace | KeyCode::Delete => true,
            _ => false,
        };
        if writes {
            self.hold_question();
        }
    }

    /// A key that answers what a tool waits for, if it is for the question at all.
    pub(super) fn answer_question(&mut self, key: KeyEvent) -> bool {
        let is_free = self.picker.is_none() && self.composer.is_empty();
        if self.permission.is_none() || !is_free || self.view.now < self.calm_at {
            return false;
        }
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return false;
        }
        let selected = self.view.question.as_ref().map_or(FIRST, |question| question.selected);
        let verdict = match key.code {
            KeyCode::Char('y' | 'Y') => Verdict::Once,
            KeyCode::Char('a' | 'A') => Verdict::Always,
            KeyCode::Char('n' | 'N') => Verdict::No,
            KeyCode::Enter => VERDICTS.get(selected).map_or(Verdict::No, |it| it.0),
            KeyCode::Esc => {
                self.stop();
                return true;
            }
            KeyCode::Up | KeyCode::Left => {
                return self.select_verdict(selected.checked_sub(1).unwrap_or(VERDICTS.len() - 1));
            }
            KeyCode::Down | KeyCode::Right | KeyCode::Tab => {
                return self.select_verdict((selected + 1) % VERDICTS.len());
            }
            // Whoever writes something else writes to the model.
            _ => return false,
        };
        if let Some(permission) = self.permission.take() {
            if verdict == Verdict::No {
                self.refuse(&permission);
            }
            self.effect(Effect::Verdict(verdict));
            self.view.question = None;
        }
        true
    }

    fn select_verdict(&mut self, at: usize) -> bool {
        if let Some(question) = &mut self.view.question {
            question.selected = at;
        }
        true
    }

    /// Shows what a tool waits for.
    pub(super) fn refresh_question(&mut self) {
        let Some(permission) = &self.permission else {
            self.view.question = None;
            return;
        };
        let selected = self.view.question.as_ref().map_or(FIRST, |question| question.selected);
        let grant = &permission.grant;
        let choice = |(verdict, key, label): &(Verdict, &str, &str)| {
            let more =
                if *verdict == Verdict::Always { format!(": {grant}") } else { String::new() };
            Choice { key: (*key).into(), label: format!("{label}{more}") }
        };
        self.view.question = Some(Question {
            title: permission.title.clone(),
            detail: permission.detail.clone(),
            language: permission.language.clone(),
            choices: VERDICTS.iter().map(choice).collect(),
            selected,
        });
    }
}
