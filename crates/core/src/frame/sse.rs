//! Server-sent events, as the WHATWG HTML standard defines `text/event-stream`.
//!
//! The decoder differs from the standard in two points, both visible to its reader: an event that
//! the end of the body cuts off is handed out with [`Event::unterminated`], and an event beyond the
//! limit is handed out in part with [`Event::truncated`].

use memchr::memchr2;

use super::{DEFAULT_LIMIT, Event, Frame, FrameProblem, MessageKind, recycle, text};

/// Reads server-sent events from pushed bytes.
///
/// The state depends only on the bytes seen so far. The bytes of an unfinished line go straight to their field, so
/// comments and unknown fields of any length need no memory, and each byte is read once, even in small reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseDecoder {
    limit: usize,
    /// How many bytes of a byte order mark have been seen; all of them once the body has begun.
    mark: usize,
    /// The last byte was a carriage return that ended a line: a line feed now belongs to it.
    after_return: bool,
    line: Line,
    /// The field name of an unfinished line, then its value if the field is `id` or `retry`.
    scratch: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    truncated: bool,
    id: String,
    retry: Option<u64>,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }
}

impl SseDecoder {
    /// A decoder at the start of a body whose events may have `limit` bytes of name and data.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            mark: 0,
            after_return: false,
            line: Line::Start,
            scratch: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            truncated: false,
            id: String::new(),
            retry: None,
        }
    }

    /// Reads the next bytes of the body and hands out every frame that they complete.
    pub fn push(&mut self, bytes: &[u8], out: &mut dyn FnMut(Frame<'_>)) {
        let mut rest = self.skip_start(bytes, out);
        let mut held = Held::default();
        if self.line != Line::Start {
            let Some((line, after)) = self.split_line(rest) else {
                return self.extend_line(rest, out);
            };
            self.extend_line(line, out);
            self.end_line(out);
            rest = after;
        }
        while let Some((line, after)) = self.split_line(rest) {
            self.whole_line(line, &mut held, out);
            rest = after;
        }
        self.keep(&mut held);
        self.extend_line(rest, out);
    }

    /// Ends the body, hands out an event that it cut off, and starts afresh.
    ///
    /// An event without its blank line is handed out with [`Event::unterminated`]; the standard would discard it.
    pub fn end(&mut self, out: &mut dyn FnMut(Frame<'_>)) {
        if self.line != Line::Start {
            self.end_line(out);
        }
        self.dispatch(&mut Held::default(), true, out);
        *self = Self::with_limit(self.limit);
    }

    /// Drops a byte order mark and the line feed of a line end that the last push began.
    fn skip_start<'i>(&mut self, mut bytes: &'i [u8], out: &mut dyn FnMut(Frame<'_>)) -> &'i [u8] {
        while let Some(expected) = BYTE_ORDER_MARK.get(self.mark) {
            match bytes.split_first() {
                Some((first, rest)) if first == expected => {
                    self.mark += 1;
                    bytes = rest;
                }
                Some(_) => {
                    let seen = BYTE_ORDER_MARK.get(..self.mark).unwrap_or_default();
                    self.mark = BYTE_ORDER_MARK.len();
                    self.extend_line(seen, out);
                }
                None => return bytes,
            }
        }
        match bytes.split_first() {
            Some((first, rest)) if std::mem::take(&mut self.after_return) && *first == b'\n' => {
                rest
            }
            Some(_) | None => bytes,
        }
    }

    /// Splits off the next line and its end. A line that ends with the last byte of the push in a
    /// carriage return is whole: its event must not wait for a line feed that may never come.
    #[inline]
    fn split_line<'i>(&mut self, bytes: &'i [u8]) -> Option<(&'i [u8], &'i [u8])> {
        if let [b'\n', rest @ ..] = bytes {
            return Some((&[], rest));
        }
        let end = memchr2(b'\n', b'\r', bytes)?;
        let (line, rest) = bytes.split_at_checked(end)?;
        match rest {
            [b'\r', b'\n', rest @ ..] => Some((line, rest)),
            [b'\r'] => {
                self.after_return = true;
                Some((line, &[]))
            }
            [_, rest @ ..] => Some((line, rest)),
            [] => None,
        }
    }

    /// Reads a line that lies whole in the push.
    #[inline]
    fn whole_line<'i>(
        &mut self,
        line: &'i [u8],
        held: &mut Held<'i>,
        out: &mut dyn FnMut(Frame<'_>),
    ) {
        if line.is_empty() {
            return self.dispatch(held, false, out);
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            if held.data.is_none() && !self.has_data && value.len() <= self.room(held) {
                held.data = Some(value);
                return;
            }
        } else if let Some(value) = line.strip_prefix(b"event:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            held.name = None;
            self.name.clear();
            if value.len() <= self.room(held) {
                held.name = Some(value);
                return;
            }
        } else if line.first() == Some(&b':') {
            return out(Frame::Comment);
        }
        self.copied_line(line, held, out);
    }

    /// Reads a whole line whose value cannot be borrowed.
    #[inline(never)]
    fn copied_line(&mut self, line: &[u8], held: &mut Held<'_>, out: &mut dyn FnMut(Frame<'_>)) {
        // `id`, `retry` and unknown fields leave the event's own fields alone.
        if line.starts_with(b"data") || line.starts_with(b"event") {
            self.keep(held);
        }
        self.extend_line(line, out);
        self.end_line(out);
    }

    /// How many more bytes the event may have.
    fn room(&self, held: &Held<'_>) -> usize {
        if self.truncated {
            return 0;
        }
        let used = self.data.len() + self.name.len() + held.len();
        self.limit.saturating_sub(used)
    }

    /// Copies the parts that are borrowed from the push, because the event goes on after it.
    fn keep(&mut self, held: &mut Held<'_>) {
        if let Some(name) = held.name.take() {
            self.name.clear();
            self.name.extend_from_slice(name);
        }
        if let Some(data) = held.data.take() {
            self.data.extend_from_slice(data);
            self.has_data = true;
        }
    }

    /// Reads bytes of a line whose end has not been seen.
    fn extend_line(&mut self, mut bytes: &[u8], out: &mut dyn FnMut(Frame<'_>)) {
        while let Some((first, after)) = bytes.split_first() {
            bytes = match self.line {
                Line::Start if *first == b':' => {
                    self.line = Line::Comment;
                    after
                }
                Line::Start | Line::Name => self.extend_name(bytes, out),
                Line::Colon(field) => {
                    self.line = Line::Value(field);
                    if *first == b' ' { after } else { bytes }
                }
                Line::Value(field) => {
                    self.extend_value(field, bytes, out);
                    &[]
                }
                Line::Comment | Line::Ignored => &[],
            };
        }
    }

    /// Reads bytes of a field name and returns those after its colon.
    fn extend_name<'i>(&mut self, bytes: &'i [u8], out: &mut dyn FnMut(Frame<'_>)) -> &'i [u8] {
        let window = (LONGEST_NAME + 1).saturating_sub(self.scratch.len());
        let colon = bytes.iter().take(window).position(|byte| *byte == b':');
        let (name, rest) = bytes.split_at_checked(colon.unwrap_or(window)).unwrap_or((bytes, &[]));
        self.scratch.extend_from_slice(name);
        if colon.is_none() {
            self.line = Line::Name;
            if self.scratch.len() > LONGEST_NAME {
                self.line = Line::Ignored;
                self.scratch.clear();
            }
            return rest;
        }
        self.line = match self.begin_field(out) {
            Some(field) => Line::Colon(field),
            None => Line::Ignored,
        };
        rest.split_first().map_or(&[], |(_, value)| value)
    }

    /// Turns the collected field name into a field and prepares for its value.
    fn begin_field(&mut self, out: &mut dyn FnMut(Frame<'_>)) -> Option<Field> {
        let field = Field::named(&self.scratch);
        self.scratch.clear();
        match field {
            Some(Field::Data) => {
                if self.has_data {
                    self.extend_value(Field::Data, b"\n", out);
                }
                self.has_data = true;
            }
            Some(Field::Event) => self.name.clear(),
            Some(Field::Id | Field::Retry) | None => {}
        }
        field
    }

    /// Appends to a field's value up to the limit, and reports when the limit is passed.
    fn extend_value(&mut self, field: Field, bytes: &[u8], out: &mut dyn FnMut(Frame<'_>)) {
        let room = match field {
            Field::Data | Field::Event => self.room(&Held::default()),
            Field::Id | Field::Retry => self.limit.saturating_sub(self.scratch.len()),
        };
        let (fitting, over) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        match field {
            Field::Data => self.data.extend_from_slice(fitting),
            Field::Event => self.name.extend_from_slice(fitting),
            Field::Id | Field::Retry => self.scratch.extend_from_slice(fitting),
        }
        if over.is_empty() {
            return;
        }
        let reported = match field {
            Field::Data | Field::Event => std::mem::replace(&mut self.truncated, true),
            Field::Id | Field::Retry => {
                // Half an id or half a number would be a wrong one.
                self.scratch.clear();
                self.line = Line::Ignored;
                false
            }
        };
        if !reported {
            out(Frame::Problem(FrameProblem::TooLong { limit: self.limit }));
        }
    }

    /// Ends a line that was not read as a whole.
    fn end_line(&mut self, out: &mut dyn FnMut(Frame<'_>)) {
        let field = match std::mem::replace(&mut self.line, Line::Start) {
            Line::Start => return self.dispatch(&mut Held::default(), false, out),
            Line::Comment => return out(Frame::Comment),
            Line::Ignored => return,
            Line::Name => self.begin_field(out),
            Line::Colon(field) | Line::Value(field) => Some(field),
        };
        match field {
            Some(Field::Id) if !self.scratch.contains(&0) => {
                self.id.clear();
                self.id.push_str(&String::from_utf8_lossy(&self.scratch));
            }
            Some(Field::Retry) => {
                self.retry = decimal(&self.scratch).or(self.retry);
            }
            Some(Field::Id | Field::Data | Field::Event) | None => {}
        }
        recycle(&mut self.scratch);
    }

    /// Hands out the event if it has data, and makes room for the next.
    #[inline]
    fn dispatch(
        &mut self,
        held: &mut Held<'_>,
        unterminated: bool,
        out: &mut dyn FnMut(Frame<'_>),
    ) {
        let name = held.name.take();
        match held.data.take() {
            Some(data) => self.hand_out(name, data, unterminated, out),
            None if self.has_data => self.hand_out(name, &self.data, unterminated, out),
            None => {}
        }
        if self.has_data {
            recycle(&mut self.data);
            self.has_data = false;
        }
        recycle(&mut self.name);
        self.truncated = false;
    }

    #[inline]
    fn hand_out(
        &self,
        name: Option<&[u8]>,
        data: &[u8],
        unterminated: bool,
        out: &mut dyn FnMut(Frame<'_>),
    ) {
        let name = name.unwrap_or(&self.name);
        let (name, damaged_name) = text(name, self.truncated);
        let (data, damaged_data) = text(data, self.truncated);
        out(Frame::Event(Event {
            event: (!name.is_empty()).then_some(&*name),
            data: &data,
            id: &self.id,
            retry: self.retry,
            kind: MessageKind::Event,
            unterminated,
            truncated: self.truncated,
            damaged: damaged_name || damaged_data,
        }));
    }
}

/// Appends one server-sent event with its blank line to `out`.
///
/// Each line of the data becomes a `data:` line, and every kind of line end in it becomes a line
/// feed, because a carriage return cannot be carried. Line ends in the name are left out.
pub fn encode_event(name: Option<&str>, data: &str, out: &mut Vec<u8>) {
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        out.extend_from_slice(b"event: ");
        out.extend(name.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')));
        out.push(b'\n');
    }
    encode_lines(b"data: ", data, out);
    out.push(b'\n');
}

/// Appends a comment and a blank line to `out`; a comment with no event serves as keep-alive.
pub fn encode_comment(comment: &str, out: &mut Vec<u8>) {
    encode_lines(b": ", comment, out);
    out.push(b'\n');
}

fn encode_lines(prefix: &[u8], text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    loop {
        let end = memchr2(b'\n', b'\r', rest);
        let (line, after) =
            end.and_then(|end| rest.split_at_checked(end)).unwrap_or((rest, &[][..]));
        out.extend_from_slice(prefix);
        out.extend_from_slice(line);
        out.push(b'\n');
        rest = match after {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => return,
        };
    }
}

const BYTE_ORDER_MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// The length of `event` and `retry`; a longer name is an unknown field.
const LONGEST_NAME: usize = 5;

/// The place in a line at which the last push ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Before its first byte.
    Start,
    /// In a field name that may still become a known one.
    Name,
    /// After the colon; one space is dropped here.
    Colon(Field),
    /// In the value.
    Value(Field),
    /// In a comment.
    Comment,
    /// In a field that is unknown or too long.
    Ignored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
}

impl Field {
    fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"data" => Some(Self::Data),
            b"event" => Some(Self::Event),
            b"id" => Some(Self::Id),
            b"retry" => Some(Self::Retry),
            _ => None,
        }
    }
}

/// The fields of the current event that are still borrowed from the push.
///
/// Data is held only while it is the event's only line of data.
#[derive(Default)]
struct Held<'i> {
    name: Option<&'i [u8]>,
    data: Option<&'i [u8]>,
}

impl Held<'_> {
    fn len(&self) -> usize {
        self.name.map_or(0, <[u8]>::len) + self.data.map_or(0, <[u8]>::len)
    }
}

/// Parses a number of ASCII digits only; other texts give `None`.
fn decimal(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
