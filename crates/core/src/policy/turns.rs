//! Turns: from one user message up to the next.

use crate::content::{Block, Content, Speaker};
use crate::settings::Strip;

/// The turn of each message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Turns {
    turn: Vec<usize>,
    has_calls: Vec<bool>,
    last: usize,
    last_with_thoughts: Option<usize>,
}

impl Turns {
    pub(super) fn of(contents: &[Content]) -> Self {
        let mut turns =
            Turns { turn: Vec::new(), has_calls: vec![false], last: 0, last_with_thoughts: None };
        for content in contents {
            if content.speaker == Speaker::Human && !is_only_results(content) {
                turns.last += 1;
                turns.has_calls.push(false);
            }
            turns.turn.push(turns.last);
            if content.tool_calls().next().is_some()
                && let Some(has_calls) = turns.has_calls.get_mut(turns.last)
            {
                *has_calls = true;
            }
            if content.thoughts().next().is_some() {
                turns.last_with_thoughts = Some(turns.last);
            }
        }
        turns
    }

    /// The message belongs to the turn under way.
    pub(super) fn is_current(&self, message: usize) -> bool {
        self.turn.get(message) == Some(&self.last)
    }

    /// Some message of this message's turn calls tools.
    pub(super) fn has_calls(&self, message: usize) -> bool {
        self.turn.get(message).and_then(|turn| self.has_calls.get(*turn)).copied().unwrap_or(false)
    }

    /// Whether a strip policy keeps the thoughts of this message out. `allButLast` keeps those of the last turn that has
    /// any; a new question without an answer does not count.
    pub(super) fn is_stripped(&self, strip: Strip, message: usize) -> bool {
        match strip {
            Strip::None => false,
            Strip::All => true,
            Strip::AllButLast => {
                self.last_with_thoughts.is_some()
                    && self.turn.get(message).copied() != self.last_with_thoughts
            }
        }
    }
}

/// Some wires carry tool results in user messages; those begin no turn.
fn is_only_results(content: &Content) -> bool {
    !content.blocks.is_empty()
        && content.blocks.iter().all(|block| matches!(block, Block::ToolResponse(_)))
}
