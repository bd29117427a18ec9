//! The strict parser: RFC 8259 text into a flat list of spans.

use super::value::{Kind, Node, Val};
use std::fmt;

/// The deepest nesting that is accepted; deeper input is an error, never a stack overflow.
pub const MAX_DEPTH: usize = 128;

/// A parsed JSON text over borrowed input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc<'a> {
    pub(super) text: &'a str,
    pub(super) nodes: Vec<Node>,
}

/// Why a text is not JSON, and at which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The byte offset in the input.
    pub at: usize,
    /// The kind of error.
    pub kind: JsonErrorKind,
}

/// The kinds of errors in a text that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// A control character, an unknown escape or bad `\u` digits inside a string.
    BadString,
    /// The input ended inside a value.
    Incomplete,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// More than [`MAX_DEPTH`] nested arrays and objects.
    TooDeep,
    /// More than 4 GiB of input.
    TooLong,
    /// More values than the reader takes.
    TooMany(usize),
    /// Something follows the value.
    TrailingData,
    /// A byte that is not allowed at this place.
    Unexpected,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            JsonErrorKind::TooMany(most) => {
                return write!(f, "not taken: more than {most} values at byte {}", self.at);
            }
            JsonErrorKind::BadString => "a string with a control character or a bad escape",
            JsonErrorKind::Incomplete => "the text ends inside a value",
            JsonErrorKind::NotUtf8 => "bytes that are not UTF-8",
            JsonErrorKind::TooDeep => "more than 128 nested values",
            JsonErrorKind::TooLong => "more than 4 GiB",
            JsonErrorKind::TrailingData => "something after the value",
            JsonErrorKind::Unexpected => "an unexpected character",
        };
        write!(f, "not JSON: {what} at byte {}", self.at)
    }
}

impl std::error::Error for JsonError {}

impl<'a> Doc<'a> {
    /// Parses one JSON value with optional white space around it. Skips a leading byte-order mark.
    ///
    /// # Errors
    /// Reports the kind of the error and its byte; no prefix of the value is returned.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|e| JsonError { at: e.valid_up_to(), kind: JsonErrorKind::NotUtf8 })?;
        Self::parse_str(text)
    }

    /// As [`Doc::parse`], for input that is known to be UTF-8.
    ///
    /// # Errors
    /// As [`Doc::parse`].
    pub fn parse_str(text: &'a str) -> Result<Self, JsonError> {
        Self::parse_with(text, &mut Scratch::default())
    }

    /// As [`Doc::parse_str`], in memory that was used before; [`Scratch::reuse`] takes it back.
    ///
    /// # Errors
    /// As [`Doc::parse`].
    pub fn parse_with(text: &'a str, scratch: &mut Scratch) -> Result<Self, JsonError> {
        Self::parse_up_to(text, scratch, usize::MAX)
    }

    /// As [`Doc::parse`], for input that may be an attack on memory: one with more than `most` values is refused as
    /// soon as that is known. Keys of objects are values, too.
    ///
    /// # Errors
    /// As [`Doc::parse`], and [`JsonErrorKind::TooMany`].
    pub fn parse_within(bytes: &'a [u8], most: usize) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes)
            .map_err(|e| JsonError { at: e.valid_up_to(), kind: JsonErrorKind::NotUtf8 })?;
        Self::parse_up_to(text, &mut Scratch::default(), most)
    }

    fn parse_up_to(text: &'a str, scratch: &mut Scratch, most: usize) -> Result<Self, JsonError> {
        if u32::try_from(text.len()).is_err() {
            return Err(JsonError { at: 0, kind: JsonErrorKind::TooLong });
        }
        let mut nodes = std::mem::take(&mut scratch.nodes);
        nodes.clear();
        nodes.reserve((text.len() / 12 + 4).min(most));
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let mut parser = Parser { bytes: text.as_bytes(), at, nodes, most };
        scratch.open.clear();
        match parser.document(&mut scratch.open) {
            Ok(()) => Ok(Doc { text, nodes: parser.nodes }),
            Err(error) => {
                scratch.nodes = parser.nodes;
                Err(error)
            }
        }
    }

    /// The text that was parsed, which spans are offsets in.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// How many values there are, keys of objects included.
    #[must_use]
    pub fn values(&self) -> usize {
        self.nodes.len()
    }

    /// How many items the longest array has, or members the longest object.
    #[must_use]
    pub fn longest(&self, kind: Kind) -> usize {
        let of_kind = self.nodes.iter().enumerate().filter(|(_, node)| node.kind == kind);
        of_kind.map(|(at, node)| self.count(at, *node)).max().unwrap_or_default()
    }

    /// Counts the direct children of a value.
    fn count(&self, at: usize, outer: Node) -> usize {
        let (mut next, mut count) = (at + 1, 0);
        while next < outer.next as usize {
            // The key of a member is a value of its own.
            next += usize::from(outer.kind == Kind::Object);
            let Some(inner) = self.nodes.get(next) else { break };
            next = inner.next as usize;
            count += 1;
        }
        count
    }

    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> Val<'_> {
        Val::new(self.text, &self.nodes)
    }
}

/// Memory for parsing one text after the other. It carries no information: all scratches are equal.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    nodes: Vec<Node>,
    open: Vec<u32>,
}

impl Scratch {
    /// Takes back the memory of a text that is not needed any more.
    pub fn reuse(&mut self, doc: Doc<'_>) {
        self.nodes = doc.nodes;
    }
}

impl PartialEq for Scratch {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Scratch {}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    most: usize,
}

/// The tokens that may come next inside the innermost open array or object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrEnd,
    KeyOrEnd,
    Key,
    CommaOrEnd,
}

impl Parser<'_> {
    fn document(&mut self, open: &mut Vec<u32>) -> Result<(), JsonError> {
        let mut expect = Expect::Value;
        loop {
            self.space();
            let Some(&byte) = self.bytes.get(self.at) else {
                return Err(self.fail(JsonErrorKind::Incomplete));
            };
            expect = match (expect, byte) {
                (Expect::Value | Expect::ValueOrEnd, b'[') => self.open(open, Kind::Array)?,
                (Expect::Value | Expect::ValueOrEnd, b'{') => self.open(open, Kind::Object)?,
                (Expect::ValueOrEnd | Expect::CommaOrEnd, b']') => self.close(open, Kind::Array)?,
                (Expect::KeyOrEnd | Expect::CommaOrEnd, b'}') => self.close(open, Kind::Object)?,
                (Expect::CommaOrEnd, b',') => {
                    self.at += 1;
                    match self.innermost(open) {
                        Some(Kind::Object) => Expect::Key,
                        _ => Expect::Value,
                    }
                }
                (Expect::KeyOrEnd | Expect::Key, b'"') => {
                    self.string()?;
                    self.space();
                    if self.bytes.get(self.at) != Some(&b':') {
                        return Err(self.unexpected());
                    }
                    self.at += 1;
                    Expect::Value
                }
                (Expect::Value | Expect::ValueOrEnd, _) => {
                    self.scalar(byte)?;
                    Expect::CommaOrEnd
                }
                _ => return Err(self.unexpected()),
            };
            if self.nodes.len() > self.most {
                return Err(self.fail(JsonErrorKind::TooMany(self.most)));
            }
            if open.is_empty() && expect == Expect::CommaOrEnd {
                break;
            }
        }
        self.space();
        if self.at < self.bytes.len() {
            return Err(self.fail(JsonErrorKind::TrailingData));
        }
        Ok(())
    }

    fn open(&mut self, open: &mut Vec<u32>, kind: Kind) -> Result<Expect, JsonError> {
        if open.len() >= MAX_DEPTH {
            return Err(self.fail(JsonErrorKind::TooDeep));
        }
        open.push(offset(self.nodes.len()));
        self.push(kind, self.at, self.at, false);
        self.at += 1;
        Ok(if kind == Kind::Array { Expect::ValueOrEnd } else { Expect::KeyOrEnd })
    }

    fn close(&mut self, open: &mut Vec<u32>, kind: Kind) -> Result<Expect, JsonError> {
        if self.innermost(open) != Some(kind) {
            return Err(self.unexpected());
        }
        self.at += 1;
        let next = offset(self.nodes.len());
        if let Some(node) = open.pop().and_then(|index| self.nodes.get_mut(index as usize)) {
            node.end = offset(self.at);
            node.next = next;
        }
        Ok(Expect::CommaOrEnd)
    }

    fn innermost(&self, open: &[u32]) -> Option<Kind> {
        self.nodes.get(*open.last()? as usize).map(|node| node.kind)
    }

    fn scalar(&mut self, byte: u8) -> Result<(), JsonError> {
        match byte {
            b'"' => self.string(),
            b't' => self.literal(b"true", Kind::Bool),
            b'f' => self.literal(b"false", Kind::Bool),
            b'n' => self.literal(b"null", Kind::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.unexpected()),
        }
    }

    fn literal(&mut self, word: &[u8], kind: Kind) -> Result<(), JsonError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(if word.starts_with(rest) {
                JsonError { at: self.bytes.len(), kind: JsonErrorKind::Incomplete }
            } else {
                self.unexpected()
            });
        }
        let start = self.at;
        self.at += word.len();
        self.push(kind, start, self.at, false);
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        self.push(Kind::Number, start, self.at, false);
        Ok(())
    }

    /// One digit at least.
    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.bytes.get(self.at), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start {
            return Ok(());
        }
        Err(if self.at >= self.bytes.len() {
            self.fail(JsonErrorKind::Incomplete)
        } else {
            self.unexpected()
        })
    }

    fn string(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        self.at += 1;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(found) = string_end(rest) else {
                return Err(JsonError { at: self.bytes.len(), kind: JsonErrorKind::Incomplete });
            };
            self.at += found;
            match rest.get(found) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(self.fail(JsonErrorKind::BadString)),
            }
        }
        self.at += 1;
        self.push(Kind::String, start, self.at, escaped);
        Ok(())
    }

    /// Steps over one escape. A lone surrogate is grammatical JSON and passes; reading it gives U+FFFD.
    fn escape(&mut self) -> Result<(), JsonError> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                for i in 2..6 {
                    match self.bytes.get(self.at + i) {
                        Some(b) if b.is_ascii_hexdigit() => {}
                        Some(_) => return Err(self.fail(JsonErrorKind::BadString)),
                        None => return Err(self.fail(JsonErrorKind::Incomplete)),
                    }
                }
                self.at += 6;
            }
            Some(_) => return Err(self.fail(JsonErrorKind::BadString)),
            None => return Err(self.fail(JsonErrorKind::Incomplete)),
        }
        Ok(())
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize, escaped: bool) {
        let next = offset(self.nodes.len() + 1);
        self.nodes.push(Node { kind, escaped, start: offset(start), end: offset(end), next });
    }

    #[inline]
    fn space(&mut self) {
        // Most values have no white space around them.
        if self.bytes.get(self.at).is_none_or(|byte| *byte > b' ') {
            return;
        }
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self) -> JsonError {
        self.fail(JsonErrorKind::Unexpected)
    }

    fn fail(&self, kind: JsonErrorKind) -> JsonError {
        JsonError { at: self.at, kind }
    }
}

/// Returns the position of the first byte that ends a run of plain bytes inside a string: a quote, a backslash or a
/// control character. Each step checks eight bytes.
#[inline]
pub(super) fn string_end(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    // The lowest high bit that is set marks the first byte that is zero; only bits above it may be wrong.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let mut chunks = bytes.chunks_exact(8);
    let mut at = 0;
    for chunk in chunks.by_ref() {
        let word = u64::from_le_bytes(<[u8; 8]>::try_from(chunk).unwrap_or_default());
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let backslash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let found = quote | backslash | control;
        if found != 0 {
            return Some(at + (found.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let rest = chunks.remainder().iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20);
    rest.map(|found| at + found)
}

/// Inputs are at most `u32::MAX` bytes long (checked once), so offsets always fit.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
