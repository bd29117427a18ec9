//! The composer: text over several rows, and the cursor in it.

use std::ops::Range;

use ratatui::layout::Rect;

use crate::screen::canvas::Canvas;
use crate::screen::glyph;
use crate::screen::head::{duration, spinner};
use crate::screen::ink::{Ground, Ink, Tone};
use crate::screen::model::{Activity, Thought, ThoughtState, View};
use crate::screen::wrap;

/// Columns of the box that hold no text: its edges, the mark, and a cell for the cursor after the last letter.
const TAKEN: u16 = 5;

/// How high the box is on a screen of this size.
pub(in crate::screen) fn height(view: &View, screen: Rect) -> u16 {
    let rows = rows(&view.composer.text, inner(screen.width)).len();
    let most = (screen.height / 3).max(1);
    u16::try_from(rows).unwrap_or(u16::MAX).min(most) + 2
}

/// Paints the box and returns where the cursor is.
pub(in crate::screen) fn paint(
    canvas: &mut Canvas<'_>,
    view: &View,
    area: Rect,
) -> Option<(u16, u16)> {
    let inside = canvas.frame(area, note(view), "", Ground::Plain);
    activity(canvas, view, area);
    if inside.height == 0 {
        return None;
    }
    let composer = &view.composer;
    let (x, end) = (inside.x + 3, inside.right());
    canvas.text((inside.x + 1, inside.y), end, "›", Ink::of(Tone::Accent).bold(), Ground::Plain);
    if composer.text.is_empty() {
        canvas.text((x, inside.y), end, &composer.placeholder, Ink::of(Tone::Dim), Ground::Plain);
        return Some((x, inside.y));
    }
    let rows = rows(&composer.text, inner(area.width));
    let at = row_of(&rows, composer.cursor);
    // The row of the cursor is always visible, with as many rows above it as fit.
    let first = (at + 1).saturating_sub(usize::from(inside.height));
    for (y, row) in (inside.top()..inside.bottom()).zip(rows.iter().skip(first)) {
        let text = composer.text.get(row.clone()).unwrap_or_default();
        canvas.text((x, y), end, text, Ink::default(), Ground::Plain);
    }
    let down = u16::try_from(at - first).unwrap_or(0);
    let column = rows.get(at).map_or(0, |row| column(&composer.text, row, composer.cursor));
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(end.saturating_sub(x + 1));
    Some((x + column, inside.y + down))
}

/// The words on the upper edge: a temporary message, or else the note of the composer.
fn note(view: &View) -> &str {
    view.status.message.as_deref().unwrap_or(&view.composer.note)
}

/// The cursor after a move by this number of rows, in a box on a screen of this width. `None` if there is no such
/// row. `column` is the cell that the cursor wants to be in.
#[must_use]
pub fn move_by_rows(
    text: &str,
    cursor: usize,
    by: isize,
    column: usize,
    screen: u16,
) -> Option<usize> {
    let rows = rows(text, inner(screen));
    let row = rows.get(row_of(&rows, cursor).checked_add_signed(by)?)?;
    let part = text.get(row.clone())?;
    let mut cells = 0;
    for glyph in glyph::glyphs(part) {
        if cells + usize::from(glyph.width) > column {
            return Some(row.start + glyph.at);
        }
        cells += usize::from(glyph.width);
    }
    Some(row.end)
}

/// The cell, counted from the left edge of the text, in which the cursor stands on a screen of this width.
#[must_use]
pub fn column_of(text: &str, cursor: usize, screen: u16) -> usize {
    let rows = rows(text, inner(screen));
    rows.get(row_of(&rows, cursor)).map_or(0, |row| column(text, row, cursor))
}

fn inner(width: u16) -> usize {
    usize::from(width.saturating_sub(TAKEN)).max(1)
}

/// The rows of the text, as byte ranges. Spaces at a break stay at the end of their row, so that every place in the
/// text is on some row.
fn rows(text: &str, width: usize) -> Vec<Range<usize>> {
    let (mut rows, mut start) = (Vec::new(), 0);
    for line in text.split('\n') {
        for part in wrap::rows(line, width) {
            rows.push(start + part.start..start + part.end);
        }
        start += line.len() + 1;
    }
    rows
}

/// The row with the cursor: the last row that begins at or before it.
fn row_of(rows: &[Range<usize>], cursor: usize) -> usize {
    rows.partition_point(|row| row.start <= cursor).saturating_sub(1)
}

fn column(text: &str, row: &Range<usize>, cursor: usize) -> usize {
    let mut end = cursor.clamp(row.start, text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    glyph::width(text.get(row.start..end).unwrap_or_default())
}

/// Shows the current activity on the upper edge, and the key that stops it.
fn activity(canvas: &mut Canvas<'_>, view: &View, area: Rect) {
    let what = match view.status.activity {
        Activity::Idle => return,
        Activity::Answering => "answering".to_owned(),
        Activity::Compressing => "compressing the history".to_owned(),
        Activity::Retrying => match view.status.retry_in {
            // Rounded up, so that a wait in progress does not show 0 s.
            Some(left) => format!("trying again in {} s", left.as_millis().div_ceil(1_000)),
            None => "trying again soon".to_owned(),
        },
        Activity::Sending => "waiting for the model".to_owned(),
        Activity::Thinking => thinking(view),
        Activity::Tools => "running tools".to_owned(),
        Activity::Waiting => "waiting for you".to_owned(),
    };
    let turns = spinner(view.now);
    let note = u16::try_from(glyph::width(note(view))).unwrap_or(area.width);
    let (from, end) =
        (area.x.saturating_add(4).saturating_add(note), area.right().saturating_sub(2));
    // If both do not fit, the activity is more important than the key that stops it.
    let texts = [format!(" {turns} {what}, esc stops "), format!(" {turns} {what} ")];
    let fits = |text: &&String| {
        u16::try_from(glyph::width(text)).is_ok_and(|wide| from.saturating_add(wide) <= end)
    };
    if let Some(text) = texts.iter().find(fits) {
        canvas.text_right(from, (end, area.y), text, Ink::of(Tone::Accent), Ground::Plain);
    }
}

/// `thinking`, and for how long, unless thoughts are hidden altogether.
fn thinking(view: &View) -> String {
    let mut bodies = view.transcript.iter().rev().map(|(_, body)| body);
    let live = bodies.find_map(|body| match body {
        crate::screen::model::Body::Thought(thought) => Some(thought),
        _ => None,
    });
    let live = live.filter(|thought| thought.state == ThoughtState::Live && view.shows_thoughts);
    match live.and_then(|thought: &Thought| thought.elapsed(view.now)) {
        Some(elapsed) => format!("thinking for {}", duration(elapsed)),
        None => "thinking".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{column_of, move_by_rows, rows};

    #[test]
    fn the_cursor_moves_over_rows_as_they_are_seen() {
        // 15 cells of screen leave 10 for text.
        let text = "one two three four\n\nlast";
        assert_eq!(rows(text, 10).len(), 4);
        assert_eq!(column_of(text, 10, 15), 2);
        assert_eq!(move_by_rows(text, 10, -1, 2, 15), Some(2));
        assert_eq!(move_by_rows(text, 10, 1, 2, 15), Some(19));
        assert_eq!(move_by_rows(text, 19, 1, 2, 15), Some(22));
        assert_eq!(move_by_rows(text, 22, 1, 2, 15), None);
        assert_eq!(move_by_rows(text, 2, -1, 2, 15), None);
        assert_eq!(move_by_rows("日本\nab", 7, -1, 1, 40), Some(0));
    }
}
