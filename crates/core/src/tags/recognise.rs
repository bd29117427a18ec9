//! Recognises texts that seem to contain thoughts between tags.

use super::families::FAMILIES;
use super::family::{Begins, Family, Role};
use super::piece::Piece;
use super::scanner::{Options, Start, TagScanner};
use super::spec::TagSpec;

/// The first family whose tags surround a thought in this text. Tags in code are text, and so is a tag without an
/// end.
#[must_use]
pub fn recognised(text: &str) -> Option<&'static str> {
    let family = FAMILIES.iter().find(|family| is_markup(family) && has_thought(family, text))?;
    Some(family.name)
}

/// Whether the family's tags are marks and not words that any text may have.
fn is_markup(family: &Family) -> bool {
    let open = family.markers.iter().find(|marker| marker.role == Role::Open);
    open.is_some_and(|open| open.text.starts_with(['<', '[', '◁']))
}

fn has_thought(family: &'static Family, text: &str) -> bool {
    let ends = |role| matches!(role, Role::Close | Role::CloseAnswer);
    // Most texts have no end tag, and need no scan then.
    if !family.markers.iter().any(|it| ends(it.role) && text.contains(it.text)) {
        return false;
    }
    let mut is_whole = false;
    let spec = TagSpec { family, custom: None };
    // Without a tag that begins it, only the first marker tells a thought from a text about tags.
    let start = if family.begins == Begins::Inside { Start::Text } else { Start::Family };
    let mut scanner = TagScanner::new(&spec, Options { start, ..Options::default() });
    scanner.push(text, &mut |piece| is_whole |= piece == Piece::ThinkingEnd);
    is_whole
}

#[cfg(test)]
mod tests {
    use super::recognised;

    #[test]
    fn texts_that_look_like_tags_name_their_family() {
        for (text, family) in [
            ("<think>hm</think>\n\nYes.", Some("think")),
            ("Sure. <thinking>hm</thinking> Yes.", Some("thinking")),
            // The prompt's template opened it.
            ("hm\n</think>\n\nYes.", Some("think")),
            ("[THINK]hm[/THINK]Yes.", Some("mistral")),
            ("<seed:think>hm</seed:think>Yes.", Some("seed_oss")),
            ("◁think▷hm◁/think▷Yes.", Some("kimi_vl")),
            ("<|channel|>analysis<|message|>hm<|end|>Yes.", Some("harmony")),
            ("<REASONING>hm</REASONING>Yes.", Some("reasoning")),
            ("", None),
            ("The tag <think> begins one.", None),
            ("Write `<think>hm</think>` for it.", None),
            ("```xml\n<think>hm</think>\n```\n", None),
            ("&lt;think&gt;hm&lt;/think&gt;", None),
            ("Here is my thought process: hm. Here is my response: yes.", None),
            ("a < b && c > d, [x], <|end|>", None),
        ] {
            assert_eq!(recognised(text), family, "{text}");
        }
    }
}
