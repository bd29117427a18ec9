//! The layout of one entry, cached until its width or its text changes.

use std::ops::Range;

use super::chunk::push_chunks;
use super::fence::{Code, Cut, cuts};
use super::fold::{Fold, fold};
use super::ink::{Ground, Ink, Tone};
use super::markdown;
use super::model::{Body, EntryId, Level, ToolState, View};
use super::rows::{Line, Rows};

/// The parts of an entry, from top to bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The free row above it.
    Gap,
    /// Its first line, drawn anew for each frame: it may hold a timer.
    Head,
    /// The part of a result that a folded tool call shows.
    Result,
    /// A segment of its text.
    Segment(usize),
    /// The newest rows of a text that is otherwise folded.
    Newest(usize),
}

/// The cached layout of one entry.
#[derive(Debug, Default)]
pub(super) struct Laid {
    revision: u32,
    /// How much of the text the segments cover.
    len: usize,
    segments: Vec<Segment>,
    /// The sum of their heights.
    height: usize,
}

/// The parts of an entry that are shown, of which there may be thousands.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The parts above the text.
    lead: Vec<Part>,
    segments: usize,
    newest: Option<usize>,
}

#[derive(Debug)]
struct Segment {
    range: Range<usize>,
    /// The text of the entry that the range belongs to.
    source: Source,
    /// It is a chunk of a long block of code.
    code: Option<Code>,
    /// The width for which `height` holds, 0 if it is a guess.
    width: usize,
    height: usize,
    rows: Option<Box<Rows>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Arguments,
    Text,
}

impl Laid {
    /// Updates the segments for the current text. The cost grows only with the new text.
    pub(super) fn sync(&mut self, view: &View, at: usize) {
        let Some(body) = view.transcript.get(EntryId(at)) else { return };
        let (revision, text) = (view.transcript.revision(at), text(body));
        if revision != self.revision || text.len() < self.len {
            *self = Self { revision, ..Self::default() };
        }
        if text.len() == self.len && !self.segments.is_empty() {
            return;
        }
        if let (Body::Tool(tool), true) = (body, self.segments.is_empty()) {
            self.push(chunks(&tool.arguments, 0), Source::Arguments);
        }
        let is_last = |segment: &Segment| segment.source == Source::Text;
        let (mut start, mut code) = (0, None);
        if self.segments.last().is_some_and(is_last)
            && let Some(open) = self.segments.pop()
        {
            self.height -= open.height;
            (start, code) = (open.range.start, open.code);
        }
        self.push(
            match body {
                Body::Answer(_) => cuts(text, start, code),
                _ => chunks(text, start),
            },
            Source::Text,
        );
        self.len = text.len();
    }

    fn push(&mut self, cuts: Vec<Cut>, source: Source) {
        for Cut { range, code } in cuts.into_iter().filter(|cut| !cut.range.is_empty()) {
            // Some 60 letters go into a row; the guess is replaced when the segment comes into sight.
            let height = range.len() / 60 + 1;
            self.height += height;
            self.segments.push(Segment { range, source, code, width: 0, height, rows: None });
        }
    }

    /// The parts that are shown, without the gap.
    pub(super) fn parts(&self, view: &View, body: &Body) -> Parts {
        let how = fold(view, body);
        let mut parts = Parts::default();
        match body {
            _ if how == Fold::Hidden => return parts,
            Body::Thought(_) => parts.lead.push(Part::Head),
            Body::Tool(tool) => {
                parts.lead.push(Part::Head);
                if how == Fold::Head && (tool.lines() > 0 || tool.state == ToolState::Denied) {
                    parts.lead.push(Part::Result);
                }
            }
            Body::Answer(_) | Body::Compression(_) | Body::Notice(..) | Body::User(_) => {}
        }
        match how {
            Fold::Full => parts.segments = self.segments.len(),
            Fold::Newest(rows) => parts.newest = Some(rows),
            Fold::Head | Fold::Hidden => {}
        }
        parts
    }

    /// The rows of a segment, laid out if they are not.
    pub(super) fn rows(&mut self, body: &Body, at: usize, width: usize) -> Option<&Rows> {
        let is_last = at + 1 == self.segments.len();
        let segment = self.segments.get_mut(at)?;
        if segment.width != width || segment.rows.is_none() {
            let rows = segment.lay_out(body, width, is_last);
            self.height = self.height - segment.height + rows.len();
            segment.height = rows.len();
            segment.width = width;
            segment.rows = Some(Box::new(rows));
        }
        segment.rows.as_deref()
    }

    /// The height of a segment at this width. The segment is laid out if its height is unknown.
    pub(super) fn height(&mut self, body: &Body, at: usize, width: usize) -> usize {
        match self.segments.get(at) {
            Some(segment) if segment.width == width => segment.height,
            _ => self.rows(body, at, width).map_or(0, Rows::len),
        }
    }

    /// The rows of the last segments, as many segments as needed for this number of rows.
    pub(super) fn newest(
        &mut self,
        body: &Body,
        rows: usize,
        width: usize,
    ) -> Vec<(usize, Range<usize>)> {
        let (mut found, mut left) = (Vec::new(), rows);
        for at in (0..self.segments.len()).rev() {
            let Some(laid) = self.rows(body, at, width).filter(|_| left > 0) else { break };
            let range = laid.keep_last(left);
            left -= range.len();
            found.push((at, range));
        }
        found.reverse();
        found
    }

    /// The height of these parts. Heights of segments that were not laid out are estimates.
    pub(super) fn guess(&self, parts: &Parts) -> usize {
        let text = if parts.segments > 0 { self.height } else { 0 };
        parts.lead.len() + text + parts.newest.unwrap_or(0)
    }

    /// The height of the segments before one. Heights of segments that were not laid out are estimates.
    pub(super) fn guess_before(&self, at: usize) -> usize {
        self.segments.iter().take(at).map(|segment| segment.height).sum()
    }

    /// Drops the rows of a segment, but keeps its height.
    pub(super) fn forget(&mut self, at: usize) {
        self.segments.get_mut(at).into_iter().for_each(|segment| segment.rows = None);
    }

    /// Whether the rows of a segment are kept for this width.
    pub(super) fn keeps(&self, at: usize, width: usize) -> bool {
        self.segments.get(at).is_some_and(|s| s.width == width && s.rows.is_some())
    }
}

impl Parts {
    pub(super) fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// Puts a free row above.
    pub(super) fn add_gap(&mut self) {
        self.lead.insert(0, Part::Gap);
    }

    pub(super) fn first(&self) -> Option<Part> {
        self.lead.first().copied().or_else(|| self.text())
    }

    pub(super) fn last(&self) -> Option<Part> {
        self.before(Part::Newest(usize::MAX))
    }

    /// This part, or the nearest one below it.
    pub(super) fn from(&self, part: Part) -> Option<Part> {
        let lead = self.lead.iter().copied().find(|lead| *lead >= part);
        lead.or_else(|| match part {
            Part::Segment(at) if at < self.segments => Some(part),
            Part::Newest(_) | Part::Segment(_) => self.newest.map(Part::Newest),
            Part::Gap | Part::Head | Part::Result => self.text(),
        })
    }

    /// The part below this one.
    pub(super) fn after(&self, part: Part) -> Option<Part> {
        match part {
            Part::Newest(_) => None,
            Part::Segment(at) => self.from(Part::Segment(at + 1)),
            Part::Gap | Part::Head | Part::Result => {
                self.lead.iter().copied().find(|lead| *lead > part).or_else(|| self.text())
            }
        }
    }

    /// The part above this one.
    pub(super) fn before(&self, part: Part) -> Option<Part> {
        let lead = || self.lead.iter().rev().copied().find(|lead| *lead < part);
        let above = match part {
            Part::Newest(rows) if rows == usize::MAX && self.newest.is_some() => {
                return self.newest.map(Part::Newest);
            }
            Part::Newest(_) => self.segments,
            Part::Segment(at) => at.min(self.segments),
            Part::Gap | Part::Head | Part::Result => 0,
        };
        above.checked_sub(1).map(Part::Segment).or_else(lead)
    }

    fn text(&self) -> Option<Part> {
        let first = (self.segments > 0).then_some(Part::Segment(0));
        first.or(self.newest.map(Part::Newest))
    }
}

impl Segment {
    fn lay_out(&self, body: &Body, width: usize, is_last: bool) -> Rows {
        let source = match (self.source, body) {
            (Source::Arguments, Body::Tool(tool)) => tool.arguments.as_str(),
            _ => text(body),
        };
        let piece = source.get(self.range.clone()).unwrap_or_default();
        let mut rows = Rows::default();
        // A chunk ends with its line feed, which does not begin a new row. At the very end it is not shown either.
        let plain = piece.strip_suffix('\n').unwrap_or(piece);
        let plain = if is_last { plain.trim_end() } else { plain };
        if let Some(code) = &self.code {
            push_chunk(code, piece, (width, is_last), &mut rows);
            return rows;
        }
        match body {
            Body::Answer(_) => {
                rows = markdown::rows(piece, width);
                if !is_last && !rows.is_empty() {
                    rows.end_row(Ground::Plain);
                }
            }
            Body::Compression(_) => rows.push_text(plain, width, Ink::of(Tone::Dim), Ground::Plain),
            Body::Notice(level, _) => rows = markdown::rows_in(plain, width, notice(*level)),
            Body::Thought(_) => push_thought(plain, width, &mut rows),
            Body::Tool(tool) => {
                let language = match self.source {
                    Source::Arguments => "json",
                    Source::Text => tool.language.as_str(),
                };
                let none = Line::default();
                rows.push_code(plain, language, width, [&none, &none]);
            }
            Body::User(_) => rows.push_text(plain, width, Ink::default(), Ground::User),
        }
        rows
    }
}

/// A chunk of code looks as it would in the whole block.
fn push_chunk(code: &Code, piece: &str, (width, is_last): (usize, bool), rows: &mut Rows) {
    let (text, ends) = code.text(piece);
    if !text.is_empty() || code.is_first() {
        let none = Line::default();
        let text = text.strip_suffix('\n').unwrap_or(text);
        rows.push_scanned(text, code.scanner(), width.max(8), [&none, &none]);
    }
    if ends && !is_last {
        rows.end_row(Ground::Plain);
    }
}

/// Lays out a thought. A line between two pairs of asterisks is a heading, as in summaries of thoughts; other
/// Markdown is shown as it is.
fn push_thought(text: &str, width: usize, rows: &mut Rows) {
    let heading = |line: &str| {
        let inside = line.trim().strip_prefix("**")?.strip_suffix("**")?;
        (!inside.is_empty() && !inside.contains("**")).then(|| inside.to_owned())
    };
    if !text.contains("**") {
        return rows.push_text(text, width, Ink::default(), Ground::Thought);
    }
    for line in text.split('\n') {
        match heading(line) {
            Some(line) => rows.push_text(&line, width, Ink::default().bold(), Ground::Thought),
            None => rows.push_text(line, width, Ink::default(), Ground::Thought),
        }
    }
}

fn notice(level: Level) -> Ink {
    Ink::of(match level {
        Level::Error => Tone::Failure,
        Level::Info => Tone::Dim,
        Level::Warning => Tone::Warning,
    })
}

fn chunks(text: &str, start: usize) -> Vec<Cut> {
    let mut ranges = Vec::new();
    push_chunks(text, start, &mut ranges);
    ranges.into_iter().map(|range| Cut { range, code: None }).collect()
}

/// The text of an entry that its segments are cut from.
pub(super) fn text(body: &Body) -> &str {
    match body {
        Body::Answer(text) | Body::Compression(text) | Body::Notice(_, text) | Body::User(text) => {
            text
        }
        Body::Thought(thought) => &thought.text,
        Body::Tool(tool) => tool.result(),
    }
}
