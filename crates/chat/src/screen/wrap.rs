//! Breaking a line of text into rows.

use std::ops::Range;

use super::glyph::{glyphs, is_plain};

/// The byte ranges of the rows into which a text without line feeds is broken. Breaks are made at spaces and around
/// wide characters; a word longer than a row is cut. The space at which a break is made belongs to no row. An empty
/// text is one empty row.
pub(super) fn rows(text: &str, width: usize) -> Vec<Range<usize>> {
    let width = width.max(1);
    let mut rows = Vec::new();
    if is_plain(text) {
        plain_rows(text, width, &mut rows);
    } else {
        mixed_rows(text, width, &mut rows);
    }
    rows
}

/// The byte ranges of the rows into which a text is cut without looking for spaces, as code is.
pub(super) fn cut(text: &str, width: usize) -> Vec<Range<usize>> {
    let width = width.max(1);
    let (mut rows, mut start, mut used) = (Vec::new(), 0, 0);
    for glyph in glyphs(text) {
        let wide = usize::from(glyph.width);
        if used + wide > width && glyph.at > start {
            rows.push(start..glyph.at);
            (start, used) = (glyph.at, 0);
        }
        used += wide;
    }
    rows.push(start..text.len());
    rows
}

/// As [`rows`], for text in which each byte takes one cell.
fn plain_rows(text: &str, width: usize, rows: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut start = 0;
    while bytes.len() - start > width {
        // A space right after the last cell is a place to break, too.
        let window = bytes.get(start..=start + width).unwrap_or_default();
        match window.iter().rposition(|byte| *byte == b' ') {
            // Break only if the row has more than indentation before the word.
            Some(at) if window.iter().take(at).any(|byte| *byte != b' ') => {
                rows.push(start..trimmed(bytes, start, start + at));
                start += at + 1;
                let rest = bytes.get(start..).unwrap_or_default();
                start += rest.iter().take_while(|byte| **byte == b' ').count();
            }
            _ => {
                rows.push(start..start + width);
                start += width;
            }
        }
    }
    if start < bytes.len() || rows.is_empty() {
        rows.push(start..bytes.len());
    }
}

/// The end of a row without its spaces.
fn trimmed(bytes: &[u8], start: usize, end: usize) -> usize {
    let row = bytes.get(start..end).unwrap_or_default();
    start + row.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1)
}

fn mixed_rows(text: &str, width: usize, rows: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut start = 0;
    let mut used = 0;
    // The last place to break: where the row would end, where the next would begin, and the cells until there.
    let mut place: Option<(usize, usize, usize)> = None;
    let mut has_ink = false;
    for glyph in glyphs(text) {
        let wide = usize::from(glyph.width);
        let is_space = glyph.symbol == " ";
        if used + wide > width && !(is_space && has_ink) {
            if let Some((end, next, cells)) = place.take() {
                rows.push(start..trimmed(bytes, start, end));
                start = next;
                used -= cells.min(used);
            }
            if used + wide > width && glyph.at > start {
                rows.push(start..glyph.at);
                start = glyph.at;
                used = 0;
            }
        }
        used += wide;
        if is_space && has_ink {
            place = Some((glyph.at, glyph.at + glyph.len, used));
        } else if wide > 1 && glyph.at + glyph.len < text.len() {
            place = Some((glyph.at + glyph.len, glyph.at + glyph.len, used));
        }
        has_ink |= !is_space;
    }
    if start < bytes.len() || rows.is_empty() {
        rows.push(start..bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::{mixed_rows, plain_rows, rows};

    #[track_caller]
    fn check(text: &str, width: usize, want: &[&str]) {
        let found: Vec<&str> =
            rows(text, width).into_iter().map(|row| text.get(row).unwrap()).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn rows_break_at_spaces() {
        check("", 5, &[""]);
        check("one two three", 7, &["one two", "three"]);
        check("one two  three", 8, &["one two", "three"]);
        check("abcdefgh ij", 4, &["abcd", "efgh", "ij"]);
        check("    indented text", 12, &["    indented", "text"]);
        check("日本語 text", 5, &["日本", "語", "text"]);
        check("añb 日本語日本語", 6, &["añb 日", "本語日", "本語"]);
        check("añadido 日本語", 0, &["a", "ñ", "a", "d", "i", "d", "o", "日", "本", "語"]);
    }

    #[test]
    fn the_quick_way_gives_what_the_thorough_one_gives() {
        let mut state = 7_u32;
        for _ in 0..3000 {
            let mut text = String::new();
            for _ in 0..state % 60 {
                state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
                text.push(if (state >> 16).is_multiple_of(4) { ' ' } else { 'x' });
            }
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            let width = 1 + (state >> 16) as usize % 12;
            let (mut plain, mut mixed) = (Vec::new(), Vec::new());
            plain_rows(&text, width, &mut plain);
            mixed_rows(&text, width, &mut mixed);
            let texts = |rows: &[std::ops::Range<usize>]| -> Vec<String> {
                rows.iter()
                    .map(|row| text.get(row.clone()).unwrap().trim_end().to_owned())
                    .collect()
            };
            assert_eq!(texts(&plain), texts(&mixed), "{text:?} at {width}");
        }
    }
}
