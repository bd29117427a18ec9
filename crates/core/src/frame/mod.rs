//! Frames: bytes into server-sent events, JSON lines and AWS event-stream messages.
//!
//! A body is framed before any wire looks at it. Every decoder here is pushed: bytes of any size go in, frames come
//! out as soon as their last byte has been seen, and they borrow from the pushed bytes wherever an event lies whole
//! in them. Only a partial tail is carried over.
//!
//! # Laws
//!
//! - The frames do not depend on how the bytes were cut into pushes.
//! - A decoder is a function of the bytes it has seen: after any cut it equals (`PartialEq`) the decoder that saw
//!   them in one piece.
//! - Memory is bounded by the event limit ([`DEFAULT_LIMIT`]), for every input.
//! - No input stops a stream with an error: the frames are handed out, and a [`Frame::Problem`] reports the fault.

pub mod array;
pub mod event_stream;
pub mod ndjson;
#[cfg(test)]
pub(crate) mod split_law;
pub mod sse;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use array::ArrayDecoder;
use event_stream::EventStreamDecoder;
use ndjson::NdjsonDecoder;
use sse::SseDecoder;

/// The default limit for the size of one event: 32 MiB.
///
/// It is a guard against hostile upstreams, far above the largest honest event (a whole image).
pub const DEFAULT_LIMIT: usize = 32 * 1024 * 1024;

/// The output of a framing decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// One event: a server-sent event, a JSON line or an AWS message.
    Event(Event<'a>),
    /// An SSE comment line. It carries nothing, but it shows that the upstream is alive.
    Comment,
    /// The bytes are damaged. The decoder continues as far as possible.
    Problem(FrameProblem),
}

/// One event of a body, borrowed until the sink returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// The event's name: SSE `event:`; AWS `:event-type`, `:exception-type` or `:error-code`.
    ///
    /// `None` if the body has none, which the SSE standard calls `message`.
    pub event: Option<&'a str>,
    /// The event's data: the joined SSE `data:` lines, a JSON line, or an AWS payload.
    ///
    /// Bytes that are not UTF-8 have become U+FFFD. An AWS error without a payload has the text
    /// of `:error-message` here.
    pub data: &'a str,
    /// The SSE last event id, which stays in force for later events; empty by default.
    pub id: &'a str,
    /// The SSE reconnection time in milliseconds that the stream named last.
    pub retry: Option<u64>,
    /// The AWS `:message-type`; always [`MessageKind::Event`] in the other framings.
    pub kind: MessageKind,
    /// The body ended before this event did: the blank line (SSE) or line feed (JSON lines) that
    /// ends it is missing.
    ///
    /// The SSE standard discards such an event. Real providers leave out the last blank line now
    /// and then, so it is handed out and its reader decides: data that parses was whole. A strict
    /// reader skips every event that has this flag.
    pub unterminated: bool,
    /// The event reached the limit and its rest was dropped; a problem was reported before it.
    pub truncated: bool,
    /// The event has bytes that are no UTF-8. Each run of them becomes U+FFFD.
    pub damaged: bool,
}

/// The type of an AWS message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageKind {
    /// An event of the stream; also every SSE event and every JSON line.
    #[default]
    Event,
    /// A modelled exception, named in [`Event::event`].
    Exception,
    /// An error outside the model, its code in [`Event::event`].
    Error,
}

/// The possible faults in the bytes of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameProblem {
    /// An event is longer than the limit. Text framings hand out the part that fits; an AWS message, which cannot be
    /// checked in part, is skipped.
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The start of an AWS message fails its checksum or states an impossible length. Nothing
    /// after it can be found, so the rest of the body is ignored.
    BadPrelude,
    /// An AWS message fails its checksum and was skipped.
    BadChecksum,
    /// The headers of an AWS message cannot be read and it was skipped.
    BadHeaders,
    /// The body ended inside an AWS message.
    Unfinished,
}

/// The framings that bodies come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// A JSON array of messages (`application/json`).
    Array,
    /// Server-sent events (`text/event-stream`).
    Sse,
    /// One JSON value per line (`application/x-ndjson`).
    Ndjson,
    /// The binary AWS event stream (`application/vnd.amazon.eventstream`).
    EventStream,
}

/// A decoder for any of the framings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Framer {
    /// Reads the elements of a JSON array.
    Array(ArrayDecoder),
    /// Reads server-sent events.
    Sse(SseDecoder),
    /// Reads JSON lines.
    Ndjson(NdjsonDecoder),
    /// Reads AWS event-stream messages.
    EventStream(EventStreamDecoder),
}

impl Framer {
    /// A decoder at the start of a body, with the default event limit.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self::with_limit(framing, DEFAULT_LIMIT)
    }

    /// A decoder at the start of a body whose events may have `limit` bytes.
    #[must_use]
    pub fn with_limit(framing: Framing, limit: usize) -> Self {
        match framing {
            Framing::Array => Self::Array(ArrayDecoder::with_limit(limit)),
            Framing::Sse => Self::Sse(SseDecoder::with_limit(limit)),
            Framing::Ndjson => Self::Ndjson(NdjsonDecoder::with_limit(limit)),
            Framing::EventStream => Self::EventStream(EventStreamDecoder::with_limit(limit)),
        }
    }

    /// Reads the next bytes of the body and hands out every frame that they complete.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn FnMut(Frame<'_>)) {
        match self {
            Self::Array(decoder) => decoder.push(bytes, out),
            Self::Sse(decoder) => decoder.push(bytes, out),
            Self::Ndjson(decoder) => decoder.push(bytes, out),
            Self::EventStream(decoder) => decoder.push(bytes, out),
        }
    }

    /// Ends the body, hands out the rest, and prepares for a new body.
    pub fn end(&mut self, out: &mut dyn FnMut(Frame<'_>)) {
        match self {
            Self::Array(decoder) => decoder.end(),
            Self::Sse(decoder) => decoder.end(out),
            Self::Ndjson(decoder) => decoder.end(out),
            Self::EventStream(decoder) => decoder.end(out),
        }
    }
}

impl Framing {
    /// The framing that a `Content-Type` header names, if it names one.
    #[must_use]
    pub fn from_content_type(content_type: &str) -> Option<Self> {
        let is = |name: &str| media_type(content_type).eq_ignore_ascii_case(name);
        if is_event_stream(content_type) {
            Some(Self::Sse)
        } else if is("application/vnd.amazon.eventstream") {
            Some(Self::EventStream)
        } else if ["application/x-ndjson", "application/ndjson", "application/jsonl"]
            .into_iter()
            .any(is)
        {
            Some(Self::Ndjson)
        } else {
            None
        }
    }
}

impl Event<'_> {
    /// Whether this is the `[DONE]` mark that ends a stream of OpenAI's chat shape.
    ///
    /// White space around it is tolerated; other spellings are data.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.data.trim_ascii() == "[DONE]"
    }
}

impl fmt::Display for FrameProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { limit } => write!(f, "an event is longer than {limit} bytes"),
            Self::BadPrelude => f.write_str("the start of an event-stream message is damaged"),
            Self::BadChecksum => f.write_str("an event-stream message fails its checksum"),
            Self::BadHeaders => f.write_str("the headers of an event-stream message are damaged"),
            Self::Unfinished => f.write_str("the body ended inside an event-stream message"),
        }
    }
}

/// Whether a `Content-Type` header names server-sent events, in any case and with any parameters.
///
/// The charset parameter is ignored: an event stream is always UTF-8.
#[must_use]
pub fn is_event_stream(content_type: &str) -> bool {
    media_type(content_type).eq_ignore_ascii_case("text/event-stream")
}

/// The type and subtype of a `Content-Type` header.
fn media_type(content_type: &str) -> &str {
    content_type.split_once(';').map_or(content_type, |(name, _)| name).trim_ascii()
}

/// Bytes as text, each maximal run of a broken character as one U+FFFD, and whether there is any. A truncated text is
/// already marked as incomplete.
///
/// A character that the limit cut in two is left out.
fn text(bytes: &[u8], truncated: bool) -> (Cow<'_, str>, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (damaged_text(bytes, truncated), !truncated),
    }
}

#[cold]
fn damaged_text(bytes: &[u8], truncated: bool) -> Cow<'_, str> {
    let cut = bytes.utf8_chunks().last().map_or(&[][..], |last| last.invalid());
    // Only an unfinished character at the end can come from the limit. Other broken bytes arrived broken.
    let unfinished = std::str::from_utf8(cut).is_err_and(|error| error.error_len().is_none());
    let kept = if truncated && unfinished { bytes.len() - cut.len() } else { bytes.len() };
    String::from_utf8_lossy(bytes.get(..kept).unwrap_or(bytes))
}

/// Empties a buffer for the next event, and gives a large one back.
fn recycle(buffer: &mut Vec<u8>) {
    const KEPT: usize = 256 * 1024;
    if buffer.capacity() > KEPT {
        *buffer = Vec::new();
    } else {
        buffer.clear();
    }
}
