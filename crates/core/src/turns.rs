//! Turns: from one user message up to the next. This module alone defines a turn.
//!
//! A user message with a tool's result never begins a turn, even if it has other blocks; a user message without a
//! result does, also right behind messages of tools.

use crate::content::{Block, Content, Speaker};
use crate::settings::Strip;

/// The turn of each message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    turn: Vec<usize>,
    has_calls: Vec<bool>,
    /// For each turn, the first message of its last answer.
    last_answer: Vec<usize>,
    last: usize,
    last_with_thoughts: Option<usize>,
}

impl Turns {
    /// Reads the turns of a conversation.
    pub(crate) fn of(contents: &[Content]) -> Self {
        let mut turns = Turns {
            turn: Vec::new(),
            has_calls: vec![false],
            last_answer: vec![0],
            last: 0,
            last_with_thoughts: None,
        };
        let mut goes_on = false;
        for (message, content) in contents.iter().enumerate() {
            if begins(content) {
                turns.last += 1;
                turns.has_calls.push(false);
                turns.last_answer.push(0);
            }
            turns.turn.push(turns.last);
            let is_answer = content.speaker == Speaker::Ai;
            if is_answer
                && !goes_on
                && let Some(last) = turns.last_answer.get_mut(turns.last)
            {
                *last = message;
            }
            goes_on = is_answer;
            if calls(content)
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

    /// The number of the turn that a message belongs to.
    pub(crate) fn of_message(&self, message: usize) -> usize {
        self.turn.get(message).copied().unwrap_or(self.last)
    }

    /// The message belongs to the turn under way.
    pub(crate) fn is_current(&self, message: usize) -> bool {
        self.turn.get(message) == Some(&self.last)
    }

    /// Returns whether a later answer exists in the same turn. The request for that answer had this one's thought.
    pub(crate) fn was_sent(&self, message: usize) -> bool {
        self.last_answer.get(self.of_message(message)).is_some_and(|last| message < *last)
    }

    /// Some message of this message's turn calls tools.
    pub(crate) fn has_calls(&self, message: usize) -> bool {
        self.turn.get(message).and_then(|turn| self.has_calls.get(*turn)).copied().unwrap_or(false)
    }

    /// Whether a strip policy keeps the thoughts of this message out. `allButLast` keeps those of the last turn that has
    /// any; a new question without an answer does not count.
    pub(crate) fn is_stripped(&self, strip: Strip, message: usize) -> bool {
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

/// Whether a turn begins with this message.
#[must_use]
pub fn begins(content: &Content) -> bool {
    let is_result = |block: &Block| matches!(block, Block::ToolResponse(_));
    content.speaker == Speaker::Human
        && !content.about_tools
        && !content.blocks.iter().any(is_result)
}

fn calls(content: &Content) -> bool {
    content.about_tools || (content.speaker == Speaker::Ai && content.tool_calls().next().is_some())
}
