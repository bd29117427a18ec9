//! Fits the blocks of an answer to the combinations that an endpoint accepts.

use crate::content::{Block, Content, Speaker};
use crate::json::Raw;
use crate::provider::Target;
use std::borrow::Cow;

/// Removes members that the provider refuses, and the text from answers with a thought and calls if the contract keeps
/// these apart. Returns whether a text was removed.
///
/// The thought stays, because the model needs it to continue and the calls show the action. llama.cpp's own fix makes the
/// same choice.
pub(crate) fn fitting<'c>(
    mut contents: Cow<'c, [Content]>,
    target: &Target,
) -> (Cow<'c, [Content]>, bool) {
    let (contract, mut is_lost) = (&target.rule.contract, false);
    let is_refused = |(key, _): &(String, Raw)| target.dialect.refuses.contains(&key.as_str());
    for at in 0..contents.len() {
        let has_some = |it: &Content| it.extra.fields.iter().any(is_refused);
        if contents.get(at).is_some_and(has_some)
            && let Some(content) = contents.to_mut().get_mut(at)
        {
            content.extra.fields.retain(|field| !is_refused(field));
        }
    }
    for at in 0..contents.len() {
        let Some(content) = contents.get(at).filter(|it| contract.apart && is_crowded(it)) else {
            continue;
        };
        let is_left_out = |block: &Block| matches!(block, Block::Text(_));
        is_lost |= content.blocks.iter().any(is_left_out);
        if let Some(content) = contents.to_mut().get_mut(at) {
            content.blocks.retain(|block| !is_left_out(block));
        }
    }
    (contents, is_lost)
}

/// An answer with a thought, a text and calls.
fn is_crowded(content: &Content) -> bool {
    let has = |is_it: &dyn Fn(&Block) -> bool| content.blocks.iter().any(is_it);
    content.speaker == Speaker::Ai
        && has(&|block| matches!(block, Block::ToolCall(_)))
        && has(&|block| matches!(block, Block::Thinking(it) if !it.thought.is_empty()))
        && has(&|block| matches!(block, Block::Text(it) if !it.text.is_empty()))
}
