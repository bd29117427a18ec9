//! Asks the user whether a tool call may run, and reads the answer from keys.
//!
//! A question can appear at any time, even while the user types a word, and such keys must not allow a call. So
//! arrows and Enter choose. The letters `y` and `n` count only if no other key follows for a while. A text that the
//! user sends means no, with the text as the reason, unless it is the whole word `yes`, typed by hand. Enter accepts
//! the highlighted answer: *once* for a tool that only reads, else *no*.

use super::Session;
use super::message::{Effect, Permission, Verdict};
use crate::screen::model::{Activity, Choice, Question};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;

/// How long keys still belong to the text after a question appeared or the user wrote.
const CALM: Duration = Duration::from_millis(700);
/// How long a letter must stay the last key before it counts as the answer.
const ALONE: Duration = Duration::from_millis(500);
/// Keys at shorter intervals were not typed by hand, but pasted in a terminal that does not mark pastes.
const BY_HAND: Duration = Duration::from_millis(30);

/// The choices. `always` has no letter, so that it takes arrows and Enter.
const CHOICES: [(Option<char>, &str); 3] =
    [(Some('y'), "yes, this once"), (None, "always in this session"), (Some('n'), "no")];
const ONCE: usize = 0;
const ALWAYS: usize = 1;
const NO: usize = 2;

/// A tool that waits, and the state of its answer.
#[derive(Debug)]
pub(super) struct Asking {
    permission: Permission,
    /// The index in [`CHOICES`] that Enter takes.
    selected: usize,
    /// A letter that answers if no key follows it: its choice, the letter, and the time of the key.
    letter: Option<(usize, char, Duration)>,
    /// The origin of the text in the composer.
    text: Text,
    /// Before this time, the user cannot have read the question.
    readable_at: Duration,
    /// Before this time, a letter belongs to the text that the user was writing.
    calm_at: Duration,
    /// When the last key came.
    key_at: Duration,
}

/// The origin of a text that is written while a tool waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    /// It was begun before the question could be read, and is no answer.
    Ahead,
    /// It is an answer, typed letter by letter.
    ByHand,
    /// It is an answer, and at least a part of it was pasted or fetched.
    Pasted,
}

impl Session {
    /// A tool waits for the user.
    pub(super) fn ask_permission(&mut self, permission: Permission) {
        let readable_at = self.view.now + CALM;
        self.asking = Some(Asking {
            selected: preselected(&permission),
            permission,
            letter: None,
            text: Text::Ahead,
            readable_at,
            calm_at: readable_at,
            key_at: Duration::ZERO,
        });
    }

    /// Takes a letter as the answer if no key followed it for long enough. The session calls this for every message
    /// except a key, because keys that were typed earlier must be handled first.
    pub(super) fn settle_letter(&mut self) {
        let now = self.view.now;
        let letter = self.asking.as_ref().and_then(|asking| asking.letter);
        if let Some((choice, _, _)) = letter.filter(|(_, _, at)| now >= *at + ALONE) {
            self.choose(choice);
        }
    }

    /// Handles a key while a tool waits. Returns whether the question used the key. Other keys have their usual
    /// effect.
    pub(super) fn question_key(&mut self, key: KeyEvent) -> bool {
        let now = self.view.now;
        let has_text = !self.composer.is_empty();
        let Some(asking) = &mut self.asking else { return false };
        let is_quick = now < asking.key_at + BY_HAND;
        asking.key_at = now;
        if let Some((choice, letter, _)) = asking.letter.take() {
            asking.selected = preselected(&asking.permission);
            match key.code {
                KeyCode::Enter if is_plain(key) && !is_quick => {
                    self.choose(choice);
                    return true;
                }
                KeyCode::Backspace | KeyCode::Esc => return key.code == KeyCode::Backspace,
                KeyCode::Up | KeyCode::Down | KeyCode::Left | KeyCode::Right => {}
                _ if !is_plain(key) => {}
                _ => {
                    asking.text = if is_quick { Text::Pasted } else { Text::ByHand };
                    self.composer.insert(letter.encode_utf8(&mut [0; 4]));
                    return false;
                }
            }
        }
        if has_text || self.picker.is_some() {
            asking.write(key, is_quick);
            return false;
        }
        if now < asking.readable_at {
            asking.text = Text::Ahead;
            return false;
        }
        self.choosing_key(key)
    }

    /// Handles a key while the composer is empty.
    fn choosing_key(&mut self, key: KeyEvent) -> bool {
        let now = self.view.now;
        let Some(asking) = &mut self.asking else { return false };
        if !is_plain(key) {
            return false;
        }
        let last = CHOICES.len() - 1;
        match key.code {
            KeyCode::Enter => {
                let selected = asking.selected;
                self.choose(selected);
            }
            KeyCode::Esc => drop(self.stop()),
            KeyCode::Up | KeyCode::Left => {
                asking.selected = asking.selected.checked_sub(1).unwrap_or(last);
            }
            KeyCode::Down | KeyCode::Right | KeyCode::Tab => {
                asking.selected = if asking.selected == last { 0 } else { asking.selected + 1 };
            }
            KeyCode::Char(letter) => {
                let is_it =
                    |(known, _): &(Option<char>, _)| *known == Some(letter.to_ascii_lowercase());
                let choice = CHOICES.iter().position(is_it).filter(|_| now >= asking.calm_at);
                asking.calm_at = now + CALM;
                match choice {
                    Some(choice) => {
                        asking.selected = choice;
                        asking.letter = Some((choice, letter, now));
                    }
                    None => {
                        asking.text = Text::ByHand;
                        return false;
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// A text was pasted while a tool waits.
    pub(super) fn question_paste(&mut self) {
        let now = self.view.now;
        let has_text = !self.composer.is_empty();
        let Some(asking) = &mut self.asking else { return };
        if let Some((_, letter, _)) = asking.letter.take() {
            asking.selected = preselected(&asking.permission);
            asking.text = Text::Pasted;
            self.composer.insert(letter.encode_utf8(&mut [0; 4]));
        } else if (has_text && asking.text == Text::ByHand)
            || (!has_text && now >= asking.readable_at)
        {
            asking.text = Text::Pasted;
        } else if !has_text {
            asking.text = Text::Ahead;
        }
        asking.calm_at = now + CALM;
    }

    /// Marks the text as not typed by hand, so that it cannot allow a call.
    pub(super) fn question_fetch(&mut self) {
        if let Some(asking) = self.asking.as_mut().filter(|it| it.text == Text::ByHand) {
            asking.text = Text::Pasted;
        }
    }

    /// Sends the text as the answer, if it was begun after the question was readable. Earlier text is an ordinary
    /// message.
    pub(super) fn reply(&mut self, text: &str) -> bool {
        let now = self.view.now;
        let Some(asking) = &mut self.asking else { return false };
        match asking.text {
            Text::Ahead => {
                asking.readable_at = now + CALM;
                asking.calm_at = now + CALM;
                return false;
            }
            Text::ByHand if is_yes(text) => self.decide(Verdict::Once),
            Text::ByHand | Text::Pasted => self.decide(Verdict::No(text.trim().to_owned())),
        }
        true
    }

    fn choose(&mut self, choice: usize) {
        self.decide(match choice {
            ONCE => Verdict::Once,
            ALWAYS => Verdict::Always,
            _ => Verdict::No(String::new()),
        });
    }

    fn decide(&mut self, verdict: Verdict) {
        let Some(Asking { permission, .. }) = self.asking.take() else { return };
        if matches!(verdict, Verdict::No(_)) {
            self.refuse(&permission);
        }
        self.effect(Effect::Verdict(verdict));
        self.view.status.activity = Activity::Tools;
    }

    /// A note next to the composer while a tool waits: the effect of Enter on the text.
    pub(super) fn reply_note(&self) -> Option<String> {
        let asking = self.asking.as_ref()?;
        let text = self.composer.text();
        let note = match asking.text {
            Text::Ahead => "enter sends it later; empty this to answer",
            Text::ByHand if is_yes(&text) => "enter says yes, this once",
            Text::ByHand | Text::Pasted => "enter says no, and why",
        };
        Some(note.to_owned())
    }

    /// Shows the question of the waiting tool.
    pub(super) fn refresh_question(&mut self) {
        let has_text = !self.composer.is_empty();
        self.view.question =
            self.asking.as_ref().map(|Asking { permission, selected, letter, .. }| {
                let hint = match letter {
                    Some((_, letter, _)) => {
                        format!("`{letter}` counts in a moment, unless more follows")
                    }
                    // Keys then edit the text, and the note next to it shows the effect of Enter.
                    None if has_text => String::new(),
                    None => "arrows and enter choose; or write why not".to_owned(),
                };
                let choice = |(at, (key, label)): (usize, &(Option<char>, &str))| {
                    let label = if at == ALWAYS {
                        format!("{label}: {}", permission.grant)
                    } else {
                        (*label).to_owned()
                    };
                    Choice { key: key.map(String::from).unwrap_or_default(), label }
                };
                Question {
                    title: permission.title.clone(),
                    detail: permission.detail.clone(),
                    language: permission.language.clone(),
                    choices: CHOICES.iter().enumerate().map(choice).collect(),
                    selected: *selected,
                    hint,
                }
            });
    }
}

impl Asking {
    /// Handles a key that edits the composer's text.
    fn write(&mut self, key: KeyEvent, is_quick: bool) {
        self.calm_at = self.key_at + CALM;
        // Other keys insert a whole text: an earlier message, a deleted text, or a completion.
        let is_typed = key.modifiers.difference(KeyModifiers::SHIFT).is_empty()
            && matches!(
                key.code,
                KeyCode::Char(_)
                    | KeyCode::Enter
                    | KeyCode::Backspace
                    | KeyCode::Delete
                    | KeyCode::Left
                    | KeyCode::Right
                    | KeyCode::Home
                    | KeyCode::End
            );
        if self.text == Text::ByHand && (is_quick || !is_typed) {
            self.text = Text::Pasted;
        }
    }
}

/// The answer that is highlighted at first.
fn preselected(permission: &Permission) -> usize {
    if permission.reads_only { ONCE } else { NO }
}

fn is_plain(key: KeyEvent) -> bool {
    !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
}

/// Whether the whole text is a yes.
fn is_yes(text: &str) -> bool {
    ["y", "yes"].iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}
