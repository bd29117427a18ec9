//! An answer's body as the server sees it: how it ends leaves a line in the log, and the end of the process is told to
//! the caller in the words of its wire.

use crate::flow::Flow;
use crate::house::House;
use crate::log::Line;
use crate::patient::Pace;
use crate::reply::Served;
use crate::stuck::Slot;
use bytes::Bytes;
use http::Response;
use http::header::CONTENT_TYPE;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use thinkthrough_core::exchange::error_event;
use thinkthrough_core::wire::Wire;
use tokio::time::Instant;

/// Comes when answers that are still under way have to end.
pub(crate) type Interrupted = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is known about a request, until its end is seen.
pub(crate) struct Entry {
    house: Arc<House>,
    pub(crate) line: Line,
    began: Instant,
    pace: Arc<Pace>,
    is_over: bool,
}

impl Entry {
    /// A request came.
    pub(crate) fn new(house: Arc<House>, line: Line, pace: Arc<Pace>) -> Self {
        pace.asked();
        Entry { house, line, began: Instant::now(), pace, is_over: false }
    }

    /// Who served it, and what was done to it.
    pub(crate) fn serve(&mut self, served: Served) {
        let Served { id, model, provider, counts } = served;
        self.line = Line { id, model, provider, counts, ..std::mem::take(&mut self.line) };
    }

    fn finish(&mut self, outcome: &'static str) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        self.pace.answered();
        let log = &self.house.options.log;
        if log.is_on() {
            self.line.outcome = outcome;
            self.line.total = self.began.elapsed();
            if !log.line(&self.line) {
                self.house.metrics.log_lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// A caller that went away.
impl Drop for Entry {
    fn drop(&mut self) {
        self.finish("cancelled");
    }
}

/// A body under watch.
pub(crate) struct Watched {
    flow: Arc<Slot>,
    entry: Entry,
    /// Gone when it came.
    interrupted: Option<Interrupted>,
    /// The wire of a stream of events, which can say why it ends.
    stream: Option<&'static dyn Wire>,
    /// What came last ended an event.
    is_between: bool,
}

impl Watched {
    /// Watches the body of an answer.
    pub(crate) fn over(
        answer: Response<Flow>,
        mut entry: Entry,
        interrupted: Interrupted,
        wire: Option<&'static dyn Wire>,
    ) -> Response<Watched> {
        entry.line.status = answer.status().as_u16();
        entry.line.head = entry.began.elapsed();
        let media = answer.headers().get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
        let is_events = media.is_some_and(|media| media.starts_with("text/event-stream"));
        let stream = wire.filter(|_| is_events);
        let interrupted = Some(interrupted);
        answer.map(|flow| {
            let flow = Slot::new(flow);
            entry.pace.slots.add(&flow);
            Watched { flow, entry, interrupted, stream, is_between: true }
        })
    }

    /// The process ends: a stream of events says so, if it can; anything else breaks off.
    fn interrupt(&mut self) -> Option<io::Result<Frame<Bytes>>> {
        const WHY: &str = "the gateway is being stopped; ask again";
        self.interrupted = None;
        self.entry.finish("interrupted");
        // What the upstream still says is for nobody.
        self.flow.abandon();
        Some(match self.stream.filter(|_| self.is_between) {
            Some(wire) => Ok(Frame::data(Bytes::from(error_event(wire, WHY)))),
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
        let flow = &this.flow;
        // One answer that breaks must not take the others on its connection with it.
        let polled = catch_unwind(AssertUnwindSafe(|| flow.poll(cx)));
        let Ok(polled) = polled else {
            entry.house.metrics.panicked();
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
                    entry.line.bytes += bytes.len() as u64;
                    let began = entry.began;
                    entry.line.first.get_or_insert_with(|| began.elapsed());
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
        if self.flow.is_end_stream() {
            self.entry.finish("completed");
        }
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watched")
    }
}

/// A future whose panic is an outcome.
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
