//! Changes of the neutral form that are carried out on a caller's bytes.

use crate::content::{Block, Content, Thinking};
use std::borrow::Cow;
use std::cmp::Reverse;

/// One change of one message. Indices are those of the unchanged request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The message, as an index in the request's contents.
    pub message: usize,
    /// The block to change, or the block before which an insertion goes; the number of blocks for the end.
    pub block: usize,
    /// The change.
    pub what: What,
}

/// A change of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A thought goes before it. Several thoughts for one place keep their order.
    Insert(Box<Thinking>),
    /// It goes: a thought, or a copy of one.
    Remove,
    /// A call gets this id, or loses its id; a result refers to this id.
    Rename(Option<String>),
    /// The text becomes this one.
    Say(String),
    /// The opaque payload on it becomes this one, or goes; of a thought all payloads.
    Sign(Option<String>),
}

/// The contents with the changes applied; borrows them if there are no changes.
#[must_use]
pub fn changed<'c>(contents: &'c [Content], changes: &[Change]) -> Cow<'c, [Content]> {
    if changes.is_empty() {
        return Cow::Borrowed(contents);
    }
    let mut changed = contents.to_vec();
    let mut ordered: Vec<&Change> = changes.iter().collect();
    // Changes are applied from the end, so that indices stay valid. Insertions at one place are applied last first,
    // and after the changes of the block itself.
    ordered.reverse();
    ordered.sort_by_key(|change| {
        let is_insert = matches!(change.what, What::Insert(_));
        Reverse((change.message, change.block, !is_insert))
    });
    for Change { message, block, what } in ordered {
        let Some(content) = changed.get_mut(*message) else { continue };
        match what {
            What::Insert(thinking) => {
                let at = (*block).min(content.blocks.len());
                content.blocks.insert(at, Block::Thinking((**thinking).clone()));
            }
            What::Remove if *block < content.blocks.len() => {
                content.blocks.remove(*block);
            }
            What::Remove => {}
            What::Rename(id) => match content.blocks.get_mut(*block) {
                Some(Block::ToolCall(call)) => call.id.clone_from(id),
                Some(Block::ToolResponse(response)) => response.call_id.clone_from(id),
                Some(Block::Media(_) | Block::Other(_) | Block::Text(_) | Block::Thinking(_))
                | None => {}
            },
            What::Say(said) => {
                if let Some(Block::Text(text)) = content.blocks.get_mut(*block) {
                    text.text.clone_from(said);
                }
            }
            What::Sign(signature) => match content.blocks.get_mut(*block) {
                Some(Block::Thinking(thinking)) => {
                    (thinking.redacted_data, thinking.encrypted_content) = (None, None);
                    (thinking.signature, thinking.id) = (signature.clone(), None);
                }
                Some(Block::ToolCall(call)) => call.signature.clone_from(signature),
                Some(Block::Text(text)) => text.signature.clone_from(signature),
                Some(Block::Media(_) | Block::Other(_) | Block::ToolResponse(_)) | None => {}
            },
        }
    }
    Cow::Owned(changed)
}
