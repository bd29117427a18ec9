//! Markdown to rows.

mod inline;
mod math;
mod table;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

use super::ink::{Ground, Ink, Tone};
use super::rows::{Line, Rows};
use inline::Inline;
use table::Table;

const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// Deeper lists and quotes are not indented further, so that text keeps its place on the screen.
const MOST_LEVELS: usize = 8;

/// Cuts a text into its blocks at the top level. Text that may still change is in the last range. The other ranges
/// stay when text is appended, because the kind of a block is certain once the first line of the next block is
/// complete. Definitions of links are found only in their own block.
pub(super) fn blocks(text: &str) -> Vec<Range<usize>> {
    let complete = text.rfind('\n').and_then(|end| text.get(..=end)).unwrap_or_default();
    let mut starts = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(complete, OPTIONS).into_offset_iter() {
        if depth == 0 && !matches!(event, Event::End(_)) {
            starts.push(range.start);
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    // Text before the first block, such as white space, belongs to that block.
    match starts.first_mut() {
        Some(first) => *first = 0,
        None => starts.push(0),
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

/// The rows of a text.
pub(super) fn rows(text: &str, width: usize) -> Rows {
    rows_in(text, width, Ink::default())
}

/// As [`rows`], with a default ink.
pub(super) fn rows_in(text: &str, width: usize, base: Ink) -> Rows {
    let mut layout = Layout { width: width.max(8), base, ..Layout::default() };
    layout.inline.set(base);
    for event in Parser::new_ext(&math::kept(text), OPTIONS) {
        layout.event(event);
    }
    layout.flush();
    layout.rows
}

#[derive(Default)]
struct Layout {
    rows: Rows,
    width: usize,
    base: Ink,
    inline: Inline,
    /// The prefixes of each row, outermost first.
    levels: Vec<Level>,
    /// The number of the next item of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The language and the text of an open block of code.
    code: Option<(String, String)>,
    table: Option<Table>,
    /// A row must be left free before the next block.
    wants_gap: bool,
}

/// The prefixes that a quote or a list item adds to its rows.
struct Level {
    first: Line,
    rest: Line,
    is_used: bool,
}

impl Layout {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.inline.code(&text);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.inline.html(&text),
            // A line break in an answer is intended, so that it is kept.
            Event::SoftBreak | Event::HardBreak => self.inline.line_break(),
            Event::Rule => self.rule(),
            Event::TaskListMarker(is_done) => {
                self.inline.push(if is_done { "☑ " } else { "☐ " }, Tone::Accent);
            }
            Event::FootnoteReference(name) => self.inline.push(&name, Tone::Link),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => self.inline.set(Ink::of(Tone::Heading).bold()),
            Tag::BlockQuote(_) => self.open(Line::of("▎ ", Tone::Border), None),
            Tag::CodeBlock(kind) => {
                self.flush();
                let name = match kind {
                    CodeBlockKind::Fenced(name) => name,
                    CodeBlockKind::Indented => CowStr::Borrowed(""),
                };
                self.code = Some((name.to_string(), String::new()));
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(alignments) => self.table = Some(Table::new(alignments)),
            Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Link { .. }
            | Tag::Image { .. } => self.inline.start(&tag),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::HtmlBlock | TagEnd::Paragraph => self.end_block(),
            TagEnd::Heading(_) => {
                self.end_block();
                self.inline.set(self.base);
            }
            TagEnd::BlockQuote(_) => self.close(),
            TagEnd::CodeBlock => self.code_block(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.wants_gap = true;
            }
            TagEnd::Item => {
                let is_loose = self.wants_gap && self.inline.is_empty();
                self.close();
                self.wants_gap = is_loose;
            }
            TagEnd::TableCell => {
                let line = self.inline.take().into_iter().next().unwrap_or_default();
                self.table.iter_mut().for_each(|table| table.cell(line.clone()));
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                self.table.iter_mut().for_each(Table::end_row);
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image => self.inline.end(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None => self.inline.push(text, Tone::Text),
        }
    }

    /// Ends a block that needs an empty row after it.
    fn end_block(&mut self) {
        self.flush();
        self.wants_gap = true;
    }

    /// Puts the collected text into rows.
    fn flush(&mut self) {
        for line in self.inline.take() {
            self.push_line(&line);
        }
    }

    fn push_line(&mut self, line: &Line) {
        let (first, rest, width) = self.prefixes();
        self.rows.push_line(line, width, &first, &rest);
    }

    /// The prefixes of the next row and of the rows after it, and the width that is left. Adds an empty row if one is
    /// due.
    fn prefixes(&mut self) -> (Line, Line, usize) {
        if std::mem::take(&mut self.wants_gap) && !self.rows.is_empty() {
            let quote = |line: &Line| line.text.starts_with('▎');
            let levels: Vec<Line> = self
                .levels
                .iter()
                .filter(|l| l.is_used && quote(&l.rest))
                .map(|l| l.rest.clone())
                .collect();
            for line in &levels {
                self.rows.push_part(line, 0..line.text.len());
            }
            self.rows.end_row(Ground::Plain);
        }
        let (mut first, mut rest) = (Line::default(), Line::default());
        for level in self.levels.iter_mut().take(MOST_LEVELS) {
            let mark = if level.is_used { &level.rest } else { &level.first };
            mark.pieces(0..mark.text.len()).for_each(|(text, ink)| first.push(text, ink));
            let after = &level.rest;
            after.pieces(0..after.text.len()).for_each(|(text, ink)| rest.push(text, ink));
            level.is_used = true;
        }
        let taken = super::glyph::width(&rest.text);
        (first, rest, self.width.saturating_sub(taken).max(8))
    }

    fn open(&mut self, first: Line, rest: Option<Line>) {
        self.flush();
        let rest = rest.unwrap_or_else(|| first.clone());
        self.levels.push(Level { first, rest, is_used: false });
    }

    fn close(&mut self) {
        self.flush();
        // An item without text still shows its mark.
        if self.levels.last().is_some_and(|level| !level.is_used) {
            self.push_line(&Line::default());
        }
        self.levels.pop();
        self.wants_gap = true;
    }

    fn item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            _ => "• ".to_owned(),
        };
        let rest = Line::of(&" ".repeat(super::glyph::width(&mark)), Tone::Text);
        self.open(Line::of(&mark, Tone::Accent), Some(rest));
    }

    fn rule(&mut self) {
        self.flush();
        let (first, _, width) = self.prefixes();
        self.rows.push_part(&first, 0..first.text.len());
        self.rows.push(&"─".repeat(width), Ink::of(Tone::Border));
        self.rows.end_row(Ground::Plain);
        self.wants_gap = true;
    }

    fn code_block(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let (first, rest, width) = self.prefixes();
        let code = code.strip_suffix('\n').unwrap_or(&code);
        self.rows.push_code(code, &language, width, [&first, &rest]);
        self.wants_gap = true;
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        let (first, rest, width) = self.prefixes();
        let mut prefix = &first;
        for line in table.lines(width) {
            self.rows.push_part(prefix, 0..prefix.text.len());
            self.rows.push_part(&line, 0..line.text.len());
            self.rows.end_row(Ground::Plain);
            prefix = &rest;
        }
        self.wants_gap = true;
    }
}

#[cfg(test)]
mod tests;
