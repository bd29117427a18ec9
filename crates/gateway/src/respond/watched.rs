//! Wraps an answer's body for the server: reports how the body ends, and tells the caller in its own wire when the
//! process ends.

use crate::observe::bus::Reporter;
use crate::observe::progress::Progress;
use crate::respond::flow::Flow;
use crate::respond::patient::Pace;
use crate::respond::stuck::Slot;
use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use thinkthrough_core::wire::Wire;

/// Completes when answers in progress have to end.
pub(crate) type Interrupted = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A request whose end was not reported yet.
pub(crate) struct Entry {
    reporter: Arc<Reporter>,
    pace: Arc<Pace>,
    bytes: u64,
    is_over: bool,
}

impl Entry {
    /// Opens the entry of a new request.
    pub(crate) fn new(reporter: Arc<Reporter>, pace: Arc<Pace>) -> Self {
        pace.asked();
        Entry { reporter, pace, bytes: 0, is_over: false }
    }

    /// Counts bytes that go to the caller.
    fn pass(&mut self, bytes: &[u8]) {
        if self.bytes == 0 && !bytes.is_empty() {
            self.reporter.tell(&Progress::FirstByte);
        }
        self.bytes += bytes.len() as u64;
    }

    fn finish(&mut self, outcome: &'static str) {
        if !self.is_over {
            self.is_over = true;
            self.pace.answered();
            self.reporter.tell(&Progress::Ended { outcome, bytes: self.bytes });
        }
    }
}

/// The entry is dropped early if the caller went away.
impl Drop for Entry {
    fn drop(&mut self) {
        self.finish("cancelled");
    }
}

/// The body of an answer, as the server reads it.
pub(crate) struct Watched {
    flow: Arc<Slot>,
    entry: Entry,
    /// `None` once it has completed.
    interrupted: Option<Interrupted>,
    /// The wire of a stream of events, which can carry a final error.
    stream: Option<&'static dyn Wire>,
    /// Whether the last bytes ended an event.
    is_between: bool,
    /// The length in the head, if there is one. A server that has read that many bytes polls no more.
    length: Option<u64>,
}

impl Watched {
    /// Wraps the body of an answer.
    pub(crate) fn over(
        answer: Response<Flow>,
        entry: Entry,
        interrupted: Interrupted,
        wire: Option<&'static dyn Wire>,
    ) -> Response<Watched> {
        entry.reporter.tell(&Progress::Head { status: answer.status().as_u16() });
        let media = answer.headers().get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
        let is_events = media.is_some_and(|media| media.starts_with("text/event-stream"));
        let stream = wire.filter(|_| is_events);
        let length = answer.headers().get(CONTENT_LENGTH).and_then(|it| it.to_str().ok());
        let length = length.and_then(|length| length.parse().ok());
        let interrupted = Some(interrupted);
        answer.map(|flow| {
            let flow = Slot::new(flow);
            entry.pace.slots.add(&flow);
            Watched { flow, entry, interrupted, stream, is_between: true, length }
        })
    }

    /// Ends the answer because the process ends: a stream of events gets an error event if possible, any other body
    /// breaks off.
    fn interrupt(&mut self) -> Option<io::Result<Frame<Bytes>>> {
        const WHY: &str = "the gateway is being stopped; ask again";
        self.interrupted = None;
        let stream = self.stream.filter(|_| self.is_between);
        let last = stream.map(|wire| self.flow.interrupted(wire, WHY));
        // The rest of the upstream's answer has no reader.
        self.flow.abandon();
        self.entry.finish("interrupted");
        Some(match last {
            Some(last) => Ok(Frame::data(last)),
            None => Err(io::Error::other(WHY)),
        })
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        let entry = &mut this.entry;
        if entry.is_over {
            return Poll::Ready(None);
        }
        if entry.pace.poll_room(cx).is_pending() {
            return Poll::Pending;
        }
        let flow = &this.flow;
        // A panic in one answer must not break the other answers on its connection.
        let polled = catch_unwind(AssertUnwindSafe(|| flow.poll(cx)));
        let Ok(polled) = polled else {
            entry.reporter.tell(&Progress::Panicked);
            entry.finish("failed");
            return Poll::Ready(Some(Err(io::Error::other(
                "the answer failed within the gateway",
            ))));
        };
        let Some(polled) = polled else {
            entry.finish("cancelled");
            return Poll::Ready(Some(Err(io::Error::other("nobody took the answer in time"))));
        };
        match polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(bytes) = frame.data_ref() {
                    entry.pass(bytes);
                    this.is_between = bytes.ends_with(b"\n\n") || bytes.ends_with(b"\r\n\r\n");
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                entry.finish("failed");
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => {
                entry.finish("completed");
                Poll::Ready(None)
            }
            Poll::Pending => match &mut this.interrupted {
                Some(interrupted) => match interrupted.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(this.interrupt()),
                    Poll::Pending => Poll::Pending,
                },
                None => Poll::Pending,
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.entry.is_over || self.flow.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.entry.is_over { SizeHint::with_exact(0) } else { self.flow.size_hint() }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.flow.is_end_stream() || self.length == Some(self.entry.bytes) {
            self.entry.finish("completed");
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

/// Turns a panic of a future into an error.
pub(crate) struct Caught<F>(pub(crate) Pin<Box<F>>);

impl<F: Future> Future for Caught<F> {
    type Output = Result<F::Output, ()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let work = self.0.as_mut();
        match catch_unwind(AssertUnwindSafe(|| work.poll(cx))) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(Err(())),
        }
    }
}
