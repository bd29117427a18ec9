//! Painting. Only this module writes cells.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::glyph::glyphs;
use super::ink::{Ground, Ink, Tone};
use super::rows::{Line, Rows};
use super::theme::Theme;

/// Cells to paint on, and the theme.
pub(super) struct Canvas<'a> {
    pub(super) buffer: &'a mut Buffer,
    pub(super) theme: &'a Theme,
}

impl Canvas<'_> {
    /// Fills an area with a ground, and clears its text.
    pub(super) fn ground(&mut self, area: Rect, ground: Ground) {
        let style = self.theme.style(Ink::default(), ground);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                    cell.set_style(style);
                }
            }
        }
    }

    /// Paints text from `x` to before `end`, and returns the column after the text.
    pub(super) fn text(
        &mut self,
        (x, y): (u16, u16),
        end: u16,
        text: &str,
        ink: Ink,
        ground: Ground,
    ) -> u16 {
        let style = self.theme.style(ink, ground);
        let mut at = x;
        for glyph in glyphs(text) {
            let next = at.saturating_add(glyph.width);
            if next > end {
                break;
            }
            if let Some(cell) = self.buffer.cell_mut((at, y)) {
                cell.set_symbol(&glyph.symbol).set_style(style);
            }
            for covered in at + 1..next {
                if let Some(cell) = self.buffer.cell_mut((covered, y)) {
                    cell.set_symbol(" ").set_style(style);
                }
            }
            at = next;
        }
        at
    }

    /// Paints text that ends before `end`, if there is room for it after `start`.
    pub(super) fn text_right(
        &mut self,
        start: u16,
        (end, y): (u16, u16),
        text: &str,
        ink: Ink,
        ground: Ground,
    ) {
        let width = u16::try_from(super::glyph::width(text)).unwrap_or(u16::MAX);
        if let Some(x) = end.checked_sub(width).filter(|x| *x >= start) {
            self.text((x, y), end, text, ink, ground);
        }
    }

    /// Paints a line, cut at the end of the room.
    pub(super) fn line(
        &mut self,
        (x, y): (u16, u16),
        end: u16,
        line: &Line,
        ground: Ground,
    ) -> u16 {
        line.pieces(0..line.text.len())
            .fold(x, |x, (text, ink)| self.text((x, y), end, text, ink, ground))
    }

    /// Paints a row with its ground up to `end`.
    pub(super) fn row(&mut self, (x, y): (u16, u16), end: u16, rows: &Rows, at: usize) {
        let (ground, pieces) = rows.row(at);
        self.ground(Rect::new(x, y, end.saturating_sub(x), 1), ground);
        pieces.fold(x, |x, (text, ink)| self.text((x, y), end, text, ink, ground));
    }

    /// Draws a box with a ground, a title on its upper edge and a hint on its lower one, and returns the area inside.
    pub(super) fn frame(&mut self, area: Rect, title: &str, hint: &str, ground: Ground) -> Rect {
        self.ground(area, ground);
        if area.width < 2 || area.height < 2 {
            return Rect::new(area.x, area.y, 0, 0);
        }
        let edge = Ink::of(Tone::Border);
        let (left, right) = (area.left(), area.right() - 1);
        let (top, bottom) = (area.top(), area.bottom() - 1);
        let line = "─".repeat(usize::from(area.width - 2));
        self.text((left, top), area.right(), &format!("╭{line}╮"), edge, ground);
        self.text((left, bottom), area.right(), &format!("╰{line}╯"), edge, ground);
        for y in top + 1..bottom {
            self.text((left, y), area.right(), "│", edge, ground);
            self.text((right, y), area.right(), "│", edge, ground);
        }
        if !title.is_empty() && area.width > 6 {
            let ink = Ink::of(Tone::Accent).bold();
            self.text((left + 2, top), right - 1, &format!(" {title} "), ink, ground);
        }
        if !hint.is_empty() && area.width > 6 {
            let hint = format!(" {hint} ");
            self.text_right(left + 2, (right - 1, bottom), &hint, Ink::of(Tone::Dim), ground);
        }
        Rect::new(left + 1, top + 1, area.width - 2, area.height - 2)
    }
}
