//! A connection whose peer must send a request's head, and receive its answer, in time.

use crate::respond::stuck::Slots;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// The longest time from the first byte of a request's head to its last.
const HEAD: Duration = Duration::from_secs(10);
/// The beginning of an HTTP/2 connection. HTTP/2 itself limits the time of its heads.
const PREFACE: &[u8] = b"PRI";

/// The requests of a connection that are being answered, and their bodies.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    answering: AtomicUsize,
    pub(crate) slots: Slots,
    full: Full,
}

/// Whether the socket of an HTTP/1.1 connection accepts no bytes now.
#[derive(Debug, Default)]
struct Full {
    is_full: AtomicBool,
    waiting: Mutex<Option<Waker>>,
}

impl Pace {
    /// Counts a request whose head has arrived.
    pub(crate) fn asked(&self) {
        self.answering.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the end of an answer.
    pub(crate) fn answered(&self) {
        self.answering.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn answering(&self) -> usize {
        self.answering.load(Ordering::Relaxed)
    }

    /// Ready when the socket accepts bytes. The server polls an answer until its own buffer is full; while the socket
    /// accepts none, more bytes would only use memory.
    pub(crate) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.full.is_full.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let mut waiting = self.full.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = Some(cx.waker().clone());
        // The socket may have accepted bytes in between.
        if self.full.is_full.load(Ordering::Acquire) { Poll::Pending } else { Poll::Ready(()) }
    }

    fn set_full(&self, is_full: bool) {
        let was_full = self.full.is_full.swap(is_full, Ordering::AcqRel);
        if was_full && !is_full {
            let mut waiting = self.full.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let waiting = waiting.take();
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    fn is_idle(&self) -> bool {
        self.answering() == 0
    }
}

/// A stream that breaks if its peer reads nothing for too long, or sends a head drop by drop.
pub(crate) struct Patient<S> {
    stream: S,
    limit: Duration,
    /// The deadline of a pending write.
    until: Option<Pin<Box<Sleep>>>,
    pace: Arc<Pace>,
    head: Duration,
    /// The deadline of an incomplete head.
    head_until: Option<Pin<Box<Sleep>>>,
    kind: Kind,
}

/// The protocol of the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unknown,
    Http1,
    Http2,
}

impl<S> Patient<S> {
    /// A stream whose peer may read nothing for at most `limit`.
    pub(crate) fn new(stream: S, pace: Arc<Pace>, limit: Duration) -> Self {
        Patient {
            stream,
            limit,
            until: None,
            pace,
            head: HEAD,
            head_until: None,
            kind: Kind::Unknown,
        }
    }

    /// Starts the deadline of a head that begins.
    fn came(&mut self, bytes: &[u8]) {
        if self.kind == Kind::Unknown && !bytes.is_empty() {
            let is_http2 = bytes.starts_with(PREFACE);
            self.kind = if is_http2 { Kind::Http2 } else { Kind::Http1 };
        }
        if self.kind == Kind::Http1 && self.pace.is_idle() && self.head_until.is_none() {
            self.head_until = Some(Box::pin(tokio::time::sleep(self.head)));
        }
    }

    fn waited<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.kind == Kind::Http1 {
            self.pace.set_full(outcome.is_pending());
        }
        if outcome.is_ready() {
            self.until = None;
            return outcome;
        }
        self.pace.slots.is_full();
        let limit = self.limit;
        let until = self
            .until
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + limit)));
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let outcome = Pin::new(&mut this.stream).poll_read(cx, buf);
        if !this.pace.is_idle() {
            this.head_until = None;
        }
        if outcome.is_ready() {
            this.came(buf.filled().get(before..).unwrap_or_default());
            return outcome;
        }
        let Some(until) = &mut this.head_until else { return Poll::Pending };
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write(cx, bytes);
        this.waited(cx, outcome)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write_vectored(cx, slices);
        this.waited(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_flush(cx);
        this.waited(cx, outcome)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_shutdown(cx);
        this.waited(cx, outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    // The paused clock moves on only while a task waits for it.

    #[tokio::test(start_paused = true)]
    async fn c_4_a_peer_that_takes_nothing_is_given_up() {
        let (ours, theirs) = tokio::io::duplex(8);
        let limit = Duration::from_millis(20);
        let mut patient = Patient::new(ours, Arc::default(), limit);
        let error = patient.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(theirs);
    }

    #[tokio::test(start_paused = true)]
    async fn c_4_while_the_socket_is_full_nothing_more_of_an_answer_is_asked_for() {
        use tokio::io::AsyncReadExt;
        let (ours, mut theirs) = tokio::io::duplex(8);
        let pace = Arc::new(Pace::default());
        let room = || pace.poll_room(&Context::from_waker(Waker::noop()));
        let mut patient = Patient::new(ours, Arc::clone(&pace), Duration::from_secs(60));
        theirs.write_all(b"GET ").await.unwrap();
        patient.read_exact(&mut [0; 4]).await.unwrap();
        assert!(room().is_ready());
        let writing = tokio::spawn(async move { patient.write_all(&[7; 16]).await });
        tokio::task::yield_now().await;
        assert!(room().is_pending());
        let waiting = Arc::clone(&pace);
        let told =
            tokio::spawn(async move { std::future::poll_fn(|cx| waiting.poll_room(cx)).await });
        theirs.read_exact(&mut [0; 16]).await.unwrap();
        writing.await.unwrap().unwrap();
        tokio::time::timeout(Duration::from_secs(1), told).await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_that_goes_on_gets_everything() {
        let (ours, mut theirs) = tokio::io::duplex(8);
        let limit = Duration::from_millis(200);
        let mut patient = Patient::new(ours, Arc::default(), limit);
        let reading = tokio::spawn(async move {
            let mut all = Vec::new();
            let mut piece = [0; 8];
            while let Ok(read) = tokio::io::AsyncReadExt::read(&mut theirs, &mut piece).await {
                if read == 0 {
                    break;
                }
                all.extend_from_slice(&piece[..read]);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            all
        });
        patient.write_all(&[7; 64]).await.unwrap();
        drop(patient);
        assert_eq!(reading.await.unwrap(), vec![7; 64]);
    }

    #[tokio::test(start_paused = true)]
    async fn t_28_a_head_that_drips_is_given_up_and_an_idle_connection_is_not() {
        use tokio::io::AsyncReadExt;
        let (ours, mut theirs) = tokio::io::duplex(64);
        let head = Duration::from_millis(40);
        let pace = Arc::new(Pace::default());
        let mut patient = Patient { head, ..Patient::new(ours, Arc::clone(&pace), head) };
        let mut piece = [0; 8];
        let long = Duration::from_millis(80);
        let read = tokio::time::timeout(long, patient.read(&mut piece)).await;
        assert!(read.is_err(), "nothing came, and nothing is wrong with that");
        theirs.write_all(b"GET /").await.unwrap();
        assert_eq!(patient.read(&mut piece).await.unwrap(), 5);
        // After the head, the rest of a request may take longer.
        pace.asked();
        let read = tokio::time::timeout(long, patient.read(&mut piece)).await;
        assert!(read.is_err(), "the body has another clock");
        pace.answered();
        theirs.write_all(b"GET ").await.unwrap();
        assert_eq!(patient.read(&mut piece).await.unwrap(), 4);
        let error = patient.read(&mut piece).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
