//! A finished answer becomes a record.

use super::key::{Key, Secret, Version};
use super::lasting::{Run, runs};
use super::normal::Normal;
use super::question::{Place, Question, Visible};
use super::record::{
    Ancestor, CallMark, Delivery, Head, Kept, Keys, Link, Seen, Thought, readable, seals,
};
use super::ticket;
use crate::content::{Block, Content, Origin, ToolCall};
use crate::decision::Decision;

/// A finished answer.
#[derive(Clone, Debug)]
pub struct Answered<'a> {
    /// The id for its record.
    pub record: &'a str,
    /// The delivered content, with the provider's own ids.
    pub content: Content,
    /// The origin of the answer.
    pub origin: &'a Origin,
    /// How it ended.
    pub delivery: Delivery,
    /// When it ended, in milliseconds since 1970.
    pub at: u64,
    /// The caller was given tickets of this form in place of the ids of calls.
    pub tickets: Option<ticket::Form>,
    /// The caller was given a ticket in the place of its thoughts' signature.
    pub has_thought_ticket: bool,
}

/// The predecessor data of a coming answer: the data of the request that its record needs, small enough to hold while
/// the answer comes.
#[derive(Clone, Debug)]
pub struct Hook {
    version: Version,
    hint: Option<Key>,
    root: Key,
    lists_ids: bool,
    end: Place,
    parent: Link,
    follows: Link,
    ancestors: Vec<Ancestor>,
    earlier: Option<Vec<Run>>,
    goes_on: bool,
}

/// The most answers before one with an id that can be found by it.
const ANCESTORS: usize = 16;

/// The record of an answer to the request that `question` was read from and whose `answers` were decided about, as
/// [`Hook::capture`].
#[must_use]
pub fn capture(
    question: &Question,
    answers: &[Decision],
    answered: Answered<'_>,
    secret: &Secret,
) -> Option<(Head, Kept)> {
    Hook::of(question, answers).capture(answered, secret)
}

impl Hook {
    /// The hook for the answer to the request of `question`, with the decisions `answers`.
    #[must_use]
    pub fn of(question: &Question, answers: &[Decision]) -> Self {
        let is_thought = |it: &&Decision| it.action.is_sent();
        Hook {
            version: question.version,
            hint: question.hint,
            root: question.root,
            lists_ids: question.lists_ids,
            end: question.end.clone(),
            parent: link(answers.last()),
            // The last answer whose thought the coming one is thought behind.
            follows: link(answers.iter().rev().find(is_thought)),
            ancestors: ancestors(question, answers),
            earlier: Some(runs(question, answers)),
            goes_on: answers.iter().any(|it| !it.evidence.is_empty()),
        }
    }

    /// The same for a request that was decided alone, because its look-up failed or was not made: later requests must
    /// not rely on it.
    #[must_use]
    pub fn alone(self) -> Self {
        Hook { earlier: None, ..self }
    }

    /// Whether the request goes on from an answer that has a record.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// The record of the answer. `None` if no record may be made: the upstream broke off, or the answer has no
    /// visible part that could find it again.
    #[must_use]
    pub fn capture(&self, answered: Answered<'_>, secret: &Secret) -> Option<(Head, Kept)> {
        if answered.delivery == Delivery::Cut {
            return None;
        }
        let normal = Normal { secret, version: self.version };
        let was_thinking =
            |block: &Block| matches!(block, Block::Thinking(thinking) if thinking.partial);
        // An unfinished thought is not kept, but the record must not claim that the answer had no thought.
        let may_have_come = answered.delivery == Delivery::Stopped
            || answered.content.blocks.iter().any(was_thinking);
        let begun = self.end.begun.as_ref();
        let mut text = begun.map(|begun| begun.text.clone()).unwrap_or_default();
        text.push_str(&answered.content.visible_text());
        let given = given_calls(&answered, secret);
        let mut calls: Vec<&ToolCall> = begun.iter().flat_map(|begun| &begun.calls).collect();
        calls.extend(&given);
        let visible = Visible::of(&normal, &text, &calls, self.lists_ids);
        let kept = Kept::of(answered.content.blocks);
        let thought = Thought::of(&normal, kept.blocks.iter());
        if thought.is_none() && may_have_come {
            return None;
        }
        let ticket = || ticket::key(&normal, &ticket::of_thought(secret, answered.record));
        let head = Head {
            id: answered.record.to_owned(),
            version: self.version,
            origin: answered.origin.clone(),
            hint: self.hint,
            root: self.root,
            keys: Keys {
                answered: visible.behind(&normal, &self.end.history)?,
                anchors: visible.calls.iter().filter_map(|call| call.names).collect(),
                thought: answered.has_thought_ticket.then(ticket),
            },
            seen: seen(visible),
            prefix: self.end.prefix,
            parent: self.parent.clone(),
            follows: self.follows.clone(),
            ancestors: self.ancestors.clone(),
            earlier: self.earlier.clone(),
            thought,
            words: normal.words(&readable(&kept.blocks)),
            seals: seals(&normal, kept.blocks.iter()),
            delivery: answered.delivery,
            at: answered.at,
        };
        Some((head, kept))
    }
}

fn link(answer: Option<&Decision>) -> Link {
    let Some(answer) = answer else { return Link::Root };
    answer.evidence.last().map_or(Link::Unknown, |found| Link::Record(found.id.clone()))
}

/// The answers without a unique id right before the coming one.
fn ancestors(question: &Question, answers: &[Decision]) -> Vec<Ancestor> {
    let before = question.steps.iter().zip(answers).rev().take(ANCESTORS);
    let unnamed = before.map_while(|(step, answer)| {
        let found = answer.found().filter(|found| !found.is_anchored)?;
        Some(Ancestor { id: found.id.clone(), content: step.visible.content })
    });
    unnamed.collect()
}

fn seen(visible: Visible) -> Seen {
    let Visible { text, copy, calls, content } = visible;
    let calls = calls.into_iter();
    let calls = calls.map(|it| CallMark { name: it.name, digest: it.digest, id: it.id });
    Seen { text, copy, calls: calls.collect(), content }
}

/// The calls as the caller sees them.
fn given_calls(answered: &Answered<'_>, secret: &Secret) -> Vec<ToolCall> {
    let calls = answered.content.tool_calls().zip(0_u32..);
    let given = calls.map(|(call, index)| {
        let mut call = call.clone();
        if let Some(form) = answered.tickets {
            call.id = Some(ticket::mint(secret, answered.record, index, form));
        }
        call
    });
    given.collect()
}
