//! How long requests wait for a store.
//!
//! A store that stands still costs a request 100 ms in all, for all its reads and writes. Once several calls were
//! late, requests do not wait at all; then one request now and then finds out whether the store answers again.

use crate::store::vault::{APPEND, LOOKUP, VaultError};
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The number of late calls in a row that opens the breaker.
const MOST: u32 = 5;
/// The shortest time over which they must be spread, so that one burst does not open it.
const LONG: Duration = Duration::from_millis(250);
/// The interval for trying a store that stands still.
const PROBE: Duration = Duration::from_millis(500);
/// The patience of a request that is only shown.
const PATIENT: Duration = Duration::from_secs(60);

/// The circuit breakers of a store, for all requests. Reads and writes have one each, because a full disk can still
/// be read.
#[derive(Debug, Default)]
pub(crate) struct Breakers {
    reads: Breaker,
    pub(crate) writes: Breaker,
}

/// Lets calls through until several in a row took too long; from then on one now and then, until one is answered.
#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of late calls since the last answer, and the time of the first.
    late: u32,
    since: Option<Instant>,
    /// The time at which the next call is let through; `None`: all are.
    next: Option<Instant>,
}

impl Breaker {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call is let through.
    pub(crate) fn lets(&self, now: Instant) -> bool {
        let mut state = self.state();
        match state.next {
            Some(next) if now < next => false,
            Some(_) => {
                state.next = Some(now + PROBE);
                true
            }
            None => true,
        }
    }

    /// Notes that a call was answered, even with an error.
    pub(crate) fn answered(&self) {
        *self.state() = State::default();
    }

    /// Notes that a call took too long.
    pub(crate) fn was_late(&self, now: Instant) {
        let mut state = self.state();
        state.late = state.late.saturating_add(1);
        let since = *state.since.get_or_insert(now);
        if state.late >= MOST && now.duration_since(since) >= LONG {
            state.next.get_or_insert(now + PROBE);
        }
    }
}

/// The time that one request may still wait for a store.
pub(crate) struct Waits {
    breakers: Arc<Breakers>,
    left: Mutex<Duration>,
}

/// The result of waiting.
pub(crate) enum Waited<T> {
    Answered(Result<T, VaultError>),
    /// The answer took too long, or the store was not asked.
    Late,
}

impl Waits {
    /// The time of a new request. A part is left for the end of its answer.
    pub(crate) fn new(breakers: &Arc<Breakers>) -> Self {
        let left = Mutex::new(LOOKUP.saturating_sub(APPEND));
        Waits { breakers: Arc::clone(breakers), left }
    }

    /// The long patience of a request without a client, such as a preview.
    pub(crate) fn patient() -> Self {
        Waits { breakers: Arc::default(), left: Mutex::new(PATIENT) }
    }

    /// The circuit breakers that all requests share.
    pub(crate) fn breakers(&self) -> Arc<Breakers> {
        Arc::clone(&self.breakers)
    }

    /// The time that the request may still wait.
    pub(crate) fn left(&self) -> Duration {
        *self.lock()
    }

    /// Subtracts a wait.
    pub(crate) fn took(&self, took: Duration) {
        let mut left = self.lock();
        *left = left.saturating_sub(took);
    }

    /// Like [`Waits::answer`], for values that are mostly in memory: if the value is ready, the store is not asked,
    /// and the circuit breaker learns nothing.
    pub(crate) async fn known_answer<T>(
        &self,
        later: impl Future<Output = Result<T, VaultError>>,
    ) -> Waited<T> {
        let mut later = pin!(later);
        match poll_fn(|cx| Poll::Ready(later.as_mut().poll(cx))).await {
            Poll::Ready(told) => Waited::Answered(told),
            Poll::Pending => self.answer(later).await,
        }
    }

    /// Waits for an answer of the store, as long as the request may.
    pub(crate) async fn answer<T>(
        &self,
        later: impl Future<Output = Result<T, VaultError>>,
    ) -> Waited<T> {
        let (patience, began, reads) = (self.left(), Instant::now(), &self.breakers.reads);
        if patience.is_zero() || !reads.lets(began) {
            return Waited::Late;
        }
        let waited = match tokio::time::timeout(patience, later).await {
            Ok(told) => {
                reads.answered();
                Waited::Answered(told)
            }
            Err(_) => {
                reads.was_late(Instant::now());
                Waited::Late
            }
        };
        self.took(began.elapsed());
        waited
    }

    fn lock(&self) -> MutexGuard<'_, Duration> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waits").field("left", &self.left()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_store_that_stands_still_is_asked_now_and_then_until_it_answers() {
        let (breaker, began) = (Breaker::default(), Instant::now());
        for late in 0..10 {
            let now = began + ms(late * 50);
            assert_eq!(breaker.lets(now), late <= 5, "{late}");
            breaker.was_late(now);
        }
        let probes = (0..5_000).filter(|at| breaker.lets(began + ms(1_000 + at))).count();
        assert_eq!(probes, 10);
        breaker.answered();
        assert!((0..100).all(|at| breaker.lets(began + ms(6_000 + at))));
    }

    #[test]
    fn a_burst_that_is_late_and_a_store_that_is_slow_stop_nothing() {
        let (breaker, began) = (Breaker::default(), Instant::now());
        for _ in 0..100 {
            breaker.was_late(began);
            assert!(breaker.lets(began + ms(20)));
        }
        // Each call takes longer than requests wait, and is answered in the end.
        for at in 1..100 {
            breaker.was_late(began + ms(at * 30));
            breaker.answered();
            assert!(breaker.lets(began + ms(at * 30)));
        }
    }

    /// The waiting time of one request with `calls` calls of `each`, and the number of answers.
    async fn waited(calls: u64, each: Duration) -> (Duration, usize) {
        let waits = Waits::new(&Arc::default());
        let (began, mut answered) = (tokio::time::Instant::now(), 0);
        for _ in 0..calls {
            let call = async {
                tokio::time::sleep(each).await;
                Ok(())
            };
            let told = waits.answer(call).await;
            answered += usize::from(matches!(told, Waited::Answered(Ok(()))));
        }
        (began.elapsed(), answered)
    }

    #[tokio::test]
    async fn p_3_all_calls_of_one_request_wait_no_longer_than_one_may() {
        let (took, answered) = waited(50, ms(30)).await;
        // The clock of the test may be late, but no answer may come after the budget is spent.
        assert!((1..=3).contains(&answered) && took < ms(1_000), "{answered} in {took:?}");
        let (took, answered) = waited(20, ms(10_000)).await;
        assert!(answered == 0 && took < ms(1_000), "{took:?}");
    }

    #[tokio::test]
    async fn what_is_at_hand_says_nothing_about_a_store_that_stands_still() {
        let waits = Waits::new(&Arc::default());
        let began = Instant::now();
        for late in 0..10 {
            waits.breakers.reads.was_late(began + ms(late * 50));
            assert!(matches!(waits.known_answer(async { Ok(()) }).await, Waited::Answered(Ok(()))));
        }
        assert!(!waits.breakers.reads.lets(began + ms(600)));
        let never = std::future::pending::<Result<(), VaultError>>();
        assert!(matches!(waits.known_answer(never).await, Waited::Late));
        assert!(began.elapsed() < ms(5_000));
    }
}
