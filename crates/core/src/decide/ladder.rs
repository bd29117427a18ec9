//! Substitutes for demanded thoughts that are missing.
//!
//! The ladder has these steps, and a request takes no more of them than necessary: the value that the provider
//! documents for calls of other models; a description in words, in place of the answers that lack their thoughts,
//! with thinking on and all other thoughts sent; thinking off for this request; else the request goes as it is. No
//! substitute imitates a thought, and the words only describe visible parts.
//!
//! Words have a trap: a model whose own last call became "the tool gave ..." may call again, and endlessly if that
//! call's thought is lost, too. So a loop whose newest answers are lost one after another continues without thinking,
//! if the model allows that.

use super::told::{can_tell, tell};
use super::{Input, Looked};
use crate::content::{Block, Content, Speaker};
use crate::contract::Told;
use crate::decision::{Action, Decision, Lasting, Why};
use crate::provider::Target;
use crate::restore::Step;
use std::borrow::Cow;
use std::ops::Range;

/// This number of lost answers in a row, up to the newest, means that every later thought will be lost, too.
pub(super) const LOSES_ALL: usize = 2;

/// An answer in a request without the thought that its model demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lacking {
    pub(super) messages: Range<usize>,
    why: Why,
    /// Its thought is demanded now, not only in an earlier request of the turn.
    pub(super) is_demanded: bool,
}

/// Why an answer has no thought. A thought that a limit leaves out is not lost: the model does without it.
pub(super) fn why(action: Action) -> Option<Why> {
    match action {
        Action::Drop(Why::OverLimit) => None,
        Action::Ambiguous(_) => Some(Why::Ambiguous),
        Action::Drop(why) | Action::Miss(why) => Some(why),
        Action::Withhold => Some(Why::Foreign),
        Action::Add | Action::Bypass | Action::Empty | Action::GoesOn | Action::Keep => None,
        Action::Off | Action::Restore | Action::Strip | Action::Tell | Action::Unseal => None,
    }
}

/// The substitute for missing thoughts in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    /// The provider's documented value replaces a missing payload.
    Bypass(&'static str),
    /// There is no substitute.
    None,
    /// Thinking is off.
    Off,
    /// The answers are described in words.
    Tell(Told),
}

/// The answers whose demanded thoughts are missing, and the answers that were described in words once, even if the
/// provider no longer demands the thoughts.
pub(super) fn lacking(input: &Input<'_>, answers: &[Decision]) -> Vec<Lacking> {
    let contract = input.contract();
    let lacking = input.steps().iter().zip(answers).filter_map(|(step, answer)| {
        // A fragment of an answer follows its first one, and a thought of the client stays.
        let is_there = answer.action.is_sent() || answer.action == Action::GoesOn;
        let is_told = answer.lasting == Some(Lasting::Told) && !is_there;
        let is_silent = contract.never_empty && answer.action == Action::Empty;
        let why = why(answer.action).or(is_told.then_some(Why::Told));
        let why = why.or(is_silent.then_some(Why::Silent))?;
        let is_demanded = contract.demands(step.is_current, step.turn_has_calls);
        let messages = step.contents.clone();
        (is_demanded || is_told).then_some(Lacking { messages, why, is_demanded })
    });
    lacking.collect()
}

/// The first step of the ladder that this model has; [`Fallback::None`] if there is no step, or if the request goes
/// as it came.
pub(super) fn fallback(input: &Input<'_>, looked: &Looked<'_>, lacking: &[Lacking]) -> Fallback {
    if input.goes_as_it_came {
        return Fallback::None;
    }
    first(&looked.contents, lacking, input.target, loses_all(input, looked, lacking))
}

/// The same for any messages; `loses_all`: the newest answers are lost one after another.
pub(super) fn first(
    contents: &[Content],
    lacking: &[Lacking],
    target: &Target,
    loses_all: bool,
) -> Fallback {
    let (contract, thinking) = (&target.rule.contract, &target.rule.thinking);
    if lacking.is_empty() {
        return Fallback::None;
    }
    if let Some(value) = contract.bypass {
        return Fallback::Bypass(value);
    }
    let has_words = |it: &Lacking| can_tell(contents, &it.messages, contract.told);
    let must_be_off = || {
        let is_silent = |it: &Lacking| it.is_demanded && !has_words(it);
        lacking.iter().any(is_silent) || loses_all
    };
    if thinking.off.is_some() && !contract.when_off && must_be_off() {
        return Fallback::Off;
    }
    Fallback::Tell(contract.told)
}

/// The newest answers of the turn under way are lost, one after another. Thoughts of another model do not count,
/// because the thoughts of this one may well be kept from now on. Without a vault, no later thoughts are kept either.
fn loses_all(input: &Input<'_>, looked: &Looked<'_>, lacking: &[Lacking]) -> bool {
    let is_answer = |step: &&Step| {
        looked.contents.get(step.contents.start).is_some_and(|it| it.speaker == Speaker::Ai)
    };
    let steps = input.steps().iter().filter(is_answer).rev();
    let steps = steps.map(|step| (step.contents.clone(), step.is_current));
    lost_in_a_row(steps, lacking) >= if input.vault.is_kept { LOSES_ALL } else { 1 }
}

/// How many of the newest answers are lost one after another. `steps` begins with the newest one; the flag tells
/// whether the step is part of the turn under way.
pub(super) fn lost_in_a_row(
    steps: impl Iterator<Item = (Range<usize>, bool)>,
    lacking: &[Lacking],
) -> usize {
    let newest = steps.zip(lacking.iter().rev()).take_while(|((messages, is_current), it)| {
        let is_lost = it.is_demanded && !it.is_withheld();
        *is_current && *messages == it.messages && is_lost
    });
    newest.count()
}

impl Lacking {
    /// The first message of the answer if its thought is lost. A withheld thought is not lost.
    pub(super) fn lost(&self) -> Option<usize> {
        (self.is_demanded && !self.is_withheld()).then_some(self.messages.start)
    }

    /// Returns whether the thought exists but the model cannot read it.
    pub(super) fn is_withheld(&self) -> bool {
        matches!(self.why, Why::Foreign | Why::Unknown | Why::Unreadable | Why::Unsealed)
    }

    /// An answer whose thought is demanded in this request.
    pub(super) fn demanded(messages: Range<usize>, why: Why) -> Self {
        Lacking { messages, why, is_demanded: true }
    }
}

impl Fallback {
    /// Applies the fallback to the messages of the answers that lack their thoughts, and records the action of each.
    pub(super) fn take(
        self,
        contents: &mut Cow<'_, [Content]>,
        lacking: &[Lacking],
    ) -> Vec<Decision> {
        let done = |it: &Lacking| {
            let mut at = (it.messages.start, 0);
            let (action, then) = match self {
                Fallback::Bypass(value) => match sign(contents.to_mut(), &it.messages, value) {
                    Some(call) => {
                        at = call;
                        (Action::Bypass, "")
                    }
                    None => (Action::Drop(it.why), ""),
                },
                Fallback::Off => (Action::Off, "; thinking is off in this request"),
                Fallback::Tell(how) if tell(contents.to_mut(), &it.messages, how) => {
                    (Action::Tell, "; the answer and what its calls gave are told in words")
                }
                Fallback::None | Fallback::Tell(_) => (Action::Drop(it.why), ""),
            };
            if matches!(action, Action::Drop(_)) && !it.is_demanded {
                return None;
            }
            let reason = match action {
                Action::Bypass => {
                    "nobody has the thought; the provider documents this value for such calls"
                        .into()
                }
                _ => format!("the model demands a thought here, and {}{then}", it.why.sentence()),
            };
            let decision = Decision::block(action, "contract", reason);
            Some(Decision { message: at.0, block: Some(at.1), ..decision })
        };
        lacking.iter().filter_map(done).collect()
    }
}

/// Reports the answers that lack thoughts. A documented value belongs to a block, whose decision was made already.
pub(super) fn explain(laddered: &[Decision], decisions: &mut Vec<Decision>) {
    for done in laddered {
        if done.action != Action::Bypass {
            decisions.push(done.clone());
            continue;
        }
        let is_it = |it: &&mut Decision| (it.message, it.block) == (done.message, done.block);
        if let Some(sent) = decisions.iter_mut().filter(is_it).find(|it| it.action.is_sent()) {
            (sent.action, sent.reason) = (done.action, done.reason.clone());
        }
    }
}

/// Puts the value on the first call of an answer, for only that carries a payload. Gives its message and block.
fn sign(contents: &mut [Content], messages: &Range<usize>, value: &str) -> Option<(usize, usize)> {
    for message in messages.clone() {
        let blocks = &mut contents.get_mut(message)?.blocks;
        let mut calls = blocks.iter_mut().enumerate().filter_map(|(at, block)| match block {
            Block::ToolCall(call) => Some((at, call)),
            Block::Media(_)
            | Block::Other(_)
            | Block::Text(_)
            | Block::Thinking(_)
            | Block::ToolResponse(_) => None,
        });
        if let Some((block, call)) = calls.next() {
            let is_free = call.signature.is_none();
            call.signature.get_or_insert_with(|| value.to_owned());
            return is_free.then_some((message, block));
        }
    }
    None
}
