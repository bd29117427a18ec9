//! The last line: the size of the next request, the model, and the cost.

use ratatui::layout::Rect;

use crate::screen::canvas::Canvas;
use crate::screen::glyph;
use crate::screen::ink::{Ground, Ink, Tone};
use crate::screen::model::{Budget, Status};
use crate::screen::rows::Line;
use crate::wording::grouped;

const BETWEEN: &str = "  ";

/// Paints the line. A temporary message is in it only if there is no composer, whose edge would have it.
pub(in crate::screen) fn paint(
    canvas: &mut Canvas<'_>,
    status: &Status,
    has_composer: bool,
    area: Rect,
) {
    canvas.ground(area, Ground::Plain);
    let (x, end) = (area.x + 1, area.right().saturating_sub(1));
    let room = usize::from(end.saturating_sub(x));
    let context = Line::of(&context(status), Tone::Text);
    let model = Line::of(&status.model, Tone::Accent);
    let line = match status.message.as_ref().filter(|_| !has_composer) {
        Some(message) => {
            joined(vec![Line::of(message, Ink::of(Tone::Text).bold()), context, model], room)
        }
        None => {
            let mut parts = vec![context, model];
            parts.extend(status.is_planning.then(|| Line::of("plan mode", Tone::Warning)));
            let effort = status.effort.as_ref().map(|effort| match effort.as_str() {
                Status::NO_THINKING => effort.clone(),
                effort => format!("effort {effort}"),
            });
            parts.extend(effort.map(|effort| Line::of(&effort, Tone::Dim)));
            parts.extend(status.cost.as_ref().map(|cost| Line::of(cost, Tone::Dim)));
            let taken: usize = parts.iter().map(|part| glyph::width(&part.text) + 2).sum();
            parts.extend(status.budget.map(|used| budget(used, room.saturating_sub(taken))));
            let cap = status.cap.as_ref().map(|cap| format!("thought cap {cap}"));
            parts.extend(cap.map(|cap| Line::of(&cap, Tone::Dim)));
            joined(parts, room)
        }
    };
    canvas.line((x, area.y), end, &line, Ground::Plain);
}

/// As many of the parts as fit, in their order, and always the first one.
fn joined(parts: Vec<Line>, room: usize) -> Line {
    let mut line = Line::default();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let gap = if line.is_empty() { "" } else { BETWEEN };
        let wide = glyph::width(&line.text) + gap.len() + glyph::width(&part.text);
        if line.is_empty() || wide <= room {
            line.push(gap, Tone::Text);
            part.pieces(0..part.text.len()).for_each(|(text, ink)| line.push(text, ink));
        }
    }
    line
}

/// `123000/212000`: the tokens that would be sent, and how many there may be (seed 000).
fn context(status: &Status) -> String {
    match (status.effective, status.limit) {
        (Some(effective), Some(limit)) => format!("{effective}/{limit}"),
        (Some(effective), None) => format!("{effective}/?"),
        (None, Some(limit)) => format!("?/{limit}"),
        (None, None) => String::new(),
    }
}

/// The budget in percent, with its numbers if they fit.
fn budget(budget: Budget, room: usize) -> Line {
    let percent = budget.percent();
    let tone = match percent {
        100.. => Tone::Failure,
        percent if percent >= u64::from(budget.warn_percent) => Tone::Warning,
        _ => Tone::Dim,
    };
    let numbers = format!("budget {}/{} ({percent} %)", grouped(budget.used), grouped(budget.max));
    let short = format!("budget {percent} %");
    Line::of(if numbers.len() <= room { &numbers } else { &short }, tone)
}
