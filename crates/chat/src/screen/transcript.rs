//! Painting the part of the transcript that is in sight.

use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::fold::{Fold, fold};
use super::head;
use super::ink::{Ground, Ink, Tone};
use super::laid::Part;
use super::model::{Body, EntryId, Level, Tool, View};
use super::roll::{Place, Roll, Slice};

/// Cells left of the text: one free, and two for marks.
const LEFT: u16 = 3;
/// Cells right of the text: one of the ground, one free, one for the scroll bar.
const RIGHT: u16 = 3;

/// How many cells there are for text on a screen of this width.
pub(super) fn text_width(screen: u16) -> usize {
    usize::from(screen.saturating_sub(LEFT + RIGHT)).max(8)
}

/// Paints the slices from the top of `area` on, and returns the entry and part of each row.
pub(super) fn paint(
    canvas: &mut Canvas<'_>,
    view: &View,
    roll: &mut Roll,
    slices: &[Slice],
    area: Rect,
) -> Vec<(EntryId, Part)> {
    let mut rows = Vec::new();
    let mut y = area.y;
    for slice in slices {
        let Some(body) = view.transcript.get(EntryId(slice.entry)) else { continue };
        for _ in slice.rows.clone() {
            rows.push((EntryId(slice.entry), slice.part));
        }
        let at = Strip { x: area.x, end: area.right().saturating_sub(2), y };
        match slice.part {
            Part::Gap => {}
            Part::Head => at.head(canvas, view, body),
            Part::Result => {
                if let Body::Tool(tool) = body {
                    canvas.line((at.x + LEFT, y), at.end, &head::result_line(tool), Ground::Plain);
                }
            }
            Part::Segment(segment) => {
                let rows = (slice.entry, segment, slice.rows.clone());
                at.rows(canvas, view, roll, rows);
            }
            Part::Newest(newest) => {
                let mut y = y;
                let mut skip = slice.rows.start;
                for (segment, range) in roll.newest(view, slice.entry, newest) {
                    let skipped = skip.min(range.len());
                    skip -= skipped;
                    let range = range.start + skipped..range.end;
                    let strip = Strip { y, ..at };
                    let height = u16::try_from(range.len()).unwrap_or(0);
                    strip.rows(canvas, view, roll, (slice.entry, segment, range));
                    y = y.saturating_add(height).min(area.bottom());
                }
            }
        }
        y = y.saturating_add(u16::try_from(slice.rows.len()).unwrap_or(u16::MAX));
    }
    if let Some(focus) = view.focus {
        paint_focus(canvas, &rows, focus, area);
    }
    rows
}

/// Paints the scroll bar, if the transcript is longer than the screen.
pub(super) fn paint_bar(
    canvas: &mut Canvas<'_>,
    roll: &Roll,
    (top, is_last): (Place, bool),
    area: Rect,
) {
    let (total, above) = roll.extent(top);
    let height = usize::from(area.height);
    if total <= height || height == 0 {
        return;
    }
    let thumb = (height * height / total).clamp(1, height);
    let room = height - thumb;
    // Heights may be estimates, but the last row is known to be the end.
    let start = if is_last { room } else { (above * room / (total - height).max(1)).min(room) };
    for y in (area.top()..area.bottom()).skip(start).take(thumb) {
        let place = (area.right().saturating_sub(1), y);
        canvas.text(place, area.right(), "┃", Ink::of(Tone::Border), Ground::Plain);
    }
}

fn paint_focus(canvas: &mut Canvas<'_>, rows: &[(EntryId, Part)], focus: EntryId, area: Rect) {
    let at = rows.iter().position(|(entry, part)| *entry == focus && *part != Part::Gap);
    if let Some(y) = at.and_then(|at| u16::try_from(at).ok()) {
        let ink = Ink::of(Tone::Accent).bold();
        canvas.text((area.x, area.y + y), area.x + 1, "❯", ink, Ground::Plain);
    }
}

/// The screen area of a part's rows.
#[derive(Clone, Copy)]
struct Strip {
    x: u16,
    end: u16,
    y: u16,
}

impl Strip {
    fn head(self, canvas: &mut Canvas<'_>, view: &View, body: &Body) {
        let Self { x, end, y } = self;
        match body {
            Body::Thought(thought) => {
                self.shade(canvas, Ground::Thought, 1);
                let is_open = matches!(fold(view, body), Fold::Full | Fold::Newest(_));
                let mark = head::thought_mark(thought, is_open, view.now);
                let ink = Ink::of(Tone::Dim).italic();
                canvas.text((x + 1, y), end, mark, ink, Ground::Thought);
                let line = head::thought_line(thought, view.now);
                canvas.text((x + LEFT, y), end, &line, ink.bold(), Ground::Thought);
            }
            Body::Tool(tool) => {
                let (mark, tone) = head::tool_mark(tool, view.now);
                canvas.text((x + 1, y), end, mark, Ink::of(tone).bold(), Ground::Plain);
                canvas.line((x + LEFT, y), end, &head::tool_line(tool), Ground::Plain);
            }
            Body::Answer(_) | Body::Compression(_) | Body::Notice(..) | Body::User(_) => {}
        }
    }

    fn rows(
        self,
        canvas: &mut Canvas<'_>,
        view: &View,
        roll: &mut Roll,
        (entry, segment, range): (usize, usize, std::ops::Range<usize>),
    ) {
        let Some(body) = view.transcript.get(EntryId(entry)) else { return };
        let ground = match body {
            Body::Thought(_) => Ground::Thought,
            Body::User(_) => Ground::User,
            _ => Ground::Plain,
        };
        let height = u16::try_from(range.len()).unwrap_or(0);
        let Some(rows) = roll.rows(view, entry, segment) else { return };
        if ground != Ground::Plain {
            self.shade(canvas, ground, height);
        }
        for (y, at) in (self.y..).zip(range) {
            canvas.row((self.x + LEFT, y), self.end.saturating_sub(1), rows, at);
            if at == 0 && segment == 0 {
                self.mark(canvas, body, y);
            }
        }
    }

    /// Fills the block with a ground, or draws a bar at its side if there are no colours.
    fn shade(self, canvas: &mut Canvas<'_>, ground: Ground, height: u16) {
        let area = Rect::new(self.x + 1, self.y, self.end.saturating_sub(self.x + 1), height);
        canvas.ground(area, ground);
        if ground == Ground::Thought && !canvas.theme.has_colour() {
            for y in area.top()..area.bottom() {
                canvas.text((self.x, y), self.end, "│", Ink::default(), Ground::Thought);
            }
        }
    }

    /// Paints the mark in front of the first row of an entry.
    fn mark(self, canvas: &mut Canvas<'_>, body: &Body, y: u16) {
        let (mark, tone, ground) = match body {
            Body::User(_) => ("›", Tone::Accent, Ground::User),
            Body::Notice(Level::Error, _) => ("✗", Tone::Failure, Ground::Plain),
            Body::Notice(Level::Info, _) => ("·", Tone::Dim, Ground::Plain),
            Body::Notice(Level::Warning, _) => ("!", Tone::Warning, Ground::Plain),
            Body::Compression(_) => ("≡", Tone::Accent, Ground::Plain),
            Body::Answer(_) | Body::Thought(_) | Body::Tool(Tool { .. }) => return,
        };
        canvas.text((self.x + 1, y), self.end, mark, Ink::of(tone).bold(), ground);
    }
}
