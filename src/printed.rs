//! Prints JSON so that no text in it can control a terminal or hide, with unchanged meaning.

use std::fmt::Write as _;
use thinkthrough_chat::harmless::{harmless_char, is_harmless};

/// Returns a JSON text as one line, with every control and format character escaped.
///
/// Only strings can hold such characters, so that every value stays the same. Bodies that are sent skip this
/// function: they are printed byte for byte.
pub(crate) fn printed(json: &str) -> String {
    if json.is_ascii() && is_harmless(json) && !json.contains(['\n', '\t']) {
        return json.to_owned();
    }
    // They occur between tokens only: in a string they are escaped.
    let line = json.chars().filter(|char| !matches!(char, '\n' | '\r'));
    escaped(line.map(|char| if char == '\t' { ' ' } else { char }))
}

/// The same, but keeps the line breaks and tabs between the tokens.
pub(crate) fn printed_lines(json: &str) -> String {
    let parts = json.split_inclusive(['\n', '\t']).map(|part| {
        let (text, end) = match part.strip_suffix("\r\n") {
            Some(text) => (text, "\r\n"),
            None => part.split_at(part.trim_end_matches(['\n', '\t']).len()),
        };
        escaped(text.chars().filter(|char| *char != '\r')) + end
    });
    parts.collect()
}

fn escaped(chars: impl Iterator<Item = char>) -> String {
    let mut text = String::new();
    for char in chars {
        match char {
            char if char != harmless_char(char) || is_format(char) => push_escape(&mut text, char),
            char => text.push(char),
        }
    }
    text
}

fn push_escape(line: &mut String, char: char) {
    for unit in char.encode_utf16(&mut [0; 2]) {
        // Writing into a string cannot fail.
        let _ = write!(line, "\\u{unit:04x}");
    }
}

/// Characters of Unicode's category Cf that a terminal may well show, because languages and emoji need them; a
/// program that reads the line gets them from the escape.
fn is_format(char: char) -> bool {
    matches!(
        char,
        '\u{600}'..='\u{605}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}' | '\u{891}'
            | '\u{8e2}'
            | '\u{200c}' | '\u{200d}'
            | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
    )
}

#[cfg(test)]
mod tests {
    use super::printed;

    #[test]
    fn control_and_format_characters_are_escaped_and_the_value_stays() {
        for (char, escape) in [
            ('\u{7f}', "\\u007f"),
            ('\u{80}', "\\u0080"),
            ('\u{9b}', "\\u009b"),
            ('\u{ad}', "\\u00ad"),
            ('\u{200d}', "\\u200d"),
            ('\u{202e}', "\\u202e"),
            ('\u{2028}', "\\u2028"),
            ('\u{feff}', "\\ufeff"),
            ('\u{e0041}', "\\udb40\\udc41"),
        ] {
            let json = format!("{{\"k{char}\":[\"a{char}b\",1]}}");
            let line = printed(&json);
            assert_eq!(line, format!("{{\"k{escape}\":[\"a{escape}b\",1]}}"));
            let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
            assert_eq!(value(&line), value(&json));
        }
    }

    #[test]
    fn what_is_harmless_stays_as_it_is_on_one_line() {
        assert_eq!(printed("{\"k\": \"é 日本 \\u001b\"}"), "{\"k\": \"é 日本 \\u001b\"}");
        assert_eq!(printed("{\r\n\t\"k\":\n1}"), "{ \"k\":1}");
    }
}
