//! A thought as the screen knows it.

use std::time::Duration;

use thinkthrough_core::tokens::TokenCount;

/// A thinking block. Its text only grows; its time runs only while the model thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thought {
    /// The text so far.
    pub text: String,
    /// How far it is.
    pub state: ThoughtState,
    /// Its tokens, if they are known. Unknown counts are not shown.
    pub tokens: Option<TokenCount>,
    /// The effort that the model was asked for, if the user chose one.
    pub effort: Option<String>,
    /// The user's choice for this block: `None` follows the mode, `Some(true)` is open, `Some(false)` folded.
    pub choice: Option<bool>,
    /// The time it took so far, without the time since `running_since`. `None` if the time is unknown.
    pub spent: Option<Duration>,
    /// When the clock last started, since the session began. `None` while the clock is stopped, such as while a tool
    /// runs.
    pub running_since: Option<Duration>,
}

/// How far a thought is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThoughtState {
    /// The answer has none.
    Absent,
    /// It is complete.
    #[default]
    Done,
    /// It is being thought.
    Live,
    /// It broke off: the user interrupted, or the stream ended early.
    Partial,
    /// It is complete, and the provider sent an opaque payload instead of its text.
    Withheld,
}

impl Thought {
    /// A thought that begins now.
    #[must_use]
    pub fn begin(now: Duration) -> Self {
        Self {
            text: String::new(),
            state: ThoughtState::Live,
            tokens: None,
            effort: None,
            choice: None,
            spent: Some(Duration::ZERO),
            running_since: Some(now),
        }
    }

    /// A thought from a stored conversation. Its time is `None` if the conversation does not tell it.
    #[must_use]
    pub fn stored(text: impl Into<String>, state: ThoughtState, spent: Option<Duration>) -> Self {
        let text = text.into();
        Self { text, state, tokens: None, effort: None, choice: None, spent, running_since: None }
    }

    /// The time it took until now.
    #[must_use]
    pub fn elapsed(&self, now: Duration) -> Option<Duration> {
        let running = self.running_since.map(|since| now.saturating_sub(since));
        match (self.spent, running) {
            (None, None) => None,
            (spent, running) => Some(spent.unwrap_or_default() + running.unwrap_or_default()),
        }
    }

    /// Stops the clock while the model does not think.
    pub fn pause(&mut self, now: Duration) {
        self.spent = self.elapsed(now);
        self.running_since = None;
    }

    /// Starts the clock again.
    pub fn resume(&mut self, now: Duration) {
        self.pause(now);
        self.running_since = Some(now);
    }

    /// Ends the thought: stops the clock, and sets the final state.
    pub fn end(&mut self, state: ThoughtState, now: Duration) {
        self.pause(now);
        self.state = state;
    }
}

#[cfg(test)]
mod tests {
    use super::{Thought, ThoughtState};
    use std::time::Duration;

    #[test]
    fn the_clock_stands_while_a_tool_runs() {
        let at = Duration::from_secs;
        let mut thought = Thought::begin(at(10));
        assert_eq!(thought.elapsed(at(13)), Some(at(3)));
        thought.pause(at(14));
        assert_eq!(thought.elapsed(at(100)), Some(at(4)));
        thought.resume(at(100));
        thought.end(ThoughtState::Done, at(108));
        assert_eq!(thought.elapsed(at(500)), Some(at(12)));
        assert_eq!(Thought::stored("x", ThoughtState::Done, None).elapsed(at(9)), None);
    }
}
