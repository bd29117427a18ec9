//! What a client sends of thoughts itself, in the form that its model reads.

use crate::content::{Block, Content, Speaker};
use crate::provider::Target;
use crate::wire::chat_completions::SIBLINGS;
use std::borrow::Cow;

/// Gives thoughts the name that the provider reads, and takes ids off reasoning items that lost their pair.
pub(super) fn fit(contents: &mut Cow<'_, [Content]>, target: &Target) {
    if contents.iter().all(|content| content.thoughts().next().is_none()) {
        return;
    }
    let field = target.rule.contract.field.filter(|field| SIBLINGS.contains(field));
    let answers = contents.to_mut().iter_mut().filter(|content| content.speaker == Speaker::Ai);
    for content in answers {
        if let Some(field) = field {
            rename(content, field);
        }
        unpair(content);
    }
}

/// A thought under another name is refused, or dropped without a word.
fn rename(content: &mut Content, field: &str) {
    for block in &mut content.blocks {
        if let Block::Thinking(thinking) = block
            && SIBLINGS.contains(&thinking.source_field.as_str())
            && thinking.source_field != field
        {
            field.clone_into(&mut thinking.source_field);
        }
    }
}

/// The id of a reasoning item must come with that of the message behind it, or not at all. Without an id only its
/// payload says what it was. A call behind it is known by its `call_id`, and needs no id of its own.
/// Source: the pair rule of the Responses API, and requests that it took.
fn unpair(content: &mut Content) {
    let mut has_id = None;
    for block in content.blocks.iter_mut().rev() {
        match block {
            Block::Thinking(thinking) if thinking.is_item() => {
                if has_id == Some(false) && thinking.encrypted_content.is_some() {
                    thinking.id = None;
                }
            }
            Block::Text(text) => {
                has_id = Some(text.extra.fields.iter().any(|(key, _)| key == "id"));
            }
            Block::Media(_)
            | Block::Other(_)
            | Block::Thinking(_)
            | Block::ToolCall(_)
            | Block::ToolResponse(_) => has_id = None,
        }
    }
}
