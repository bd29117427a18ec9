//! Tells by the text before a position whether a secret may begin there.

use super::rule::{Left, Look};
use super::set::{ALNUM, Set};
use super::text::{More, Text};
use super::{Anchor, Masker, escape};

/// Whether the text before `at` lets a secret of this rule begin there.
pub(super) fn is_left_fine(masker: &Masker, rule: usize, text: Text<'_>, at: usize) -> bool {
    let left = match masker.look(rule) {
        Some(Look::Form { left, .. }) => left,
        // Such a name must not be the end of another name.
        Some(
            Look::Header { .. }
            | Look::Line { .. }
            | Look::Command { .. }
            | Look::Assigned { is_word: true, .. },
        ) => {
            return !escape::is_inside_word(text, at);
        }
        // A cue is a word of a sentence, and no part of a name or of code.
        Some(Look::Sentence { .. }) => {
            const INSIDE: Set = ALNUM.or(Set::of("_$.@<#=&"));
            return text.before(at, 1).is_none_or(|before| before < 128 && !INSIDE.has(before))
                || escape::ends_at(text, at);
        }
        Some(Look::Manifest { .. }) => {
            return text.before(at, 1).is_none_or(|before| b" \t\r\n".contains(&before));
        }
        _ => return true,
    };
    let Some(before) = text.before(at, 1) else { return *left != Left::Digit };
    match left {
        Left::Any => true,
        Left::Digit => before.is_ascii_digit(),
        Left::Bound if !ALNUM.has(before) => {
            !matches!(before, b'/' | b'+') || !is_inside_drawn(text, at)
        }
        Left::Bound => escape::ends_at(text, at),
    }
}

/// Whether a long base64 text goes on at `at`: there any prefix may occur by chance.
fn is_inside_drawn(text: Text<'_>, at: usize) -> bool {
    const LONG: usize = 24;
    const BASE64: Set = ALNUM.or(Set::of("+/"));
    let part = text.part(at.saturating_sub(LONG), at);
    let many = |is_one: fn(&u8) -> bool| part.iter().filter(|byte| is_one(byte)).count();
    part.len() == LONG
        && part.iter().all(|byte| BASE64.has(*byte))
        && many(u8::is_ascii_uppercase) > 2
        && many(u8::is_ascii_lowercase) > 2
        && many(u8::is_ascii_digit) > 0
}

/// Whether the name of a service only occurs by chance: it crosses the border of two words and begins or ends inside
/// one, as `okta` does in `rookTable`.
pub(super) fn straddles(
    masker: &Masker,
    text: Text<'_>,
    at: usize,
    anchor: &Anchor,
) -> Result<bool, More> {
    let behind = at + anchor.literal.len();
    let is_hump = |one: u8, two: u8| one.is_ascii_lowercase() && two.is_ascii_uppercase();
    let mut pairs = text.part(at, behind).windows(2);
    if !matches!(masker.look(anchor.rule), Some(Look::Near { .. }))
        || !pairs.any(|pair| matches!(pair, [one, two] if is_hump(*one, *two)))
    {
        return Ok(false);
    }
    let goes_on = |one: Option<u8>, two: Option<u8>| match (one, two) {
        (Some(one), Some(two)) => {
            one.is_ascii_alphabetic() && two.is_ascii_alphabetic() && !is_hump(one, two)
        }
        _ => false,
    };
    Ok(goes_on(text.before(at, 1), text.byte(at)?)
        || goes_on(text.before(behind, 1), text.byte(behind)?))
}
