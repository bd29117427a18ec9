//! JSON lines: one value per line, as Ollama streams them.

use memchr::{memchr, memchr2_iter};

use super::{DEFAULT_LIMIT, Event, Frame, FrameProblem, recycle, text};

/// Reads JSON lines from pushed bytes.
///
/// A line ends with a line feed; a carriage return before it is dropped. Lines of white space only are skipped. The
/// last line of a body may lack its line feed: it is handed out at the end with [`Event::unterminated`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NdjsonDecoder {
    limit: usize,
    line: Vec<u8>,
    truncated: bool,
}

impl Default for NdjsonDecoder {
    fn default() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }
}

impl NdjsonDecoder {
    /// A decoder at the start of a body whose lines may have `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self { limit, line: Vec::new(), truncated: false }
    }

    /// Reads the next bytes of the body and hands out every line that they complete.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn FnMut(Frame<'_>)) {
        let mut rest = bytes;
        while let Some((line, after)) = split_line(rest) {
            let carried = !self.line.is_empty() || self.truncated;
            if carried || line.len() > self.limit {
                self.extend(line, out);
                self.end_line(false, out);
            } else {
                hand_out(line, false, false, out);
            }
            rest = after;
        }
        self.extend(rest, out);
    }

    /// Ends the body, hands out a last line without line feed, and starts afresh.
    pub fn end(&mut self, out: &mut dyn FnMut(Frame<'_>)) {
        self.end_line(true, out);
        *self = Self::with_limit(self.limit);
    }

    /// Appends to the unfinished line up to the limit, and reports when the limit is passed.
    fn extend(&mut self, bytes: &[u8], out: &mut dyn FnMut(Frame<'_>)) {
        let room = self.limit.saturating_sub(self.line.len());
        let (fitting, over) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.line.extend_from_slice(fitting);
        if !over.is_empty() && !std::mem::replace(&mut self.truncated, true) {
            out(Frame::Problem(FrameProblem::TooLong { limit: self.limit }));
        }
    }

    fn end_line(&mut self, unterminated: bool, out: &mut dyn FnMut(Frame<'_>)) {
        hand_out(&self.line, unterminated, self.truncated, out);
        recycle(&mut self.line);
        self.truncated = false;
    }
}

/// Appends one JSON value as a line to `out`.
///
/// Line ends between the tokens of the value become spaces; inside its strings JSON has none.
pub fn encode_line(json: &str, out: &mut Vec<u8>) {
    let mut written = 0;
    for end in memchr2_iter(b'\n', b'\r', json.as_bytes()) {
        out.extend_from_slice(json.as_bytes().get(written..end).unwrap_or_default());
        out.push(b' ');
        written = end + 1;
    }
    out.extend_from_slice(json.as_bytes().get(written..).unwrap_or_default());
    out.push(b'\n');
}

fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (line, rest) = bytes.split_at_checked(memchr(b'\n', bytes)?)?;
    Some((line, rest.split_first()?.1))
}

fn hand_out(line: &[u8], unterminated: bool, truncated: bool, out: &mut dyn FnMut(Frame<'_>)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.iter().all(u8::is_ascii_whitespace) {
        let (data, damaged) = text(line, truncated);
        let event = Event { data: &data, unterminated, truncated, damaged, ..Event::default() };
        out(Frame::Event(event));
    }
}
