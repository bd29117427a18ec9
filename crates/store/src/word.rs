//! The definition of a word in a search, for both databases.
//!
//! Both index the words between blanks and signs. They treat signs within words differently, and neither finds the
//! ends of words in scripts without blanks. So here signs always separate words, and each letter of such a script is
//! a word: a search for several such letters finds them in sequence.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Letters of scripts without blanks: Han, kana.
const APART: [(char, char); 9] = [
    ('\u{2E80}', '\u{2FDF}'),
    ('\u{3005}', '\u{3007}'),
    ('\u{3040}', '\u{30FF}'),
    ('\u{31F0}', '\u{31FF}'),
    ('\u{3400}', '\u{4DBF}'),
    ('\u{4E00}', '\u{9FFF}'),
    ('\u{F900}', '\u{FAFF}'),
    ('\u{FF66}', '\u{FF9F}'),
    ('\u{20000}', '\u{3FFFF}'),
];
/// Signs that separate words.
const SIGNS: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// Whether a letter is a word of its own.
pub(crate) fn is_apart(letter: char) -> bool {
    letter >= APART[0].0 && APART.iter().any(|(first, last)| (*first..=*last).contains(&letter))
}

/// Puts blanks around each letter that is a word of its own.
pub(crate) fn spaced(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(is_apart) {
        return Cow::Borrowed(text);
    }
    let mut spaced = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        if is_apart(letter) {
            spaced.extend([' ', letter, ' ']);
        } else {
            spaced.push(letter);
        }
    }
    Cow::Owned(spaced)
}

/// The words of a query.
pub(crate) fn words(said: &str) -> Vec<String> {
    let spaced = spaced(said);
    let words = spaced.split(|letter: char| letter.is_whitespace() || SIGNS.contains(letter));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The same for a text in PostgreSQL's SQL: an expression that replaces signs by blanks, and puts blanks around
/// letters that are words of their own.
pub(crate) fn spaced_sql(text: &str) -> String {
    let mut letters = String::new();
    for (first, last) in APART.map(|(first, last)| (u32::from(first), u32::from(last))) {
        // Writing into a text cannot fail.
        let _written = write!(letters, "\\U{first:08X}-\\U{last:08X}");
    }
    let (signs, blanks) = (SIGNS.replace('\'', "''"), " ".repeat(SIGNS.len()));
    format!(
        "translate(CASE WHEN octet_length({text}) = length({text}) THEN {text} \
         ELSE regexp_replace({text}, '([{letters}])', ' \\1 ', 'g') END, '{signs}', '{blanks}')"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_stand_between_words_and_some_letters_are_words() {
        for (said, found) in [
            ("node.js", vec!["node", "js"]),
            ("don't", vec!["don", "t"]),
            ("思考", vec!["思", "考"]),
            ("GPT思考x", vec!["GPT", "思", "考", "x"]),
            ("Träume", vec!["Träume"]),
            ("->", vec![]),
        ] {
            assert_eq!(words(said), found, "{said}");
        }
        assert_eq!(spaced("plain ä"), "plain ä");
        assert_eq!(spaced("a思b"), "a 思 b");
    }
}
