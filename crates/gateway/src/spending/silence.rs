//! Decides whether a store is away or only late. It is away after a while without any answer.
//!
//! The difference matters because a gateway goes on alone when the store is away. If a fleet did so for each late
//! answer, it would exceed its limit several times over.

use std::time::Duration;
use tokio::time::Instant;

/// A store without any answer for so long is away. One question may take as long.
pub(super) const AWAY: Duration = Duration::from_secs(4);

/// The state of a store, judged by its answers. It reads no clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    /// The time of the last answer.
    heard: Option<Instant>,
    /// The time of the first question since then that got no answer.
    since: Option<Instant>,
    is_away: bool,
}

impl Silence {
    /// Notes the answer to any question.
    pub(super) fn answered(&mut self, now: Instant) {
        *self = Silence { heard: Some(now), since: None, is_away: false };
    }

    /// Notes that a question was given up without an answer. It began at `begun`.
    pub(super) fn unanswered(&mut self, begun: Instant, now: Instant) {
        let since = self.since.map_or(begun, |since| since.min(begun));
        // For a question from before the last answer, the silence begins with that answer.
        let since = self.heard.map_or(since, |heard| since.max(heard));
        self.since = Some(since);
        self.is_away = now.saturating_duration_since(since) >= AWAY;
    }

    /// No answer came for so long that the store is away.
    pub(super) fn is_away(&self) -> bool {
        self.is_away
    }

    /// The last question got no answer.
    pub(super) fn is_silent(&self) -> bool {
        self.since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_away_once_nothing_came_for_four_seconds_and_any_answer_ends_that() {
        let began = Instant::now();
        let at = |millis| began + Duration::from_millis(millis);
        let mut silence = Silence::default();
        assert!(!silence.is_silent() && !silence.is_away());
        for begun in [0, 1_000, 2_000, 2_900] {
            silence.unanswered(at(begun), at(begun + 1_000));
            assert!(silence.is_silent() && !silence.is_away(), "{begun}");
        }
        silence.unanswered(at(3_000), at(4_000));
        assert!(silence.is_away());
        silence.answered(at(5_000));
        assert!(!silence.is_silent() && !silence.is_away());
        // This question is old, but another one was answered since.
        silence.unanswered(at(4_500), at(8_900));
        assert!(silence.is_silent() && !silence.is_away());
        silence.unanswered(at(8_900), at(9_000));
        assert!(silence.is_away());
    }
}
