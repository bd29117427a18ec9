//! Where the user writes: an editor, and the lines that were sent before.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, Input, TextArea};

/// How many lines that were sent are remembered.
const REMEMBERED: usize = 1_000;

/// The editor of the composer.
#[derive(Debug, Default)]
pub(super) struct Composer {
    area: TextArea<'static>,
    /// What was sent, the oldest first.
    sent: Vec<String>,
    /// Where in `sent` the user looks; `None` is what is being written.
    at: Option<usize>,
    /// What was being written when the user went back.
    draft: String,
}

impl Composer {
    /// Remembers what was sent before anything that is remembered, the oldest first.
    pub(super) fn remember(&mut self, mut sent: Vec<String>) {
        sent.drain(..sent.len().saturating_sub(REMEMBERED));
        self.at = self.at.map(|at| at + sent.len());
        sent.append(&mut self.sent);
        self.sent = sent;
    }

    /// What is written.
    #[must_use]
    pub(super) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether nothing is written.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// The cursor, as a byte index in the text.
    #[must_use]
    pub(super) fn cursor(&self) -> usize {
        let cursor = self.area.cursor();
        let before: usize =
            self.area.lines().iter().take(cursor.0).map(|line| line.len() + 1).sum();
        let line = self.area.lines().get(cursor.0).map_or("", String::as_str);
        before + line.chars().take(cursor.1).map(char::len_utf8).sum::<usize>()
    }

    /// A remark on where in the history the user looks.
    #[must_use]
    pub(super) fn note(&self) -> String {
        self.at.map_or_else(String::new, |at| format!("history {}/{}", at + 1, self.sent.len()))
    }

    /// Puts a text in the place of what is written, with the cursor at its end.
    pub(super) fn put(&mut self, text: &str) {
        self.area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Adds text at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        self.area.insert_str(text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    /// Adds a line feed at the cursor.
    pub(super) fn break_line(&mut self) {
        self.area.insert_newline();
    }

    /// Takes what is written, and remembers it.
    pub(super) fn take(&mut self) -> String {
        let text = self.text();
        if !text.trim().is_empty() && self.sent.last() != Some(&text) {
            self.sent.push(text.clone());
        }
        self.clear();
        text
    }

    /// Throws away what is written.
    pub(super) fn clear(&mut self) {
        self.put("");
        self.at = None;
        self.draft.clear();
    }

    /// A key that edits. Returns whether the key meant something.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        let row = self.area.cursor().0;
        let plain = key.modifiers.is_empty();
        match key.code {
            KeyCode::Up if plain && row == 0 => self.older(),
            KeyCode::Down if plain && row + 1 == self.area.lines().len() => self.newer(),
            KeyCode::Char(_) if key.modifiers.contains(KeyModifiers::SUPER) => false,
            // As in a shell.
            KeyCode::Char('u') if key.modifiers == KeyModifiers::CONTROL => {
                self.area.delete_line_by_head()
            }
            _ => {
                let before = self.text();
                let cursor = self.cursor();
                self.area.input(Input::from(key));
                before != self.text() || cursor != self.cursor()
            }
        }
    }

    fn older(&mut self) -> bool {
        let at = match self.at {
            None => self.sent.len().checked_sub(1),
            Some(at) => at.checked_sub(1),
        };
        let Some(text) = at.and_then(|at| self.sent.get(at)).cloned() else { return false };
        if self.at.is_none() {
            self.draft = self.text();
        }
        self.at = at;
        self.put(&text);
        true
    }

    fn newer(&mut self) -> bool {
        let Some(at) = self.at else { return false };
        let next = at + 1;
        if let Some(text) = self.sent.get(next).cloned() {
            self.at = Some(next);
            self.put(&text);
        } else {
            self.at = None;
            let draft = std::mem::take(&mut self.draft);
            self.put(&draft);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Composer;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    fn press(composer: &mut Composer, code: KeyCode) -> bool {
        composer.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn the_history_is_walked_and_the_draft_comes_back() {
        let mut composer = Composer::default();
        composer.remember(vec!["one".into(), "two\nlines".into()]);
        composer.insert("dra\u{e4}ft");
        assert_eq!(composer.cursor(), "dra\u{e4}ft".len());
        assert!(press(&mut composer, KeyCode::Up));
        assert_eq!((composer.text(), composer.note()), ("two\nlines".into(), "history 2/2".into()));
        assert!(press(&mut composer, KeyCode::Up), "the cursor goes up within the text first");
        assert!(press(&mut composer, KeyCode::Up));
        assert_eq!(composer.text(), "one");
        assert!(!press(&mut composer, KeyCode::Up), "there is nothing older");
        press(&mut composer, KeyCode::Down);
        press(&mut composer, KeyCode::Down);
        assert_eq!((composer.text(), composer.note()), ("dra\u{e4}ft".into(), String::new()));
    }

    #[test]
    fn what_is_taken_is_remembered_once() {
        let mut composer = Composer::default();
        for _ in 0..2 {
            composer.insert("same\r\nagain");
            assert_eq!(composer.take(), "same\nagain");
        }
        assert!(composer.is_empty());
        press(&mut composer, KeyCode::Up);
        assert_eq!(composer.note(), "history 1/1");
    }
}
