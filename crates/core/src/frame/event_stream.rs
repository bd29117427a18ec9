//! The AWS event stream (`application/vnd.amazon.eventstream`): binary messages with checksums.
//!
//! A message is: total length, length of the headers, CRC-32 of these eight bytes (together the
//! prelude), headers, payload, CRC-32 of everything before. Numbers are big-endian.

mod headers;

use std::fmt;

use super::{DEFAULT_LIMIT, Event, Frame, FrameProblem, MessageKind, recycle, text};

pub use headers::{HeaderValue, Headers};

/// Reads AWS event-stream messages from pushed bytes.
///
/// Both checksums are verified before a message is handed out. A damaged message whose length can be trusted is
/// skipped; after a damaged prelude no further message can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventStreamDecoder {
    limit: usize,
    /// The unfinished message; its prelude is known to be good once it is whole.
    message: Vec<u8>,
    /// How many bytes of a message beyond the limit are still to come.
    skipping: usize,
    lost: bool,
}

/// One message: its headers and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// The headers, in order.
    pub headers: Headers<'a>,
    /// The payload, for the model services a JSON text.
    pub payload: &'a [u8],
}

/// Why a message cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// A header's name has no bytes or more than 255.
    HeaderName,
    /// A header's value has more than 65,535 bytes.
    HeaderValue,
    /// The message would have more bytes than its length field can express.
    TooLong,
}

impl Default for EventStreamDecoder {
    fn default() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }
}

impl EventStreamDecoder {
    /// A decoder at the start of a body whose messages may have `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, message: Vec::new(), skipping: 0, lost: false }
    }

    /// Reads the next bytes of the body and hands out every message that they complete as an event.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn FnMut(Frame<'_>)) {
        self.push_messages(bytes, &mut |message| match message {
            Ok(message) => hand_out(&message, out),
            Err(problem) => out(Frame::Problem(problem)),
        });
    }

    /// Reads the next bytes of the body and hands out every message that they complete with all
    /// its headers.
    pub fn push_messages(
        &mut self,
        bytes: &[u8],
        out: &mut dyn FnMut(Result<Message<'_>, FrameProblem>),
    ) {
        let mut rest = bytes;
        while !rest.is_empty() && !self.lost {
            rest = if self.skipping > 0 {
                let (skipped, after) = rest.split_at_checked(self.skipping).unwrap_or((rest, &[]));
                self.skipping -= skipped.len();
                after
            } else if self.message.is_empty() {
                self.read_borrowed(rest, out)
            } else {
                self.read_carried(rest, out)
            };
        }
    }

    /// Ends the body, reports a message that it cut off, and starts afresh.
    ///
    /// The bytes of such a message are not handed out, because its checksum is missing.
    pub fn end(&mut self, out: &mut dyn FnMut(Frame<'_>)) {
        if !self.message.is_empty() || self.skipping > 0 {
            out(Frame::Problem(FrameProblem::Unfinished));
        }
        *self = Self::with_limit(self.limit);
    }

    /// Reads a message that begins in the push, and returns the bytes after it.
    fn read_borrowed<'i>(
        &mut self,
        bytes: &'i [u8],
        out: &mut dyn FnMut(Result<Message<'_>, FrameProblem>),
    ) -> &'i [u8] {
        if let Some((prelude, after)) = bytes.split_first_chunk() {
            let Some(length) = self.accept(prelude, out) else { return after };
            if let Some((message, after)) = bytes.split_at_checked(length) {
                out(open(message));
                return after;
            }
        }
        self.message.extend_from_slice(bytes);
        &[]
    }

    /// Reads on in a message that an earlier push began, and returns the bytes after it.
    fn read_carried<'i>(
        &mut self,
        bytes: &'i [u8],
        out: &mut dyn FnMut(Result<Message<'_>, FrameProblem>),
    ) -> &'i [u8] {
        let Some(prelude) = self.message.first_chunk::<PRELUDE>() else {
            let after = self.fill(PRELUDE, bytes);
            if let Some(prelude) = self.message.first_chunk().copied()
                && self.accept(&prelude, out).is_none()
            {
                self.message.clear();
            }
            return after;
        };
        let length = total_length(prelude);
        let after = self.fill(length, bytes);
        if self.message.len() == length {
            out(open(&self.message));
            recycle(&mut self.message);
        }
        after
    }

    /// Carries over bytes until the message has `length` of them, and returns the others.
    fn fill<'i>(&mut self, length: usize, bytes: &'i [u8]) -> &'i [u8] {
        let missing = length.saturating_sub(self.message.len());
        let (taken, after) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
        self.message.extend_from_slice(taken);
        after
    }

    /// Checks a prelude and returns the length of its message, or reports why it is not read.
    fn accept(
        &mut self,
        prelude: &[u8; PRELUDE],
        out: &mut dyn FnMut(Result<Message<'_>, FrameProblem>),
    ) -> Option<usize> {
        let length = total_length(prelude);
        let (numbers, checksum) = prelude.split_last_chunk::<4>()?;
        let shortest = header_length(prelude).saturating_add(SHORTEST);
        if crc32fast::hash(numbers) != u32::from_be_bytes(*checksum) || length < shortest {
            self.lost = true;
            out(Err(FrameProblem::BadPrelude));
            return None;
        }
        if length > self.limit {
            self.skipping = length - PRELUDE;
            out(Err(FrameProblem::TooLong { limit: self.limit }));
            return None;
        }
        Some(length)
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HeaderName => "a header name has no bytes or more than 255",
            Self::HeaderValue => "a header value has more than 65535 bytes",
            Self::TooLong => "the message has more bytes than its length field can say",
        })
    }
}

impl std::error::Error for EncodeError {}

/// Appends one message to `out`; on an error `out` stays unchanged.
///
/// # Errors
///
/// When a header or the whole message is longer than the format allows.
pub fn encode_message(
    headers: &[(&str, HeaderValue<'_>)],
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let mut block = Vec::new();
    for (name, value) in headers {
        headers::encode(name, value, &mut block)?;
    }
    let header_length = u32::try_from(block.len()).map_err(|_| EncodeError::TooLong)?;
    let length = SHORTEST + block.len() + payload.len();
    let length = u32::try_from(length).map_err(|_| EncodeError::TooLong)?;
    let mut message = Vec::with_capacity(SHORTEST + block.len() + payload.len());
    message.extend_from_slice(&length.to_be_bytes());
    message.extend_from_slice(&header_length.to_be_bytes());
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(&block);
    message.extend_from_slice(payload);
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    out.extend_from_slice(&message);
    Ok(())
}

/// Appends a JSON event of the given `:event-type` to `out`.
///
/// # Errors
///
/// When a part is longer than the format allows.
pub fn encode_event(name: &str, json: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    encode_json(":event-type", name, "event", json, out)
}

/// Appends a JSON exception of the given `:exception-type` to `out`.
///
/// # Errors
///
/// When a part is longer than the format allows.
pub fn encode_exception(name: &str, json: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    encode_json(":exception-type", name, "exception", json, out)
}

fn encode_json(
    key: &str,
    name: &str,
    kind: &str,
    json: &str,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let headers = [
        (key, HeaderValue::Str(name)),
        (":content-type", HeaderValue::Str("application/json")),
        (":message-type", HeaderValue::Str(kind)),
    ];
    encode_message(&headers, json.as_bytes(), out)
}

/// The bytes of a prelude: two lengths and a checksum.
const PRELUDE: usize = 12;

/// The bytes of a message without headers and payload: a prelude and a checksum.
const SHORTEST: usize = 16;

fn total_length(prelude: &[u8; PRELUDE]) -> usize {
    let [a, b, c, d, ..] = *prelude;
    usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX)
}

fn header_length(prelude: &[u8; PRELUDE]) -> usize {
    let [_, _, _, _, a, b, c, d, ..] = *prelude;
    usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX)
}

/// Checks a whole message and takes it apart.
fn open(message: &[u8]) -> Result<Message<'_>, FrameProblem> {
    let (body, checksum) = message.split_last_chunk::<4>().ok_or(FrameProblem::BadChecksum)?;
    if crc32fast::hash(body) != u32::from_be_bytes(*checksum) {
        return Err(FrameProblem::BadChecksum);
    }
    let (prelude, body) = body.split_first_chunk().ok_or(FrameProblem::BadPrelude)?;
    let (headers, payload) =
        body.split_at_checked(header_length(prelude)).ok_or(FrameProblem::BadPrelude)?;
    let headers = Headers::read(headers).ok_or(FrameProblem::BadHeaders)?;
    Ok(Message { headers, payload })
}

/// Hands out a message as an event.
fn hand_out(message: &Message<'_>, out: &mut dyn FnMut(Frame<'_>)) {
    let headers = &message.headers;
    let (kind, name) = match headers.text(":message-type") {
        Some("exception") => (MessageKind::Exception, ":exception-type"),
        Some("error") => (MessageKind::Error, ":error-code"),
        // A message without a type counts as an event.
        Some(_) | None => (MessageKind::Event, ":event-type"),
    };
    let (payload, damaged) = text(message.payload, false);
    let stated = headers.text(":error-message").filter(|_| payload.is_empty());
    out(Frame::Event(Event {
        event: headers.text(name),
        data: stated.unwrap_or(&payload),
        kind,
        damaged,
        ..Event::default()
    }));
}
