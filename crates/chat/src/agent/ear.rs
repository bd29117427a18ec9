//! Watches an answer while it arrives: measures its time, and finds a thought that repeats itself.

use super::clock::Clock;
use super::watch::Watch;
use crate::gate::Notice;
use thinkthrough_core::event::Event;
use thinkthrough_limits::runaway::{Circle, Circles, Runaway};

/// The listener of one answer.
pub(super) struct Ear<'a> {
    pub(super) round: usize,
    pub(super) clock: &'a mut Clock,
    pub(super) watch: &'a mut (dyn Watch + Send),
    pub(super) runaway: Runaway,
    pub(super) circles: Circles,
    pub(super) found: Option<Circle>,
}

impl Ear<'_> {
    /// Handles an event of the answer.
    pub(super) fn hear(&mut self, event: Event<'_>) {
        self.clock.see(&event);
        if let Event::ThinkingDelta { delta, .. } = event
            && self.runaway != Runaway::Off
            && let Some(found) = self.circles.push(delta)
        {
            self.found = Some(found);
            if self.runaway == Runaway::Warn {
                self.watch.notice(&Notice::Runaway(found));
            }
        }
        self.watch.event(self.round, event);
    }

    /// The reason to cut the answer off, if there is one.
    pub(super) fn cut(&self) -> Option<String> {
        let Circle { period, .. } = self.found.filter(|_| self.runaway == Runaway::Cut)?;
        Some(format!(
            "its thought said the same {period} bytes again and again, and `[chat] runaway` is \"cut\""
        ))
    }
}
