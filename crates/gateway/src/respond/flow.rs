//! The body of an answer: bytes of the upstream as they arrive, translated if the wires differ.

use crate::answer::live::LiveAnswer;
use crate::answer::saving::Saving;
use crate::attempt::sending::{Outcome, SILENCE, Waiting};
use crate::load::AnswerRoom;
use crate::observe::audit::Confirming;
use crate::observe::progress::Progress;
use crate::rejection::Rejection;
use crate::request::provider_resource::Tap;
use crate::respond::gathered::Gathered;
use crate::respond::leaving;
use crate::respond::whole_events::{WholeEvents, before_last};
use crate::spending::Meter;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use thinkthrough_client::{BodyStream, ClientError};
use thinkthrough_core::exchange::error_event;
use thinkthrough_core::frame::Framing;
use thinkthrough_core::wire::{Wire, error};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

/// A comment, which every reader of server-sent events skips.
const STILL_HERE: &[u8] = b": still waiting for the model\n\n";
/// A comment for people who read the stream. The answer goes out anyway, because traffic never waits for a slow store,
/// but the comment reports that its record is late or lost.
const UNSAVED: &[u8] = b": this answer ended before its thoughts were saved\n\n";
/// How long an upstream may take to end a body after the end of its answer, so that its connection can be reused.
const LINGER: Duration = Duration::from_secs(1);

pub(crate) struct Flow {
    state: State,
}

enum State {
    Over,
    Whole(Bytes),
    Raw(Box<Raw>),
    Own(mpsc::Receiver<Bytes>),
    /// The upstream's bytes after the end of an answer.
    Rest(BodyStream),
    Live(Live),
    /// The end of an answer, held back until its record and its trace are stored, or are late.
    Held(Held),
    /// The head was sent before the upstream answered. Its answer decides the next state.
    Waiting {
        answer: Waiting,
        alive: Pin<Box<Sleep>>,
        wire: &'static dyn Wire,
    },
    Failed(io::Error),
}

/// The bytes of a whole body. Their memory is free once the connection has written the last of them.
struct Owned {
    bytes: Bytes,
    _room: Arc<AnswerRoom>,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes that pass unchanged. Only the tap and the meter read them.
struct Raw {
    body: BodyStream,
    tap: Option<Tap>,
    meter: Option<Meter>,
    room: AnswerRoom,
}

impl Raw {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ClientError>>> {
        if let Some(meter) = &mut self.meter {
            ready!(meter.poll_room(&mut self.room, cx));
        }
        self.body.poll_next(cx)
    }
}

/// A stream in progress.
struct Live {
    body: BodyStream,
    live: Box<LiveAnswer>,
    /// The time of the next keep-alive comment. `None` if the framing has no comments.
    alive: Option<Pin<Box<Sleep>>>,
    events: WholeEvents,
    gathered: Gathered,
    wire: &'static dyn Wire,
    /// The answer has ended, and its spilled thoughts return to memory.
    ending: Option<Ending>,
}

#[derive(Default)]
struct Ending {
    /// The last bytes for the caller. `cut` says why the answer broke off.
    out: Bytes,
    cut: Option<String>,
}

struct Held {
    out: Bytes,
    saving: Option<Saving>,
    /// Waits for the state of the trace, if the caller asked for it and its framing has comments.
    confirming: Option<Confirming>,
    /// The caller's framing has comments.
    knows_comments: bool,
    then: Then,
}

/// The next step after the end of an answer.
enum Then {
    Nothing,
    /// The caller receives the rest of the upstream's body.
    Relay(BodyStream),
    /// The gateway reads the rest of the upstream's body and discards it.
    Drain(BodyStream),
}

impl Flow {
    /// A complete body.
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self::of(State::Whole(bytes))
    }

    /// A complete body with its memory, which is free once the caller has all of it.
    pub(crate) fn held(bytes: Bytes, room: Option<Arc<AnswerRoom>>) -> Self {
        match room {
            Some(room) => Self::whole(Bytes::from_owner(Owned { bytes, _room: room })),
            None => Self::whole(bytes),
        }
    }

    pub(crate) fn raw(
        body: BodyStream,
        tap: Option<Tap>,
        meter: Option<Meter>,
        room: AnswerRoom,
    ) -> Self {
        Self::of(State::Raw(Box::new(Raw { body, tap, meter, room })))
    }

    /// Bytes of the gateway's own, as they come.
    pub(crate) fn own(read: mpsc::Receiver<Bytes>) -> Self {
        Self::of(State::Own(read))
    }

    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.state, State::Whole(_))
    }

    pub(crate) fn stream(body: BodyStream, live: Box<LiveAnswer>, wire: &'static dyn Wire) -> Self {
        Self::of(State::Live(Live::stream(body, live, wire)))
    }

    /// A stream whose upstream has not answered yet.
    pub(crate) fn waiting(answer: Waiting, wire: &'static dyn Wire) -> Self {
        // The first keep-alive comment goes out at once.
        let alive = Box::pin(tokio::time::sleep_until(Instant::now()));
        Self::of(State::Waiting { answer, alive, wire })
    }

    fn of(state: State) -> Self {
        Flow { state }
    }

    /// Ends a stream of events because the process ends: returns the bytes that wait to be written, and an error event.
    pub(crate) fn interrupted(&mut self, wire: &dyn Wire, why: &str) -> Bytes {
        let last = match &mut self.state {
            State::Live(live) => {
                live.live.interrupted(why).map(|error| joined(live.gathered.take(), &error))
            }
            _ => None,
        };
        last.unwrap_or_else(|| error_event(wire, why).into())
    }

    /// Stops the answer because the process ends. Its upstream is not read to the end.
    pub(crate) fn abandon(&mut self) {
        if let State::Live(live) = &mut self.state {
            live.live.abandon();
        }
        *self = Flow::whole(Bytes::new());
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            let (out, next) = match &mut self.state {
                State::Over => return Poll::Ready(None),
                State::Failed(_) => {
                    let State::Failed(error) = std::mem::replace(&mut self.state, State::Over)
                    else {
                        continue;
                    };
                    return Poll::Ready(Some(Err(error)));
                }
                State::Whole(bytes) => (std::mem::take(bytes), Some(State::Over)),
                State::Raw(raw) => match ready!(raw.poll_next(cx)) {
                    Some(Ok(bytes)) => {
                        raw.meter.iter_mut().for_each(|meter| meter.hear(&bytes));
                        raw.tap.iter_mut().for_each(|tap| tap.hear(&bytes));
                        (bytes, None)
                    }
                    // The caller's connection breaks as it would have done without the gateway.
                    Some(Err(error)) => (Bytes::new(), Some(State::failed(error.to_string()))),
                    None => (Bytes::new(), Some(State::Over)),
                },
                State::Own(read) => match ready!(read.poll_recv(cx)) {
                    Some(bytes) => (bytes, None),
                    None => (Bytes::new(), Some(State::Over)),
                },
                State::Rest(body) => match ready!(body.poll_next(cx)) {
                    Some(Ok(bytes)) => (bytes, None),
                    // The answer is complete. A connection error after its end could make the caller discard it, so it
                    // is not passed on.
                    Some(Err(_)) | None => (Bytes::new(), Some(State::Over)),
                },
                State::Live(live) => ready!(live.poll(cx)),
                State::Held(held) => ready!(held.poll(cx)),
                State::Waiting { answer, alive, wire } => match answer.as_mut().poll(cx) {
                    Poll::Ready(answer) => begin(answer, *wire),
                    Poll::Pending => {
                        ready!(alive.as_mut().poll(cx));
                        alive.as_mut().reset(Instant::now() + SILENCE);
                        (Bytes::from_static(STILL_HERE), None)
                    }
                },
            };
            if let Some(next) = next {
                self.state = next;
            }
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out)));
            }
        }
    }
}

impl State {
    fn failed(message: String) -> Self {
        State::Failed(io::Error::other(message))
    }
}

/// The next step of a stream.
enum Came {
    Body(Option<Result<Bytes, ClientError>>),
    /// The answer may not go on. The fields are the reason as one word, and the reason for the caller.
    Stop(&'static str, String),
    /// All of the answer is in memory.
    End,
}

/// Bytes for the caller, and the next state if it changes.
type Step = (Bytes, Option<State>);

impl Live {
    fn stream(body: BodyStream, live: Box<LiveAnswer>, wire: &'static dyn Wire) -> Self {
        let knows_comments = wire.framing() == Framing::Sse;
        let alive = knows_comments.then(|| Box::pin(tokio::time::sleep(SILENCE)));
        let events = WholeEvents::new(wire.framing());
        let gathered = Gathered::default();
        Live { body, live, alive, events, gathered, wire, ending: None }
    }

    /// Returns all bytes that are ready, so that the chunks of a burst become one write.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        loop {
            let (out, next) = match self.poll_came(cx) {
                Poll::Ready(Came::Body(Some(Ok(bytes)))) => self.take(bytes),
                Poll::Ready(Came::Body(None)) => self.over(Bytes::new(), None),
                Poll::Ready(Came::Body(Some(Err(error)))) => {
                    self.over(Bytes::new(), Some(error.to_string()))
                }
                Poll::Ready(Came::Stop(reason, why)) => self.cut(reason, why),
                Poll::Ready(Came::End) => self.end(),
                Poll::Pending if self.gathered.is_empty() => return self.wait(cx),
                Poll::Pending => {
                    ready!(self.gathered.poll_others(cx));
                    return Poll::Ready((self.gathered.take(), None));
                }
            };
            self.gathered.add(out);
            if next.is_some() || self.gathered.is_full() {
                return Poll::Ready((self.gathered.take(), next));
            }
        }
    }

    fn poll_came(&mut self, cx: &mut Context<'_>) -> Poll<Came> {
        if let Some(Ending { cut, .. }) = &self.ending {
            return self.live.poll_gather(cut.is_none(), cx).map(|()| Came::End);
        }
        match ready!(self.live.poll_room(cx).map(|()| self.live.stopped())) {
            None => self.body.poll_next(cx).map(Came::Body),
            Some((reason, why)) => Poll::Ready(Came::Stop(reason, why)),
        }
    }

    /// Sends a keep-alive comment after a long silence.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        self.live.poll_quiet(cx);
        let Some(alive) = &mut self.alive else { return Poll::Pending };
        ready!(alive.as_mut().poll(cx));
        alive.as_mut().reset(Instant::now() + SILENCE);
        Poll::Ready((Bytes::from_static(STILL_HERE), None))
    }

    fn take(&mut self, bytes: Bytes) -> Step {
        let mut out = self.live.push(bytes);
        self.live.carries(self.body.unfinished());
        if self.live.is_relayed() {
            out = self.events.take(out);
        }
        if self.live.is_over() {
            return self.over(out, None);
        }
        if let Some(alive) = &mut self.alive {
            alive.as_mut().reset(Instant::now() + SILENCE);
        }
        (out, None)
    }

    /// The answer has ended, or the upstream's body has.
    fn over(&mut self, out: Bytes, cut: Option<String>) -> Step {
        self.ending = Some(Ending { out, cut });
        (Bytes::new(), None)
    }

    /// Cuts an answer that may not go on. The upstream is closed, not read to its end.
    fn cut(&mut self, reason: &'static str, why: String) -> Step {
        self.live.reporter().tell(&Progress::Cut { reason });
        self.live.abandon();
        self.body = BodyStream::whole(Bytes::new());
        self.over(Bytes::new(), Some(why))
    }

    /// Finishes the answer. All of it is in memory, unless there was no room.
    fn end(&mut self) -> Step {
        let Ending { out, mut cut } = self.ending.take().unwrap_or_default();
        if let (None, Some((reason, why))) = (&cut, self.live.crowded_out()) {
            self.live.reporter().tell(&Progress::Cut { reason });
            cut = Some(why);
        }
        let is_over = self.live.is_over();
        let Some(ended) = self.live.end(cut.as_deref()) else { return (out, Some(State::Over)) };
        let knows_comments = self.alive.is_some();
        let is_relayed = self.live.is_relayed();
        let is_complete = ended.answer.is_complete();
        let is_broken = is_relayed && !is_complete && !ended.out.is_empty();
        // The end of a body ends its last line.
        let is_line = self.wire.framing() == Framing::Ndjson && cut.is_none();
        let first = match is_complete || (is_line && !is_broken) {
            true => joined(out, &self.events.rest()),
            // The error event is the last event of a broken answer.
            false if is_broken => before_last(self.wire, &out),
            false => out,
        };
        let then = match is_over {
            false => Then::Nothing,
            true => {
                let body = std::mem::replace(&mut self.body, BodyStream::whole(Bytes::new()));
                if is_relayed && !is_broken { Then::Relay(body) } else { Then::Drain(body) }
            }
        };
        let out = joined(first, &ended.out);
        let confirming = if knows_comments { self.live.reporter().confirm(None) } else { None };
        let held = Held { out, saving: ended.saving, confirming, knows_comments, then };
        (Bytes::new(), Some(State::Held(held)))
    }
}

/// If the caller went away before the end, `leaving.rs` decides about the rest.
impl Drop for Live {
    fn drop(&mut self) {
        leaving::leave(&mut self.body, &mut self.live);
    }
}

fn joined(first: Bytes, second: &[u8]) -> Bytes {
    match (first.is_empty(), second.is_empty()) {
        (_, true) => first,
        (true, false) => Bytes::copy_from_slice(second),
        (false, false) => [&first, second].concat().into(),
    }
}

impl Held {
    fn poll_saved(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(saving) = &mut self.saving {
            let is_saved = ready!(saving.poll(cx));
            self.saving = None;
            if !is_saved && self.knows_comments {
                self.out = joined(Bytes::from_static(UNSAVED), &self.out);
            }
        }
        Poll::Ready(())
    }

    fn poll_confirmed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(confirming) = &mut self.confirming {
            let state = ready!(Pin::new(&mut *confirming).poll(cx));
            let comment = format!(": trace={} state={state}\n\n", confirming.id());
            self.confirming = None;
            self.out = joined(comment.into(), &self.out);
        }
        Poll::Ready(())
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        // Polls both, because they run at the same time.
        let polled = [self.poll_saved(cx), self.poll_confirmed(cx)];
        if polled.iter().any(Poll::is_pending) {
            return Poll::Pending;
        }
        let next = match std::mem::replace(&mut self.then, Then::Nothing) {
            Then::Nothing => State::Over,
            Then::Relay(body) => State::Rest(body),
            Then::Drain(body) => {
                drain(body);
                State::Over
            }
        };
        Poll::Ready((std::mem::take(&mut self.out), Some(next)))
    }
}

/// Reads the rest of a body, so that its connection can be reused.
fn drain(mut body: BodyStream) {
    tokio::spawn(async move {
        let all = async { while let Some(Ok(_)) = body.next().await {} };
        // A body that does not end in time is closed.
        drop(tokio::time::timeout(LINGER, all).await);
    });
}

/// Begins the stream of a late answer. A refusal becomes the wire's error event.
fn begin(answer: Result<Outcome, Rejection>, wire: &'static dyn Wire) -> Step {
    let failure = match answer {
        Ok(Outcome::Answer { answer, live, .. }) => {
            return (Bytes::new(), Some(State::Live(Live::stream(answer.body, live, wire))));
        }
        Ok(Outcome::Refused(refused)) => {
            let text = String::from_utf8_lossy(&refused.body);
            error::read_text(&text).map_or_else(
                || format!("the provider answered with status {}", refused.status.as_u16()),
                |problem| problem.message,
            )
        }
        Err(rejection) => rejection.message,
    };
    (error_event(wire, &failure).into(), Some(State::Over))
}

impl Body for Flow {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.get_mut().poll_bytes(cx).map(|next| next.map(|next| next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Over => true,
            State::Whole(bytes) => bytes.is_empty(),
            _ => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Over => SizeHint::with_exact(0),
            State::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            _ => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Flow")
    }
}
