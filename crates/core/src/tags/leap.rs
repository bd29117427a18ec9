//! Leaps over text in which no marker begins.
//!
//! The first byte of most markers is everywhere in HTML and in code, so that a search that stops at each of them
//! creeps. A few bytes from the middle of a marker (`think>`) are rare in any text. They are searched for as a whole,
//! in windows that grow until a hit, so that bytes searched in vain stay a constant share of the text.

use super::table::{Marker, between, rest};
use memchr::memmem::Finder;
use std::sync::OnceLock;

/// The search by first bytes may stop that often before it is worth a leap.
const PATIENCE: u32 = 3;

/// A text shorter than this is not worth it. More than any [`Keys::reach`].
const LEAST: usize = 128;

const FIRST_WINDOW: usize = 1024;
const LAST_WINDOW: usize = 64 * 1024;

/// A key begins at most this far behind the beginning of its marker.
const MAX_LEAD: usize = 16;

const MAX_KEY: usize = 32;

// Thereby a leap never passes the end of a text, and always moves.
const _: () = assert!(MAX_LEAD + MAX_KEY <= LEAST && LEAST <= FIRST_WINDOW);

/// The keys of a table: each of its markers has one of them in it.
#[derive(Debug)]
pub(super) struct Keys {
    keys: Vec<Key>,
    /// A marker whose key is cut off by the end of the text begins at most this far before the end.
    reach: usize,
    /// Made at the first leap: most messages are too short for one.
    finders: OnceLock<Finders>,
}

/// Searchers for the keys, in their order, and for fences.
#[derive(Debug)]
struct Finders {
    keys: Vec<Finder<'static>>,
    fences: [Finder<'static>; 2],
}

/// Bytes that markers have in common.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    bytes: Box<[u8]>,
    /// The greatest offset of a key in its marker.
    lead: usize,
}

impl Keys {
    pub(super) fn new(markers: &[Marker]) -> Self {
        let (mut keys, mut reach) = (Vec::<Key>::new(), 0);
        for marker in markers {
            let (lead, bytes) = key(marker.text.as_bytes());
            reach = reach.max((lead + bytes.len()).saturating_sub(1));
            match keys.iter_mut().find(|key| *key.bytes == *bytes) {
                Some(key) => key.lead = key.lead.max(lead),
                None => keys.push(Key { bytes: bytes.into(), lead }),
            }
        }
        Self { keys, reach, finders: OnceLock::new() }
    }

    /// The first place in `buf`, at `at` or after it, at which a marker may begin.
    fn clear(&self, buf: &[u8], at: usize) -> usize {
        // A marker may begin with the line feed before.
        let from = at.saturating_sub(1);
        let mut clear = buf.len().saturating_sub(self.reach);
        for (key, finder) in self.keys.iter().zip(&self.finders().keys) {
            if let Some(hit) = finder.find(rest(buf, from)) {
                clear = clear.min((from + hit).saturating_sub(key.lead));
            }
        }
        clear.max(at)
    }

    fn finders(&self) -> &Finders {
        self.finders.get_or_init(|| Finders {
            keys: self.keys.iter().map(|key| Finder::new(&*key.bytes).into_owned()).collect(),
            fences: [Finder::new("```"), Finder::new("~~~")],
        })
    }
}

/// Whether they were used yet makes no difference.
impl PartialEq for Keys {
    fn eq(&self, other: &Self) -> bool {
        self.keys == other.keys
    }
}

impl Eq for Keys {}

/// The bytes to search for instead of the marker, and their offset in it: its first word with the punctuation behind
/// it, because the word alone may be a word of the language.
fn key(marker: &[u8]) -> (usize, &[u8]) {
    let word = marker.iter().take(MAX_LEAD).position(u8::is_ascii_alphanumeric);
    let lead = word.unwrap_or_default();
    let bytes = rest(marker, lead);
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ');
    let end = match word {
        Some(_) => bytes.iter().position(|byte| !is_word(byte)).map_or(bytes.len(), |end| end + 1),
        None => bytes.len(),
    };
    (lead, between(bytes, 0, end.min(MAX_KEY)))
}

/// When to leap in a buffer, and how far.
pub(super) struct Leaps {
    /// How often the search stopped since the last leap.
    stops: u32,
    /// How often it may.
    patience: u32,
    window: usize,
}

impl Leaps {
    pub(super) fn new() -> Self {
        Self { stops: 0, patience: PATIENCE, window: FIRST_WINDOW }
    }

    pub(super) fn stopped(&mut self) {
        self.stops = self.stops.saturating_add(1);
    }

    /// Whether a leap is due, with this number of bytes left.
    pub(super) fn is_due(&self, left: usize) -> bool {
        self.stops >= self.patience && left >= LEAST
    }

    /// The place to go to: no marker begins at `at` or after it and before that place.
    pub(super) fn target(&mut self, keys: &Keys, buf: &[u8], at: usize) -> usize {
        let end = buf.len().min(at.saturating_add(self.window));
        let to = keys.clear(between(buf, 0, end), at);
        if to + keys.reach >= end {
            self.patience = PATIENCE;
            self.window = self.window.saturating_mul(4).min(LAST_WINDOW);
            return to;
        }
        // A key is there. If keys are close together, leaps cost more than they save.
        let is_short = to - at < FIRST_WINDOW / 2;
        self.patience = if is_short { self.patience.saturating_mul(2) } else { PATIENCE };
        self.stops = 0;
        self.window = FIRST_WINDOW;
        to
    }
}

/// Runs that may be fences, in a part of a text.
pub(super) struct Fences<'a> {
    buf: &'a [u8],
    finders: &'a [Finder<'static>; 2],
    /// The next one of each mark.
    hits: [Option<usize>; 2],
}

impl<'a> Fences<'a> {
    /// The hits before the end of `buf`.
    pub(super) fn new(keys: &'a Keys, buf: &'a [u8]) -> Self {
        Self { buf, finders: &keys.finders().fences, hits: [None; 2] }
    }

    /// The next hit at or after `at`; the end of the text if there is no hit.
    pub(super) fn next(&mut self, at: usize) -> usize {
        let mut next = self.buf.len();
        for (finder, hit) in self.finders.iter().zip(&mut self.hits) {
            if hit.is_none_or(|hit| hit < at) {
                *hit = finder.find(rest(self.buf, at)).map(|hit| at + hit).or(Some(self.buf.len()));
            }
            next = hit.map_or(next, |hit| next.min(hit));
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_first_word_of_its_marker_with_what_stands_behind() {
        let cases: [(&str, usize, &str); 9] = [
            ("<think>", 1, "think>"),
            ("\n</think>\n<answer>\n", 3, "think>"),
            ("<|channel|>analysis to=", 2, "channel|"),
            ("[TOOL_CALLS]", 1, "TOOL_CALLS]"),
            ("Here is my response:", 0, "Here is my response:"),
            ("assistantfinal", 0, "assistantfinal"),
            ("\n##", 0, "\n##"),
            ("<", 0, "<"),
            ("!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!a>", 0, "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!"),
        ];
        for (marker, lead, text) in cases {
            assert_eq!(key(marker.as_bytes()), (lead, text.as_bytes()), "{marker:?}");
        }
    }
}
