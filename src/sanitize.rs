//! Makes a model's text harmless for a terminal.

/// Appends `text` with every control character made visible: a model may say anything, but it may not steer the
/// terminal. Line feeds and tabs stay. Works on each character alone, so a split of the text makes no difference.
pub(crate) fn push_harmless(text: &str, out: &mut String) {
    for char in text.chars() {
        out.push(match char {
            '\n' | '\t' => char,
            '\u{7f}' => '\u{2421}',
            '\u{80}'..='\u{9f}' => char::REPLACEMENT_CHARACTER,
            // Bidirectional controls can show a text other than the one that is copied.
            '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
            // U+2400 and on are the pictures of the control characters.
            control if control < ' ' => {
                char::from_u32(0x2400 + u32::from(control)).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other,
        });
    }
}

/// As [`push_harmless`], on its own.
pub(crate) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_harmless(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn no_control_character_is_left() {
        let hostile = "a\u{1b}[31mb\u{7}\u{9b}2J\u{202e}c\r\n\td\u{7f}";
        let shown = harmless(hostile);
        assert!(shown.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{shown:?}");
        assert_eq!(shown, "a␛[31mb␇\u{fffd}2J\u{fffd}c␍\n\td␡");
    }
}
