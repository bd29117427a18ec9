//! Results of calls that are not in the request, because the provider keeps the answer with the call
//! (`previous_response_id`). The caller names the call by the ticket that it was given.

use super::ids::normal_id;
use super::key::Key;
use super::normal::Normal;
use super::question::anchor;
use super::record::{Head, Kept};
use crate::content::{Block, Content, ToolCall};
use crate::edit::{Change, What};
use std::collections::BTreeSet;

/// A result that names a call outside the request by a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Orphan {
    message: usize,
    block: usize,
    /// The ticket, in the part that clients leave alone.
    id: String,
    /// The key of the record of the call.
    pub(super) names: Key,
}

impl Orphan {
    /// All such results, in order.
    pub(super) fn all(contents: &[Content], normal: &Normal<'_>) -> Vec<Orphan> {
        let calls = contents.iter().flat_map(Content::tool_calls);
        let known: BTreeSet<&str> = calls.filter_map(|call| call.id.as_deref()).collect();
        let mut orphans = Vec::new();
        for (message, content) in contents.iter().enumerate() {
            for (block, value) in content.blocks.iter().enumerate() {
                let Block::ToolResponse(result) = value else { continue };
                let named = result.call_id.as_deref().filter(|id| !known.contains(id));
                let Some(id) = named.map(normal_id) else { continue };
                if let Some(names) = anchor(normal, &id, false) {
                    orphans.push(Orphan { message, block, id, names });
                }
            }
        }
        orphans
    }

    /// Whether this record has the call.
    pub(crate) fn is_of(&self, head: &Head) -> bool {
        head.keys.anchors.contains(&self.names)
    }

    /// The change that gives the result the provider's own id of the call.
    pub(crate) fn renamed(&self, head: &Head, kept: &Kept) -> Option<Change> {
        let place = head.seen.calls.iter().position(|call| call.id == self.id)?;
        let mut calls = kept.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(ToolCall { id, .. }) => Some(id),
            Block::Media(_)
            | Block::Other(_)
            | Block::Text(_)
            | Block::Thinking(_)
            | Block::ToolResponse(_) => None,
        });
        let native = calls.nth(place)?.clone()?;
        let Orphan { message, block, .. } = *self;
        Some(Change { message, block, what: What::Rename(Some(native)) })
    }
}
