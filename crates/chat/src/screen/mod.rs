//! The screen of the terminal client: paints a [`model::View`] into a buffer of cells.
//!
//! [`Screen::render`] paints a view and returns the positions of its parts. It lays out only the visible part and
//! caches it until it changes, so a frame costs the same in a short and in a long conversation. Long text is cut into
//! segments. The transcript is a sequence of segments (`roll`), and a position in it is a segment and a row, never a
//! count of rows from the start.
//!
//! All text passes `glyph`, which removes control characters, before it reaches a cell.

mod canvas;
mod chrome;
mod chunk;
mod code;
mod colour;
mod fence;
mod flow;
mod fold;
mod glyph;
mod head;
mod heights;
mod ink;
mod laid;
mod markdown;
pub mod model;
mod printed;
mod roll;
mod rows;
mod scrollback;
pub mod theme;
mod transcript;
mod wrap;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub use chrome::{column_of, move_by_rows};
pub use colour::Rgb;
pub use flow::{Flow, first_row, last_words};
pub use printed::{Printer, code_blocks};

use canvas::Canvas;
use ink::{Ground, Ink, Tone};
use laid::Part;
use model::{EntryId, Overlay, View};
use roll::{Place, Roll};
use theme::Theme;

/// The screen of one session: its theme, its scroll position, and its cached layout.
#[derive(Debug)]
pub struct Screen {
    theme: Theme,
    roll: Roll,
    /// The scroll position. `None` follows the end.
    held: Option<Place>,
    /// The first visible row of the last frame.
    top: Option<Place>,
    pending: Vec<Scroll>,
    page: usize,
}

/// A scroll command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// To the end, and follows it from then on.
    End,
    /// By this number of pages. Negative numbers scroll up.
    Pages(isize),
    /// By this number of rows. Negative numbers scroll up.
    Rows(isize),
    /// To the start.
    Start,
    /// To an entry, which becomes the first visible one.
    To(EntryId),
}

/// The positions of a painted frame's parts.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The position of the cursor, if it is visible.
    pub cursor: Option<(u16, u16)>,
    /// The visible entries, from top to bottom.
    pub entries: Vec<EntryId>,
    transcript: Rect,
    rows: Vec<(EntryId, Part)>,
    latest: Option<u16>,
    list: Rect,
    first: usize,
    overlay: Rect,
}

/// The part of the screen at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// The text of an entry.
    Entry(EntryId),
    /// The line that opens and folds an entry.
    Head(EntryId),
    /// A row of a list, by its index.
    Item(usize),
    /// The hint that there is more below.
    Latest,
}

impl Frame {
    /// Returns the part at this cell.
    #[must_use]
    pub fn hit(&self, x: u16, y: u16) -> Option<Hit> {
        let at = ratatui::layout::Position::new(x, y);
        if self.list.contains(at) {
            return Some(Hit::Item(self.first + usize::from(y - self.list.y)));
        }
        if self.overlay.contains(at) || !self.transcript.contains(at) {
            return None;
        }
        if self.latest == Some(y) {
            return Some(Hit::Latest);
        }
        let (entry, part) = self.rows.get(usize::from(y - self.transcript.y))?;
        match part {
            Part::Gap => None,
            Part::Head | Part::Result => Some(Hit::Head(*entry)),
            Part::Newest(_) | Part::Segment(_) => Some(Hit::Entry(*entry)),
        }
    }
}

impl Screen {
    /// A screen that follows the end of the transcript.
    #[must_use]
    pub fn new(theme: Theme) -> Self {
        Self { theme, roll: Roll::default(), held: None, top: None, pending: Vec::new(), page: 1 }
    }

    /// Changes the theme from the next frame on.
    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Scrolls with the next frame.
    pub fn scroll(&mut self, scroll: Scroll) {
        self.pending.push(scroll);
    }

    /// Stops following, so that the top stays when a visible entry is opened or folded.
    pub fn hold(&mut self) {
        self.held = self.held.or(self.top);
    }

    /// Returns true if the end of the transcript stays visible while the transcript grows.
    #[must_use]
    pub fn is_following(&self) -> bool {
        self.held.is_none()
    }

    /// Paints the view over the whole buffer.
    pub fn render(&mut self, view: &View, buffer: &mut Buffer) -> Frame {
        let screen = buffer.area;
        let theme = self.theme.clone();
        let mut canvas = Canvas { buffer, theme: &theme };
        canvas.ground(screen, Ground::Plain);
        if screen.width < 12 || screen.height < 4 {
            canvas.text(
                (screen.x, screen.y),
                screen.right(),
                "too small",
                Ink::default(),
                Ground::Plain,
            );
            return Frame::default();
        }
        let (asking, writing) = panels(view, screen);
        let rest = screen.height - asking - writing - 1;
        let area = Rect::new(screen.x, screen.y, screen.width, rest);
        let mut frame = self.transcript(&mut canvas, view, area);
        let asked = Rect::new(screen.x, area.bottom(), screen.width, asking);
        let below = Rect::new(screen.x, asked.bottom(), screen.width, writing);
        if let Some(question) = view.question.as_ref().filter(|_| asking > 0) {
            chrome::paint_question(&mut canvas, question, asked);
        }
        if writing > 0 {
            frame.cursor = chrome::paint_composer(&mut canvas, view, below);
        }
        let last = Rect::new(screen.x, screen.bottom() - 1, screen.width, 1);
        chrome::paint_status(&mut canvas, &view.status, writing > 0, last);
        if let Some(overlay) = &view.overlay {
            let painted = chrome::paint_overlay(&mut canvas, overlay, area);
            (frame.list, frame.first, frame.overlay) = (painted.rows, painted.first, painted.area);
            if !matches!(overlay, Overlay::Completion(_)) {
                frame.cursor = None;
            }
        }
        frame
    }

    fn transcript(&mut self, canvas: &mut Canvas<'_>, view: &View, area: Rect) -> Frame {
        let height = usize::from(area.height);
        self.roll.sync(view, transcript::text_width(area.width));
        self.page = height.saturating_sub(2).max(1);
        let Some(top) = self.find_top(view, height) else {
            self.top = None;
            return Frame { transcript: area, ..Frame::default() };
        };
        self.top = Some(top);
        let slices = self.roll.slices(view, top, height);
        let rows = transcript::paint(canvas, view, &mut self.roll, &slices, area);
        transcript::paint_bar(canvas, &self.roll, (top, self.is_following()), area);
        let mut entries: Vec<EntryId> = rows.iter().map(|(entry, _)| *entry).collect();
        entries.dedup();
        let latest = (!self.is_following()).then(|| area.bottom().saturating_sub(1));
        if let Some(y) = latest {
            let ink = Ink::of(Tone::Accent).bold();
            let end = (area.right().saturating_sub(2), y);
            canvas.text_right(area.x, end, " ↓ more below: Ctrl-End ", ink, Ground::Selected);
        }
        Frame { transcript: area, rows, entries, latest, ..Frame::default() }
    }

    /// The first visible row, after all pending scroll commands.
    fn find_top(&mut self, view: &View, height: usize) -> Option<Place> {
        let end = self.roll.end(view)?;
        let (last, _) = self.roll.up(view, end, height);
        let mut top = match self.held {
            Some(place) => self.roll.settle(view, place)?,
            None => last,
        };
        for scroll in std::mem::take(&mut self.pending) {
            top = self.scrolled(view, top, last, scroll)?;
        }
        // A screen that reaches the end follows it.
        let is_last = (top.entry, top.part, top.row) >= (last.entry, last.part, last.row);
        self.held = (!is_last).then_some(top);
        Some(if is_last { last } else { top })
    }

    fn scrolled(&mut self, view: &View, top: Place, last: Place, scroll: Scroll) -> Option<Place> {
        let page = isize::try_from(self.page).unwrap_or(1);
        let rows = match scroll {
            Scroll::End => return Some(last),
            Scroll::Start => return self.roll.start(view),
            Scroll::To(entry) => return self.roll.at_entry(view, entry.0),
            Scroll::Pages(pages) => pages.saturating_mul(page),
            Scroll::Rows(rows) => rows,
        };
        Some(if rows < 0 {
            self.roll.up(view, top, rows.unsigned_abs()).0
        } else {
            self.roll.down(view, top, rows.unsigned_abs())
        })
    }
}

/// Heights of the question and of the composer. A question replaces an empty composer, and is above a composer with
/// text.
fn panels(view: &View, screen: Rect) -> (u16, u16) {
    let most = screen.height - 2;
    let writing = chrome::composer_height(view, screen).min(most);
    let Some(question) = &view.question else { return (0, writing) };
    let asking = chrome::question_height(question, screen);
    if view.composer.text.is_empty() {
        return (asking.min(most), 0);
    }
    // The typed text must stay visible. The question gets the rest, if its frame fits into it.
    let left = most - writing;
    (if left < 3 { 0 } else { asking.min(left) }, writing)
}

#[cfg(test)]
mod tests;
