//! What a client sends of a conversation.

use super::change::{Habit, change};
use super::vault::words_of;
use super::world::Talk;
use thinkthrough_core::content::{Block, Content, Speaker};

/// A message as it is sent, and what is true about it.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) content: Content,
    /// The true answers in it, in order.
    pub(super) parts: Vec<Part>,
    /// The copy of a thought at the head of its text, as it is written there.
    pub(super) copy: Option<String>,
    /// The time that it says, as it is written there.
    pub(super) clock: Option<String>,
}

/// An answer, or some calls of it, in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    /// How many of the message's calls are its.
    pub(super) calls: usize,
}

impl Sent {
    pub(super) fn is_of(&self, speaker: Speaker) -> bool {
        self.content.speaker == speaker
    }

    pub(super) fn is_answer(&self) -> bool {
        self.is_of(Speaker::Ai)
    }

    pub(super) fn calls(&self) -> usize {
        self.content.tool_calls().count()
    }
}

/// What the client sends now. It sends the same each time that it has the same, the time apart.
pub(super) fn send(talk: &Talk) -> Vec<Sent> {
    let message = |message: &super::world::Message| Sent {
        parts: message
            .name
            .iter()
            .map(|name| Part { name: name.clone(), calls: message.content.tool_calls().count() })
            .collect(),
        content: message.content.clone(),
        copy: None,
        clock: None,
    };
    let mut sent: Vec<Sent> = talk.truth.iter().map(message).collect();
    forget(&mut sent, &talk.habits);
    for habit in &talk.habits {
        change(&mut sent, *habit, talk.requests);
    }
    sent
}

/// Most clients send no thoughts; some send all, and some those of the turn under way.
fn forget(sent: &mut [Sent], habits: &[Habit]) {
    let turn = sent.iter().rposition(|it| it.is_of(Speaker::Human)).unwrap_or(0);
    for (at, it) in sent.iter_mut().enumerate() {
        let keeps = habits.contains(&Habit::KeepsThoughts)
            || (habits.contains(&Habit::StripsThoughts) && at > turn);
        if !keeps {
            it.content.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
        }
    }
}

/// The thought of a message's answer, if there is one.
pub(super) fn thought_in(sent: &Sent) -> Option<String> {
    match sent.parts.as_slice() {
        [part] => Some(words_of(&part.name)),
        _ => None,
    }
}
