//! The display of one thought in `think ask`: in full, as one line, or as a temporary line.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use thinkthrough_chat::counted::{Growing, tokens};
use thinkthrough_chat::screen::{first_row, last_words};
use thinkthrough_core::content::Thinking;
use thinkthrough_core::settings::{Display, Resolved};
use thinkthrough_core::tokens::TokenCount;

/// The display of thoughts on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// No output.
    Nothing,
    /// The text while it streams.
    InFull,
    /// One line at the end of a thought, and on a terminal a live line before.
    Line { label: &'static str, live: bool },
    /// The newest words while they stream, and no line afterwards. Needs a terminal.
    Live,
}

impl Shows {
    /// Combines the settings with the kind of output. Without a terminal, text cannot be erased: `stream_only` prints
    /// the full text, and `off` prints one line.
    pub(super) fn of(settings: &Resolved, is_terminal: bool) -> Self {
        if !settings.include_in_response.value {
            return Shows::Nothing;
        }
        match (settings.display.value, is_terminal) {
            (Display::Show, _) | (Display::StreamOnly, false) => Shows::InFull,
            (Display::Collapsed, live) => Shows::Line { label: "Thought for", live },
            (Display::StreamOnly, true) => Shows::Live,
            (Display::Off, live) => Shows::Line { label: "thinking:", live },
        }
    }

    fn counts(self) -> bool {
        matches!(self, Shows::Line { .. })
    }
}

/// The shortest time between two live lines.
const REDRAW: Duration = Duration::from_millis(50);

pub(super) struct Thought {
    began: Instant,
    drawn: Option<Instant>,
    count: Option<Growing>,
    /// The last words, for the live line.
    tail: String,
}

impl Thought {
    pub(super) fn begin(shows: Shows) -> Self {
        let count = shows.counts().then(Growing::default);
        Thought { began: Instant::now(), drawn: None, count, tail: String::new() }
    }

    pub(super) fn push(&mut self, delta: &str) {
        /// More than one line of any terminal.
        const KEPT: usize = 2_048;
        if let Some(count) = &mut self.count {
            count.push(delta);
            return;
        }
        self.tail.push_str(delta);
        if self.tail.len() > 2 * KEPT {
            let least = self.tail.len() - KEPT;
            let from = (least..self.tail.len()).find(|at| self.tail.is_char_boundary(*at));
            self.tail.drain(..from.unwrap_or(self.tail.len()));
        }
    }

    /// The live line, if the last one is old enough.
    pub(super) fn live_line(&mut self, shows: Shows) -> Option<String> {
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW) {
            return None;
        }
        self.drawn = Some(Instant::now());
        // One column stays free, because a full line would wrap.
        let width = width().saturating_sub(1);
        Some(match shows {
            Shows::Line { .. } => {
                let count = self.count.map(|it| it.count()).filter(|it| it.tokens > 0);
                first_row(&self.told("thinking:", count, false), width).to_owned()
            }
            Shows::InFull | Shows::Live | Shows::Nothing => last_words(&self.tail, width),
        })
    }

    /// The line of a finished thought: `Thought for 12 s, about 1,240 tokens`. The provider's own count arrives later.
    pub(super) fn line(&self, label: &str, thinking: &Thinking, whole: Option<&str>) -> String {
        let count = self.count.and_then(|it| it.ended(thinking, whole));
        let is_empty = self.count.is_none_or(|it| it.count().tokens == 0);
        self.told(label, count, is_empty && whole.is_none_or(str::is_empty))
    }

    fn told(&self, label: &str, count: Option<TokenCount>, is_withheld: bool) -> String {
        let took = seconds(self.began.elapsed());
        let count = count.map_or_else(String::new, |count| format!(", {}", tokens(count)));
        let withheld = if is_withheld { " (the provider withheld the text)" } else { "" };
        format!("{label} {took}{count}{withheld}")
    }
}

/// Columns of the terminal of standard error.
pub(super) fn width() -> usize {
    columns(&io::stderr())
}

/// Columns of the terminal of a stream.
pub(super) fn columns(stream: &impl AsFd) -> usize {
    const USUAL: usize = 80;
    terminal_size::terminal_size_of(stream)
        .map_or(USUAL, |(terminal_size::Width(columns), _)| usize::from(columns))
}

/// `0.4 s`, `12 s`, `3 min 20 s`
fn seconds(took: Duration) -> String {
    match took.as_secs() {
        0..10 => format!("{:.1} s", took.as_secs_f64()),
        whole @ 10..60 => format!("{whole} s"),
        whole => format!("{} min {} s", whole / 60, whole % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::settings::{Setting, Source};

    #[test]
    fn times_are_for_people() {
        for (millis, text) in [
            (0, "0.0 s"),
            (440, "0.4 s"),
            (12_900, "12 s"),
            (60_000, "1 min 0 s"),
            (200_000, "3 min 20 s"),
        ] {
            assert_eq!(seconds(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn what_can_be_taken_back_depends_on_the_surface() {
        let with = |display, is_terminal| {
            let display = Setting { value: display, source: Source::Session };
            Shows::of(&Resolved { display, ..Resolved::default() }, is_terminal)
        };
        assert_eq!(with(Display::StreamOnly, true), Shows::Live);
        assert_eq!(with(Display::StreamOnly, false), Shows::InFull);
        assert_eq!(with(Display::Off, false), Shows::Line { label: "thinking:", live: false });
        let hidden = Setting { value: false, source: Source::Session };
        let settings = Resolved { include_in_response: hidden, ..Resolved::default() };
        assert_eq!(Shows::of(&settings, true), Shows::Nothing);
    }
}
