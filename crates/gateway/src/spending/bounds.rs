//! What ends an answer before its model does: a budget that is spent, and a thought that goes round in circles.

use super::came::Came;
use super::tab::Most;
use crate::bus::Seen;
use crate::progress::Progress;
use thinkthrough_core::content::Block;
use thinkthrough_core::event::Event;
use thinkthrough_core::runaway::{Circle, Circles, Runaway};
use thinkthrough_core::tokens::AnswerEstimate;

/// Hears one answer.
#[derive(Debug)]
pub(crate) struct Bounds {
    most: Most,
    runaway: Runaway,
    /// It is one value, which cannot be cut any more when it is read.
    is_value: bool,
    thoughts: AnswerEstimate,
    /// Up to 72 KiB, from the first thought on.
    circles: Circles,
    found: Option<Circle>,
}

impl Bounds {
    pub(crate) fn new(most: Most, runaway: Runaway, is_value: bool) -> Self {
        let (thoughts, circles) = (AnswerEstimate::default(), Circles::default());
        Bounds { most, runaway, is_value, thoughts, circles, found: None }
    }

    /// Something of the answer came.
    pub(crate) fn hear(&mut self, event: Event<'_>, seen: &Seen) {
        self.thoughts.hear(event);
        if self.runaway == Runaway::Off || self.found.is_some() {
            return;
        }
        self.found = thought(event).and_then(|text| self.circles.push(text));
        if let Some(Circle { period, .. }) = self.found {
            let is_cut = self.runaway == Runaway::Cut && !self.is_value;
            seen.tell(&Progress::Circles { period, is_cut });
        }
    }

    /// Why no more of the answer may come, whatever cap its model was told: in a word, and for its caller. So many bytes
    /// of text came.
    pub(crate) fn reached(&self, heard: usize) -> Option<(&'static str, String)> {
        if self.is_value {
            return None;
        }
        if let Some(most) = self.most.thought.filter(|most| self.thoughts.total() > *most) {
            let why = format!(
                "reasoning_budget_exceeded: the thought took more than the {most} tokens that its budget had left"
            );
            return Some(("budget", why));
        }
        if let Some(most) = self.most.all.filter(|most| self.came(heard, false).all > *most) {
            let why = format!(
                "reasoning_budget_exceeded: the answer took more than the {most} tokens that its budget in dollars had left"
            );
            return Some(("budget", why));
        }
        let Circle { period, .. } = self.found.filter(|_| self.runaway == Runaway::Cut)?;
        let why = format!(
            "thought_repeats: the thought said the same {period} bytes again and again, and this gateway cuts such ones; \
             ask again, or in other words"
        );
        Some(("runaway", why))
    }

    /// What came so far, with so many bytes of text.
    pub(crate) fn came(&self, heard: usize, is_whole: bool) -> Came {
        Came::of(self.thoughts, heard, is_whole)
    }
}

/// Of an answer that others took over.
impl Default for Bounds {
    fn default() -> Self {
        Bounds::new(Most::default(), Runaway::Off, true)
    }
}

/// What an event says of a thought.
fn thought(event: Event<'_>) -> Option<&str> {
    match event {
        Event::ThinkingDelta { delta, .. } => Some(delta),
        Event::Whole { value: Block::Thinking(thinking), .. } => Some(&thinking.thought),
        Event::Choice { event, .. } => thought(*event),
        _ => None,
    }
}
