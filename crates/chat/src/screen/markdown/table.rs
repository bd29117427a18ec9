//! Tables. Columns are as wide as their cells, and narrower if the screen is too small.

use pulldown_cmark::Alignment;

use crate::screen::glyph;
use crate::screen::ink::{Ink, Tone};
use crate::screen::rows::Line;
use crate::screen::wrap;

/// The text between two columns.
const GAP: &str = " │ ";
/// No column is narrowed below this, unless it needs less.
const LEAST: usize = 4;

/// Collects the cells of a table, its head first.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Line>>,
    row: Vec<Line>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new(), row: Vec::new() }
    }

    pub(super) fn cell(&mut self, line: Line) {
        self.row.push(line);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// The table as lines of at most this width, if there is room for a few letters a column.
    pub(super) fn lines(&self, width: usize) -> Vec<Line> {
        let widths = self.widths(width);
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            self.push_row(row, &widths, at == 0, &mut lines);
            if at == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::of(&rule.join("─┼─"), Tone::Border));
            }
        }
        lines
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let column = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| glyph::width(&cell.text)).max().unwrap_or(0).max(1)
        };
        let mut widths: Vec<usize> = (0..self.alignments.len()).map(column).collect();
        let gaps = widths.len().saturating_sub(1) * GAP.chars().count();
        let room = width.saturating_sub(gaps).max(1);
        // Narrows the widest columns until the table fits, level by level instead of cell by cell.
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter().copied().max().unwrap_or(0);
            if widest <= LEAST {
                break;
            }
            let second = widths.iter().copied().filter(|w| *w < widest).max().unwrap_or(0);
            let count = widths.iter().filter(|w| **w == widest).count();
            let excess = widths.iter().sum::<usize>() - room;
            let cut = excess.div_ceil(count).min(widest - second.max(LEAST)).max(1);
            widths.iter_mut().filter(|w| **w == widest).for_each(|w| *w -= cut);
        }
        widths
    }

    fn push_row(&self, row: &[Line], widths: &[usize], is_head: bool, lines: &mut Vec<Line>) {
        let empty = Line::default();
        let cells: Vec<&Line> = (0..widths.len()).map(|at| row.get(at).unwrap_or(&empty)).collect();
        let parts = cells.iter().zip(widths).map(|(cell, width)| wrap::rows(&cell.text, *width));
        let parts: Vec<_> = parts.collect();
        for height in 0..parts.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = Line::default();
            for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if at > 0 {
                    line.push(GAP, Tone::Border);
                }
                let part = parts.get(at).and_then(|rows| rows.get(height)).cloned();
                let part = part.unwrap_or(0..0);
                let used = glyph::width(cell.text.get(part.clone()).unwrap_or_default());
                let free = width.saturating_sub(used);
                let before = match self.alignments.get(at) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    _ => 0,
                };
                line.push(&" ".repeat(before), Tone::Text);
                for (text, ink) in cell.pieces(part) {
                    line.push(text, Ink { is_bold: ink.is_bold || is_head, ..ink });
                }
                line.push(&" ".repeat(free - before), Tone::Text);
            }
            lines.push(line);
        }
    }
}
