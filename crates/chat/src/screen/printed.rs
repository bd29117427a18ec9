//! Markdown for a terminal that scrolls: rows of the screen as lines with the terminal's own styles.

use super::glyph::glyphs;
use super::ink::Ground;
use super::markdown::{self, blocks};
use super::rows::Rows;
use super::theme::Theme;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use ratatui::backend::IntoCrossterm;
use ratatui::crossterm::style::{Color, ContentStyle};
use std::mem;

/// Prints a Markdown text that comes in pieces, block by block.
#[derive(Debug)]
pub struct Printer {
    theme: Theme,
    width: usize,
    /// The text from the start of the first block that may still change.
    open: String,
    /// The length of `open` at which its blocks are searched again. It grows with the block, so that a long block is
    /// not parsed again for each of its lines.
    due: usize,
    has_printed: bool,
}

impl Printer {
    /// A printer for lines of this width.
    #[must_use]
    pub fn new(theme: Theme, width: usize) -> Self {
        Printer { theme, width, open: String::new(), due: 0, has_printed: false }
    }

    /// Adds a piece of the text. Returns the lines of the blocks that it completes.
    pub fn push(&mut self, piece: &str) -> String {
        self.open.push_str(piece);
        if !piece.contains('\n') || self.open.len() < self.due {
            return String::new();
        }
        let mut blocks = blocks(&self.open);
        let last = blocks.pop().map_or(0, |last| last.start);
        let rest = self.open.split_off(last);
        let text = mem::replace(&mut self.open, rest);
        self.due = self.open.len() + self.open.len() / 8;
        blocks.into_iter().filter_map(|block| Some(self.block(text.get(block)?))).collect()
    }

    /// The text that is not printed yet.
    #[must_use]
    pub fn open(&self) -> &str {
        &self.open
    }

    /// Ends the text. Returns the lines of its last blocks.
    pub fn end(&mut self) -> String {
        let text = mem::take(&mut self.open);
        self.due = 0;
        let blocks = blocks(&text);
        blocks.into_iter().filter_map(|block| Some(self.block(text.get(block)?))).collect()
    }

    fn block(&mut self, text: &str) -> String {
        let rows = markdown::rows(text, self.width);
        if rows.is_empty() {
            return String::new();
        }
        let gap = if mem::replace(&mut self.has_printed, true) { "\n" } else { "" };
        let lines = (0..rows.len()).map(|at| self.line(&rows, at));
        std::iter::once(gap.to_owned()).chain(lines).collect()
    }

    fn line(&self, rows: &Rows, at: usize) -> String {
        let (_, pieces) = rows.row(at);
        let pieces = pieces.map(|(text, ink)| {
            let text: String = glyphs(text).map(|glyph| glyph.symbol).collect();
            let style: ContentStyle = self.theme.style(ink, Ground::Plain).into_crossterm();
            // The terminal's default colours need no escape sequence, so that plain text stays plain.
            let style = ContentStyle { background_color: None, ..style };
            let is_own = style.foreground_color == Some(Color::Reset);
            let foreground_color = style.foreground_color.filter(|_| !is_own);
            ContentStyle { foreground_color, ..style }.apply(text).to_string()
        });
        let line: String = pieces.collect();
        format!("{line}\n")
    }
}

/// The texts of the code blocks in a Markdown text.
#[must_use]
pub fn code_blocks(markdown: &str) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), None);
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => open = Some(String::new()),
            Event::Text(text) => open.iter_mut().for_each(|code: &mut String| code.push_str(&text)),
            Event::End(TagEnd::CodeBlock) => found.extend(open.take()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Printer, code_blocks};
    use crate::screen::theme::{Background, Depth, Theme};

    const TEXT: &str = "# Title\n\nSome *text* here.\n\n- one\n- two\n\n```sh\nls\n\nps\n```\nEnd.";

    fn printed(size: usize) -> String {
        let theme = Theme::new(Background::Dark, Depth::TwoHundredFiftySix);
        let mut printer = Printer::new(theme, 40);
        let pieces = TEXT.as_bytes().chunks(size).map(|piece| std::str::from_utf8(piece).unwrap());
        let mut out: String = pieces.map(|piece| printer.push(piece)).collect();
        out.push_str(&printer.end());
        out
    }

    /// The text without escape sequences.
    fn bare(text: &str) -> String {
        let mut pieces = text.split('\u{1b}');
        let first = pieces.next().unwrap_or_default().to_owned();
        first + &pieces.map(|piece| piece.split_once('m').unwrap().1).collect::<String>()
    }

    #[test]
    fn a_text_is_printed_alike_however_it_is_cut() {
        let whole = printed(TEXT.len());
        assert!(whole.contains('\u{1b}'), "{whole}");
        for size in [1, 3, 7] {
            assert_eq!(printed(size), whole, "by {size}");
        }
        let rows = "Title\n\nSome text here.\n\n• one\n• two\n\n ls\n \n ps\n\nEnd.\n";
        assert_eq!(bare(&whole), rows);
    }

    #[test]
    fn a_block_comes_when_the_next_one_begins() {
        let mut printer = Printer::new(Theme::new(Background::Dark, Depth::Without), 40);
        assert_eq!(printer.push("One.\n\nTw"), "");
        assert_eq!(printer.push("o.\n"), "One.\n");
        assert_eq!(printer.open(), "Two.\n");
        assert_eq!(printer.end(), "\nTwo.\n");
    }

    #[test]
    fn code_is_found_in_fences_of_any_length_and_in_lists() {
        let text = "a\n\n```py\nx = 1\n```\n\n- b\n  ~~~~\n  ```\n  ~~~~\n";
        assert_eq!(code_blocks(text), ["x = 1\n", "```\n"]);
        assert!(code_blocks("no `code` here").is_empty());
    }
}
