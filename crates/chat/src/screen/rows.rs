//! Laid-out text: rows of pieces, kept as ranges of one string.

use super::code::Scanner;
use super::ink::{Ground, Ink};
use super::wrap;

/// Rows that are ready to be painted.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    text: String,
    pieces: Vec<Piece>,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The end of its text. It begins at the end of the piece before.
    end: usize,
    ink: Ink,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    /// The end of its pieces. They begin at the end of the row before.
    end: usize,
    ground: Ground,
}

/// A line of text of several inks, before it is broken into rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) text: String,
    /// The end of each ink.
    inks: Vec<(usize, Ink)>,
}

impl Line {
    pub(super) fn of(text: &str, ink: impl Into<Ink>) -> Self {
        let mut line = Self::default();
        line.push(text, ink);
        line
    }

    pub(super) fn push(&mut self, text: &str, ink: impl Into<Ink>) {
        let ink = ink.into();
        if text.is_empty() {
            return;
        }
        push_expanded(text, &mut self.text);
        let end = self.text.len();
        match self.inks.last_mut() {
            Some(last) if last.1 == ink => last.0 = end,
            _ => self.inks.push((end, ink)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The pieces of a part of the text.
    pub(super) fn pieces(&self, part: std::ops::Range<usize>) -> impl Iterator<Item = (&str, Ink)> {
        let mut start = 0;
        self.inks.iter().filter_map(move |(end, ink)| {
            let from = start.max(part.start);
            start = *end;
            let text = self.text.get(from..(*end).min(part.end))?;
            (!text.is_empty()).then_some((text, *ink))
        })
    }
}

impl Rows {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The ground of a row and its pieces.
    pub(super) fn row(&self, at: usize) -> (Ground, impl Iterator<Item = (&str, Ink)>) {
        let before = |at: usize| at.checked_sub(1);
        let row = self.rows.get(at);
        let first = before(at).and_then(|at| self.rows.get(at)).map_or(0, |row| row.end);
        let pieces = row.and_then(|row| self.pieces.get(first..row.end)).unwrap_or_default();
        let mut start = before(first).and_then(|at| self.pieces.get(at)).map_or(0, |p| p.end);
        let pieces = pieces.iter().map(move |piece| {
            let text = self.text.get(start..piece.end).unwrap_or_default();
            start = piece.end;
            (text, piece.ink)
        });
        (row.map(|row| row.ground).unwrap_or_default(), pieces)
    }

    /// Adds to the current row.
    pub(super) fn push(&mut self, text: &str, ink: Ink) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.pieces.push(Piece { end: self.text.len(), ink });
        }
    }

    /// Ends the current row.
    pub(super) fn end_row(&mut self, ground: Ground) {
        self.rows.push(Row { end: self.pieces.len(), ground });
    }

    /// Adds a line, broken at `width` cells without its prefixes: `first` before its first row, `rest` before the
    /// others.
    pub(super) fn push_line(&mut self, line: &Line, width: usize, first: &Line, rest: &Line) {
        for (at, part) in wrap::rows(&line.text, width).into_iter().enumerate() {
            let prefix = if at == 0 { first } else { rest };
            self.push_part(prefix, 0..prefix.text.len());
            self.push_part(line, part);
            self.end_row(Ground::Plain);
        }
    }

    /// Adds a part of a line to the current row.
    pub(super) fn push_part(&mut self, line: &Line, part: std::ops::Range<usize>) {
        for (text, ink) in line.pieces(part) {
            self.push(text, ink);
        }
    }

    /// Adds plain text, line by line.
    pub(super) fn push_text(&mut self, text: &str, width: usize, ink: Ink, ground: Ground) {
        let mut expanded = String::new();
        for line in text.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let line = if line.contains('\t') {
                expanded.clear();
                push_expanded(line, &mut expanded);
                expanded.as_str()
            } else {
                line
            };
            for part in wrap::rows(line, width) {
                self.push(line.get(part).unwrap_or_default(), ink);
                self.end_row(ground);
            }
        }
    }

    /// Adds code. It keeps its line breaks and is cut instead of wrapped, so that copied text equals the source.
    pub(super) fn push_code(
        &mut self,
        code: &str,
        language: &str,
        width: usize,
        margins: [&Line; 2],
    ) {
        self.push_scanned(code, Scanner::new(language), width, margins);
    }

    /// As [`Self::push_code`], with the scanner's state from the code before.
    pub(super) fn push_scanned(
        &mut self,
        code: &str,
        mut scanner: Scanner,
        width: usize,
        margins: [&Line; 2],
    ) {
        let [mut margin, rest] = margins;
        for text in code.split('\n') {
            let mut line = Line::default();
            scanner.line(text.trim_end_matches('\r'), |piece, ink| line.push(piece, ink));
            for part in wrap::cut(&line.text, width.saturating_sub(2).max(1)) {
                self.push_part(margin, 0..margin.text.len());
                self.push(" ", Ink::default());
                self.push_part(&line, part);
                self.end_row(Ground::Code);
                margin = rest;
            }
        }
    }

    /// The range of the last `keep` rows.
    pub(super) fn keep_last(&self, keep: usize) -> std::ops::Range<usize> {
        self.len().saturating_sub(keep)..self.len()
    }
}

/// Appends text. Tabs become spaces up to the next multiple of four characters, and line feeds become spaces.
fn push_expanded(text: &str, out: &mut String) {
    if !text.contains(['\t', '\n']) {
        out.push_str(text);
        return;
    }
    for char in text.chars() {
        match char {
            '\t' => {
                let start = out.rfind('\n').map_or(0, |at| at + 1);
                let column = out.get(start..).unwrap_or_default().chars().count();
                out.extend(std::iter::repeat_n(' ', 4 - column % 4));
            }
            '\n' => out.push(' '),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Rows};
    use crate::screen::ink::{Ground, Ink, Tone};

    fn texts(rows: &Rows) -> Vec<String> {
        (0..rows.len()).map(|at| rows.row(at).1.map(|(text, _)| text).collect()).collect()
    }

    #[test]
    fn lines_break_and_keep_their_inks() {
        let mut line = Line::of("plain ", Tone::Text);
        line.push("bold words here", Ink::of(Tone::Text).bold());
        let mut rows = Rows::default();
        rows.push_line(&line, 10, &Line::of("- ", Tone::Dim), &Line::of("  ", Tone::Dim));
        assert_eq!(texts(&rows), ["- plain bold", "  words here"]);
        let second: Vec<(&str, Ink)> = rows.row(1).1.collect();
        assert_eq!(second[1], ("words here", Ink::of(Tone::Text).bold()));
    }

    #[test]
    fn text_keeps_its_lines_and_tabs_become_spaces() {
        let mut rows = Rows::default();
        rows.push_text("a\tb\r\n\nlong line", 6, Ink::default(), Ground::Thought);
        assert_eq!(texts(&rows), ["a   b", "", "long", "line"]);
        assert_eq!(rows.row(0).0, Ground::Thought);
    }
}
