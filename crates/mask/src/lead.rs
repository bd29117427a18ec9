//! Secrets with random letters (the *lead*) before their fixed ones: the `+ASt` of `{B76}+ASt{B6}==`, the end of
//! `{h32}-us{d1-2}`.
//!
//! Such a secret has no recognisable beginning, and any word could be its beginning: to hold each word back until it
//! ends would make streamed text stall at every second delta. So a lead is only held back from the letter on at which
//! it cannot be a word or name any more, and is covered from there on, in a whole text as in a stream. That position
//! depends only on the letters before it, so that it is the same for each cut. For a lead of both cases the median is
//! 7 letters; it is at most 12 in 97 of 100 leads, and 16 in all the leads found, which is more than 99 of 100. For
//! hexadecimal digits it is 4 or some more. The visible rest of 40 to 88 random letters is too little to guess the
//! others, and looks like a word. Leads are long and most have one length, so that a word that goes on too far is
//! released, and the longest form bounds the held text.
//!
//! In code, these forms hold back less than half a percent of the letters. If each word were held to its end, every
//! third delta would be held.

use super::escape;
use super::pattern::{Lead, Pattern};
use super::set::{ALNUM, DIGIT, Set};
use super::text::{More, Text};
use super::{Masker, Rules};

/// The characters that begin a lead.
const FIRST: Set = ALNUM.or(Set::of("+/"));
/// No lead begins behind these characters: there a word, path, host name or hyphenated name goes on.
const WITHIN: Set = ALNUM.or(Set::of("-./+"));
/// An escape such as `\n` or `%3D` may end some letters behind these.
const ESCAPES: Set = Set::of("\\%[;");
/// The longest such escape.
const ESCAPE: usize = 6;
/// Nearly all words and names are shorter than the shortest lead.
const SHORTEST: usize = 15;
/// The most letters of a lead that may look like a word.
const WORD: usize = 16;
/// Fewer letters are too few to decide.
const LEAST: usize = 5;
/// The same for hexadecimal digits.
const DIGITS: usize = 4;
/// The beginnings of files in base64: keys and certificates, JSON, PEM, pictures, archives, fonts, XML.
const FILES: [&[u8]; 13] = [
    b"AAAA", b"MII", b"eyJ", b"LS0t", b"iVBO", b"R0lG", b"/9j/", b"H4sI", b"UEsD", b"d09G",
    b"AAEA", b"PD94", b"T1RU",
];
/// Lines of base64 in a file are at least as long as this.
const LINE: usize = 56;
/// The most blanks before a line of a block.
const INDENT: usize = 16;
/// A row of at least this many digits is not a number that a person wrote.
const NUMBER: usize = 8;
const HEX: Set = DIGIT.or(Set::range(b'a', b'f'));

/// The forms that begin with a lead.
#[derive(Clone, Debug, Default)]
pub(super) struct Leads {
    members: Vec<Member>,
    /// Whether there are leads of each shape.
    shapes: [bool; 3],
}

#[derive(Clone, Debug)]
struct Member {
    rule: usize,
    shape: Shape,
    lead: Lead,
    pattern: Pattern,
}

/// The characters of a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Letters of both cases, and digits.
    Mixed,
    /// Hexadecimal digits with small letters.
    Hex,
    /// Decimal digits, which are no secret by themselves.
    Number,
}

const SHAPES: [Shape; 3] = [Shape::Mixed, Shape::Hex, Shape::Number];

/// The verdict on the first letters of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    /// It is no lead.
    Word,
    /// It may be one, but all of it so far may be a word.
    Nothing,
    /// From this letter on it is no word.
    Drawn(usize),
}

/// A form that may begin at a place.
pub(super) struct Maybe<'l> {
    pub(super) rule: usize,
    pub(super) pattern: &'l Pattern,
    /// The position from which it is held back and covered, if it is known yet.
    pub(super) from: Option<usize>,
}

impl Leads {
    /// Adds the pattern of a rule, which begins with a run.
    pub(super) fn add(&mut self, rule: usize, pattern: &Pattern) {
        let Some(lead) = pattern.lead() else { return };
        let shape = match lead.set {
            DIGIT => Shape::Number,
            HEX => Shape::Hex,
            _ => Shape::Mixed,
        };
        for (known, has) in SHAPES.iter().zip(&mut self.shapes) {
            *has |= *known == shape;
        }
        self.members.push(Member { rule, shape, lead, pattern: pattern.clone() });
    }

    /// Returns the first position from `from` on at which a lead may begin, or else the end of the text.
    /// Skips a run that is shorter than the shortest lead.
    pub(super) fn next(&self, text: Text<'_>, from: usize) -> usize {
        let bytes = text.bytes();
        if self.members.is_empty() {
            return bytes.len();
        }
        let mut at = from;
        while let Some(part) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let is_last = part.len() < SHORTEST;
            let part = part.get(..SHORTEST).unwrap_or(part);
            if let Some(gap) = part.iter().rposition(|byte| !is_run(*byte)) {
                at += gap + 1;
                continue;
            }
            if is_last && text.is_whole() {
                break;
            }
            if begins_at(text, at) && self.may_begin(text, at) {
                return at;
            }
            at += 1;
        }
        bytes.len()
    }

    /// Whether the first letters from a place on leave it open.
    fn may_begin(&self, text: Text<'_>, at: usize) -> bool {
        let says = |(shape, has): (&Shape, &bool)| *has && shape.said(text, at) != Said::Word;
        SHAPES.iter().zip(&self.shapes).any(says)
    }

    /// The forms that may begin at a place.
    pub(super) fn at<'l>(&'l self, text: Text<'_>, at: usize) -> impl Iterator<Item = Maybe<'l>> {
        let mut said = [Said::Word; 3];
        if !self.members.is_empty() && !is_short(text, at) && begins_at(text, at) {
            said = SHAPES.map(|shape| shape.said(text, at));
        }
        let is_any = said.iter().any(|said| *said != Said::Word);
        let members = if is_any { self.members.as_slice() } else { &[] };
        members.iter().filter_map(move |member| {
            let [mixed, hex, number] = said;
            let said = match member.shape {
                Shape::Mixed => mixed,
                Shape::Hex => hex,
                Shape::Number => number,
            };
            let from = match said {
                Said::Word => return None,
                Said::Nothing => None,
                Said::Drawn(letters) => Some(at + letters),
            };
            // Most forms have leads of one length, and other letters behind it.
            let Lead { least, is_exact, then, .. } = member.lead;
            let other = text.part(at + least, at + least + 1).first();
            let differs = |byte: &u8| Some(*byte) != then && !b"%\\&".contains(byte);
            if is_exact && then.is_some() && other.is_some_and(differs) {
                return None;
            }
            Some(Maybe { rule: member.rule, pattern: &member.pattern, from })
        })
    }

    /// Before which place no secret begins that a lead at `at` may turn out to be.
    pub(super) fn earliest(&self, text: Text<'_>, at: usize) -> usize {
        let mut earliest = text.len();
        for Maybe { pattern, from, .. } in self.at(text, at) {
            let Some(from) = from.filter(|from| *from < earliest) else { continue };
            match pattern.rest(text, at) {
                Ok(None) => {}
                Ok(Some(fit)) => earliest = earliest.min(from.max(fit.from)),
                // The text before a secret is not part of it.
                Err(More) if pattern.is_before() => {
                    let set = pattern.lead().map_or(Set::NONE, |lead| lead.set);
                    let rest = text.part(at, text.len());
                    let length = rest.iter().take_while(|byte| set.has(**byte)).count();
                    earliest = earliest.min(at + length);
                }
                Err(More) => earliest = earliest.min(from),
            }
        }
        earliest
    }
}

/// Whether words, names and leads are made of it.
fn is_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Tells by the text before a position whether a lead may begin there.
fn begins_at(text: Text<'_>, at: usize) -> bool {
    text.part(at, at + 1).iter().any(|byte| FIRST.has(*byte))
        && match text.before(at, 1) {
            Some(b'\n' | b' ') if is_in_block(text, at) => false,
            Some(before) if WITHIN.has(before) => {
                let before = text.part(at.saturating_sub(ESCAPE), at);
                before.iter().any(|byte| ESCAPES.has(*byte)) && escape::ends_at(text, at)
            }
            _ => true,
        }
}

/// Whether the line before this one is one of base64, without an end: a file goes on here.
fn is_in_block(text: Text<'_>, at: usize) -> bool {
    const BASE64: Set = ALNUM.or(Set::of("+/"));
    let indent = (1..=INDENT).find(|back| text.before(at, *back) != Some(b' '));
    let Some(back) = indent.filter(|back| text.before(at, *back) == Some(b'\n')) else {
        return false;
    };
    let end = at - back;
    let line = text.part(end.saturating_sub(LINE), end);
    line.len() == LINE && line.iter().all(|byte| BASE64.has(*byte))
}

/// Whether the run there ends before a lead could.
fn is_short(text: Text<'_>, at: usize) -> bool {
    let part = text.part(at, at + SHORTEST);
    (part.len() < SHORTEST && text.is_whole()) || !part.iter().rev().all(|byte| is_run(*byte))
}

/// Finds the places where something may begin, a lead or one of the filter's beginnings, and looks at no part of a
/// text twice for it.
#[derive(Default)]
pub(super) struct Places {
    anchor: Option<usize>,
    lead: Option<usize>,
}

impl Places {
    /// Returns the first position from `from` on, or else the end of the text.
    pub(super) fn next(&mut self, masker: &Masker, text: Text<'_>, from: usize) -> usize {
        let Rules { filter, leads, .. } = &*masker.rules;
        let is_known = |place: &usize| *place >= from;
        let anchor = self.anchor.filter(is_known);
        let anchor = anchor.unwrap_or_else(|| filter.next(text.bytes(), from, text.is_whole()));
        let lead = self.lead.filter(is_known).unwrap_or_else(|| leads.next(text, from));
        (self.anchor, self.lead) = (Some(anchor), Some(lead));
        anchor.min(lead)
    }

    /// Whether a lead may begin at a place that was the last one.
    pub(super) fn is_lead(&self, at: usize) -> bool {
        self.lead == Some(at)
    }
}

impl Shape {
    fn said(self, text: Text<'_>, at: usize) -> Said {
        let part = text.part(at, at + WORD);
        let said = match self {
            Shape::Mixed => mixed(part),
            // A changelog links commits by such digits.
            Shape::Hex if text.before(at, 1) == Some(b'[') => Said::Word,
            Shape::Hex => hex(part),
            Shape::Number => number(part),
        };
        // No more letters come, or there are enough of them.
        if said == Said::Nothing && (text.is_whole() || part.len() >= WORD) {
            return Said::Word;
        }
        said
    }
}

/// Words and names consist of parts whose case changes only after the first letter, and few of these parts are as
/// short as those of random letters, which soon mix both cases. With digits, parts may be a little longer: names have
/// few digits.
fn mixed(part: &[u8]) -> Said {
    const MEAN: usize = 3;
    const PARTS: usize = 3;
    if FILES.iter().any(|file| part.starts_with(file)) {
        return Said::Word;
    }
    let (mut parts, mut length, mut last) = (0, 0, 0);
    let (mut upper, mut lower, mut digit) = (false, false, false);
    for (at, byte) in part.iter().enumerate() {
        let class = match byte {
            b'a'..=b'z' => 1,
            b'A'..=b'Z' => 2,
            b'0'..=b'9' => 3,
            b'+' | b'/' | b'-' | b'_' => 4,
            _ => return Said::Word,
        };
        let goes_on = class == last || (class == 1 && last == 2 && length == 1);
        if !goes_on {
            parts += usize::from(last != 0 && last != 4);
            length = 0;
        }
        length += 1;
        last = class;
        upper |= class == 2;
        lower |= class == 1;
        digit |= class == 3;
        let letters = at + 1;
        let mean = MEAN + usize::from(digit && parts > PARTS);
        let are_short = parts >= PARTS && (parts + 1) * mean > letters;
        if upper && lower && letters >= LEAST && are_short {
            return Said::Drawn(letters);
        }
    }
    Said::Nothing
}

/// No word of hexadecimal letters has digits.
fn hex(part: &[u8]) -> Said {
    let (mut letter, mut digit) = (false, false);
    for (at, byte) in part.iter().enumerate() {
        match byte {
            b'0'..=b'9' => digit = true,
            b'a'..=b'f' => letter = true,
            _ => return Said::Word,
        }
        if at + 1 >= DIGITS && letter && digit {
            return Said::Drawn(at + 1);
        }
    }
    Said::Nothing
}

fn number(part: &[u8]) -> Said {
    let digits = part.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match digits {
        NUMBER.. => Said::Drawn(NUMBER),
        _ if digits == part.len() => Said::Nothing,
        _ => Said::Word,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::samples::Random;
    use super::*;

    fn said(shape: Shape, text: &str) -> Said {
        shape.said(Text::begun(text.as_bytes()), 0)
    }

    #[test]
    fn words_and_names_are_no_leads() {
        for word in [
            "configuration ",
            "Configuration ",
            "readValue ",
            "HashMap<",
            "SECRET_KEY_OF_NOBODY",
            "utf8",
            "usr/share/doc",
            "assertThatIllegalArgument",
            "configDataEnvironment",
            "AAAAB3NzaC1yc2EAAAADAQ",
            "MIIEvgIBADANBgkqhkiG9w0",
            "sha256",
            "0123456789abcdef",
            "deadbeefdeadbeef",
        ] {
            assert!(!matches!(said(Shape::Mixed, word), Said::Drawn(_)), "{word}");
        }
        for word in ["added", "deadbeef", "12345678", "facade "] {
            assert!(!matches!(said(Shape::Hex, word), Said::Drawn(_)), "{word}");
        }
        assert_eq!(said(Shape::Hex, "3f9a12"), Said::Drawn(4));
        assert_eq!(said(Shape::Mixed, "aB3xQ"), Said::Drawn(5));
        assert_eq!((said(Shape::Number, "1234567"), said(Shape::Number, "1234 ")), {
            (Said::Nothing, Said::Word)
        });
    }

    #[test]
    fn no_lead_begins_a_line_of_a_file_in_base64() {
        let line = "aB3dE5gH".repeat(8);
        for (before, begins) in [
            (format!("{line}\n"), false),
            (format!("{line}\n        "), false),
            (format!("{line}=\n"), true),
            (format!("{}\n", line.get(..40).unwrap()), true),
            ("key: ".to_owned(), true),
        ] {
            let text = format!("{before}{line}");
            let at = before.len();
            assert_eq!(begins_at(Text::begun(text.as_bytes()), at), begins, "{text}");
        }
    }

    #[test]
    fn little_is_shown_of_a_drawn_lead() {
        const DRAWN: usize = 20_000;
        let letters: Vec<char> = Set::named('B').unwrap().bytes().map(char::from).collect();
        let mut random = Random(7);
        let mut shown: Vec<usize> = (0..DRAWN)
            .map(|_| {
                let lead: String =
                    (0..WORD).map(|_| letters[random.below(letters.len())]).collect();
                match said(Shape::Mixed, &lead) {
                    Said::Drawn(letters) => letters,
                    _ => usize::MAX,
                }
            })
            .collect();
        shown.sort_unstable();
        let at = |share: usize| shown[DRAWN * share / 1000];
        assert!(
            at(500) <= 7 && at(970) <= 12 && at(990) <= WORD,
            "{} {} {}",
            at(500),
            at(970),
            at(990)
        );
    }

    #[test]
    fn what_is_said_of_a_beginning_stays() {
        let mut random = Random(9);
        for _ in 0..2_000 {
            let text: String =
                (0..20).map(|_| ["a", "B", "7", "word", "/", "e", "F"][random.below(7)]).collect();
            for shape in SHAPES {
                let whole = said(shape, &text);
                for end in 0..text.len() {
                    let begun = said(shape, text.get(..end).unwrap());
                    let is_fine = begun == Said::Nothing || begun == whole;
                    assert!(is_fine, "{text} at {end}: {begun:?} and {whole:?}");
                }
            }
        }
    }
}
