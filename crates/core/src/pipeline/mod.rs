//! The path of an answer: bytes of a wire in; events, an answer and the caller's bytes out.
//!
//! ```text
//! bytes ─> Reader ─> events ─┬─> Fold ──> Answer, End, Failure
//!                            ├─> Output ─> bytes for the caller
//!                            └─> the driver's own sink: a screen, metrics
//! ```
//!
//! All readers of answers use a [`Pipeline`], and do not read bodies themselves:
//!
//! | reader | rule for reading | output |
//! | --- | --- | --- |
//! | [`Exchange`](crate::exchange::Exchange), a request | the model's rule | the caller's wire ([`ToCaller`]), if there is a caller |
//! | [`StreamConverter`](crate::convert::StreamConverter), a file | the wire alone | another wire ([`ToCaller`]) |
//! | [`ReasoningStreamAdapter`](crate::adapter::ReasoningStreamAdapter) | the provider's rule | no output |
//!
//! So there is one definition of the end of an answer ([`End`]), of its failure ([`Failure`]), and of the caller's
//! bytes after a break ([`ToCaller`]). There is no I/O: the driver reports the events of the transport with
//! [`Pipeline::head`], [`Pipeline::push`] and [`Pipeline::end`].
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

/// Reads one answer and passes it to an output.
#[derive(Clone, Debug)]
pub struct Pipeline<O = Unwritten> {
    reader: Reader,
    fold: Fold,
    status: u16,
    output: O,
}

/// Receives an answer while it is read, for example to write it.
pub trait Output {
    /// Reports that the status is a refusal.
    fn refused(&mut self) {}

    /// Receives bytes before their events.
    fn bytes(&mut self, _bytes: &[u8], _out: &mut Vec<u8>) {}

    /// Receives an event.
    fn event(&mut self, _event: Event<'_>, _out: &mut Vec<u8>) {}

    /// Receives the finished answer.
    fn end(&mut self, _ended: &Ended, _out: &mut Vec<u8>) {}
}

/// An output that writes no bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwritten;

impl Output for Unwritten {}

/// `None` writes no bytes.
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

/// The result of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The answer as read.
    pub answer: Answer,
    /// The end of the answer.
    pub end: End,
    /// The failure, if the provider reported one.
    pub failure: Option<Failure>,
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The answer broke off, or a guard against hostile upstreams cut it. The beginning is kept.
    Cut,
    /// The provider reported an error in the answer.
    Failed,
    /// The answer ended properly, but a part of it could not be read. That part may have been a thought.
    Gapped,
    /// The status is a refusal.
    Refused,
    /// The response has no readable part, or is a value that is not an answer.
    Unread,
    /// The answer ended properly, and all of it was read.
    Whole,
}

/// The reason why there is no proper answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status.
    pub status: u16,
    /// The provider's words, else a sentence with the status.
    pub message: String,
    /// The remedy, if known.
    pub remedy: Option<String>,
}

impl End {
    /// Whether no known part is missing at the end.
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
    /// A pipeline with an output.
    #[must_use]
    pub fn with(reader: Reader, output: O) -> Self {
        Pipeline { reader, fold: Fold::new(), status: 200, output }
    }

    /// The output.
    pub fn output(&self) -> &O {
        &self.output
    }

    pub(crate) fn output_mut(&mut self) -> &mut O {
        &mut self.output
    }

    pub(crate) fn fold_mut(&mut self) -> &mut Fold {
        &mut self.fold
    }

    /// Drops the contents of all blocks, including later ones.
    pub(crate) fn forget_contents(&mut self) {
        self.fold.forget_contents();
    }

    /// Reports the head of the answer. Without this call, the status is 200.
    pub fn head(&mut self, status: u16) {
        self.status = status;
        if is_refusal(status) {
            self.reader.expect_any();
            self.output.refused();
        }
    }

    /// Reports bytes of the answer. Appends the caller's bytes and emits the events.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>, sink: &mut dyn Sink) {
        let Pipeline { reader, fold, output, .. } = self;
        output.bytes(bytes, out);
        reader.push(bytes, &mut |event: Event<'_>| {
            fold.event(event);
            output.event(event, out);
            sink.event(event);
        });
    }

    /// Whether the wire's own end of the stream was seen, so that no more of the answer can come. On wires without such
    /// an end this stays false, and the end of the body is the end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.reader.is_over()
    }

    /// Ends the body and appends the rest of the caller's bytes. `cut` is the reason if the transport broke off.
    pub fn end(&mut self, cut: Option<&str>, out: &mut Vec<u8>, sink: &mut dyn Sink) -> Ended {
        let Pipeline { reader, fold, status, output } = self;
        let mut tell = |event: Event<'_>| {
            fold.event(event);
            // Decoder and transport may both report the break, but only the transport knows the reason.
            match cut.filter(|_| is_cut(event)) {
                Some(why) => output.event(Event::Problem(&truncated(why)), out),
                None => output.event(event, out),
            }
            sink.event(event);
        };
        let has_read = reader.end(&mut tell);
        if !has_read && !is_refusal(*status) {
            // Decoders report a message without an end, but not a body without a message.
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
