//! The border to the terminal: the text that a cell may hold.
//!
//! Every cell that this crate paints gets its symbol from [`glyphs`], and every width is measured with it. So text of
//! a model reaches the terminal in no other form, and measured text equals painted text.

use std::borrow::Cow;

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

use crate::harmless::harmless_char;

/// The longest family emoji has 10 characters; a letter under a tower of marks has more.
const MOST_CHARS: usize = 10;
/// As many marks as a letter of a living language carries.
const MOST_MARKS: usize = 4;

/// The content of one cell, or of a wide cell with its neighbour.
pub(super) struct Glyph<'a> {
    /// The start in the text, in bytes.
    pub(super) at: usize,
    /// How many bytes of the text it stands for.
    pub(super) len: usize,
    /// The text of the cell.
    pub(super) symbol: Cow<'a, str>,
    /// How many cells it takes; never 0.
    pub(super) width: u16,
}

/// The glyphs of a line. Line feeds and tabs count as spaces.
pub(super) fn glyphs(text: &str) -> impl Iterator<Item = Glyph<'_>> {
    text.grapheme_indices(true).map(|(at, cluster)| glyph(at, cluster))
}

/// How many cells a text takes.
pub(super) fn width(text: &str) -> usize {
    if is_plain(text) {
        return text.len();
    }
    glyphs(text).map(|glyph| usize::from(glyph.width)).sum()
}

/// Whether each byte is a character that takes a cell and is shown as it is.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn glyph(at: usize, cluster: &str) -> Glyph<'_> {
    let len = cluster.len();
    let mut symbol = safe(cluster);
    let mut width = if symbol.len() == 1 { 1 } else { symbol.cell_width() };
    if width == 0 {
        // A mark without a letter would combine with the cell before it.
        symbol = Cow::Owned(char::REPLACEMENT_CHARACTER.to_string());
        width = 1;
    }
    Glyph { at, len, symbol, width }
}

fn safe(cluster: &str) -> Cow<'_, str> {
    let mut chars = cluster.chars();
    let (Some(first), second) = (chars.next(), chars.next()) else { return Cow::Borrowed(" ") };
    if first == '\t' || first == '\n' || cluster == "\r\n" {
        return Cow::Borrowed(" ");
    }
    if second.is_none() {
        let shown = harmless_char(first);
        return if shown == first { Cow::Borrowed(cluster) } else { Cow::Owned(shown.into()) };
    }
    let is_emoji = cluster.chars().any(is_pictograph);
    let most = if is_emoji { MOST_CHARS } else { 1 + MOST_MARKS };
    let keep = |char: &char| harmless_char(*char) == *char && (is_emoji || !is_joiner(*char));
    let rest = cluster.chars().skip(1).filter(keep).take(most - 1);
    let kept: String = std::iter::once(harmless_char(first)).chain(rest).collect();
    if kept == cluster { Cow::Borrowed(cluster) } else { Cow::Owned(kept) }
}

/// Joiners and selectors have an effect between pictographs. Elsewhere a terminal shows no trace of them.
fn is_joiner(char: char) -> bool {
    matches!(char, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

fn is_pictograph(char: char) -> bool {
    matches!(char,
        '#' | '*' | '0'..='9' | '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '\u{2190}'..='\u{2bff}' | '〰' | '〽' | '㊗' | '㊙'
        | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::{glyphs, width};

    #[track_caller]
    fn check(text: &str, cells: &[&str], wide: usize) {
        let found: Vec<String> = glyphs(text).map(|glyph| glyph.symbol.into_owned()).collect();
        assert_eq!(found, cells);
        assert_eq!(width(text), wide);
    }

    #[test]
    fn letters_wide_ones_and_emoji() {
        check("aé", &["a", "é"], 2);
        check("日本", &["日", "本"], 4);
        check("👩\u{200d}👧!", &["👩\u{200d}👧", "!"], 3);
        check("❤\u{fe0f}", &["❤\u{fe0f}"], 2);
    }

    #[test]
    fn nothing_is_hidden_behind_a_letter() {
        check("a\u{e0041}\u{e0042}b", &["a", "b"], 2);
        check("s\u{200d}w", &["s", "w"], 2);
        check("\u{301}", &["\u{fffd}"], 1);
        check("\u{200d}", &["\u{fffd}"], 1);
        check(&format!("a{}", "\u{301}".repeat(50)), &["a\u{301}\u{301}\u{301}\u{301}"], 1);
        check("\u{1b}]0;x\u{7}", &["␛", "]", "0", ";", "x", "␇"], 6);
        check("a\tb\r\n", &["a", " ", "b", " "], 4);
    }
}
