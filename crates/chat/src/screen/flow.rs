//! Wraps streamed text for a terminal that scrolls.

use super::glyph::glyphs;
use super::wrap::{cut, rows};

/// Breaks text at words while it arrives. Written text cannot be changed, so a word is buffered until it ends.
#[derive(Debug, Default)]
pub struct Flow {
    /// The current row.
    row: String,
    /// The number of bytes of `row` that were returned.
    given: usize,
}

impl Flow {
    /// Adds text. Returns the text that can be written now, in rows of at most `width` columns.
    #[must_use]
    pub fn push(&mut self, text: &str, width: usize) -> String {
        let mut out = String::new();
        for (nth, part) in text.split('\n').enumerate() {
            if nth > 0 {
                out.push_str(&self.rest());
                out.push('\n');
            }
            // The width of a tab depends on its column in the terminal, which is unknown here.
            self.add(&part.replace('\t', "    "), width, &mut out);
        }
        out
    }

    /// Returns the buffered text. The next text begins a row.
    #[must_use]
    pub fn rest(&mut self) -> String {
        let row = std::mem::take(&mut self.row);
        let given = std::mem::take(&mut self.given);
        row.get(given..).unwrap_or_default().to_owned()
    }

    fn add(&mut self, text: &str, width: usize, out: &mut String) {
        self.row.push_str(text);
        let mut rows = rows(&self.row, width);
        let last = rows.pop().map_or(0, |last| last.start);
        for row in rows {
            let from = row.start.max(self.given);
            out.push_str(self.row.get(from..row.end).unwrap_or_default());
            out.push('\n');
        }
        self.row.drain(..last);
        self.given = self.given.saturating_sub(last);
        let over = over(&self.row).max(self.given);
        out.push_str(self.row.get(self.given..over).unwrap_or_default());
        self.given = over;
    }
}

/// The length of the part of a row that stays in this row: all but its last word and the spaces before it.
fn over(row: &str) -> usize {
    let wide = glyphs(row).filter(|glyph| glyph.width > 1).last();
    let wide = wide.map_or(0, |glyph| glyph.at + glyph.len);
    let words = row.rfind(' ').and_then(|space| row.get(..=space));
    words.map_or(0, |words| words.trim_end_matches(' ').len()).max(wide)
}

/// The last words of a text that fit on a row of `width` columns, or the end of a single word that is too long.
#[must_use]
pub fn last_words(text: &str, width: usize) -> String {
    // A row has at most this many characters. The limit keeps the cost of a long text low.
    let letters = 16 * width + 64;
    let near = text.char_indices().rev().nth(letters).map_or(0, |(at, _)| at);
    let text = text.get(near..).unwrap_or_default().replace(['\n', '\t'], " ");
    let glyphs: Vec<_> = glyphs(&text).collect();
    let (mut from, mut left) = (glyphs.len(), width);
    while let Some(before) = from.checked_sub(1) {
        let Some(rest) = glyphs.get(before).map(|it| usize::from(it.width)) else { break };
        let Some(rest) = left.checked_sub(rest) else { break };
        (from, left) = (before, rest);
    }
    let shown = glyphs.get(from..).unwrap_or_default();
    let is_space = |at: usize| glyphs.get(at).is_none_or(|glyph| glyph.symbol == " ");
    let is_wide = |at: usize| glyphs.get(at).is_some_and(|glyph| glyph.width > 1);
    let is_cut = from.checked_sub(1).is_some_and(|before| {
        !is_space(before) && !is_space(from) && !is_wide(before) && !is_wide(from)
    });
    let word = if is_cut {
        let ends = |at: &usize| is_space(from + at) || is_wide(from + at);
        (0..shown.len()).find(ends).unwrap_or_default()
    } else {
        0
    };
    let words = shown.get(word..).unwrap_or_default();
    let words: String = words.iter().map(|glyph| glyph.symbol.as_ref()).collect();
    words.trim_start().to_owned()
}

/// The beginning of a line, at most `width` columns.
#[must_use]
pub fn first_row(line: &str, width: usize) -> &str {
    cut(line, width).into_iter().next().and_then(|row| line.get(row)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::wrap;
    use super::{Flow, first_row, last_words};

    #[test]
    fn text_that_comes_in_pieces_breaks_where_whole_text_does() {
        for text in [
            "one two three four",
            "a wordthatislongerthanarow and more",
            "    indented text that goes on",
            "日本語 text and 日本語日本語 more of it añadido",
            "",
        ] {
            for width in 1..20 {
                let whole: Vec<_> = wrap::rows(text, width);
                let whole: Vec<_> =
                    whole.into_iter().map(|row| text.get(row).unwrap().trim_end()).collect();
                for size in 1..=text.chars().count().max(1) {
                    let (mut flow, mut out) = (Flow::default(), String::new());
                    let chars: Vec<char> = text.chars().collect();
                    for piece in chars.chunks(size) {
                        out.push_str(&flow.push(&piece.iter().collect::<String>(), width));
                    }
                    out.push_str(&flow.rest());
                    let found: Vec<_> = out.split('\n').map(str::trim_end).collect();
                    assert_eq!(found, whole, "{text:?} at {width} by {size}");
                }
            }
        }
    }

    #[test]
    fn a_word_waits_for_its_end_and_lines_stay_lines() {
        let mut flow = Flow::default();
        for (piece, expected) in [
            ("one t", "one"),
            ("wo", ""),
            (" th", " two\n"),
            ("ree\nfo", "three\n"),
            ("ur\n\n", "four\n\n"),
        ] {
            assert_eq!(flow.push(piece, 8), expected, "{piece:?}");
        }
        assert_eq!(flow.rest(), "");
    }

    #[test]
    fn the_newest_words_are_whole_and_never_wider_than_the_row() {
        for (text, width, expected) in [
            ("one two", 80, "one two"),
            ("one\ntwo", 5, "two"),
            ("one two", 3, "two"),
            ("one two ", 4, "two "),
            ("unbreakable", 5, "kable"),
            ("思考中", 5, "考中"),
            ("ab思考", 5, "思考"),
            ("", 5, ""),
        ] {
            assert_eq!(last_words(text, width), expected, "{text:?} at {width}");
        }
        assert_eq!(first_row("thinking: 12 s", 8), "thinking");
        assert_eq!(first_row("", 8), "");
    }
}
