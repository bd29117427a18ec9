use super::{blocks, rows};
use crate::screen::glyph;
use crate::screen::ink::{Ground, Tone};

fn texts(text: &str, width: usize) -> Vec<String> {
    let rows = rows(text, width);
    let text = |at| rows.row(at).1.map(|(text, _)| text).collect::<String>();
    (0..rows.len()).map(text).collect()
}

#[track_caller]
pub(super) fn check(text: &str, width: usize, want: &[&str]) {
    assert_eq!(texts(text, width), want);
}

#[test]
fn paragraphs_headings_and_rules() {
    check(
        "# Title\n\nOne *two* **three** `four`.\n\n---\nend",
        20,
        &["Title", "", "One two three four.", "", "────────────────────", "", "end"],
    );
    check("a\nb\n\nc", 20, &["a", "b", "", "c"]);
}

#[test]
fn an_answer_begins_at_its_first_line_that_is_not_blank() {
    check("\n \n\nYes.\n\nNo.", 20, &["Yes.", "", "No."]);
}

#[test]
fn lists() {
    check(
        "- one two three four\n- b\n  1. x\n  2. y\n\nafter",
        12,
        &["• one two", "  three four", "• b", "  1. x", "  2. y", "", "after"],
    );
    check("- [x] done\n- [ ] not\n-", 20, &["• ☑ done", "• ☐ not", "• "]);
    check("- a\n\n- b", 20, &["• a", "", "• b"]);
}

#[test]
fn quotes_and_code() {
    check("> one two three\n>\n> b", 11, &["▎ one two", "▎ three", "▎ ", "▎ b"]);
    check("```rust\nfn a() {}\n\n// b\n```\nend", 20, &[" fn a() {}", " ", " // b", "", "end"]);
    let code = rows("- x\n\n  ```\n  abc\n  ```", 20);
    assert_eq!(code.row(code.len() - 1).0, Ground::Code);
    let inks: Vec<Tone> =
        rows("```py\nreturn 1\n```", 20).row(0).1.map(|(_, ink)| ink.tone).collect();
    assert_eq!(inks, [Tone::Text, Tone::Keyword, Tone::Text, Tone::Number]);
}

#[test]
fn links_say_where_they_lead() {
    check(
        "[here](https://example.org/x) and <https://a.example>",
        80,
        &["here (https://example.org/x) and https://a.example"],
    );
    check("![a cat](cat.png)", 80, &["[image: a cat] (cat.png)"]);
}

#[test]
fn tables_fit() {
    let table = "| a | long head |\n|--:|:--|\n| 1 | two three four |\n| 22 | x |";
    check(
        table,
        40,
        &[
            " a │ long head     ",
            "───┼───────────────",
            " 1 │ two three four",
            "22 │ x             ",
        ],
    );
    check(
        table,
        14,
        &[" a │ long head", "───┼──────────", " 1 │ two three", "   │ four     ", "22 │ x        "],
    );
    let wide = format!("|{}\n|{}\n", "x y z|".repeat(12), "-|".repeat(12));
    assert!(texts(&wide, 100).iter().all(|row| glyph::width(row) <= 100));
}

/// A block with another block after it never changes, whatever pieces the text arrives in.
#[test]
fn finished_blocks_stay_finished() {
    let text = "# T\n\npara\ngoes on\n\n- a\n\n  b\n- c\n\n```rs\nx\n\ny\n```\n\n> q\n\n| a |\n|---|\n| b |\n\n<b>\nx\n\n    code\n\n1. n\n";
    let whole = blocks(text);
    assert!(whole.len() >= 8, "{whole:?}");
    for (end, _) in text.char_indices() {
        let part = blocks(text.get(..end).unwrap());
        let done = part.len().saturating_sub(1);
        assert_eq!(part[..done], whole[..done], "after {end} bytes");
    }
}

#[test]
fn blocks_cover_the_text() {
    for text in ["", "\n\n", "a\n\nb", "[x]: http://a\n\n[x]", "  \n# a\n"] {
        let covered: usize = blocks(text).iter().map(std::ops::Range::len).sum();
        assert_eq!(covered, text.len(), "{text:?}");
    }
}

#[test]
fn any_text_is_laid_out() {
    for text in [
        "> ".repeat(200),
        "- ".repeat(200),
        "*".repeat(500),
        "[".repeat(500),
        "|".repeat(300),
        "`".repeat(99),
    ] {
        let laid = rows(&format!("{text}x"), 40);
        assert!(!laid.is_empty() && laid.len() < 500);
    }
}
