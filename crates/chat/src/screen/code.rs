//! Colours for code: one scanner that knows comments, strings, numbers and words, and a table of languages.
//!
//! Its time is linear in the length of any input, and it carries its state from line to line. A full grammar knows
//! more, but a text made for it can take minutes; see `docs/dependencies.md`.

mod languages;

use super::ink::{Ink, Tone};
use languages::{Language, find};

/// Scans a block of code line by line.
#[derive(Clone, Debug)]
pub(super) struct Scanner {
    language: Option<&'static Language>,
    inside: Inside,
    /// A quote on this line has no end. The scanner looks for no later quote, because that would take quadratic time.
    is_lone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Code,
    /// A comment that ends with this.
    Comment(&'static str),
    /// A string that may go over lines and ends with this.
    Text(&'static str),
}

impl Scanner {
    /// A scanner for the language of a fence: its first word, in any case.
    pub(super) fn new(fence: &str) -> Self {
        let name = fence.split([' ', ',', '{', ':']).next().unwrap_or_default();
        Self { language: find(&name.to_ascii_lowercase()), inside: Inside::Code, is_lone: false }
    }

    /// The pieces of the next line, which cover all of it, in order.
    pub(super) fn line<'a>(&mut self, line: &'a str, mut put: impl FnMut(&'a str, Ink)) {
        let Some(language) = self.language else { return put(line, Ink::default()) };
        if language.is_diff {
            return put(line, diff(line));
        }
        let mut rest = line;
        self.is_lone = false;
        // A word can be a key only if just spaces or a dash come before it.
        let mut is_first = true;
        while !rest.is_empty() {
            let (len, tone) = self.piece(language, rest, is_first);
            let (piece, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
            is_first &= piece.trim().is_empty() || piece == "-";
            put(piece, Ink::of(tone));
            rest = after;
        }
    }

    fn piece(&mut self, language: &'static Language, rest: &str, is_first: bool) -> (usize, Tone) {
        match self.inside {
            Inside::Code => {}
            Inside::Comment(end) => return (self.until(rest, end), Tone::Comment),
            Inside::Text(end) => return (self.until(rest, end), Tone::String),
        }
        if language.line_comments.iter().any(|mark| rest.starts_with(mark)) {
            return (rest.len(), Tone::Comment);
        }
        if let Some((open, close)) = language.comments.iter().find(|pair| rest.starts_with(pair.0))
        {
            self.inside = Inside::Comment(close);
            let after = rest.get(open.len()..).unwrap_or_default();
            return (open.len() + self.until(after, close), Tone::Comment);
        }
        if let Some(mark) = language.long_strings.iter().find(|mark| rest.starts_with(**mark)) {
            self.inside = Inside::Text(mark);
            let after = rest.get(mark.len()..).unwrap_or_default();
            return (mark.len() + self.until(after, mark), Tone::String);
        }
        let first = rest.chars().next().unwrap_or(' ');
        if first == '\'' && language.has_chars {
            return char_literal(rest);
        }
        if language.quotes.contains(first) && !self.is_lone {
            let Some(len) = quoted(rest, first) else {
                self.is_lone = true;
                // A lone apostrophe is a letter. A lone quotation mark begins a string that continues.
                return if first == '\'' { (1, Tone::Text) } else { (rest.len(), Tone::String) };
            };
            let is_key = language.has_keys && is_key(rest.get(len..).unwrap_or_default());
            return (len, if is_key { Tone::Type } else { Tone::String });
        }
        if first.is_ascii_digit() {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'));
            return (end.unwrap_or(rest.len()), Tone::Number);
        }
        if is_word(first) {
            return word(language, rest, is_first);
        }
        let next = rest.char_indices().skip(1).find(|(_, c)| language.stops(*c));
        (next.map_or(rest.len(), |(at, _)| at), Tone::Text)
    }

    /// The length up to and including `end`. Without `end`, the whole length, and the next line continues inside.
    fn until(&mut self, rest: &str, end: &str) -> usize {
        match rest.find(end) {
            Some(at) => {
                self.inside = Inside::Code;
                at + end.len()
            }
            None => rest.len(),
        }
    }
}

fn word(language: &Language, rest: &str, is_first: bool) -> (usize, Tone) {
    let len = rest.find(|c: char| !is_word(c) && !language.joins.contains(c)).unwrap_or(rest.len());
    let (word, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
    let folded;
    let name = if language.ignores_case {
        folded = word.to_ascii_lowercase();
        folded.as_str()
    } else {
        word
    };
    let tone = if language.keywords.split(' ').any(|keyword| keyword == name) {
        Tone::Keyword
    } else if language.has_keys && is_first && is_key(after) {
        Tone::Type
    } else if after.starts_with('(') || after.starts_with("!(") {
        Tone::Function
    } else if word.starts_with(|c: char| c.is_ascii_uppercase()) && !language.ignores_case {
        Tone::Type
    } else {
        Tone::Text
    };
    (len, tone)
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Whether the word before `after` is the key of a pair.
fn is_key(after: &str) -> bool {
    after.trim_start().starts_with([':', '='])
}

/// A character in quotes, or a quote alone, as before the name of a lifetime.
fn char_literal(rest: &str) -> (usize, Tone) {
    let inside = rest.get(1..).unwrap_or_default();
    let mut chars = inside.char_indices();
    let first = chars.next().map(|(_, char)| char);
    let close = match first {
        // The longest escape is `\u{10ffff}`.
        Some('\\') => inside.char_indices().skip(2).take(9).find(|(_, char)| *char == '\''),
        Some(_) => chars.next().filter(|(_, char)| *char == '\''),
        None => None,
    };
    close.map_or((1, Tone::Text), |(at, _)| (at + 2, Tone::String))
}

/// The length of a string that begins here and ends on this line.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, char) in rest.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if char == '\\' {
            is_escaped = true;
        } else if char == quote {
            return Some(at + quote.len_utf8());
        }
    }
    None
}

fn diff(line: &str) -> Ink {
    match line.as_bytes() {
        [b'@', b'@', ..] => Ink::of(Tone::Accent),
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Ink::of(Tone::Text).bold(),
        [b'+', ..] => Ink::of(Tone::Added),
        [b'-', ..] => Ink::of(Tone::Removed),
        _ => Ink::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Scanner, Tone};

    #[track_caller]
    fn check(fence: &str, code: &str, want: &[(&str, Tone)]) {
        let mut scanner = Scanner::new(fence);
        let mut found = Vec::new();
        for line in code.lines() {
            let mut whole = String::new();
            scanner.line(line, |text, ink| {
                whole.push_str(text);
                if ink.tone != Tone::Text {
                    found.push((text, ink.tone));
                }
            });
            assert_eq!(whole, line, "no letter is lost");
        }
        assert_eq!(found, want);
    }

    #[test]
    fn rust() {
        check(
            "rust",
            "/* a\nb */ fn main() { let x: &'a str = \"s\\\"t\"; f!(1_0u8) } // end",
            &[
                ("/* a", Tone::Comment),
                ("b */", Tone::Comment),
                ("fn", Tone::Keyword),
                ("main", Tone::Function),
                ("let", Tone::Keyword),
                ("str", Tone::Keyword),
                ("\"s\\\"t\"", Tone::String),
                ("f", Tone::Function),
                ("1_0u8", Tone::Number),
                ("// end", Tone::Comment),
            ],
        );
    }

    #[test]
    fn others() {
        let python = "def f():\n    \"\"\"doc\n    more\"\"\"\n    return None  # x";
        check(
            "py",
            python,
            &[
                ("def", Tone::Keyword),
                ("f", Tone::Function),
                ("\"\"\"doc", Tone::String),
                ("    more\"\"\"", Tone::String),
                ("return", Tone::Keyword),
                ("None", Tone::Keyword),
                ("# x", Tone::Comment),
            ],
        );
        check("json", "{\"a\": true}", &[("\"a\"", Tone::Type), ("true", Tone::Keyword)]);
        check(
            "yaml",
            "a-b: 1 # c",
            &[("a-b", Tone::Type), ("1", Tone::Number), ("# c", Tone::Comment)],
        );
        check("SQL", "SELECT x", &[("SELECT", Tone::Keyword)]);
        check("diff", "+a\n-b\n c", &[("+a", Tone::Added), ("-b", Tone::Removed)]);
        check("brainf", "fn x", &[]);
    }

    #[test]
    fn any_text_is_scanned_in_linear_time() {
        for part in ["\"\\", "/*", "'\\", "'", "' a", "{-", "`", "a-", "\"\"\"", "<!--"] {
            let hostile = part.repeat(100_000);
            for fence in ["rust", "python", "js", "haskell", "html", "yaml"] {
                let mut bytes = 0;
                Scanner::new(fence).line(&hostile, |text, _| bytes += text.len());
                assert_eq!(bytes, hostile.len());
            }
        }
    }
}
