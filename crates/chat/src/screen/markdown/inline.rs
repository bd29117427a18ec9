//! Text inside a block: its inks, its links, its breaks.

use pulldown_cmark::Tag;

use crate::screen::ink::{Ink, Tone};
use crate::screen::rows::Line;

/// Collects the text of one block.
#[derive(Default)]
pub(super) struct Inline {
    done: Vec<Line>,
    current: Option<Line>,
    ink: Ink,
    /// The open marks, innermost last.
    open: Vec<Mark>,
}

struct Mark {
    /// The ink outside.
    before: Ink,
    /// The target of a link, and its text so far.
    link: Option<(String, String)>,
}

impl Inline {
    /// The ink of the text that follows.
    pub(super) fn set(&mut self, ink: Ink) {
        self.ink = ink;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.done.is_empty() && self.current.as_ref().is_none_or(Line::is_empty)
    }

    /// Adds text. `tone` applies if the marks around it have no tone.
    pub(super) fn push(&mut self, text: &str, tone: Tone) {
        let tone = if tone == Tone::Text { self.ink.tone } else { tone };
        for mark in &mut self.open {
            mark.link.iter_mut().for_each(|(_, shown)| shown.push_str(text));
        }
        let ink = Ink { tone, ..self.ink };
        self.current.get_or_insert_default().push(text, ink);
    }

    pub(super) fn code(&mut self, text: &str) {
        self.push(text, Tone::Code);
    }

    pub(super) fn html(&mut self, text: &str) {
        let mut parts = text.split('\n').peekable();
        while let Some(part) = parts.next() {
            self.push(part, Tone::Dim);
            if parts.peek().is_some_and(|next| !next.is_empty()) {
                self.line_break();
            }
        }
    }

    pub(super) fn line_break(&mut self) {
        self.done.push(self.current.take().unwrap_or_default());
        self.current = Some(Line::default());
    }

    pub(super) fn start(&mut self, tag: &Tag<'_>) {
        let mut mark = Mark { before: self.ink, link: None };
        match tag {
            Tag::Emphasis => self.ink.is_italic = true,
            Tag::Strong => self.ink.is_bold = true,
            Tag::Strikethrough => self.ink.is_struck = true,
            Tag::Link { dest_url, .. } => {
                self.ink.tone = Tone::Link;
                self.ink.is_underlined = true;
                mark.link = Some((dest_url.to_string(), String::new()));
            }
            Tag::Image { dest_url, .. } => {
                self.push("[image: ", Tone::Dim);
                mark.link = Some((dest_url.to_string(), String::new()));
            }
            _ => {}
        }
        self.open.push(mark);
    }

    /// Ends the innermost mark. A link is followed by its target, unless its text is the target.
    pub(super) fn end(&mut self) {
        let Some(mark) = self.open.pop() else { return };
        let was_link = self.ink.is_underlined && !mark.before.is_underlined;
        self.ink = mark.before;
        let Some((target, shown)) = mark.link else { return };
        if !was_link {
            self.push("]", Tone::Dim);
        }
        if target != shown && target.trim_start_matches("mailto:") != shown {
            self.push(" (", Tone::Dim);
            self.push(&target, Tone::Dim);
            self.push(")", Tone::Dim);
        }
    }

    /// Removes and returns the lines.
    pub(super) fn take(&mut self) -> Vec<Line> {
        let mut lines = std::mem::take(&mut self.done);
        lines.extend(self.current.take());
        lines
    }
}
