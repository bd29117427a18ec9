//! Watches whether the database accepts background commits, and decides when to report that it does not.
//!
//! No caller waits for these commits. Without a report a failure would go unnoticed: answers go on, and the journal
//! grows.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The time after which refusals are reported. Short interruptions are not worth a report.
const LATE: Duration = Duration::from_secs(3);
/// A refusal this old, without further attempts, says no more about the state of the database.
const STALE: Duration = Duration::from_secs(30);

/// The kinds of data that are committed in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goods {
    /// Records of the vault.
    Records,
    /// Traces.
    Traces,
}

/// The current refusals of the database.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    records: Option<Refusal>,
    traces: Option<Refusal>,
    /// True if the refusal was reported and the database does not yet accept all kinds again.
    is_told: bool,
}

/// Refusals since the last success.
#[derive(Clone, Debug)]
struct Refusal {
    since: Instant,
    last: Instant,
}

impl Refusal {
    fn lasts(&self) -> bool {
        self.last.duration_since(self.since) >= LATE && self.last.elapsed() < STALE
    }
}

impl Goods {
    /// The name in messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Goods::Records => "thoughts",
            Goods::Traces => "traces",
        }
    }
}

impl Refusals {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the outcome of an attempt that began at this time. Returns true if the refusal has to be reported now.
    pub(crate) fn see(&self, goods: Goods, began: Instant, is_taken: bool) -> bool {
        let mut state = self.state();
        let state = &mut *state;
        let refusal = match goods {
            Goods::Records => &mut state.records,
            Goods::Traces => &mut state.traces,
        };
        if is_taken {
            *refusal = None;
            state.is_told &= state.records.is_some() || state.traces.is_some();
            return false;
        }
        let refusal = refusal.get_or_insert(Refusal { since: began, last: began });
        refusal.last = Instant::now();
        refusal.lasts() && !std::mem::replace(&mut state.is_told, true)
    }

    /// Returns true if a kind of data is refused for longer than a moment.
    pub(crate) fn last(&self) -> bool {
        let state = self.state();
        [&state.records, &state.traces].into_iter().flatten().any(Refusal::lasts)
    }
}

#[cfg(test)]
mod tests {
    use super::Goods::{Records, Traces};
    use super::*;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_for_long_is_told_once_until_all_is_taken_again() {
        let refusals = Refusals::default();
        let see = |goods, began, is_taken| (refusals.see(goods, began, is_taken), refusals.last());
        let began = Instant::now();
        assert_eq!(see(Records, began, false), (false, false));
        advance(LATE).await;
        assert_eq!(see(Traces, Instant::now(), false), (false, false));
        assert_eq!(see(Records, began, false), (true, true));
        assert_eq!(see(Traces, began, false), (false, true));
        assert_eq!(see(Records, began, true), (false, false));
        advance(LATE).await;
        assert_eq!(see(Traces, began, false), (false, true));
        assert_eq!(see(Traces, began, true), (false, false));
        // One attempt of this duration suffices.
        let began = Instant::now();
        advance(LATE).await;
        assert_eq!(see(Traces, began, false), (true, true));
        advance(STALE).await;
        assert!(!refusals.last(), "nobody tried since");
    }
}
