//! Bookkeeping lines that a client writes into the system prompt for its own provider.
//!
//! They change with each request and mean nothing to a model. Digests of the history and of the prefix skip them. The
//! provider that reads them receives them unchanged. Every other provider receives the prompt without them, because they
//! would defeat its prompt cache.

use crate::content::{Block, Content, Speaker};
use crate::edit::Draft;
use crate::edit::list::ListEdit;
use crate::json::{Doc, Raw, Val};
use std::borrow::Cow;

/// The beginnings of these lines. Claude Code writes its version, its entry point and a checksum of the request (`cch`)
/// into the first block of its system prompt, and Anthropic's API removes the block.
/// Source: Claude Code from 2.1.15 on, as proxies in front of other houses report it (copilot-api, issue 174).
const LINES: [&str; 1] = ["x-anthropic-billing-header:"];

/// The members of a request that hold a system prompt outside the messages.
const MEMBERS: [&str; 2] = ["system", "instructions"];

/// Removes the lines from a text. `None` if it has none.
fn without_lines(text: &str) -> Option<String> {
    if !LINES.iter().any(|line| text.contains(line)) {
        return None;
    }
    let is_one = |line: &&str| LINES.iter().any(|begin| line.trim_start().starts_with(begin));
    let left: String = text.split_inclusive('\n').filter(|line| !is_one(line)).collect();
    (left.len() < text.len()).then_some(left)
}

/// The message without the lines. `None` if no text remains.
pub(crate) fn left(content: &Content) -> Option<Cow<'_, Content>> {
    let text = |block: &Block| match block {
        Block::Text(text) => without_lines(&text.text),
        Block::Media(_)
        | Block::Other(_)
        | Block::Thinking(_)
        | Block::ToolCall(_)
        | Block::ToolResponse(_) => None,
    };
    if content.speaker != Speaker::System || content.blocks.iter().all(|it| text(it).is_none()) {
        return Some(Cow::Borrowed(content));
    }
    let mut content = content.clone();
    content.blocks.retain_mut(|block| match (text(block), block) {
        (Some(left), Block::Text(text)) => {
            text.text = left;
            !text.text.trim().is_empty()
        }
        _ => true,
    });
    (!content.blocks.is_empty()).then_some(Cow::Owned(content))
}

/// Removes the lines from all messages. Each message keeps its index.
pub(crate) fn in_place(mut contents: Cow<'_, [Content]>) -> Cow<'_, [Content]> {
    for at in 0..contents.len() {
        let changed = match contents.get(at).map(left) {
            Some(None) => Vec::new(),
            Some(Some(Cow::Owned(changed))) => changed.blocks,
            Some(Some(Cow::Borrowed(_))) | None => continue,
        };
        if let Some(content) = contents.to_mut().get_mut(at) {
            content.blocks = changed;
        }
    }
    contents
}

/// Removes the lines from the system prompt of a body. `None` if it has none.
pub(crate) fn without(body: &str) -> Option<String> {
    if !LINES.iter().any(|line| body.contains(line)) {
        return None;
    }
    let doc = Doc::parse_str(body).ok()?;
    let (mut draft, mut members) = (Draft::new(), ListEdit::of(doc.root()));
    for (index, (key, value)) in doc.root().entries().enumerate() {
        if MEMBERS.contains(&&*key) && !say_without(value, &mut draft) {
            members.remove(index);
        }
    }
    members.finish(&mut draft);
    let plan = draft.finish(body.len()).ok().filter(|plan| !plan.is_empty())?;
    String::from_utf8(plan.apply(body.as_bytes()).into_owned()).ok()
}

/// Edits a prompt, which is a text or a list of blocks. Returns `false` if no text remains.
fn say_without(prompt: Val<'_>, draft: &mut Draft) -> bool {
    if let Some(text) = prompt.as_str() {
        let Some(left) = without_lines(&text) else { return true };
        if left.trim().is_empty() {
            return false;
        }
        draft.replace(prompt.span(), Raw::string(&left).as_str());
        return true;
    }
    let said = |block: Val<'_>| block.get("text").and_then(|text| without_lines(&text.as_str()?));
    let is_gone = |block: Val<'_>| said(block).is_some_and(|left| left.trim().is_empty());
    if prompt.items().next().is_some() && prompt.items().all(is_gone) {
        return false;
    }
    let mut blocks = ListEdit::of(prompt);
    for (index, block) in prompt.items().enumerate() {
        match (said(block), block.get("text")) {
            (Some(left), _) if left.trim().is_empty() => blocks.remove(index),
            (Some(left), Some(text)) => draft.replace(text.span(), Raw::string(&left).as_str()),
            _ => {}
        }
    }
    blocks.finish(draft);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "x-anthropic-billing-header: cc_version=2.1.77.a1b; cch=0f3c2;";

    #[test]
    fn a_line_of_bookkeeping_goes_from_the_prompt_and_nothing_else_does() {
        let line = LINE;
        for (system, expected) in [
            (format!(r#""{line}\nBe kind.""#), r#","system":"Be kind.""#),
            (format!(r#""{line}""#), ""),
            (
                format!(
                    r#"[{{"type":"text","text":"{line}"}}, {{"type":"text","text":"Be kind."}}]"#
                ),
                r#","system":[{"type":"text","text":"Be kind."}]"#,
            ),
            (format!(r#"[{{"type":"text","text":"{line}"}}]"#), ""),
            (
                format!(r#"[{{"text":"Say nothing of {line}","type":"text"}}]"#),
                r#","system":[{"text":"Say nothing of x-anthropic-billing-header: cc_version=2.1.77.a1b; cch=0f3c2;","type":"text"}]"#,
            ),
        ] {
            let body = |system: &str| format!(r#"{{"model":"m"{system},"n":1e400}}"#);
            let came = body(&format!(r#","system":{system}"#));
            let left = without(&came);
            assert_eq!(left.as_deref().unwrap_or(&came), body(expected), "{system}");
            assert_eq!(left.is_none(), system.contains("nothing"), "{system}");
        }
    }

    #[test]
    fn only_system_messages_have_bookkeeping() {
        let said = |speaker| Content::new(speaker, vec![Block::text(LINE), Block::text("Hi.")]);
        let hi = vec![Block::text("Hi.")];
        assert_eq!(left(&said(Speaker::System)).map(|it| it.blocks.clone()), Some(hi));
        assert!(matches!(left(&said(Speaker::Human)), Some(Cow::Borrowed(_))));
        let alone = Content::new(Speaker::System, vec![Block::text(LINE)]);
        assert_eq!(left(&alone), None);
        let both = [alone, said(Speaker::System)];
        let places: Vec<usize> =
            in_place(Cow::Borrowed(&both)).iter().map(|it| it.blocks.len()).collect();
        assert_eq!(places, [0, 1]);
    }
}
