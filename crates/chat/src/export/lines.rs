//! The lines that give an exported page its structure, and the escapes for texts that contain such lines.

use thinkthrough_core::content::Speaker;

/// Begins a comment with data that Markdown cannot express, about the message or block after it.
pub(super) const MARK: &str = "<!-- think:";
/// Ends such a comment.
pub(super) const MARK_END: &str = " -->";
/// Opens a thought in the fenced form.
pub(super) const FENCE: &str = "---thinking---";
/// Closes it.
pub(super) const FENCE_END: &str = "---/thinking---";
/// Opens a thought in the details form, before its label.
pub(super) const DETAILS: &str = "<details><summary>";
/// The first words of a thought's label. Any other `<details>` is text.
pub(super) const LABELS: [&str; 3] = ["Thinking", "Thought for", "The provider withheld"];
/// Ends the label.
pub(super) const SUMMARY_END: &str = "</summary>";
/// Closes a thought in the details form.
pub(super) const DETAILS_END: &str = "</details>";

/// The headings of messages.
const HEADINGS: [(&str, Speaker); 4] = [
    ("## You", Speaker::Human),
    ("## Model", Speaker::Ai),
    ("## Tool", Speaker::Tool),
    ("## System", Speaker::System),
];

/// The callouts of blocks.
pub(super) const CALLOUTS: [&str; 5] =
    ["> [!thinking]", "> [!tool]", "> [!result]", "> [!media]", "> [!other]"];

/// The heading of that speaker's messages.
pub(super) fn heading(speaker: Speaker) -> &'static str {
    HEADINGS.iter().find(|(_, it)| *it == speaker).map_or("## Model", |(heading, _)| heading)
}

/// The speaker of the message that a line opens.
pub(super) fn speaker(line: &str) -> Option<Speaker> {
    HEADINGS.iter().find(|(heading, _)| line.trim_end() == *heading).map(|(_, speaker)| *speaker)
}

/// Whether a line opens a thought in the details form.
pub(super) fn opens_details(line: &str) -> bool {
    line.strip_prefix(DETAILS)
        .is_some_and(|label| LABELS.iter().any(|known| label.starts_with(known)))
}

/// Whether a line is a part of the page's structure.
pub(super) fn is_structural(line: &str) -> bool {
    line.starts_with(MARK)
        || speaker(line).is_some()
        || CALLOUTS.iter().any(|callout| line.starts_with(callout))
        || opens_details(line)
        || line.trim_end() == FENCE
}

/// Writes a line of text with one more backslash in front, if it looks like structure.
pub(super) fn escape(line: &str, is_special: fn(&str) -> bool, out: &mut String) {
    if is_special(line.trim_start_matches('\\')) {
        out.push('\\');
    }
    out.push_str(line);
}

/// Reverses [`escape`].
pub(super) fn unescape(line: &str, is_special: fn(&str) -> bool) -> &str {
    match line.strip_prefix('\\') {
        Some(rest) if is_special(rest.trim_start_matches('\\')) => rest,
        _ => line,
    }
}

/// Whether a line would close the fenced form.
pub(super) fn closes_fence(line: &str) -> bool {
    line.trim_end() == FENCE_END
}

/// A line of a callout. A carriage return ends a line in Markdown too, so that the text after it needs a `>` of its
/// own to stay in the callout.
pub(super) fn quote_returns(line: &str, out: &mut String) {
    let (inner, last) = match line.strip_suffix('\r') {
        Some(inner) => (inner, "\r"),
        None => (line, ""),
    };
    out.push_str(&inner.replace('\r', "\r> "));
    out.push_str(last);
}

/// Reverses [`quote_returns`].
pub(super) fn unquote_returns(line: &str) -> String {
    line.replace("\r> ", "\r")
}

/// JSON for a comment, with `>` escaped, because only `>` can end the comment.
pub(super) fn hide(json: &str) -> String {
    json.replace('&', "&amp;").replace('>', "&gt;")
}

/// Reverses [`hide`].
pub(super) fn unhide(text: &str) -> String {
    text.replace("&gt;", ">").replace("&amp;", "&")
}

/// A thought for `<details>`: `<details>` and `</details>` in it lose their first sign. Entities that look like the
/// replacement gain one `amp;`, so that the change can be reversed.
pub(super) fn hide_details(thought: &str) -> String {
    rewrite_details(thought, true)
}

/// Reverses [`hide_details`].
pub(super) fn show_details(text: &str) -> String {
    rewrite_details(text, false)
}

fn rewrite_details(text: &str, hiding: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '&']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let escaped = escaped_opener(from);
        let taken = match (escaped, hiding) {
            // `<details`, or `&lt;details` with any number of `amp;` already in it.
            (Some(opener), true) => {
                let inner = opener.strip_prefix('&').map_or("lt;", |inner| inner);
                out.push('&');
                if opener.starts_with('&') {
                    out.push_str("amp;");
                }
                out.push_str(inner);
                opener.len()
            }
            (Some("&lt;"), false) => {
                out.push('<');
                "&lt;".len()
            }
            (Some(opener), false) if opener.starts_with("&amp;") => {
                out.push('&');
                out.push_str(opener.strip_prefix("&amp;").unwrap_or_default());
                opener.len()
            }
            _ => {
                let sign = from.chars().next().map_or(0, char::len_utf8);
                out.push_str(from.get(..sign).unwrap_or_default());
                sign
            }
        };
        rest = from.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The `<`, `&lt;`, `&amp;lt;`, ... that stands before `details` or `/details`, in any case.
fn escaped_opener(text: &str) -> Option<&str> {
    let end = if text.starts_with('<') {
        1
    } else {
        let mut end = "&".len();
        while text.get(end..).is_some_and(|rest| rest.starts_with("amp;")) {
            end += "amp;".len();
        }
        if !text.get(end..)?.starts_with("lt;") {
            return None;
        }
        end + "lt;".len()
    };
    let name = text.get(end..)?;
    let name = name.strip_prefix('/').unwrap_or(name);
    let is_details =
        name.get(.."details".len()).is_some_and(|word| word.eq_ignore_ascii_case("details"));
    if is_details { text.get(..end) } else { None }
}
