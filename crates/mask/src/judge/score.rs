//! Scores words as passwords: points for their form, and for their place in a sentence.

use super::{Classes, is_counted, is_sample};
use crate::name::{is_constant, is_dotted, is_of_words, is_term};
use crate::set::{ALNUM, Set};
use crate::words::{TERMS, is_named};

/// Points of a form that few other words share, and of a form that excludes a password.
const SURE: i32 = 3;
const NEVER: i32 = -20;
/// The least points of a password.
const NEEDED: i32 = 4;

type Table<const ROWS: usize> = [(i32, fn(&Seen<'_>) -> bool); ROWS];

/// Points of a form, for and against a password.
const FORMS: Table<10> = [
    (NEVER, |seen| seen.value.iter().all(u8::is_ascii_lowercase)),
    (NEVER, |seen| !(6..=40).contains(&seen.value.len())),
    (NEVER, |seen| !seen.value.iter().all(|byte| ALLOWED.has(*byte))),
    (NEVER, |seen| seen.value.iter().filter(|byte| byte.is_ascii_alphabetic()).count() < 3),
    (NEVER, |seen| seen.value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-')),
    (NEVER, |seen| is_sample(seen.value) || is_counted(seen.value)),
    (NEVER, |seen| is_of_term(seen.value) || is_named(seen.value, 0)),
    (NEVER, |seen| is_mail(seen.value) || is_measure(seen.value)),
    (SURE, |seen| is_drawn(seen.value)),
    (1, |seen| is_joined(seen.value) || (seen.is_first && is_varied(seen.value))),
];

/// Points of a place. They count beside a form only.
const PLACES: Table<5> = [
    (4, |seen| seen.is_pair || (is_sign(seen.last) && !(seen.is_weak && seen.is_first))),
    (3, |seen| !seen.is_weak && (seen.is_first || seen.is_quoted || is_of(seen.last, &LINKS))),
    (2, |seen| is_of(seen.last, &LEADS)),
    (2, |seen| seen.is_listed),
    (-1, |seen| seen.is_weak),
];

/// Words that a value follows, whatever it looks like; a number says how it is written down: `secret 0 ...`.
const LINKS: [&str; 37] = [
    "is", "are", "was", "were", "be", "been", "it's", "as", "use", "uses", "using", "used", "try",
    "tried", "type", "typed", "enter", "entered", "has", "had", "have", "believe", "think",
    "remains", "remained", "stays", "stayed", "became", "says", "said", "still", "now", "again",
    "default", "like", "0", "7",
];

/// Words that a value may follow, or any other thing.
const LEADS: [&str; 6] = ["to", "on", "from", "with", "and", "by"];

/// A word of a sentence and its place.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen<'t> {
    pub(crate) value: &'t [u8],
    /// Quotes or brackets enclose it.
    pub(crate) is_quoted: bool,
    /// It follows the name of a user, as in `root/...`.
    pub(crate) is_pair: bool,
    /// The word before it.
    pub(crate) last: &'t [u8],
    /// Whether it is the first word behind the cue.
    pub(crate) is_first: bool,
    /// It is the second of a list: `Passwords: laptop ...`.
    pub(crate) is_listed: bool,
    /// The cue only speaks of logging in.
    pub(crate) is_weak: bool,
}

impl<'t> Seen<'t> {
    /// A word without a place.
    pub(crate) fn of(value: &'t [u8]) -> Self {
        Seen { value, ..Seen::default() }
    }

    /// The points of its form, or a number below zero once a row excludes it.
    pub(crate) fn form(&self) -> i32 {
        let mut rows = FORMS.iter().filter(|(_, holds)| holds(self)).map(|(points, _)| *points);
        let summed = rows.try_fold(0, |sum, points| (points > NEVER).then_some(sum + points));
        summed.unwrap_or(NEVER)
    }

    /// Whether it is a password at its place.
    pub(crate) fn is_password(&self) -> bool {
        let form = self.form();
        let place = PLACES.iter().filter(|(_, holds)| holds(self)).map(|(points, _)| points);
        form > 0 && form + place.sum::<i32>() >= NEEDED
    }
}

/// Whether a word looks like a password regardless of its place.
pub(crate) fn is_surely_password(value: &[u8]) -> bool {
    Seen::of(value).form() >= SURE
}

const ALLOWED: Set = ALNUM.or(Set::of("!@#$%^&*+?~-_."));

/// Whether a word is one of these, whatever its case.
fn is_of(word: &[u8], words: &[&str]) -> bool {
    let word = word.strip_suffix(b",").unwrap_or(word);
    words.iter().any(|one| word.eq_ignore_ascii_case(one.as_bytes()))
}

/// Whether a word is a sign that joins a value with its name, or ends in one.
fn is_sign(word: &[u8]) -> bool {
    matches!(word, b"/" | b"-" | b"->" | b"=>" | b"=" | b"|" | [0xE2, ..] | [.., b':' | b'?'])
}

/// Whether letters, digits and signs mix as in no name: a sign inside, alternating large and small letters, or
/// letters behind digits behind letters.
fn is_drawn(value: &[u8]) -> bool {
    let Classes { lower, upper, digits, changes, .. } = Classes::of(value);
    let is_mixed = lower > 1 && upper > 1;
    let has_sign = value.iter().skip(1).any(|byte| b"!@#$%^&*+?~".contains(byte));
    let is_irregular =
        is_mixed && value.len() >= 10 && changes * 2 >= value.len() && !is_of_words(value, 3);
    (has_sign && (digits > 1 || (is_mixed && digits + changes > 5)))
        || is_irregular
        || value.split(|byte| !byte.is_ascii_alphanumeric()).any(is_striking)
}

/// Letters and digits as in no word: letters behind digits behind letters, or two words and a number.
fn is_striking(word: &[u8]) -> bool {
    let (mut switches, mut humps) = (0, 0);
    for pair in word.windows(2) {
        let [one, two] = pair else { break };
        switches += usize::from(one.is_ascii_digit() != two.is_ascii_digit());
        humps += usize::from(one.is_ascii_lowercase() && two.is_ascii_uppercase());
    }
    let Classes { digits, lower, upper, .. } = Classes::of(word);
    let (letters, behind) = (lower + upper, word.iter().rev());
    let ending = behind.take_while(|byte| byte.is_ascii_alphabetic()).count();
    let is_woven = switches > 2 || (switches == 2 && (ending > 3 || (lower > 0 && upper > 0)));
    let is_numbered = humps > 0 && letters > 5 && ending == 0 && digits > 1 && switches == 1;
    word.len() >= 8 && letters > 2 && ((is_woven && digits > 1) || is_numbered)
}

/// Letters and more than one digit or sign, and no name of a host, a constant or a term.
fn is_varied(value: &[u8]) -> bool {
    let Classes { digits, strange, lower, upper, .. } = Classes::of(value);
    let is_varied = digits > 1 || strange > 0 || (lower > 0 && upper > 0);
    digits > 0 && is_varied && !is_dotted(value) && !is_constant(value) && !is_term(value)
}

/// Two words or more with dashes or dots between them, and a number of two digits or more at the end.
fn is_joined(value: &[u8]) -> bool {
    let number = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let words = value.get(..value.len() - number).unwrap_or_default();
    let words = words.strip_suffix(b"-").or(words.strip_suffix(b".")).unwrap_or(words);
    let parts = words.split(|byte| b"-._".contains(byte));
    let is_word = |part: &[u8]| part.len() >= 3 && part.iter().all(u8::is_ascii_alphabetic);
    number > 1 && words.iter().any(|byte| b"-._".contains(byte)) && parts.into_iter().all(is_word)
}

/// Whether it begins or ends in a term: `sha256sum`.
fn is_of_term(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let holds =
        |term: &&str| lower.starts_with(term.as_bytes()) || lower.ends_with(term.as_bytes());
    TERMS.iter().any(holds)
}

/// `user@host.org`.
fn is_mail(value: &[u8]) -> bool {
    value.iter().skip_while(|byte| **byte != b'@').any(|byte| *byte == b'.')
}

/// A number with its unit.
fn is_measure(value: &[u8]) -> bool {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && value.iter().skip(digits).all(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_look_like_passwords_are_told_from_others() {
        for value in [
            "Tiger28!",
            "stone66winter",
            "M0nk3y$88",
            "TigerCoffee2003",
            "kBxkdi46BtNb3v",
            "PddjanUGGGGw%N",
            "tFpkQFyuuDNC",
        ] {
            assert!(is_surely_password(value.as_bytes()), "{value}");
        }
        for value in ["falcon-tiger-44", "monkey.coffee71"] {
            assert_eq!(Seen::of(value.as_bytes()).form(), 1, "{value}");
        }
        for value in [
            "sha256sum",
            "ann@host12.org",
            "2048bit",
            "week-34",
            "2024-12-31",
            "db-server-01",
            "deadbeef00",
            "config2.yaml",
            "KeePass2",
            "version2",
            "b0a1c2d3-e4f5",
            "x86_64",
            "Room-237",
            "GitHubActions",
            "JavaScript2",
            "question?",
            "Hello!",
            "R&D-teams",
        ] {
            assert!(Seen::of(value.as_bytes()).form() <= 0, "{value}");
        }
    }
}
