//! What looks like a password wherever it stands.

use super::{Classes, is_counted, is_sample};
use crate::name::is_of_words;
use crate::set::{ALNUM, Set};
use crate::words::{TERMS, is_named};

/// How much a word of a sentence looks like a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    /// As no other word does: with a sign, with letters behind digits, or of words without a blank and a number.
    Strong,
    /// As names of hosts and files do too: words with dashes or dots, and a number.
    Joined,
}

/// Whether a word looks like a password wherever it stands.
pub(crate) fn strike(value: &[u8]) -> Option<Strike> {
    const MOST: usize = 40;
    let allowed = ALNUM.or(Set::of("!@#$%^&*+?~-_."));
    if !(7..=MOST).contains(&value.len()) || !value.iter().all(|byte| allowed.has(*byte)) {
        return None;
    }
    let classes = Classes::of(value);
    let is_hex = value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    // Large and small letters in turn, as in no name of a program.
    let is_irregular = classes.lower > 1
        && classes.upper > 1
        && value.len() >= 10
        && classes.changes * 2 >= value.len()
        && !is_of_words(value, 3);
    if classes.letters() < 3
        || is_hex
        || (classes.digits == 0 && !is_irregular && !has_inner_sign(value))
    {
        return None;
    }
    let lower = value.to_ascii_lowercase();
    let is_of_term = TERMS
        .iter()
        .any(|term| lower.starts_with(term.as_bytes()) || lower.ends_with(term.as_bytes()));
    // `user@host.org`, and numbers with their unit.
    let host = value.iter().position(|byte| *byte == b'@').and_then(|at| value.get(at..));
    let is_mail = host.is_some_and(|host| host.contains(&b'.'));
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_measure = digits > 0 && lower.iter().skip(digits).all(u8::is_ascii_lowercase);
    if is_of_term
        || is_named(value, 0)
        || is_mail
        || is_measure
        || is_sample(value)
        || is_counted(value)
    {
        return None;
    }
    let is_mixed = classes.lower > 1 && classes.upper > 1;
    let has_sign = has_inner_sign(value)
        && (classes.digits > 1 || (is_mixed && classes.digits + classes.changes > 5));
    if has_sign
        || is_irregular
        || value.split(|byte| !byte.is_ascii_alphanumeric()).any(is_striking_word)
    {
        return Some(Strike::Strong);
    }
    is_joined(value).then_some(Strike::Joined)
}

/// Whether a sign stands in it that no name has, and not only at its beginning.
fn has_inner_sign(value: &[u8]) -> bool {
    value.iter().skip(1).any(|byte| b"!@#$%^&*+?~".contains(byte))
}

/// Letters and digits as in no word: letters behind digits behind letters, or two words and a number.
fn is_striking_word(word: &[u8]) -> bool {
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

/// Two words or more with dashes or dots between them, and a number of two digits or more at the end.
fn is_joined(value: &[u8]) -> bool {
    let number = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let words = value.get(..value.len() - number).unwrap_or_default();
    let words = words.strip_suffix(b"-").or(words.strip_suffix(b".")).unwrap_or(words);
    let parts = words.split(|byte| b"-._".contains(byte));
    let is_word = |part: &[u8]| part.len() >= 3 && part.iter().all(u8::is_ascii_alphabetic);
    number > 1 && words.iter().any(|byte| b"-._".contains(byte)) && parts.into_iter().all(is_word)
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
            assert_eq!(strike(value.as_bytes()), Some(Strike::Strong), "{value}");
        }
        for value in ["falcon-tiger-44", "monkey.coffee71"] {
            assert_eq!(strike(value.as_bytes()), Some(Strike::Joined), "{value}");
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
            assert_eq!(strike(value.as_bytes()), None, "{value}");
        }
    }
}
