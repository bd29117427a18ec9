//! Formulas in TeX: `\(a^2\)`, `\[..\]`, `$..$` and `$$..$$` are shown as they were written. To Markdown `\(` is an
//! escaped bracket and `_` may be emphasis, so every sign of a formula is escaped before the text is read.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::OPTIONS;

/// The text with its formulas escaped.
pub(super) fn kept(text: &str) -> Cow<'_, str> {
    if !["\\(", "\\[", "$"].iter().any(|mark| text.contains(mark)) {
        return Cow::Borrowed(text);
    }
    let code = code(text);
    let mut out = String::with_capacity(text.len() + 32);
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(block) = code.iter().find(|block| block.contains(&at)) {
            out.push_str(text.get(at..block.end).unwrap_or_default());
            at = block.end.max(at + 1);
            continue;
        }
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let room =
            code.iter().find(|block| block.start > at).map_or(rest.len(), |it| it.start - at);
        let taken = match formula(rest.get(..room).unwrap_or(rest), before) {
            Some(end) => {
                escape(rest.get(..end).unwrap_or_default(), &mut out);
                end
            }
            None => {
                // An escaped sign is no mark. A mark that is not closed yet is escaped too, so that it stays visible.
                let is_open = ["\\(", "\\["].iter().any(|mark| rest.starts_with(mark));
                out.push_str(if is_open { "\\" } else { "" });
                let escaped = if rest.starts_with('\\') && !is_open { 2 } else { 1 };
                let taken = rest.char_indices().nth(escaped).map_or(rest.len(), |(end, _)| end);
                out.push_str(rest.get(..taken).unwrap_or_default());
                taken
            }
        };
        at += taken;
    }
    Cow::Owned(out)
}

/// The end of the formula at the start of a text, if there is one.
fn formula(text: &str, before: Option<char>) -> Option<usize> {
    let closed = |open: &str, close: &str| {
        let inner = text.strip_prefix(open)?;
        let mut from = 0;
        // Skip closing marks that a backslash escapes.
        while let Some(found) = inner.get(from..)?.find(close) {
            let end = from + found;
            let slashes = inner.get(..end)?.chars().rev().take_while(|it| *it == '\\').count();
            if slashes % 2 == 0 && end > 0 {
                return Some(open.len() + end + close.len());
            }
            from = end + close.len();
        }
        None
    };
    if let Some(end) = closed("\\(", "\\)").or_else(|| closed("\\[", "\\]")) {
        return Some(end);
    }
    if let Some(end) = closed("$$", "$$") {
        return Some(end);
    }
    // A single dollar is often money: a formula touches both of its signs and stays on its line.
    let line = text.lines().next().unwrap_or_default();
    let inner = line.strip_prefix('$').filter(|inner| !inner.starts_with([' ', '\t', '$']))?;
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let end = inner.find('$')?;
    let (formula, after) = (inner.get(..end)?, inner.get(end + 1..)?);
    let is_one = !formula.ends_with([' ', '\t', '\\'])
        && !after.starts_with(|char: char| char.is_ascii_digit());
    (is_one && end > 0).then_some(end + 2)
}

/// Escapes every sign, except the quote marks at the start of further lines.
fn escape(formula: &str, out: &mut String) {
    let mut begins = false;
    for char in formula.chars() {
        let is_mark = begins && (char == '>' || char == ' ');
        if char.is_ascii_punctuation() && !is_mark {
            out.push('\\');
        }
        out.push(char);
        begins = char == '\n' || is_mark;
    }
}

/// The ranges of code and HTML blocks, in which Markdown changes no sign.
fn code(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut depth = 0_usize;
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => {
                depth += 1;
                ranges.push(range);
            }
            Event::End(TagEnd::CodeBlock) => depth = depth.saturating_sub(1),
            // Inline HTML is left out, because it may be a part of a formula.
            Event::Code(_) | Event::Html(_) if depth == 0 => ranges.push(range),
            _ => {}
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn b_11_formulas_keep_their_signs() {
        for formula in [
            r"\(a^2\)",
            r"\(a_1 * b_1 * c\)",
            r"\[x = \frac{-b \pm \sqrt{b^2-4ac}}{2a}\]",
            r"$a_1$ and $a*b*c$",
            r"$$\{x \mid x_1 > 0\}$$",
            r"it costs $5 and $6",
            r"\(a",
            r"\(<b>\)",
            "`\\(` and \\(x\\)",
        ] {
            let shown = formula.replace('`', "");
            check(formula, 80, &[&shown]);
        }
        check("so \\(a_1\\) *is* \\*not\\*", 80, &["so \\(a_1\\) is *not*"]);
        check("\\[\na\n= b_1 * c_1 *\n\\]", 80, &["\\[", "a", "= b_1 * c_1 *", "\\]"]);
        check("> \\[\n> a_1 * b * c\n> \\]", 80, &["▎ \\[", "▎ a_1 * b * c", "▎ \\]"]);
        check("```\n\\(a\\) $b$\n```\nand \\(c\\)", 80, &[" \\(a\\) $b$", "", "and \\(c\\)"]);
        check("| f |\n|---|\n| \\(a_1\\) |", 80, &["f      ", "───────", "\\(a_1\\)"]);
        check("*a* costs $5, *b* $6", 80, &["a costs $5, b $6"]);
    }
}
