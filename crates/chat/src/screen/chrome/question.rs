//! A question that the user has to answer, in the place of the composer or above it.

use ratatui::layout::Rect;

use crate::screen::canvas::Canvas;
use crate::screen::glyph;
use crate::screen::ink::{Ground, Ink, Tone};
use crate::screen::model::Question;
use crate::screen::rows::{Line, Rows};

/// How high the box is on a screen of this size.
pub(in crate::screen) fn height(question: &Question, screen: Rect) -> u16 {
    let inner = screen.width.saturating_sub(4);
    let detail = detail(question, inner).len().min(usize::from(screen.height / 2));
    let gap = usize::from(detail > 0);
    u16::try_from(detail + gap + choice_rows(question, inner).len()).unwrap_or(screen.height) + 2
}

/// Paints the box.
pub(in crate::screen) fn paint(canvas: &mut Canvas<'_>, question: &Question, area: Rect) {
    let inside = canvas.frame(area, &question.title, &question.hint, Ground::Plain);
    let (x, end) = (inside.x + 1, inside.right().saturating_sub(1));
    let choices = choice_rows(question, end.saturating_sub(x));
    let detail = detail(question, end.saturating_sub(x));
    let room = usize::from(inside.height).saturating_sub(choices.len() + 1);
    let mut y = inside.y;
    for at in 0..detail.len().min(room) {
        if at + 1 == room && detail.len() > room {
            let more = format!("and {} more lines", detail.len() - at);
            canvas.text((x + 1, y), end, &more, Ink::of(Tone::Dim), Ground::Plain);
        } else {
            canvas.row((x, y), end, &detail, at);
        }
        y += 1;
    }
    y += u16::from(!detail.is_empty());
    for row in choices {
        if y < inside.bottom() {
            paint_choices(canvas, question, &row, (x, y), end);
        }
        y += 1;
    }
}

fn paint_choices(
    canvas: &mut Canvas<'_>,
    question: &Question,
    row: &[usize],
    (mut x, y): (u16, u16),
    end: u16,
) {
    for at in row {
        let Some(choice) = question.choices.get(*at) else { continue };
        let ground = if *at == question.selected { Ground::Selected } else { Ground::Plain };
        x = canvas.text((x, y), end, " ", Ink::default(), ground);
        if !choice.key.is_empty() {
            x = canvas.text((x, y), end, &choice.key, Ink::of(Tone::Accent).bold(), ground);
            x = canvas.text((x, y), end, " ", Ink::default(), ground);
        }
        x = canvas.text((x, y), end, &format!("{} ", choice.label), Ink::default(), ground);
        x = x.saturating_add(1);
    }
}

fn detail(question: &Question, width: u16) -> Rows {
    let mut rows = Rows::default();
    if !question.detail.is_empty() {
        let none = Line::default();
        let width = usize::from(width);
        rows.push_code(question.detail.trim_end(), &question.language, width, [&none, &none]);
    }
    rows
}

/// The choices of each row.
fn choice_rows(question: &Question, width: u16) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new()];
    let mut used = 0;
    for (at, choice) in question.choices.iter().enumerate() {
        let key = if choice.key.is_empty() { 0 } else { glyph::width(&choice.key) + 1 };
        let wide = key + glyph::width(&choice.label) + 3;
        if used > 0 && used + wide > usize::from(width) {
            rows.push(Vec::new());
            used = 0;
        }
        used += wide;
        rows.last_mut().into_iter().for_each(|row| row.push(at));
    }
    rows
}
