//! Measures the time of a request and its thoughts.

use std::time::Duration;
use thinkthrough_core::content::{Block, Content};
use thinkthrough_core::event::Event;
use tokio::time::Instant;

/// Measures an answer while it arrives.
///
/// A thought begins with the head of the answer, or at the end of the block before it, because providers that
/// withhold the text send no event while the model thinks.
#[derive(Debug)]
pub(super) struct Clock {
    sent: Instant,
    since: Instant,
    /// Block and duration of each thought that ended or is still open.
    thoughts: Vec<(usize, Duration)>,
    open: Option<usize>,
}

impl Clock {
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Clock { sent: now, since: now, thoughts: Vec::new(), open: None }
    }

    pub(super) fn head(&mut self) {
        self.since = Instant::now();
    }

    pub(super) fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::ThinkingStart { block, .. } => self.open = Some(*block),
            Event::ThinkingEnd { block, .. } => self.end(*block),
            Event::TextStart { .. } | Event::ToolCallStart { .. } => self.since = Instant::now(),
            Event::TextEnd { .. } | Event::ToolCallEnd { .. } | Event::Whole { .. } => {
                self.since = Instant::now();
            }
            _ => {}
        }
    }

    fn end(&mut self, block: usize) {
        self.open = None;
        self.thoughts.push((block, self.since.elapsed()));
        self.since = Instant::now();
    }

    /// Returns the time since the request and the total time of all thoughts. Writes each thought's time and its effort
    /// into `content`; an answer without a thought has the effort itself.
    pub(super) fn stop(
        mut self,
        content: Option<&mut Content>,
        effort: Option<&str>,
    ) -> (Duration, Duration) {
        if let Some(block) = self.open {
            self.end(block);
        }
        if let Some(content) = content {
            for (block, took) in &self.thoughts {
                if let Some(Block::Thinking(thinking)) = content.blocks.get_mut(*block) {
                    thinking.duration_ms = u64::try_from(took.as_millis()).ok();
                    thinking.effort = effort.map(str::to_owned);
                }
            }
            let is_without_thought = content.thoughts().next().is_none();
            content.effort = effort.filter(|_| is_without_thought).map(str::to_owned);
        }
        (self.sent.elapsed(), self.thoughts.iter().map(|(_, took)| *took).sum())
    }
}
