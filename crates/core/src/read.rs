//! Reads a response body of any form: whole, streamed, or an error.
//!
//! [`Reader`] takes the body's bytes as they come and gives the wire's events: cut into messages by [`frame`],
//! decoded by the [`wire`], and with thoughts taken out of visible text by [`tags`](crate::tags) if the model thinks
//! in tags. Whether a body is a stream, one value or an error page is seen from its first bytes unless the caller
//! knows it. The reader only reports events; [`pipeline`](crate::pipeline) collects them and finds out how the answer
//! ended.

use crate::event::{Event, Sink};
use crate::frame::{self, Frame, FrameProblem, Framer, Framing, MessageKind};
use crate::json::Doc;
use crate::problem::{Problem, ProblemCode};
use crate::tags::{Options, TagFilter, TagSpec};
use crate::wire::{self, Decode, Dialect, Wire, error};
use std::borrow::Cow;

/// The form of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// To be seen from the first bytes.
    #[default]
    Auto,
    /// A stream was asked for. Lines of JSON and arrays of messages need this to be known, which look like one value in
    /// the beginning; elsewhere the first bytes tell a stream from the one value that some servers answer with.
    Stream,
    /// One JSON value.
    Whole,
}

/// Reads one response body.
#[derive(Clone, Debug, PartialEq)]
pub struct Reader {
    wire: &'static str,
    dialect: Dialect,
    state: State,
    tags: Option<TagFilter>,
    /// A part of the body was read.
    has_read: bool,
    /// The body is one value, and no answer.
    is_none: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    /// Too little came to tell.
    Undecided {
        begun: Vec<u8>,
        form: Form,
    },
    Stream(Box<Stream>),
    Whole(Vec<u8>),
}

#[derive(Clone, Debug)]
struct Stream {
    framer: Framer,
    decoder: Box<dyn Decode>,
    /// The body has bytes that are not UTF-8; it is reported once.
    is_damaged: bool,
}

impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        self.framer == other.framer
            && self.is_damaged == other.is_damaged
            && self.decoder.same(&*other.decoder)
    }
}

impl Reader {
    /// A reader for one body.
    #[must_use]
    pub fn new(wire: &'static dyn Wire, dialect: &Dialect, form: Form) -> Self {
        let state = match form {
            Form::Stream if wire.framing() == Framing::Ndjson => {
                State::Stream(Box::new(Stream::new(wire, dialect, wire.framing())))
            }
            Form::Auto | Form::Stream => State::Undecided { begun: Vec::new(), form },
            Form::Whole => State::Whole(Vec::new()),
        };
        Reader {
            wire: wire.id(),
            dialect: dialect.clone(),
            state,
            tags: None,
            has_read: false,
            is_none: false,
        }
    }

    /// A reader for another body of the same kind.
    #[must_use]
    pub fn anew(&self) -> Self {
        Reader::new(self.wire(), &self.dialect, Form::Auto)
    }

    /// The same reader, which also takes the thoughts between tags out of visible text.
    #[must_use]
    pub fn with_tags(mut self, spec: &TagSpec, options: Options) -> Self {
        self.tags = Some(TagFilter::new(spec, options));
        self
    }

    /// Accepts any body, because the status shows that it is not the expected answer.
    pub(crate) fn expect_any(&mut self) {
        self.state = State::Undecided { begun: Vec::new(), form: Form::Auto };
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        let framing = self.wire().framing();
        match &mut self.state {
            State::Undecided { begun, form } => {
                begun.extend_from_slice(bytes);
                if let Some(seen) = form_of(begun, *form, framing) {
                    self.decide(seen, sink);
                }
            }
            State::Whole(body) => body.extend_from_slice(bytes),
            State::Stream(stream) => {
                self.has_read |= stream.push(bytes, &mut Out { tags: self.tags.as_mut(), sink });
            }
        }
    }

    /// Whether the wire's own end of a stream has come, so that no more events can follow.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match &self.state {
            State::Stream(stream) => stream.decoder.is_over(),
            State::Undecided { .. } | State::Whole(_) => false,
        }
    }

    /// The body is over. Returns `false` if no part of it could be read.
    pub fn end(&mut self, sink: &mut dyn Sink) -> bool {
        if matches!(self.state, State::Undecided { .. }) {
            self.decide(None, sink);
        }
        let wire = self.wire();
        let mut out = Out { tags: self.tags.as_mut(), sink };
        match &mut self.state {
            State::Undecided { .. } => {}
            State::Stream(stream) => self.has_read |= stream.end(&mut out),
            State::Whole(body) => match read_whole(wire, body, &self.dialect, &mut out) {
                Read::Answer => self.has_read = true,
                Read::NoAnswer => (self.has_read, self.is_none) = (true, true),
                Read::Nothing => {}
            },
        }
        if let Some(tags) = &mut self.tags {
            tags.end(sink);
        }
        self.has_read
    }

    /// How many bytes of a body in one piece wait here for its end.
    #[must_use]
    pub fn holds(&self) -> usize {
        match &self.state {
            State::Undecided { begun, .. } => begun.len(),
            State::Stream(_) => 0,
            State::Whole(body) => body.len(),
        }
    }

    /// Whether the body was one value that is not an answer of the wire; known at its end.
    pub(crate) fn is_none(&self) -> bool {
        self.is_none
    }

    fn wire(&self) -> &'static dyn Wire {
        // The reader was made from a registered wire.
        wire::find(self.wire).unwrap_or(wire::WireId::FIRST.wire())
    }

    /// The body is a stream with this framing; without one, a value.
    fn decide(&mut self, framing: Option<Framing>, sink: &mut dyn Sink) {
        let state = match framing {
            Some(framing) => {
                State::Stream(Box::new(Stream::new(self.wire(), &self.dialect, framing)))
            }
            None => State::Whole(Vec::new()),
        };
        if let State::Undecided { begun, .. } = std::mem::replace(&mut self.state, state) {
            self.push(&begun, sink);
        }
    }
}

/// A sink behind the tag filter, if there is one.
struct Out<'a> {
    tags: Option<&'a mut TagFilter>,
    sink: &'a mut dyn Sink,
}

impl Sink for Out<'_> {
    fn event(&mut self, event: Event<'_>) {
        match &mut self.tags {
            Some(tags) => tags.event(event, self.sink),
            None => self.sink.event(event),
        }
    }
}

impl Stream {
    fn new(wire: &'static dyn Wire, dialect: &Dialect, framing: Framing) -> Self {
        let (framer, decoder) = (Framer::new(framing), wire.decoder(dialect));
        Stream { framer, decoder, is_damaged: false }
    }

    fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> bool {
        let Stream { framer, decoder, is_damaged } = self;
        let mut has_read = false;
        framer.push(bytes, &mut |frame| {
            tell_damage(&frame, is_damaged, sink);
            has_read |= take(frame, &mut **decoder, sink);
        });
        has_read
    }

    fn end(&mut self, sink: &mut dyn Sink) -> bool {
        let Stream { framer, decoder, is_damaged } = self;
        let mut has_read = false;
        framer.end(&mut |frame| {
            tell_damage(&frame, is_damaged, sink);
            has_read |= take(frame, &mut **decoder, sink);
        });
        decoder.end(sink);
        has_read
    }
}

/// Reports the first bytes of a stream that are no UTF-8.
fn tell_damage(frame: &Frame<'_>, is_damaged: &mut bool, sink: &mut dyn Sink) {
    if let (Frame::Event(frame::Event { damaged: true, .. }), false) = (frame, *is_damaged) {
        *is_damaged = true;
        sink.event(Event::Problem(&damage()));
    }
}

fn damage() -> Problem {
    let text = "the body has bytes that are no UTF-8, which stand as U+FFFD";
    Problem::new(ProblemCode::Malformed, text)
}

fn take(frame: Frame<'_>, decoder: &mut dyn Decode, sink: &mut dyn Sink) -> bool {
    match frame {
        Frame::Comment => false,
        Frame::Event(event) if event.kind != MessageKind::Event => {
            let name = event.event.unwrap_or("exception");
            let problem = error::read_text(event.data)
                .unwrap_or_else(|| Problem::new(ProblemCode::UpstreamError, event.data));
            sink.event(Event::Problem(&problem.at(name)));
            true
        }
        // The end of the body cut this event in two; the decoder reports at its end that the stream is truncated.
        Frame::Event(event) if event.unterminated && is_cut(event.data) => false,
        Frame::Event(event) => {
            decoder.message(event.event, event.data, sink);
            true
        }
        Frame::Problem(problem) => {
            let code = match problem {
                FrameProblem::TooLong { .. } => ProblemCode::CapReached,
                FrameProblem::Unfinished => ProblemCode::Truncated,
                FrameProblem::BadPrelude | FrameProblem::BadChecksum | FrameProblem::BadHeaders => {
                    ProblemCode::Malformed
                }
            };
            sink.event(Event::Problem(&Problem::new(code, problem.to_string())));
            false
        }
    }
}

fn is_cut(data: &str) -> bool {
    data.trim_ascii() != "[DONE]" && Doc::parse_str(data).is_err()
}

/// How much of a whole body could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    /// An answer or an error.
    Answer,
    /// A value that is neither.
    NoAnswer,
    Nothing,
}

fn read_whole(
    wire: &'static dyn Wire,
    body: &[u8],
    dialect: &Dialect,
    sink: &mut dyn Sink,
) -> Read {
    let lossy = String::from_utf8_lossy(body);
    let doc = match Doc::parse_str(&lossy) {
        Ok(doc) => doc,
        // Several JSON lines are no JSON value, but a stream of a wire of lines.
        Err(_) if wire.framing() == Framing::Ndjson && lossy.trim_start().starts_with('{') => {
            let mut stream = Stream::new(wire, dialect, Framing::Ndjson);
            let has_read = stream.push(body, sink) | stream.end(sink);
            return if has_read { Read::Answer } else { Read::Nothing };
        }
        Err(_) if wire.framing() == Framing::EventStream && !begins_as_json(&lossy) => {
            let message = "the response is neither JSON nor an event stream";
            sink.event(Event::Problem(&Problem::new(ProblemCode::UpstreamError, message)));
            return Read::NoAnswer;
        }
        Err(error) => return unreadable(&lossy, &error.to_string(), sink),
    };
    if matches!(lossy, Cow::Owned(_)) {
        sink.event(Event::Problem(&damage()));
    }
    if let Some(problem) = error::read(doc.root()) {
        sink.event(Event::Problem(&problem));
        return Read::Answer;
    }
    let mut is_broken = false;
    wire.read_response(doc.root(), dialect, &mut |event: Event<'_>| {
        is_broken |= matches!(event, Event::Problem(problem) if problem.breaks());
        sink.event(event);
    });
    if wire.is_answer(doc.root()) {
        return Read::Answer;
    }
    if is_broken {
        return Read::NoAnswer;
    }
    let members: Vec<String> =
        wire.answer_members().iter().map(|member| format!("`{member}`")).collect();
    let message = format!("the response has no {}", members.join(" or "));
    sink.event(Event::Problem(&Problem::new(ProblemCode::UpstreamError, message)));
    Read::NoAnswer
}

/// A body that is no JSON: cut off in the middle, or a page of some proxy.
fn unreadable(body: &str, why: &str, sink: &mut dyn Sink) -> Read {
    let begins_as_json = begins_as_json(body);
    let code = if begins_as_json { ProblemCode::Truncated } else { ProblemCode::Malformed };
    sink.event(Event::Problem(&Problem::new(code, format!("the body is {why}"))));
    if begins_as_json { Read::Answer } else { Read::Nothing }
}

fn begins_as_json(body: &str) -> bool {
    body.trim_start().starts_with(['{', '['])
}

/// Whether a body is a stream and with which framing, as soon as its first bytes tell.
fn form_of(begun: &[u8], form: Form, framing: Framing) -> Option<Option<Framing>> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if MARK.starts_with(begun) {
        return None;
    }
    let text = begun.strip_prefix(MARK).unwrap_or(begun);
    let at = text.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let rest = text.get(at..)?;
    let first = *rest.first()?;
    match framing {
        // A server that was asked for events may send its messages as the elements of an array.
        Framing::Sse if first == b'[' && form == Form::Stream => Some(Some(Framing::Array)),
        _ if matches!(first, b'{' | b'[' | b'<') => Some(None),
        // The first bytes of a message are its length, a number far below 2^24.
        Framing::EventStream => Some((first == 0).then_some(framing)),
        Framing::Array | Framing::Ndjson => Some(None),
        Framing::Sse => {
            let fields: [&[u8]; 5] = [b"data", b"event", b"id", b"retry", b":"];
            if fields.iter().any(|field| rest.starts_with(field)) {
                return Some(Some(framing));
            }
            let may_become_one = fields.iter().any(|field| field.starts_with(rest));
            (!may_become_one).then_some(None)
        }
    }
}

#[cfg(test)]
mod tests;
