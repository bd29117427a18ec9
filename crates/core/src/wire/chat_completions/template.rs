//! The short way through a stream: a message that differs from the one before in its text only is known again.
//!
//! Consecutive messages of a stream are nearly equal. A message that was read in full and only added text to an open
//! block becomes a template: its bytes, with holes for the text and for meaningless members that were seen to change
//! (a time, padding). A message with the same bytes around the holes is JSON of the same structure, because a hole is
//! filled only by characters that may be inside a string, or by digits; so reading it in full would only add its text
//! to the same block.

use crate::json::{Kind, Val};
use std::ops::Range;

/// The allowed contents of a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    /// Digits without a meaning.
    Number,
    /// The text once more.
    Same,
    /// A string without a meaning.
    String,
    /// The new text.
    Text,
}

/// A place in the template; for strings, between the quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hole {
    at: Range<usize>,
    filling: Filling,
}

/// The block that the text is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) block: usize,
    pub(super) is_thought: bool,
}

/// The members of a message as a template sees them.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// The places of the new text between its quotes, repetitions included.
    texts: Vec<Range<usize>>,
    /// Members without a meaning.
    idle: Vec<Range<usize>>,
}

/// The last message that only added text, if the last one was such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Template {
    message: String,
    holes: Vec<Hole>,
    /// Members without a meaning, and whether they were seen to change.
    idle: Vec<(Range<usize>, bool)>,
    target: Option<Target>,
    /// Templates made since one was of use; if every message has another shape, making them is wasted.
    wasted: u8,
    skipped: u8,
}

/// The number of unused templates in a row after which templates are made less often.
const PATIENCE: u8 = 3;
/// How many messages go by then without a template.
const PAUSE: u8 = 16;

/// The text of a message that fits: its JSON form, and whether it has escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found<'d> {
    pub(super) target: Target,
    pub(super) text: &'d str,
    pub(super) is_escaped: bool,
}

impl Shape {
    /// Notes the string `value` as the new text. `false` when it is another text than one noted before.
    pub(super) fn text(&mut self, value: Val<'_>, message: &str) -> bool {
        let span = value.span();
        let inner = span.start + 1..span.end.saturating_sub(1);
        let is_same = self
            .texts
            .first()
            .is_none_or(|first| message.get(first.clone()) == message.get(inner.clone()));
        self.texts.push(inner);
        is_same
    }

    /// Notes a member without a meaning.
    pub(super) fn idle(&mut self, value: Val<'_>) {
        let span = value.span();
        match value.kind() {
            Kind::Number => self.idle.push(span),
            Kind::String => self.idle.push(span.start + 1..span.end.saturating_sub(1)),
            Kind::Array | Kind::Bool | Kind::Null | Kind::Object => {}
        }
    }
}

impl Template {
    /// Whether it is worth while to make a template of the next message.
    pub(super) fn is_wanted(&mut self) -> bool {
        self.target = None;
        if self.wasted <= PATIENCE {
            return true;
        }
        self.skipped = self.skipped.wrapping_add(1);
        self.skipped.is_multiple_of(PAUSE)
    }

    /// Makes a template of a message.
    pub(super) fn learn(&mut self, message: &str, shape: &Shape, target: Target) {
        self.wasted = self.wasted.saturating_add(1);
        let is_known = self.idle.len() == shape.idle.len();
        if !is_known {
            self.idle.clear();
        }
        for (at, span) in shape.idle.iter().enumerate() {
            match self.idle.get_mut(at) {
                Some((old, changes)) => {
                    *changes |= self.message.get(old.clone()) != message.get(span.clone());
                    *old = span.clone();
                }
                None => self.idle.push((span.clone(), false)),
            }
        }
        message.clone_into(&mut self.message);
        self.holes.clear();
        for (nth, at) in shape.texts.iter().enumerate() {
            let filling = if nth == 0 { Filling::Text } else { Filling::Same };
            self.holes.push(Hole { at: at.clone(), filling });
        }
        for (at, _) in self.idle.iter().filter(|(_, changes)| *changes) {
            let is_string = at.start.checked_sub(1).and_then(|quote| message.as_bytes().get(quote))
                == Some(&b'"');
            let filling = if is_string { Filling::String } else { Filling::Number };
            self.holes.push(Hole { at: at.clone(), filling });
        }
        self.holes.sort_by_key(|hole| hole.at.start);
        // The text must come before its repetitions.
        if let Some(first) =
            self.holes.iter().position(|hole| matches!(hole.filling, Filling::Same | Filling::Text))
        {
            for (at, hole) in self.holes.iter_mut().enumerate() {
                if matches!(hole.filling, Filling::Same | Filling::Text) {
                    hole.filling = if at == first { Filling::Text } else { Filling::Same };
                }
            }
        }
        self.target = Some(target);
    }

    /// The text of a message that fits.
    #[inline]
    pub(super) fn fit<'d>(&mut self, message: &'d str) -> Option<Found<'d>> {
        let target = self.target?;
        let mut template = 0;
        let mut at = 0;
        let mut found = None;
        for hole in &self.holes {
            let plain = self.message.as_bytes().get(template..hole.at.start)?;
            let rest = message.as_bytes().get(at..)?;
            if !rest.starts_with(plain) {
                return None;
            }
            at += plain.len();
            let rest = rest.get(plain.len()..)?;
            let (length, is_escaped) = match hole.filling {
                Filling::Number => (number(rest)?, false),
                Filling::Same => {
                    let (text, _): (&str, bool) = found?;
                    if !rest.starts_with(text.as_bytes()) {
                        return None;
                    }
                    (text.len(), false)
                }
                Filling::String | Filling::Text => string(rest)?,
            };
            if hole.filling == Filling::Text {
                found = Some((message.get(at..at + length)?, is_escaped));
            }
            at += length;
            template = hole.at.end;
        }
        if self.message.as_bytes().get(template..)? != message.as_bytes().get(at..)? {
            return None;
        }
        let (text, is_escaped) = found.filter(|(text, _)| !text.is_empty())?;
        self.wasted = 0;
        Some(Found { target, text, is_escaped })
    }
}

/// How long the inside of a string is that begins here, and whether it has escapes.
#[inline]
fn string(bytes: &[u8]) -> Option<(usize, bool)> {
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\\') || *byte < 0x20;
    let mut at = bytes.iter().position(is_end)?;
    if bytes.get(at) == Some(&b'"') {
        return Some((at, false));
    }
    loop {
        match bytes.get(at)? {
            b'"' => return Some((at, true)),
            b'\\' => at += escape(bytes.get(at..)?)?,
            _ => return None,
        }
        at += bytes.get(at..)?.iter().position(is_end)?;
    }
}

/// How long the escape is that begins here.
fn escape(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => bytes.get(2..6)?.iter().all(u8::is_ascii_hexdigit).then_some(6),
        _ => None,
    }
}

/// The length of the whole number that begins here, if JSON allows it.
fn number(bytes: &[u8]) -> Option<usize> {
    let length = bytes.iter().position(|byte| !byte.is_ascii_digit())?;
    let is_fine = length == 1 || (length > 1 && bytes.first() != Some(&b'0'));
    is_fine.then_some(length)
}
