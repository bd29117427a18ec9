//! The answers under way that wait for memory in one tally, the oldest first, and who may use the reserve.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// The number of an answer: an older one has a lower number.
pub(super) type Age = u64;

/// The pause between two answers that give way, in which the others use the freed memory.
const PAUSE: Duration = Duration::from_millis(250);

/// Answers that wait in one tally.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// The number of waiting answers, to be read without the lock.
    length: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<Age, Waiter>,
    /// The answer that may use the reserve, until its memory is free again.
    holder: Option<Age>,
    /// When an answer was last told to give way.
    yielded: Option<Instant>,
}

#[derive(Debug)]
struct Waiter {
    waker: Waker,
    gives_way: bool,
}

/// The part of a tally that an answer may fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All but the reserve.
    Common,
    /// The reserve as well.
    All,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length.load(Ordering::SeqCst) == 0
    }

    /// Fills more of the tally for an answer of this age. `take` reserves the bytes if a part has room.
    pub(super) fn grow(&self, age: Age, mut take: impl FnMut(Part) -> bool) -> bool {
        let mut state = self.state();
        let is_first = state.waiting.keys().next().is_none_or(|first| *first >= age);
        if is_first && take(Part::Common) {
            // The reserve is free again.
            state.holder = state.holder.filter(|holder| *holder == age);
            return true;
        }
        let may_hold = state.holder.map_or(is_first, |holder| holder == age);
        if may_hold && take(Part::All) {
            state.holder = Some(age);
            return true;
        }
        false
    }

    pub(super) fn wait(&self, age: Age, cx: &Context<'_>) {
        let mut state = self.state();
        let gives_way = state.waiting.get(&age).is_some_and(|waiter| waiter.gives_way);
        state.waiting.insert(age, Waiter { waker: cx.waker().clone(), gives_way });
        self.length.store(state.waiting.len(), Ordering::SeqCst);
    }

    /// The answer waits no more; the next one looks for room.
    pub(super) fn leave(&self, age: Age) {
        let mut state = self.state();
        state.waiting.remove(&age);
        self.length.store(state.waiting.len(), Ordering::SeqCst);
        drop(state);
        self.wake();
    }

    /// The answer is over, and the reserve is free for the next one.
    pub(super) fn end(&self, age: Age) {
        let mut state = self.state();
        state.holder = state.holder.filter(|holder| *holder != age);
        drop(state);
        self.wake();
    }

    /// Memory became free: the oldest waiting answer looks for room, and so does the holder of the reserve.
    pub(super) fn wake(&self) {
        if self.is_empty() {
            return;
        }
        let state = self.state();
        let first = state.waiting.values().next();
        let holder = state.holder.and_then(|holder| state.waiting.get(&holder));
        let woken: Vec<Waker> =
            first.into_iter().chain(holder).map(|it| it.waker.clone()).collect();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Returns true when the waiting answer has to give way.
    pub(super) fn gives_way(&self, age: Age) -> bool {
        self.state().waiting.get(&age).is_some_and(|waiter| waiter.gives_way)
    }

    /// Asks the youngest waiting answer to give way. Asks one answer at a time.
    pub(super) fn give_way(&self, now: Instant) {
        let mut state = self.state();
        if state.yielded.is_some_and(|yielded| now.duration_since(yielded) < PAUSE) {
            return;
        }
        let holder = state.holder.filter(|_| state.waiting.len() > 1);
        let youngest = state.waiting.iter_mut().rev().find(|(age, _)| Some(**age) != holder);
        if let Some((_, waiter)) = youngest {
            waiter.gives_way = true;
            let waker = waiter.waker.clone();
            state.yielded = Some(now);
            drop(state);
            waker.wake();
        }
    }
}
