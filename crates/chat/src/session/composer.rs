//! The editor for messages: text, folded pastes, undo, and the messages that were sent before.

use crate::attachment::mentions;
use crate::wording::grouped;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, Input, TextArea};
use std::collections::BTreeSet;
use std::ops::Range;

/// Number of sent messages that are remembered.
const REMEMBERED: usize = 1_000;
/// Number of edits that can be undone.
const UNDONE: usize = 200;
/// A paste of more lines or more letters is folded.
const LINES: usize = 10;
const LETTERS: usize = 1_000;

/// The editor of the composer.
#[derive(Debug, Default)]
pub(super) struct Composer {
    area: TextArea<'static>,
    /// Sent messages, the oldest first.
    sent: Vec<String>,
    /// Index in `sent` of the shown message. `None` is the draft.
    at: Option<usize>,
    /// The draft while the history is shown.
    draft: String,
    /// Folded pastes: the label in the text, and the pasted text.
    folded: Vec<(String, String)>,
    /// Paths behind an `@` in pasted text. They name no files, because the user may not have read them.
    pasted: BTreeSet<String>,
    /// Earlier texts with their cursors.
    undo: Vec<(String, usize)>,
    /// The last edit was a letter. Further letters of the same word are undone with it.
    is_in_word: bool,
}

impl Composer {
    /// Adds messages of earlier sessions before the remembered ones, the oldest first.
    pub(super) fn remember(&mut self, mut sent: Vec<String>) {
        sent.drain(..sent.len().saturating_sub(REMEMBERED));
        self.at = self.at.map(|at| at + sent.len());
        sent.append(&mut self.sent);
        self.sent = sent;
    }

    /// Sent messages, the oldest first.
    pub(super) fn sent(&self) -> &[String] {
        &self.sent
    }

    /// The text on the screen.
    #[must_use]
    pub(super) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// The text with all pastes in full.
    #[must_use]
    pub(super) fn whole(&self) -> String {
        let text = self.text();
        let (mut whole, mut at) = (String::new(), 0);
        for (range, paste) in self.labels(&text) {
            whole.push_str(text.get(at..range.start).unwrap_or_default());
            whole.push_str(paste);
            at = range.end;
        }
        whole.push_str(text.get(at..).unwrap_or_default());
        whole
    }

    /// The paths that the user named with `@`, without those of pasted text.
    #[must_use]
    pub(super) fn mentions(&self) -> Vec<String> {
        let text = self.text();
        let named = mentions(&text).into_iter().filter(|name| !self.pasted.contains(*name));
        named.map(str::to_owned).collect()
    }

    /// Returns true without text.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Returns true while a message of the history is shown.
    #[must_use]
    pub(super) fn is_walking(&self) -> bool {
        self.at.is_some()
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

    /// The place in the history, for the frame of the composer.
    #[must_use]
    pub(super) fn note(&self) -> String {
        self.at.map_or_else(String::new, |at| format!("history {}/{}", at + 1, self.sent.len()))
    }

    /// Replaces the text. The cursor goes to its end.
    pub(super) fn put(&mut self, text: &str) {
        self.put_at(text, text.len());
    }

    /// Replaces the text, and moves the cursor to this byte index.
    pub(super) fn put_at(&mut self, text: &str, cursor: usize) {
        self.mark(false);
        self.set(text, cursor);
    }

    /// Adds text at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        self.mark(false);
        self.area.insert_str(unified(text));
    }

    /// Adds pasted text at the cursor. A long one becomes a label.
    pub(super) fn paste(&mut self, text: &str) {
        let text = unified(text);
        self.pasted.extend(mentions(&text).into_iter().map(str::to_owned));
        let (lines, letters) = (text.lines().count(), text.chars().count());
        if lines <= LINES && letters <= LETTERS {
            return self.insert(&text);
        }
        let what = if lines > 1 {
            format!("{} lines", grouped(lines as u64))
        } else {
            format!("{} letters", grouped(letters as u64))
        };
        let mut label = format!("[pasted {what}]");
        let mut number = 1;
        while self.folded.iter().any(|(known, _)| *known == label) {
            number += 1;
            label = format!("[pasted {what}, {number}]");
        }
        self.folded.push((label.clone(), text));
        self.insert(&label);
    }

    /// Opens the folded paste before the cursor, or else the first one. Returns false without a folded paste.
    pub(super) fn unfold(&mut self) -> bool {
        let (text, cursor) = (self.text(), self.cursor());
        let labels = self.labels(&text);
        let before = labels.iter().rev().find(|(range, _)| range.start < cursor);
        let Some((range, paste)) = before.or(labels.first()).cloned() else { return false };
        let (head, tail) = (text.get(..range.start), text.get(range.end..));
        let opened = format!("{}{paste}", head.unwrap_or_default());
        let whole = format!("{opened}{}", tail.unwrap_or_default());
        self.put_at(&whole, opened.len());
        true
    }

    /// Adds a line feed at the cursor.
    pub(super) fn break_line(&mut self) {
        self.mark(false);
        self.area.insert_newline();
    }

    /// Takes the text, with all pastes in full, and remembers it.
    pub(super) fn take(&mut self) -> String {
        let text = self.whole();
        if !text.trim().is_empty() && self.sent.last() != Some(&text) {
            self.sent.push(text.clone());
        }
        self.clear();
        self.undo.clear();
        self.folded.clear();
        self.pasted.clear();
        text
    }

    /// Removes the text.
    pub(super) fn clear(&mut self) {
        self.put("");
        self.at = None;
        self.draft.clear();
    }

    /// Takes back the last edit.
    pub(super) fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo.pop() {
            self.set(&text, cursor);
            self.at = None;
        }
        self.is_in_word = false;
    }

    /// Handles a key that edits. Returns whether the key had an effect.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        let row = self.area.cursor().0;
        let plain = key.modifiers.is_empty();
        match key.code {
            KeyCode::Up if plain && row == 0 => self.older(),
            KeyCode::Down if plain && row + 1 == self.area.lines().len() => self.newer(),
            KeyCode::Char(_) if key.modifiers.contains(KeyModifiers::SUPER) => false,
            _ => self.edit(key),
        }
    }

    fn edit(&mut self, key: KeyEvent) -> bool {
        let (before, cursor) = (self.text(), self.cursor());
        // As in a shell.
        if key.code == KeyCode::Char('u') && key.modifiers == KeyModifiers::CONTROL {
            self.area.delete_line_by_head();
        } else {
            self.area.input(Input::from(key));
        }
        let after = self.text();
        if after == before {
            self.leave_label(cursor);
            return cursor != self.cursor();
        }
        let is_letter = matches!(key.code, KeyCode::Char(char) if char.is_alphanumeric())
            && key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        self.mark_text(before.clone(), cursor, is_letter);
        self.cut_labels(&before, &after);
        true
    }

    /// Keeps the text for undo, before an edit.
    fn mark(&mut self, is_letter: bool) {
        let (text, cursor) = (self.text(), self.cursor());
        self.mark_text(text, cursor, is_letter);
    }

    fn mark_text(&mut self, text: String, cursor: usize, is_letter: bool) {
        let goes_on = std::mem::replace(&mut self.is_in_word, is_letter) && is_letter;
        if goes_on || self.undo.last().is_some_and(|(last, _)| *last == text) {
            return;
        }
        self.undo.push((text, cursor));
        let over = self.undo.len().saturating_sub(UNDONE);
        self.undo.drain(..over);
    }

    fn set(&mut self, text: &str, cursor: usize) {
        self.area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        self.move_to(text, cursor);
    }

    fn move_to(&mut self, text: &str, cursor: usize) {
        let before = text.get(..cursor).unwrap_or(text);
        let row = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        let place = (u16::try_from(row), u16::try_from(column));
        if let (Ok(row), Ok(column)) = place {
            self.area.move_cursor(CursorMove::Jump(row, column));
        } else {
            self.area.move_cursor(CursorMove::Bottom);
            self.area.move_cursor(CursorMove::End);
        }
    }

    /// The labels of folded pastes in a text, in their order, each with its paste.
    fn labels(&self, text: &str) -> Vec<(Range<usize>, &String)> {
        let placed = self.folded.iter().filter_map(|(label, paste)| {
            text.find(label.as_str()).map(|start| (start..start + label.len(), paste))
        });
        let mut labels: Vec<_> = placed.collect();
        labels.sort_by_key(|(range, _)| range.start);
        labels
    }

    /// Moves the cursor out of a label, in the direction in which it came.
    fn leave_label(&mut self, from: usize) {
        let (text, cursor) = (self.text(), self.cursor());
        let mut labels = self.labels(&text).into_iter().map(|(range, _)| range);
        if let Some(range) = labels.find(|it| it.start < cursor && cursor < it.end) {
            drop(labels);
            self.move_to(&text, if cursor < from { range.start } else { range.end });
        }
    }

    /// Removes the rest of a label that an edit cut.
    fn cut_labels(&mut self, before: &str, after: &str) {
        let same = |(a, b): &(char, char)| a == b;
        let head: usize =
            before.chars().zip(after.chars()).take_while(same).map(|(a, _)| a.len_utf8()).sum();
        let (old, new) = (before.get(head..), after.get(head..));
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let tail = old.chars().rev().zip(new.chars().rev()).take_while(same);
        let tail: usize = tail.map(|(a, _)| a.len_utf8()).sum();
        let cut = head..before.len() - tail;
        let labels = self.labels(before).into_iter().map(|(range, _)| range);
        let is_cut = |range: &Range<usize>| range.start < cut.end && cut.start < range.end;
        let whole = labels
            .filter(is_cut)
            .fold(cut.clone(), |cut, range| cut.start.min(range.start)..cut.end.max(range.end));
        if whole != cut {
            let inserted = new.get(..new.len() - tail).unwrap_or_default();
            let start = format!("{}{inserted}", before.get(..whole.start).unwrap_or_default());
            let rest = before.get(whole.end..).unwrap_or_default();
            self.set(&format!("{start}{rest}"), start.len());
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

/// The text with line feeds only.
fn unified(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use super::Composer;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    fn press(composer: &mut Composer, code: KeyCode) -> bool {
        composer.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn type_text(composer: &mut Composer, text: &str) {
        text.chars().for_each(|char| assert!(press(composer, KeyCode::Char(char))));
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

    #[test]
    fn a_long_paste_is_one_label_and_goes_out_in_full() {
        let long = "line\n".repeat(42);
        let mut composer = Composer::default();
        composer.paste(&"line\r\n".repeat(10));
        assert_eq!(composer.take(), "line\n".repeat(10), "ten lines stay as they are");
        type_text(&mut composer, "see ");
        composer.paste(&long);
        composer.paste(&long);
        composer.paste(&"x".repeat(1_001));
        type_text(&mut composer, "!");
        let labels = "see [pasted 42 lines][pasted 42 lines, 2][pasted 1,001 letters]!";
        assert_eq!(composer.text(), labels);
        let whole = format!("see {long}{long}{}!", "x".repeat(1_001));
        assert_eq!(composer.whole(), whole);
        assert_eq!(composer.take(), whole);
        assert_eq!(composer.whole(), "", "the pastes went with it");
    }

    #[test]
    fn a_label_is_opened_or_removed_as_a_whole() {
        let long = "line\n".repeat(42);
        let with = || {
            let mut composer = Composer::default();
            type_text(&mut composer, "a");
            composer.paste(&long);
            type_text(&mut composer, "b");
            composer
        };
        let mut composer = with();
        assert!(composer.unfold() && !composer.unfold());
        assert_eq!(composer.text(), format!("a{long}b"));
        let mut composer = with();
        press(&mut composer, KeyCode::Left);
        press(&mut composer, KeyCode::Left);
        assert_eq!(composer.cursor(), 1, "the cursor steps over the label");
        press(&mut composer, KeyCode::Delete);
        assert_eq!((composer.text(), composer.cursor()), ("ab".into(), 1));
        composer.undo();
        assert_eq!(composer.whole(), format!("a{long}b"), "undo brings the paste back");
        let mut composer = with();
        press(&mut composer, KeyCode::Left);
        composer.key(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(composer.text(), "ab");
    }

    #[test]
    fn undo_goes_back_word_by_word() {
        let mut composer = Composer::default();
        type_text(&mut composer, "two words");
        composer.paste(" pasted");
        press(&mut composer, KeyCode::Backspace);
        for text in ["two words pasted", "two words", "two ", "two", "", ""] {
            composer.undo();
            assert_eq!(composer.text(), text);
        }
        type_text(&mut composer, "lost");
        composer.clear();
        composer.undo();
        assert_eq!((composer.text(), composer.cursor()), ("lost".into(), 4));
    }

    #[test]
    fn pasted_text_names_no_files() {
        let mut composer = Composer::default();
        composer.paste("read @~/.ssh/id_rsa ");
        type_text(&mut composer, "and @a.rs");
        assert_eq!(composer.mentions(), ["a.rs"]);
        composer.take();
        type_text(&mut composer, "@~/.ssh/id_rsa");
        assert_eq!(composer.mentions().len(), 1, "what is typed counts");
    }
}
