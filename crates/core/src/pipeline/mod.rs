//! The one way that an answer goes: bytes of a wire in; events, an answer and the caller's bytes out.
//!
//! ```text
//! bytes ─> Reader ─> events ─┬─> Fold ──> Answer, End, Failure
//!                            ├─> Output ─> bytes for the caller
//!                            └─> the driver's own sink: a screen, metrics
//! ```
//!
//! All that reads an answer sets up a [`Pipeline`], and adds nothing to how it is read:
//!
//! | who | reads by | writes |
//! | --- | --- | --- |
//! | [`Exchange`](crate::exchange::Exchange), a request | the model's rule | the caller's wire ([`ToCaller`]), if there is a caller |
//! | [`StreamConverter`](crate::convert::StreamConverter), a file | the wire alone | another wire ([`ToCaller`]) |
//! | [`ReasoningStreamAdapter`](crate::adapter::ReasoningStreamAdapter) | the provider's rule | nothing |
//!
//! So these questions have one answer: how did it end ([`End`]), what failed ([`Failure`]), and what does the caller get
//! when it broke off ([`ToCaller`]). There is no I/O: the driver says what the transport saw, with [`Pipeline::head`],
//! [`Pipeline::push`] and [`Pipeline::end`].
//!
//! ```
//! use thinkthrough_core::pipeline::{End, Pipeline};
//! use thinkthrough_core::read::{Form, Reader};
//! use thinkthrough_core::wire::{Dialect, find};
//!
//! let wire = find("messages").unwrap();
//! let mut pipeline = Pipeline::new(Reader::new(wire, &Dialect::PLAIN, Form::Stream));
//! let ignored = &mut |_: thinkthrough_core::event::Event<'_>| {};
//! pipeline.push(b"data: {\"type\":\"message_start\",\"message\":{}}\n\n", &mut Vec::new(), ignored);
//! let ended = pipeline.end(Some("connection reset"), &mut Vec::new(), ignored);
//! assert_eq!(ended.end, End::Cut);
//! assert_eq!(ended.answer.problems.last().unwrap().message, "connection reset");
//! ```

mod caller;

pub use caller::{Adjust, ToCaller, error_event};

use crate::answer::Answer;
use crate::event::{Event, Fold, Sink};
use crate::problem::{Problem, ProblemCode};
use crate::read::Reader;

/// Reads one answer, and writes it for whoever it is for.
#[derive(Clone, Debug)]
pub struct Pipeline<O = Unwritten> {
    reader: Reader,
    fold: Fold,
    status: u16,
    output: O,
}

/// What becomes of an answer beside being read.
pub trait Output {
    /// What comes is no answer: its status says so.
    fn refused(&mut self) {}

    /// Bytes came, whose events follow.
    fn bytes(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) {}

    /// An event was read.
    fn event(&mut self, _event: Event<'_>, _out: &mut Vec<u8>) {}

    /// The answer is over.
    fn end(&mut self, _ended: &Ended, _out: &mut Vec<u8>) {}
}

/// Nobody gets the answer's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwritten;

impl Output for Unwritten {}

/// Where there is none, nobody gets the answer's bytes.
impl<O: Output> Output for Option<O> {
    fn refused(&mut self) {
        self.iter_mut().for_each(Output::refused);
    }

    fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.iter_mut().for_each(|it| it.bytes(bytes, out));
    }

    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        self.iter_mut().for_each(|it| it.event(event, out));
    }

    fn end(&mut self, ended: &Ended, out: &mut Vec<u8>) {
        self.iter_mut().for_each(|it| it.end(ended, out));
    }
}

/// What an answer came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What was said.
    pub answer: Answer,
    /// How it ended.
    pub end: End,
    /// Why there is no proper answer, where the provider said so.
    pub failure: Option<Failure>,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It broke off, or a guard against hostile upstreams cut it; what came before is kept.
    Cut,
    /// The provider reported an error in it.
    Failed,
    /// It ended as it should, but a part of it could not be read, and may have been a part of a thought.
    Gapped,
    /// Its status is not that of an answer.
    Refused,
    /// Nothing in it could be read, or it is a value that is no answer.
    Unread,
    /// It ended as it should, and all of it was read.
    Whole,
}

/// Why there is no proper answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status.
    pub status: u16,
    /// The provider's words.
    pub message: String,
    /// What to do about it, where that is known.
    pub remedy: Option<String>,
}

impl End {
    /// Whether nothing is known to be missing at the end.
    #[must_use]
    pub fn is_complete(self) -> bool {
        match self {
            End::Gapped | End::Whole => true,
            End::Cut | End::Failed | End::Refused | End::Unread => false,
        }
    }

    fn of(answer: &Answer, status: u16, has_read: bool) -> Self {
        let has = |code| answer.problems.iter().any(|problem| problem.code == code);
        match () {
            () if is_refusal(status) => End::Refused,
            () if !has_read => End::Unread,
            () if has(ProblemCode::UpstreamError) => End::Failed,
            () if !answer.is_complete() => End::Cut,
            () if has(ProblemCode::Malformed) => End::Gapped,
            () => End::Whole,
        }
    }
}

impl Pipeline {
    /// A pipeline that only reads.
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        Pipeline::with(reader, Unwritten)
    }
}

impl<O: Output> Pipeline<O> {
    /// A pipeline whose answer goes on.
    #[must_use]
    pub fn with(reader: Reader, output: O) -> Self {
        Pipeline { reader, fold: Fold::new(), status: 200, output }
    }

    /// What becomes of the answer.
    pub fn output(&self) -> &O {
        &self.output
    }

    /// The same, to be taken apart.
    pub(crate) fn output_mut(&mut self) -> &mut O {
        &mut self.output
    }

    /// What was read of the answer so far.
    pub(crate) fn fold_mut(&mut self) -> &mut Fold {
        &mut self.fold
    }

    /// Drops the contents of the answer's blocks, those to come included.
    pub(crate) fn forget_contents(&mut self) {
        self.fold.forget_contents();
    }

    /// The head of the answer came; without this, its status is 200.
    pub fn head(&mut self, status: u16) {
        self.status = status;
        if is_refusal(status) {
            self.reader.expect_any();
            self.output.refused();
        }
    }

    /// Bytes of the answer came: appends what the caller gets for them, and tells the events.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>, sink: &mut dyn Sink) {
        let Pipeline { reader, fold, output, .. } = self;
        output.bytes(bytes, out);
        reader.push(bytes, &mut |event: Event<'_>| {
            fold.event(event);
            output.event(event, out);
            sink.event(event);
        });
    }

    /// The wire's own end of a stream was seen: nothing of the answer can come any more. Where this is never true, the
    /// end of the body is the end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.reader.is_over()
    }

    /// The body is over: appends what the caller is still to get. `cut` says why, where the transport broke off.
    pub fn end(&mut self, cut: Option<&str>, out: &mut Vec<u8>, sink: &mut dyn Sink) -> Ended {
        let Pipeline { reader, fold, status, output } = self;
        let mut tell = |event: Event<'_>| {
            fold.event(event);
            // Decoder and transport may both say that it broke off, and the transport knows why.
            match cut.filter(|_| is_cut(event)) {
                Some(why) => output.event(Event::Problem(&truncated(why)), out),
                None => output.event(event, out),
            }
            sink.event(event);
        };
        let has_read = reader.end(&mut tell);
        if !has_read && !is_refusal(*status) {
            // Decoders say that a message lacks its end, not that there is none.
            let nothing = truncated("there is nothing in the answer that can be read");
            tell(Event::Problem(&nothing));
        }
        if let Some(why) = cut {
            tell(Event::Problem(&truncated(why)));
        }
        let answer = std::mem::take(fold).finish();
        let end = End::of(&answer, *status, has_read && !reader.is_none());
        let failure = failure(&answer, *status);
        let ended = Ended { answer, end, failure };
        output.end(&ended, out);
        ended
    }
}

fn is_refusal(status: u16) -> bool {
    !(200..300).contains(&status)
}

fn truncated(why: &str) -> Problem {
    Problem::new(ProblemCode::Truncated, why)
}

fn is_cut(event: Event<'_>) -> bool {
    matches!(event, Event::Problem(problem) if problem.code == ProblemCode::Truncated)
}

fn failure(answer: &Answer, status: u16) -> Option<Failure> {
    let message = match answer.upstream_error() {
        Some(problem) => problem.message.trim_end_matches('.').to_owned(),
        None if is_refusal(status) => format!("the provider answered with status {status}"),
        None => return None,
    };
    Some(Failure { status, message, remedy: None })
}
