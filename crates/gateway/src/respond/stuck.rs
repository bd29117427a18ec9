//! Drops answers that their caller stopped reading.
//!
//! On a connection with many streams, a caller can stop reading one of them: it leaves the window of that stream
//! shut, and the transport reports nothing. So each body stores the time since which its next piece is waiting. A
//! body that waits too long is dropped together with its upstream. The other streams go on. If there are no others,
//! the connection is closed. While the socket itself is full, no body is blamed; `patient.rs` closes the connection
//! of a reader that stays slow.

use crate::respond::flow::Flow;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;
use thinkthrough_core::exchange::error_event;
use thinkthrough_core::wire::Wire;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A piece of a body; `None` at its end.
pub(crate) type Piece = Option<Result<Frame<Bytes>, io::Error>>;

/// The body of an answer, shared with the watcher of its connection.
pub(crate) struct Slot(Mutex<Inner>);

struct Inner {
    /// `None` once the body was dropped.
    flow: Option<Flow>,
    /// The time since which the next piece could have been read.
    since: Option<Instant>,
}

impl Slot {
    pub(crate) fn new(flow: Flow) -> Arc<Self> {
        let inner = Inner { flow: Some(flow), since: Some(Instant::now()) };
        Arc::new(Slot(Mutex::new(inner)))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next piece; `None` if the body was dropped.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Option<Poll<Piece>> {
        let mut inner = self.inner();
        inner.since = None;
        let polled = Pin::new(inner.flow.as_mut()?).poll_frame(cx);
        if matches!(polled, Poll::Ready(Some(Ok(_)))) {
            inner.since = Some(Instant::now());
        }
        Some(polled)
    }

    pub(crate) fn is_end_stream(&self) -> bool {
        self.inner().flow.as_ref().is_some_and(Body::is_end_stream)
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.inner().flow.as_ref().map(Body::size_hint).unwrap_or_default()
    }

    /// Returns the last bytes of a stream of events when the process ends.
    pub(crate) fn interrupted(&self, wire: &dyn Wire, why: &str) -> Bytes {
        match &mut self.inner().flow {
            Some(flow) => flow.interrupted(wire, why),
            None => error_event(wire, why).into(),
        }
    }

    /// Drops the rest of the answer when the process ends.
    pub(crate) fn abandon(&self) {
        if let Some(flow) = &mut self.inner().flow {
            flow.abandon();
        }
    }

    /// Drops the body if its next piece waits for longer than `limit`. Time before `full`, when the socket was full,
    /// does not count. Returns whether the body is gone.
    fn check(&self, limit: Duration, full: Option<Instant>) -> bool {
        let mut inner = self.inner();
        let since = inner.since.map(|since| full.map_or(since, |full| full.max(since)));
        let is_stuck = since.is_some_and(|since| since.elapsed() > limit);
        let gone = if is_stuck { inner.flow.take() } else { None };
        let is_gone = inner.flow.is_none();
        drop(inner);
        drop(gone);
        is_gone
    }
}

/// The answers in progress on one connection.
#[derive(Default)]
pub(crate) struct Slots {
    all: Mutex<Vec<Weak<Slot>>>,
    came: Notify,
    /// The last time that the socket accepted no bytes.
    full: Mutex<Option<Instant>>,
}

impl Slots {
    fn all(&self) -> MutexGuard<'_, Vec<Weak<Slot>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, slot: &Arc<Slot>) {
        let mut all = self.all();
        all.retain(|slot| slot.strong_count() > 0);
        all.push(Arc::downgrade(slot));
        drop(all);
        self.came.notify_one();
    }

    /// Records that the socket accepts no bytes now.
    pub(crate) fn is_full(&self) {
        *self.full.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Drops stuck answers. Returns the number of dropped answers that the connection still holds.
    fn check(&self, limit: Duration) -> usize {
        let mut all = self.all();
        all.retain(|slot| slot.strong_count() > 0);
        let slots: Vec<Arc<Slot>> = all.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        let full = *self.full.lock().unwrap_or_else(PoisonError::into_inner);
        slots.iter().filter(|slot| slot.check(limit, full)).count()
    }

    fn is_empty(&self) -> bool {
        self.all().iter().all(|slot| slot.strong_count() == 0)
    }
}

/// Returns when all answers of a connection are stuck. `answering` counts its unfinished requests.
pub(crate) async fn only_stuck(slots: &Slots, answering: impl Fn() -> usize, limit: Duration) {
    loop {
        if slots.is_empty() {
            slots.came.notified().await;
        }
        tokio::time::sleep(limit / 4).await;
        let gone = slots.check(limit);
        if gone > 0 && answering() == gone {
            return;
        }
    }
}

impl std::fmt::Debug for Slots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slots")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The paused clock moves on only while a task waits for it.

    const LIMIT: Duration = Duration::from_secs(60);

    async fn after(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn c_4_what_is_not_taken_is_let_go_and_what_is_taken_is_not() {
        let slots = Slots::default();
        let (taken, left) = (
            Slot::new(Flow::whole(Bytes::from_static(b"one"))),
            Slot::new(Flow::whole(Bytes::from_static(b"two"))),
        );
        for slot in [&taken, &left] {
            slots.add(slot);
        }
        after(40).await;
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(matches!(taken.poll(&mut cx), Some(Poll::Ready(Some(Ok(_))))));
        after(40).await;
        assert_eq!(slots.check(LIMIT), 1);
        assert!(left.poll(&mut cx).is_none(), "nothing more comes of it");
        assert!(matches!(taken.poll(&mut cx), Some(Poll::Ready(None))));
        after(1000).await;
        assert_eq!(slots.check(LIMIT), 1, "its end was heard, so it waits for nobody");
        drop((taken, left));
        assert_eq!(slots.check(LIMIT), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn c_4_a_slow_socket_is_no_shut_window() {
        let slots = Slots::default();
        let slow = Slot::new(Flow::whole(Bytes::from_static(b"one")));
        slots.add(&slow);
        for _ in 0..10 {
            // It accepts a few bytes, and is full again.
            after(50).await;
            slots.is_full();
            assert_eq!(slots.check(LIMIT), 0);
        }
        after(61).await;
        assert_eq!(slots.check(LIMIT), 1);
    }
}
