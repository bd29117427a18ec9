//! What there is to see, without a terminal: the transcript, the composer, the status line and what lies above them.
//!
//! Whoever runs the session fills a [`View`] and hands it to [`Screen::render`](super::Screen::render). Nothing here
//! knows a width, a colour or a clock: times are durations since the session began.

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

/// Everything that one frame shows.
#[derive(Clone, Debug)]
pub struct View {
    /// The conversation.
    pub transcript: Transcript,
    /// How thoughts are shown (`reasoning.display`).
    pub display: Display,
    /// `reasoning.includeInResponse`: `false` hides every thought, whatever the mode or a block's own choice says.
    pub shows_thoughts: bool,
    /// Where the user writes.
    pub composer: Composer,
    /// The last line.
    pub status: Status,
    /// What lies above the transcript, if anything.
    pub overlay: Option<Overlay>,
    /// What the user has to decide before anything goes on; it takes the place of the composer while nothing is written.
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
    /// What is asked, in a few words: `Run this command?`
    pub title: String,
    /// What it is about, any number of lines; the first ones are shown.
    pub detail: String,
    /// The language of `detail` for its colours, such as `sh` or `diff`.
    pub language: String,
    /// What can be answered, each with the key that chooses it.
    pub choices: Vec<Choice>,
    /// The index in `choices` that Enter takes.
    pub selected: usize,
    /// How to answer, on the lower edge.
    pub hint: String,
}

/// One answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The key, as it is shown: `y`; empty where none alone chooses it.
    pub key: String,
    /// What it does: `yes, this once`.
    pub label: String,
}
