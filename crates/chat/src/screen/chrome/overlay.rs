//! Overlays above the transcript: lists and pages.

use ratatui::layout::Rect;

use crate::screen::canvas::Canvas;
use crate::screen::glyph;
use crate::screen::ink::{Ground, Ink, Tone};
use crate::screen::markdown;
use crate::screen::model::{Item, List, Overlay, Page};

/// The greatest width of a list.
const WIDEST: u16 = 100;
/// The most rows of a list of completions.
const COMPLETIONS: u16 = 8;

/// The painted areas, for the mouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::screen) struct Painted {
    /// The area of a list's rows.
    pub(in crate::screen) rows: Rect,
    /// The index of the first visible row.
    pub(in crate::screen) first: usize,
    /// The area of the whole overlay.
    pub(in crate::screen) area: Rect,
}

/// Paints an overlay above the transcript in `area`.
pub(in crate::screen) fn paint(canvas: &mut Canvas<'_>, overlay: &Overlay, area: Rect) -> Painted {
    match overlay {
        Overlay::Completion(list) => {
            let rows =
                u16::try_from(list.items.len().max(1)).unwrap_or(COMPLETIONS).min(COMPLETIONS);
            let height = (rows + 2).min(area.height);
            let place = Rect::new(area.x, area.bottom() - height, area.width.min(WIDEST), height);
            paint_list(canvas, list, place)
        }
        Overlay::List(list) => {
            let rows = list.items.len().max(1) + 2 * usize::from(list.filter.is_some());
            let place = centred(area, WIDEST, rows);
            paint_list(canvas, list, place)
        }
        Overlay::Page(page) => paint_page(canvas, page, area),
    }
}

/// A centred box for this number of rows.
fn centred(area: Rect, widest: u16, rows: usize) -> Rect {
    let width = area.width.min(widest);
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX).min(area.height);
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    Rect::new(area.x + x, area.y + y, width, height)
}

fn paint_list(canvas: &mut Canvas<'_>, list: &List, area: Rect) -> Painted {
    let mut inside = canvas.frame(area, &list.title, &list.hint, Ground::Panel);
    let (x, end) = (inside.x, inside.right());
    if let Some(filter) = &list.filter {
        let at =
            canvas.text((x + 1, inside.y), end, "› ", Ink::of(Tone::Accent).bold(), Ground::Panel);
        let at = canvas.text((at, inside.y), end, filter, Ink::default(), Ground::Panel);
        canvas.text((at, inside.y), end, "▏", Ink::of(Tone::Accent), Ground::Panel);
        inside.y += 2.min(inside.height);
        inside.height = inside.height.saturating_sub(2);
    }
    if list.items.is_empty() && inside.height > 0 {
        canvas.text((x + 1, inside.y), end, &list.empty, Ink::of(Tone::Dim), Ground::Panel);
        return Painted { area, ..Painted::default() };
    }
    let rows = usize::from(inside.height);
    let selected = list.selected.map(|at| at.min(list.items.len().saturating_sub(1)));
    // Keeps the chosen row near the middle, and the visible rows inside the list.
    let middle = selected.unwrap_or(0).saturating_sub(rows / 2);
    let first = middle.min(list.items.len().saturating_sub(rows));
    let shown = list.items.iter().enumerate().skip(first).take(rows);
    let widest = list.items.iter().map(|item| glyph::width(&item.label)).max().unwrap_or(0);
    let half = usize::from(inside.width) / 2;
    let column = u16::try_from(widest.min(half)).unwrap_or(0) + 4;
    for (y, (at, item)) in (inside.y..).zip(shown) {
        let ground = if Some(at) == selected { Ground::Selected } else { Ground::Panel };
        canvas.ground(Rect::new(x, y, inside.width, 1), ground);
        paint_item(canvas, item, Rect::new(x, y, inside.width, 1), column, ground);
    }
    Painted { rows: inside, first, area }
}

fn paint_item(canvas: &mut Canvas<'_>, item: &Item, row: Rect, column: u16, ground: Ground) {
    let (y, end) = (row.y, row.right().saturating_sub(1));
    if item.is_current {
        canvas.text((row.x, y), end, "•", Ink::of(Tone::Success), ground);
    }
    let label = if item.detail.is_empty() { end } else { (row.x + column).min(end) };
    canvas.text((row.x + 1, y), label.saturating_sub(1), &item.label, Ink::default(), ground);
    canvas.text((row.x + column, y), end, &item.detail, Ink::of(Tone::Dim), ground);
}

fn paint_page(canvas: &mut Canvas<'_>, page: &Page, area: Rect) -> Painted {
    let width = centred(area, WIDEST, 1).width;
    let rows = markdown::rows(&page.text, usize::from(width.saturating_sub(4)));
    let place = centred(area, WIDEST, rows.len());
    let inside = canvas.frame(place, &page.title, &page.hint, Ground::Panel);
    let height = usize::from(inside.height);
    let first = page.scroll.min(rows.len().saturating_sub(height));
    let end = inside.right().saturating_sub(1);
    for (y, at) in (inside.top()..inside.bottom()).zip(first..rows.len()) {
        let (_, pieces) = rows.row(at);
        pieces.fold(inside.x + 1, |x, (text, ink)| {
            canvas.text((x, y), end, text, ink, Ground::Panel)
        });
    }
    if rows.len() > height {
        let here =
            format!(" {}–{} of {} ", first + 1, (first + height).min(rows.len()), rows.len());
        let (right, top) = (place.right().saturating_sub(2), place.y);
        canvas.text_right(place.x + 2, (right, top), &here, Ink::of(Tone::Dim), Ground::Panel);
    }
    Painted { area: place, ..Painted::default() }
}
