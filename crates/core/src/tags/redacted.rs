//! `<REDACTED>` spans: text that a model marked as hidden from readers.
//!
//! A span begins at `<REDACTED>` and ends at the next `</REDACTED>`, both in exact upper case; one without an end
//! goes on to the end of its text. Readers get `[redacted]` in its place. [`Redactor`] does it while a text comes,
//! and [`redacted`] to a whole one.

use crate::json::{Doc, Kind, Val, write_escaped};
use std::borrow::Cow;
use std::ops::Range;

const OPEN: &str = "<REDACTED>";
const CLOSE: &str = "</REDACTED>";
/// The text that readers see in place of a span.
const SHOWN: &str = "[redacted]";

/// Hides spans in a text that comes in pieces. The output does not depend on the cuts between the pieces, and no
/// output is taken back: at most the nine letters of an unfinished opening tag are held back.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// Whether the text is inside of a span.
    is_inside: bool,
    /// How many letters of the next tag the text ends with.
    matched: usize,
    /// The number of these letters that [`Redactor::flush`] wrote already.
    let_go: usize,
}

impl Redactor {
    /// Takes the next piece, and writes all certain text.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        let mut rest = piece;
        while !rest.is_empty() {
            let tag = if self.is_inside { CLOSE } else { OPEN };
            if self.matched == 0 {
                // Everything before the next `<` is plain text or hidden.
                let at = memchr::memchr(b'<', rest.as_bytes()).unwrap_or(rest.len());
                let (before, from) = rest.split_at(at);
                if !self.is_inside {
                    out.push_str(before);
                }
                if let Some(after) = from.strip_prefix('<') {
                    (self.matched, rest) = (1, after);
                    continue;
                }
                return;
            }
            let expected = tag.get(self.matched..).unwrap_or_default();
            let same = expected.bytes().zip(rest.bytes()).take_while(|(one, it)| one == it).count();
            self.matched += same;
            // Tags are ASCII, so that this is a boundary of letters.
            rest = rest.get(same..).unwrap_or_default();
            if same == expected.len() {
                if !self.is_inside {
                    out.push_str(SHOWN);
                }
                *self = Redactor { is_inside: !self.is_inside, ..Redactor::default() };
            } else if !rest.is_empty() {
                // A `<` occurs only at the beginning of a tag, so that no other tag can have begun in the held text.
                self.let_go(out);
                (self.matched, self.let_go) = (0, 0);
            }
        }
    }

    /// Ends the text: writes the held letters. The next piece begins another text.
    pub fn end(&mut self, out: &mut String) {
        self.let_go(out);
        *self = Redactor::default();
    }

    /// Writes the held letters, for callers that do not want to wait longer. If the tag goes on all the same, its
    /// span is hidden, but the beginning of the tag is out.
    pub fn flush(&mut self, out: &mut String) {
        self.let_go(out);
    }

    /// How many bytes are held back.
    #[must_use]
    pub fn held(&self) -> usize {
        if self.is_inside { 0 } else { self.matched.saturating_sub(self.let_go) }
    }

    fn let_go(&mut self, out: &mut String) {
        if !self.is_inside {
            out.push_str(OPEN.get(self.let_go..self.matched).unwrap_or_default());
            self.let_go = self.matched;
        }
    }
}

/// The text with its spans hidden.
///
/// ```
/// use thinkthrough_core::tags::redacted;
/// assert_eq!(redacted("a <REDACTED>b</REDACTED> c"), "a [redacted] c");
/// assert_eq!(redacted("a <REDACTED>b"), "a [redacted]");
/// assert_eq!(redacted("a <redacted>b"), "a <redacted>b");
/// ```
#[must_use]
pub fn redacted(text: &str) -> Cow<'_, str> {
    if memchr::memmem::find(text.as_bytes(), OPEN.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let (mut redactor, mut out) = (Redactor::default(), String::with_capacity(text.len()));
    redactor.push(text, &mut out);
    redactor.end(&mut out);
    Cow::Owned(out)
}

/// The JSON with the spans in its strings hidden, each string by itself, so that it stays JSON. A body that is not
/// JSON is treated as a text.
#[must_use]
pub fn redacted_json(body: &str) -> Cow<'_, str> {
    // The letters of a tag may be escaped.
    let may_hold = |part: &str| memchr::memmem::find(body.as_bytes(), part.as_bytes()).is_some();
    if !may_hold("REDACTED>") && !may_hold("\\u") {
        return Cow::Borrowed(body);
    }
    let Ok(doc) = Doc::parse_str(body) else { return redacted(body) };
    let mut edits = Vec::new();
    walk(doc.root(), &mut edits);
    if edits.is_empty() {
        return Cow::Borrowed(body);
    }
    let (mut out, mut done) = (String::with_capacity(body.len()), 0);
    for (span, text) in edits {
        out.push_str(body.get(done..span.start).unwrap_or_default());
        write_escaped(&text, &mut out);
        done = span.end;
    }
    out.push_str(body.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

fn walk(value: Val<'_>, edits: &mut Vec<(Range<usize>, String)>) {
    match value.kind() {
        Kind::String => {
            let text = value.as_str().unwrap_or_default();
            if let Cow::Owned(hidden) = redacted(&text) {
                edits.push((value.span(), hidden));
            }
        }
        Kind::Array => value.items().for_each(|item| walk(item, edits)),
        Kind::Object => value.members().for_each(|(_, member)| walk(member, edits)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [(&str, &str); 14] = [
        ("", ""),
        ("no span < REDACTED>", "no span < REDACTED>"),
        ("a <REDACTED>b</REDACTED> c", "a [redacted] c"),
        ("<REDACTED></REDACTED><REDACTED>x</REDACTED>", "[redacted][redacted]"),
        ("a <REDACTED>b", "a [redacted]"),
        ("a <REDACTED>b</REDACTED", "a [redacted]"),
        ("a <REDACTED>b <REDACTED>c</REDACTED> d</REDACTED>", "a [redacted] d</REDACTED>"),
        ("a <redacted>b</redacted>", "a <redacted>b</redacted>"),
        ("<<REDACTED>é</</REDACTED>é<", "<[redacted]é<"),
        ("<REDAC<REDACTED>x<</REDACTED>y", "<REDAC[redacted]y"),
        ("</REDACTED> alone", "</REDACTED> alone"),
        ("ends with <REDACTE", "ends with <REDACTE"),
        ("<RED\u{e9}ACTED>", "<RED\u{e9}ACTED>"),
        ("<REDACTED>\u{65e5}</REDACTED>\u{672c}", "[redacted]\u{672c}"),
    ];

    #[test]
    fn req_delimiter_redacted_every_cutting_gives_what_the_whole_gives() {
        for (text, expected) in TEXTS {
            assert_eq!(redacted(text), expected, "{text}");
            let places: Vec<usize> =
                (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
            for one in &places {
                for two in places.iter().filter(|two| *two >= one) {
                    let (mut redactor, mut out) = (Redactor::default(), String::new());
                    let (before, last) = text.split_at(*two);
                    let (first, middle) = before.split_at(*one);
                    for piece in [first, middle, last] {
                        redactor.push(piece, &mut out);
                        assert!(expected.starts_with(&out), "taken back: {out} of {text}");
                        assert!(redactor.held() < OPEN.len());
                    }
                    redactor.end(&mut out);
                    assert_eq!(out, expected, "{text} at {one} and {two}");
                }
            }
            // Letter by letter, and the same redactor again.
            let (mut redactor, mut out) = (Redactor::default(), String::new());
            for _ in 0..2 {
                out.clear();
                text.chars().for_each(|it| redactor.push(it.encode_utf8(&mut [0; 4]), &mut out));
                redactor.end(&mut out);
                assert_eq!(out, expected, "{text}");
            }
        }
    }

    #[test]
    fn who_does_not_wait_still_sees_nothing_of_the_span() {
        let (mut redactor, mut out) = (Redactor::default(), String::new());
        redactor.push("a <RED", &mut out);
        redactor.flush(&mut out);
        assert_eq!((out.as_str(), redactor.held()), ("a <RED", 0));
        redactor.push("ACTED>hidden</REDACTED> b <RE", &mut out);
        redactor.flush(&mut out);
        redactor.push("ST", &mut out);
        redactor.end(&mut out);
        assert_eq!(out, "a <RED[redacted] b <REST");
    }

    #[test]
    fn json_stays_json_and_only_its_strings_change() {
        let body = r#"{"a":["x <REDACTED>y",1],"b":"\u003cREDACTED>z</REDACTED> \"","c":"\u00e9"}"#;
        let hidden = r#"{"a":["x [redacted]",1],"b":"[redacted] \"","c":"\u00e9"}"#;
        assert_eq!(redacted_json(body), hidden);
        assert!(matches!(redacted_json(hidden), Cow::Borrowed(_)));
        assert_eq!(redacted_json("{\"a\":\"<REDACTED>b"), "{\"a\":\"[redacted]");
    }
}
