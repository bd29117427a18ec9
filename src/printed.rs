//! Prints JSON so that no text in it can control a terminal or hide, with unchanged meaning.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
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

/// Returns a JSON text for the output of a command: [`printed`], and indented if a person reads it on a terminal.
pub(crate) fn for_output(json: &str) -> String {
    let line = printed(json);
    if io::stdout().is_terminal() { indented(&line) } else { line }
}

/// Puts each member and item of a JSON text on a line of its own. Empty objects and arrays stay on one line.
fn indented(json: &str) -> String {
    let (mut out, mut depth, mut chars) = (String::new(), 0, json.chars().peekable());
    while let Some(char) = chars.next() {
        match char {
            '"' => {
                out.push('"');
                push_text(&mut chars, &mut out);
            }
            '{' | '[' => {
                out.push(char);
                while chars.next_if_eq(&' ').is_some() {}
                match chars.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        push_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                push_line(&mut out, depth);
                out.push(char);
            }
            ',' => {
                out.push(',');
                push_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            ' ' => {}
            other => out.push(other),
        }
    }
    out
}

/// Appends a string after its opening quote, up to its closing one.
fn push_text(chars: &mut impl Iterator<Item = char>, out: &mut String) {
    let mut is_escaped = false;
    for char in chars {
        out.push(char);
        if char == '"' && !is_escaped {
            return;
        }
        is_escaped = char == '\\' && !is_escaped;
    }
}

fn push_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
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
    use super::{indented, printed};

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

    #[test]
    fn an_indented_text_has_the_same_value() {
        let json = r#"{"a":[1, {"b":"x: {\"y\", [z]}\\"}],"c":{ },"d":[],"e":null}"#;
        let lines = "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x: {\\\"y\\\", [z]}\\\\\"\n    }\n  ],\n  \
            \"c\": {},\n  \"d\": [],\n  \"e\": null\n}";
        assert_eq!(indented(json), lines);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&indented(json)), value(json));
    }
}
