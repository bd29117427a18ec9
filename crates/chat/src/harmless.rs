//! Makes a model's text harmless for a terminal.
//!
//! Text of a model may contain any character, but it may not steer the terminal, nor show a text that differs from
//! the copied one. [`harmless_char`] alone decides which characters do so. [`harmless`] applies it to a text, for
//! output that is written as it comes, and the screen passes every cell through it.

use thinkthrough_core::invisible::is_invisible;

/// The replacement for a character that is not shown.
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The character itself, or its replacement: a picture of a control character, or U+FFFD. Line feeds and tabs stay.
/// Works on the character alone, so a split of the text makes no difference.
#[must_use]
pub fn harmless_char(char: char) -> char {
    match char {
        '\n' | '\t' | ' '..='~' => char,
        '\u{7f}' => '\u{2421}',
        // U+2400 and on are the pictures of the control characters.
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(char)).unwrap_or(REPLACEMENT),
        '\u{80}'..='\u{9f}' => REPLACEMENT,
        char if is_invisible(char) => REPLACEMENT,
        other => other,
    }
}

/// Appends `text` with every character passed through [`harmless_char`].
pub fn push_harmless(text: &str, out: &mut String) {
    out.extend(text.chars().map(harmless_char));
}

/// Returns `text` with every character passed through [`harmless_char`].
#[must_use]
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_harmless(text, &mut out);
    out
}

/// Whether [`harmless`] would change nothing in `text`. Fast for plain text.
#[must_use]
pub fn is_harmless(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\n' || byte == b'\t')
        || text.chars().all(|char| harmless_char(char) == char)
}

#[cfg(test)]
mod tests {
    use super::{harmless, harmless_char, is_harmless};

    #[test]
    fn no_control_character_is_left() {
        let hostile = "a\u{1b}[31mb\u{7}\u{9b}2J\u{202e}c\r\n\td\u{7f}";
        let shown = harmless(hostile);
        assert!(shown.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{shown:?}");
        assert_eq!(shown, "a␛[31mb␇\u{fffd}2J\u{fffd}c␍\n\td␡");
    }

    #[test]
    fn what_is_hidden_is_seen() {
        assert_eq!(
            harmless("pass\u{200b}word\u{e0041}\u{feff}\u{fe00}\u{e0100}"),
            "pass\u{fffd}word\u{fffd}\u{fffd}\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn languages_and_emoji_stay() {
        for text in [
            "नमस्ते",
            "می\u{200c}خواهم",
            "👩\u{200d}👩\u{200d}👧",
            "❤\u{fe0f}",
            "日本語",
            "é e\u{301}",
        ] {
            assert_eq!(harmless(text), text);
            assert!(is_harmless(text));
        }
    }

    #[test]
    fn twice_is_once() {
        for char in '\0'..=char::MAX {
            let once = harmless_char(char);
            assert_eq!(harmless_char(once), once, "{char:?}");
            assert_eq!(is_harmless(&char.to_string()), once == char, "{char:?}");
        }
    }
}
