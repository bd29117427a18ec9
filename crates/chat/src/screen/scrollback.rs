//! The transcript as lines for a terminal that scrolls, after the client has left the screen.

use super::canvas::Canvas;
use super::glyph;
use super::model::View;
use super::{Screen, transcript};
use ratatui::backend::IntoCrossterm;
use ratatui::buffer::Buffer;
use ratatui::crossterm::style::{Color, ContentStyle};
use ratatui::layout::Rect;

/// The most rows. The store has the whole conversation.
const MOST: usize = 2_000;

impl Screen {
    /// The last rows of the transcript, as the screen shows them, without grounds.
    pub fn scrollback(&mut self, view: &View, width: u16) -> String {
        self.roll.sync(view, transcript::text_width(width));
        let Some(end) = self.roll.end(view) else { return String::new() };
        let (top, _) = self.roll.up(view, end, MOST);
        let slices = self.roll.slices(view, top, MOST);
        let height = slices.iter().map(|slice| slice.rows.len()).sum::<usize>();
        let area = Rect::new(0, 0, width, u16::try_from(height).unwrap_or(u16::MAX));
        let mut buffer = Buffer::empty(area);
        let theme = self.theme.clone();
        let mut canvas = Canvas { buffer: &mut buffer, theme: &theme };
        transcript::paint(&mut canvas, view, &mut self.roll, &slices, area);
        (0..area.height).map(|y| line(&buffer, y)).collect()
    }
}

/// A row of cells as a line.
fn line(buffer: &Buffer, y: u16) -> String {
    let mut runs: Vec<(ContentStyle, String)> = Vec::new();
    let mut x = 0;
    while let Some(cell) = buffer.cell((x, y)) {
        let style: ContentStyle = cell.style().into_crossterm();
        // The ground and the colour of letters that the terminal has by itself need no escape sequence.
        let foreground_color = style.foreground_color.filter(|it| *it != Color::Reset);
        let style = ContentStyle {
            foreground_color,
            background_color: None,
            underline_color: None,
            ..style
        };
        match runs.last_mut().filter(|(last, _)| *last == style) {
            Some((_, text)) => text.push_str(cell.symbol()),
            None => runs.push((style, cell.symbol().to_owned())),
        }
        // The cell behind a wide letter is empty.
        x += u16::try_from(glyph::width(cell.symbol())).unwrap_or(1).max(1);
    }
    while let Some((_, text)) = runs.last_mut() {
        text.truncate(text.trim_end().len());
        if !text.is_empty() {
            break;
        }
        runs.pop();
    }
    let text: String =
        runs.into_iter().map(|(style, text)| style.apply(text).to_string()).collect();
    text + "\n"
}

#[cfg(test)]
mod tests {
    use crate::screen::Screen;
    use crate::screen::model::{Body, View};
    use crate::screen::theme::{Background, Depth, Theme};

    #[test]
    fn rows_are_lines_without_a_ground_and_without_spaces_at_their_end() {
        let mut view = View::default();
        let mut screen = Screen::new(Theme::new(Background::Dark, Depth::Without));
        assert_eq!(screen.scrollback(&view, 30), "");
        view.transcript.push(Body::User("wide 漢字 letters".to_owned()));
        view.transcript.push(Body::Answer("one two three four five six seven".to_owned()));
        // The mark of a user's message is bold.
        let plain = screen.scrollback(&view, 30).replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
        let lines: Vec<&str> = plain.lines().map(str::trim).collect();
        assert!(plain.contains("wide 漢字 letters"), "{plain:?}");
        assert!(lines.contains(&"one two three four five"), "{plain:?}");
        assert!(plain.lines().all(|line| line.trim_end() == line), "{plain:?}");
    }
}
