//! Joins chunks that arrive together into one write.
//!
//! The task that reads an upstream's connection hands over one chunk at a time, and often has the next one ready. A
//! write for each chunk of a burst would cost more than all other work on it. So the gateway first lets the other
//! tasks run once, and adds the chunks that they bring. A single chunk waits only for tasks that are ready to run.

use bytes::{Bytes, BytesMut};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// The most bytes that are joined before they go to the caller.
const PIECE: usize = 16 * 1024;

/// The bytes of the next write.
#[derive(Default)]
pub(crate) struct Gathered {
    first: Bytes,
    /// All bytes, if there are several chunks.
    all: BytesMut,
    /// The turn of the other tasks, once it was needed.
    turn: Option<Arc<Turn>>,
    is_waiting: bool,
}

impl Gathered {
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.all.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.first.len() + self.all.len() >= PIECE
    }

    pub(crate) fn add(&mut self, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        self.is_waiting = false;
        if self.is_empty() {
            self.first = bytes;
        } else {
            // Several chunks are copied into one buffer; a single chunk is never copied.
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
            self.all.extend_from_slice(&bytes);
        }
    }

    pub(crate) fn take(&mut self) -> Bytes {
        self.is_waiting = false;
        match self.all.is_empty() {
            true => std::mem::take(&mut self.first),
            false => self.all.split().freeze(),
        }
    }

    /// Lets the other tasks run once after each chunk. A server may poll several times in a row; until the others had
    /// their turn, each poll is pending.
    pub(crate) fn poll_others(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let turn = self.turn.get_or_insert_with(|| Arc::new(Turn::of(cx.waker())));
        if std::mem::replace(&mut self.is_waiting, true) {
            return if turn.is_over() { Poll::Ready(()) } else { turn.again(cx.waker()) };
        }
        turn.begin(cx.waker());
        let waker = Waker::from(Arc::clone(turn));
        // The runtime wakes a yielding task after it ran all ready tasks, or many of them.
        pin!(tokio::task::yield_now()).poll(&mut Context::from_waker(&waker))
    }
}

/// Records whether the other tasks have had their turn.
struct Turn {
    is_over: AtomicBool,
    then: Mutex<Waker>,
}

impl Turn {
    fn of(then: &Waker) -> Self {
        Turn { is_over: AtomicBool::new(false), then: Mutex::new(then.clone()) }
    }

    fn begin(&self, then: &Waker) {
        self.then.lock().unwrap_or_else(PoisonError::into_inner).clone_from(then);
        self.is_over.store(false, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Sets the waker again, because another task may poll now.
    fn again(&self, then: &Waker) -> Poll<()> {
        self.then.lock().unwrap_or_else(PoisonError::into_inner).clone_from(then);
        // The turn may have ended in between.
        if self.is_over() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        self.is_over.store(true, Ordering::Release);
        self.then.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    #[tokio::test]
    async fn the_others_are_let_go_first_however_often_one_asks() {
        let count = Arc::new(AtomicUsize::new(0));
        let others = Arc::clone(&count);
        tokio::spawn(async move {
            for _ in 0..3 {
                others.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let mut gathered = Gathered::default();
        for (round, byte) in [b"a", b"b", b"c"].into_iter().enumerate() {
            gathered.add(Bytes::from_static(byte));
            assert_eq!(count.load(Ordering::Relaxed), round);
            poll_fn(|cx| {
                let polled = gathered.poll_others(cx);
                // A server polls several times in a row.
                if polled.is_pending() {
                    assert!(gathered.poll_others(cx).is_pending());
                }
                polled
            })
            .await;
            assert_eq!(count.load(Ordering::Relaxed), round + 1);
        }
        assert_eq!(gathered.take(), "abc");
        assert!(gathered.is_empty() && gathered.take().is_empty());
    }

    #[test]
    fn a_piece_that_is_alone_is_not_copied_and_there_is_an_end_of_gathering() {
        let mut gathered = Gathered::default();
        let alone = Bytes::from(vec![b'x'; 10]);
        gathered.add(alone.clone());
        assert_eq!(gathered.take().as_ptr(), alone.as_ptr());
        gathered.add(alone);
        assert!(!gathered.is_full());
        gathered.add(Bytes::from(vec![b'y'; PIECE]));
        assert!(gathered.is_full());
        assert_eq!(gathered.take().len(), PIECE + 10);
        assert!(!gathered.is_full());
    }
}
