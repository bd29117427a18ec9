//! The start of the shown answer: its first line that is not blank.
//!
//! Models that think between tags leave blank lines after the last tag. The stored answer has them, because it goes
//! back to the provider unchanged.

use std::borrow::Cow;

/// Removes the blank lines at the start of a streamed answer.
#[derive(Debug, Default)]
pub struct AnswerStart {
    /// White space at the start of a line that may be the first shown one.
    indent: String,
    has_begun: bool,
}

impl AnswerStart {
    /// The part of this piece that is shown.
    pub fn push<'t>(&mut self, delta: &'t str) -> Cow<'t, str> {
        if self.has_begun {
            return Cow::Borrowed(delta);
        }
        let all = std::mem::take(&mut self.indent) + delta;
        let shown = from_first_line(&all);
        if shown.is_empty() {
            let line = all.rfind('\n').map_or(0, |end| end + 1);
            self.indent = all.get(line..).unwrap_or_default().to_owned();
            return Cow::Borrowed("");
        }
        self.has_begun = true;
        Cow::Owned(shown.to_owned())
    }
}

/// The text from its first line on that is not blank, with the indentation of that line. Empty if all lines are
/// blank.
#[must_use]
pub fn from_first_line(text: &str) -> &str {
    let Some(first) = text.find(|c: char| !c.is_whitespace()) else { return "" };
    let line = text.get(..first).and_then(|blank| blank.rfind('\n')).map_or(0, |end| end + 1);
    text.get(line..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{AnswerStart, from_first_line};

    #[test]
    fn an_answer_begins_at_its_first_line_that_is_not_blank_however_it_is_cut() {
        for (text, shown) in [
            ("\n\nYes.\n\nNo.\n", "Yes.\n\nNo.\n"),
            ("\r\n \t\n    code\n", "    code\n"),
            ("Yes.", "Yes."),
            ("  Yes.", "  Yes."),
            ("\n \n", ""),
            ("", ""),
        ] {
            assert_eq!(from_first_line(text), shown, "{text:?}");
            for size in 1..4 {
                let mut start = AnswerStart::default();
                let pieces = text.as_bytes().chunks(size);
                let pieces = pieces.map(|piece| std::str::from_utf8(piece).unwrap());
                let pieces: String = pieces.map(|piece| start.push(piece).into_owned()).collect();
                assert_eq!(pieces, shown, "{text:?} by {size}");
            }
        }
    }
}
