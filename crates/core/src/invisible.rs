//! Characters that are invisible, or that change the order of visible ones: text can hide in them.
//!
//! This is the one list. The terminal, messages of the gateway and the viewer's page use it (`web/reasoning.js`,
//! which a test here compares). Joiners and the two emoji selectors are not in it, because languages and emoji need
//! them; the page names joiners that join nothing.
//!
//! Source: Default_Ignorable_Code_Point and Bidi_Control of Unicode 16, line and paragraph separators, and the
//! annotation characters.

/// The first and the last letter of each stretch, in order.
pub const INVISIBLE: [(char, char); 18] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200b}'),
    ('\u{200e}', '\u{200f}'),
    // Some terminals take the separators for line feeds.
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    // Variation selectors, by which any byte can hide behind any letter.
    ('\u{fe00}', '\u{fe0d}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    // Tags, and the rest of the selectors.
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether this character is invisible, or changes the order of others. Control characters are another matter.
#[must_use]
pub fn is_invisible(letter: char) -> bool {
    letter >= '\u{ad}' && INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_knows_selectors_and_tags() {
        let ends: Vec<char> = INVISIBLE.iter().flat_map(|(first, last)| [*first, *last]).collect();
        assert!(ends.is_sorted());
        for letter in ['\u{200b}', '\u{202e}', '\u{fe00}', '\u{e0041}', '\u{e0100}', '\u{e01ef}'] {
            assert!(is_invisible(letter), "{letter:?}");
        }
        for letter in ['a', '\u{200c}', '\u{200d}', '\u{fe0e}', '\u{fe0f}', '\u{301}', 'é'] {
            assert!(!is_invisible(letter), "{letter:?}");
        }
    }

    #[test]
    fn the_page_has_the_same_list() {
        let sign = |letter: char| match u32::from(letter) {
            code @ ..0x1_0000 => format!("\\u{code:04x}"),
            code => format!("\\u{{{code:x}}}"),
        };
        let stretch = |(first, last): &(char, char)| match first == last {
            true => sign(*first),
            false => format!("{}-{}", sign(*first), sign(*last)),
        };
        let list: String = INVISIBLE.iter().map(stretch).collect();
        let line = format!("const INVISIBLE = String.raw`{list}`;");
        let page = include_str!("../../../web/reasoning.js");
        assert!(page.lines().any(|found| found == line), "`web/reasoning.js` lacks: {line}");
    }
}
