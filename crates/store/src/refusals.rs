//! Whether the database takes what waits for it, and what is told where it does not.
//!
//! Nobody waits for these commits, so that nobody else would notice: answers go on, and the journal grows.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long the database refuses before that is told: what ends within a moment concerns nobody.
const LATE: Duration = Duration::from_secs(3);
/// What was refused so long ago, and not tried since, says nothing about the database any more.
const STALE: Duration = Duration::from_secs(30);

/// What goes into the database behind everybody's back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goods {
    /// Records of the vault.
    Records,
    /// Traces.
    Traces,
}

/// What the database refuses.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    records: Option<Refusal>,
    traces: Option<Refusal>,
    /// That it refuses was told, and it does not take everything yet.
    is_told: bool,
}

/// Of what was tried since the database took something last.
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
    /// What it is called in messages.
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

    /// What was tried from then on was taken, or not; says whether it is to be told now that it is refused.
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

    /// Whether something is refused for longer than a moment.
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
        // One try that took as long is enough.
        let began = Instant::now();
        advance(LATE).await;
        assert_eq!(see(Traces, began, false), (true, true));
        advance(STALE).await;
        assert!(!refusals.last(), "nobody tried since");
    }
}
