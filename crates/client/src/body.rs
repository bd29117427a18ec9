use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::Uri;
use http_body::Body;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use crate::client::Slot;
use crate::config::{AnswerCaps, Timeouts, after};
use crate::error::{ClientError, Phase, chain, shown};
use crate::events::{Events, Gauge};
use crate::gzip::{Inflate, InflateError};
use crate::scrub::{Scrubber, Secrets};

/// How long an error's body may take; it is a courtesy, not an answer.
const ERROR_BODY_LIMIT: Duration = Duration::from_secs(10);
/// How many chunks an in-process answer may run ahead of its reader.
const CHANNEL_CHUNKS: usize = 16;

/// The body of an answer, as it arrives.
///
/// The stream ends without an item after a whole answer, and with one error after a broken answer; the bytes before
/// the error have been delivered. Dropping it cancels the request: the upstream sees a closed connection (HTTP/1.1)
/// or a reset stream (HTTP/2).
pub struct BodyStream {
    source: Source,
    /// Bytes that were read already and put back.
    ahead: Option<Bytes>,
    inflate: Option<Inflate>,
    scrubber: Option<Scrubber>,
    target: Target,
    received: u64,
    clock: Option<Clock>,
    cap: Option<Cap>,
    gauge: Option<Gauge>,
    /// An error to return after the last item.
    broken: Option<ClientError>,
}

/// The source of the body, put in words only if an error needs them.
#[derive(Default)]
enum Target {
    #[default]
    Nowhere,
    Address(Uri),
    Name(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere => Ok(()),
            Self::Address(uri) => f.write_str(&shown(uri)),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// How much of a body is taken.
struct Cap {
    caps: AnswerCaps,
    left: usize,
    until: Pin<Box<Sleep>>,
}

enum Source {
    Body(UnsyncBoxBody<Bytes, String>),
    Channel(mpsc::Receiver<Result<Bytes, String>>),
    Done,
    Http { incoming: Incoming, _slot: Slot },
    Whole(Bytes),
}

impl BodyStream {
    /// A body that is all there, as an in-process answer may give it.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::new(Source::Whole(bytes.into()))
    }

    /// A body that is written while it is read, as an in-process answer may give it.
    pub fn channel() -> (BodySender, Self) {
        let (sender, receiver) = mpsc::channel(CHANNEL_CHUNKS);
        (BodySender(sender), Self::new(Source::Channel(receiver)))
    }

    /// Any body that already knows how to be polled; an error of it counts as a lost connection.
    pub fn from_body<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: fmt::Display,
    {
        Self::new(Source::Body(body.map_err(|error| error.to_string()).boxed_unsync()))
    }

    pub(crate) fn http(incoming: Incoming, slot: Slot, inflate: Option<Inflate>) -> Self {
        Self { inflate, ..Self::new(Source::Http { incoming, _slot: slot }) }
    }

    fn new(source: Source) -> Self {
        let target = Target::default();
        let (ahead, inflate, scrubber, clock, cap, gauge) = (None, None, None, None, None, None);
        let (received, broken) = (0, None);
        Self { source, ahead, inflate, scrubber, target, received, clock, cap, gauge, broken }
    }

    /// Removes these secrets from the following bytes.
    pub(crate) fn without(mut self, secrets: Secrets) -> Self {
        self.scrubber = Some(secrets).filter(|secrets| !secrets.is_empty()).map(Scrubber::new);
        self
    }

    /// Is called by this name in errors from now on, in place of its address.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.target = Target::Name(name.to_owned());
        self
    }

    /// Names the body in errors and starts its clock.
    pub(crate) fn timed(mut self, target: &Uri, timeouts: Timeouts, started: Instant) -> Self {
        self.target = Target::Address(target.clone());
        self.clock = Some(Clock { timeouts, last: started, phase: Phase::FirstByte, timer: None });
        self
    }

    /// Breaks the body off if it exceeds the bytes of these caps, or takes longer than they allow from now on: for
    /// callers that store the body.
    #[must_use]
    pub fn within(mut self, caps: AnswerCaps) -> Self {
        let until = Box::pin(sleep_until(after(Instant::now(), caps.time)));
        self.cap = Some(Cap { caps, left: caps.bytes, until });
        self
    }

    /// As [`within`](Self::within), for a stream: its lines and events have an end, and there is an end of them.
    #[must_use]
    pub fn within_events(mut self, caps: AnswerCaps, events: Events) -> Self {
        self.gauge = Some(Gauge::new(events, caps));
        self.within(caps)
    }

    /// Waits for the next bytes; never gives an empty chunk.
    ///
    /// # Errors
    ///
    /// [`ClientError::Closed`] after a truncated body, [`ClientError::Timeout`] after silence,
    /// [`ClientError::Protocol`] after a damaged one. An error is the last item.
    pub async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The number of bytes of an event whose end has not arrived, if the events are counted.
    pub fn unfinished(&self) -> usize {
        self.gauge.as_ref().map_or(0, Gauge::unfinished)
    }

    /// Puts bytes back that [`next`](Self::next) returned. They come next again, before all bytes that were put back
    /// earlier.
    pub fn put_back(&mut self, bytes: Bytes) {
        self.ahead = match self.ahead.take() {
            Some(ahead) => Some([bytes, ahead].concat().into()),
            None => Some(bytes).filter(|bytes| !bytes.is_empty()),
        };
    }

    /// Polls for the next bytes, as [`next`](Self::next) does.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ClientError>>> {
        if let Some(ahead) = self.ahead.take() {
            return Poll::Ready(Some(Ok(ahead)));
        }
        let item = match self.broken.take().or_else(|| self.poll_capped(cx)) {
            Some(error) => Some(Err(error)),
            None => ready!(self.poll_item(cx)).map(|item| self.take(item?)),
        };
        if !matches!(item, Some(Ok(_))) {
            // A caller that keeps a finished body must not keep its connection.
            self.source = Source::Done;
            self.clock = None;
        }
        Poll::Ready(item)
    }

    /// Reads a body to its end, if it is not larger than `limit`.
    ///
    /// # Errors
    ///
    /// Those of [`next`](Self::next), and [`ClientError::TooLarge`].
    pub async fn collect_up_to(mut self, limit: usize) -> Result<Bytes, ClientError> {
        let mut whole = Joined::default();
        while let Some(chunk) = self.next().await {
            whole.push(chunk?);
            if whole.len() > limit {
                return Err(ClientError::TooLarge { target: self.target.to_string(), limit });
            }
        }
        Ok(whole.into_bytes())
    }

    /// Reads the body of an error: at most `limit` bytes, for at most ten seconds, and the received part if it breaks
    /// off. If the upstream quotes a key with its middle left out, only the first letters stay, which show the kind
    /// of key.
    pub async fn collect_error(mut self, limit: usize) -> Bytes {
        let secrets = self.scrubber.as_ref().map(Scrubber::secrets);
        let mut whole = Joined::default();
        let reading = async {
            while let Some(Ok(chunk)) = self.next().await {
                whole.push(chunk);
                if whole.len() >= limit {
                    break;
                }
            }
        };
        // Running out of time is no failure: the part that came is the result.
        let _ = timeout(ERROR_BODY_LIMIT, reading).await;
        let mut bytes = whole.into_bytes();
        bytes.truncate(limit);
        match secrets {
            Some(secrets) => secrets.leave_partial(bytes),
            None => bytes,
        }
    }

    /// The body takes too long.
    fn poll_capped(&mut self, cx: &mut Context<'_>) -> Option<ClientError> {
        let cap = self.cap.as_mut()?;
        let Poll::Ready(()) = cap.until.as_mut().poll(cx) else { return None };
        let (after, target) = (cap.caps.time, self.target.to_string());
        Some(ClientError::Timeout { target, phase: Phase::Answer, after })
    }

    /// Counts bytes that came.
    fn take(&mut self, bytes: Bytes) -> Result<Bytes, ClientError> {
        let Some(cap) = &mut self.cap else { return Ok(bytes) };
        let Some(left) = cap.left.checked_sub(bytes.len()) else {
            return Err(ClientError::TooLarge {
                target: self.target.to_string(),
                limit: cap.caps.bytes,
            });
        };
        cap.left = left;
        let Some(gauge) = &mut self.gauge else { return Ok(bytes) };
        match gauge.take(&bytes) {
            Ok(()) => Ok(bytes),
            Err((what, limit)) => {
                let error = ClientError::Excess { target: self.target.to_string(), what, limit };
                if gauge.over() == 0 {
                    return Err(error);
                }
                // Events that are whole go first.
                self.broken = Some(error);
                Ok(bytes.slice(..gauge.over()))
            }
        }
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ClientError>>> {
        loop {
            let Poll::Ready(piece) = self.poll_source(cx) else {
                let Some(clock) = &mut self.clock else { return Poll::Pending };
                let (phase, after) = ready!(clock.poll_expired(cx));
                let target = self.target.to_string();
                return Poll::Ready(Some(Err(ClientError::Timeout { target, phase, after })));
            };
            let bytes = match piece {
                None => {
                    self.source = Source::Done;
                    match (self.inflate.take(), self.scrubber.take()) {
                        (None, None) => return Poll::Ready(None),
                        (None, Some(mut scrubber)) => Ok(scrubber.end()),
                        (Some(mut inflate), scrubber) => {
                            self.scrubber = scrubber;
                            inflate.end()
                        }
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(bytes)) => {
                    self.received += bytes.len() as u64;
                    if let Some(clock) = &mut self.clock {
                        clock.touch(!bytes.is_empty());
                    }
                    match &mut self.inflate {
                        Some(inflate) => inflate.push(&bytes),
                        None => Ok(bytes),
                    }
                }
            };
            match bytes {
                Ok(bytes) => {
                    let bytes = match &mut self.scrubber {
                        Some(scrubber) => scrubber.push(bytes),
                        None => bytes,
                    };
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(bytes)));
                    }
                }
                Err(error) => return Poll::Ready(Some(Err(self.undecodable(error)))),
            }
        }
    }

    fn poll_source(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ClientError>>> {
        let piece = match &mut self.source {
            Source::Done => None,
            Source::Whole(bytes) if bytes.is_empty() => None,
            Source::Whole(bytes) => Some(Ok(std::mem::take(bytes))),
            Source::Channel(receiver) => ready!(receiver.poll_recv(cx))
                .map(|piece| piece.map_err(|detail| self.closed(detail))),
            // Trailers carry no data that an API defines, but they are a sign of life.
            Source::Body(body) => ready!(Pin::new(body).poll_frame(cx)).map(|frame| {
                frame
                    .map(|frame| frame.into_data().unwrap_or_default())
                    .map_err(|detail| self.closed(detail))
            }),
            Source::Http { incoming, .. } => {
                ready!(Pin::new(incoming).poll_frame(cx)).map(|frame| match frame {
                    Ok(frame) => Ok(frame.into_data().unwrap_or_default()),
                    Err(error) if error.is_parse() => Err(ClientError::Protocol {
                        target: self.target.to_string(),
                        detail: chain(&error),
                    }),
                    Err(error) => Err(self.closed(chain(&error))),
                })
            }
        };
        Poll::Ready(piece)
    }

    fn closed(&self, detail: String) -> ClientError {
        let target = self.target.to_string();
        ClientError::Closed { target, received: Some(self.received), detail }
    }

    fn undecodable(&self, error: InflateError) -> ClientError {
        match error {
            InflateError::Incomplete => self
                .closed("its compressed data end early or do not match their checksum".to_owned()),
            InflateError::Corrupt(detail) => ClientError::Protocol {
                target: self.target.to_string(),
                detail: format!("its compressed data are damaged: {detail}"),
            },
        }
    }
}

impl fmt::Debug for BodyStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BodyStream({} bytes so far)", self.received)
    }
}

/// The writing end of an in-process body; dropping it ends the body properly.
#[derive(Clone, Debug)]
pub struct BodySender(mpsc::Sender<Result<Bytes, String>>);

impl BodySender {
    /// Sends a chunk once the reader has room for it; false if the reader is gone.
    pub async fn send(&self, chunk: impl Into<Bytes>) -> bool {
        self.0.send(Ok(chunk.into())).await.is_ok()
    }

    /// Breaks the body off, as a lost connection would.
    pub async fn cut(self, detail: &str) {
        // If the reader is gone, the error is not needed.
        let _ = self.0.send(Err(detail.to_owned())).await;
    }

    /// Waits until the reader goes away.
    pub async fn cancelled(&self) {
        self.0.closed().await;
    }
}

/// Measures the silence of a body without touching a timer for each chunk.
struct Clock {
    timeouts: Timeouts,
    last: Instant,
    phase: Phase,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Clock {
    fn touch(&mut self, is_body: bool) {
        if is_body {
            self.phase = Phase::Idle;
        }
        if self.phase == Phase::Idle {
            self.last = Instant::now();
        }
    }

    fn limit(&self) -> Duration {
        match self.phase {
            Phase::Idle => self.timeouts.idle,
            Phase::Answer | Phase::Connect | Phase::FirstByte | Phase::Proxy | Phase::Tls => {
                self.timeouts.first_byte
            }
        }
    }

    fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<(Phase, Duration)> {
        let limit = self.limit();
        let deadline = after(self.last, limit);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        loop {
            // The timer is never late: a timer beyond the deadline is moved here, and a timer that rings too early is
            // set again.
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            ready!(timer.as_mut().poll(cx));
            if Instant::now() >= deadline {
                return Poll::Ready((self.phase, limit));
            }
            timer.as_mut().reset(deadline);
        }
    }
}

/// Joins chunks, without a copy if there is only one.
#[derive(Default)]
struct Joined {
    first: Bytes,
    all: BytesMut,
}

impl Joined {
    fn push(&mut self, chunk: Bytes) {
        if self.len() == 0 {
            self.first = chunk;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(&chunk);
    }

    fn len(&self) -> usize {
        self.first.len().max(self.all.len())
    }

    fn into_bytes(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}
