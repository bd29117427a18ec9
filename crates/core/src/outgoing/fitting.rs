//! Fits the blocks of an answer to the combinations that an endpoint accepts.

use crate::content::{Block, Content, Speaker};
use crate::contract::Contract;
use std::borrow::Cow;

/// Removes the text from answers with a thought and calls if the contract keeps these apart. Returns whether it did.
///
/// The thought stays, because the model needs it to continue and the calls show the action. llama.cpp's own fix makes the
/// same choice.
pub(crate) fn fitting<'c>(
    mut contents: Cow<'c, [Content]>,
    contract: &Contract,
) -> (Cow<'c, [Content]>, bool) {
    let mut is_lost = false;
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
