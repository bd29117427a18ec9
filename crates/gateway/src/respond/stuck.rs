//! Answers that nobody takes.
//!
//! A connection with many streams goes on when the caller stops taking one of them: it leaves that stream's window
//! shut, and nothing of the transport tells. So each body says since when its last piece waits, and one that waits too
//! long is let go, its upstream with it. The others on the connection go on; where there are none, it is closed.
//! While the socket itself is full, nobody is to blame but its reader, and that one is looked after elsewhere.

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

/// The body of an answer, shared with whoever watches over its connection.
pub(crate) struct Slot(Mutex<Inner>);

struct Inner {
    /// Gone when it was let go.
    flow: Option<Flow>,
    /// Since when its next piece could be taken.
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

    /// The next piece; `None` if the body was let go.
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

    /// The process ends: gives what a stream of events ends with.
    pub(crate) fn interrupted(&self, wire: &dyn Wire, why: &str) -> Bytes {
        match &mut self.inner().flow {
            Some(flow) => flow.interrupted(wire, why),
            None => error_event(wire, why).into(),
        }
    }

    /// The process ends: what is still to come is heard by nobody.
    pub(crate) fn abandon(&self) {
        if let Some(flow) = &mut self.inner().flow {
            flow.abandon();
        }
    }

    /// Lets it go if its next piece waits for longer than `limit`. Says whether it is gone.
    /// Until `full`, the socket was.
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

/// The answers that are on their way on one connection.
#[derive(Default)]
pub(crate) struct Slots {
    all: Mutex<Vec<Weak<Slot>>>,
    came: Notify,
    /// When the socket took nothing the last time.
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

    /// The socket takes nothing now.
    pub(crate) fn is_full(&self) {
        *self.full.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Lets go what is stuck. Gives how many answers are gone that the connection still holds.
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

/// Comes when a connection that answers so many requests has nothing but answers that nobody takes.
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

    // All on a clock that goes on when somebody waits for it, and else stands still.

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
            // It takes a little, and is full again.
            after(50).await;
            slots.is_full();
            assert_eq!(slots.check(LIMIT), 0);
        }
        after(61).await;
        assert_eq!(slots.check(LIMIT), 1);
    }
}
