//! The content of the screen, without a terminal: the transcript, the composer, the status line, and the overlay
//! above them.
//!
//! The session fills a [`View`] and hands it to [`Screen::render`](super::Screen::render). This module knows no
//! width, colour or clock: times are durations since the session began.

mod composer;
mod overlay;
mod status;
mod thought;
mod tool;
mod transcript;

use std::time::Duration;

use thinkthrough_core::settings::Display;

pub use composer::Composer;
pub use overlay::{Item, List, Overlay, Page};
pub use status::{Activity, Budget, Status};
pub use thought::{Thought, ThoughtState};
pub use tool::{Tool, ToolState};
pub use transcript::{Body, Entry, EntryId, Level, Transcript};

/// The content of one frame.
#[derive(Clone, Debug)]
pub struct View {
    /// The conversation.
    pub transcript: Transcript,
    /// How thoughts are shown (`reasoning.display`).
    pub display: Display,
    /// `reasoning.includeInResponse`: `false` hides every thought, whatever the mode or a block's own choice says.
    pub shows_thoughts: bool,
    /// The text field of the user.
    pub composer: Composer,
    /// The last line.
    pub status: Status,
    /// A list or page above the transcript.
    pub overlay: Option<Overlay>,
    /// A question that the user must answer first. It replaces the composer while the composer is empty.
    pub question: Option<Question>,
    /// The entry that keys act on, marked at its first line.
    pub focus: Option<EntryId>,
    /// How long the session runs; live timers count from it.
    pub now: Duration,
}

impl Default for View {
    fn default() -> Self {
        Self {
            transcript: Transcript::default(),
            display: Display::Show,
            shows_thoughts: true,
            composer: Composer::default(),
            status: Status::default(),
            overlay: None,
            question: None,
            focus: None,
            now: Duration::ZERO,
        }
    }
}

/// Something the user decides, such as whether a tool may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The question, in a few words: `Run this command?`
    pub title: String,
    /// The details of the question. Only the first lines of a long text are shown.
    pub detail: String,
    /// The language of `detail` for its colours, such as `sh` or `diff`.
    pub language: String,
    /// The possible answers, each with its key.
    pub choices: Vec<Choice>,
    /// The index in `choices` that Enter takes.
    pub selected: usize,
    /// How to answer, on the lower edge.
    pub hint: String,
}

/// One answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The key, as it is shown: `y`. Empty for a choice without a key of its own.
    pub key: String,
    /// The answer, in words: `yes, this once`.
    pub label: String,
}
