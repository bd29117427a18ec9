//! What is done about thoughts that a model demands and that nobody has.
//!
//! A ladder, which is gone down only as far as need be: the value that the provider documents for calls of other
//! models; the answers that lack their thoughts told in words, in their places, with thinking on and all other thoughts
//! sent; thinking off for this request; else the request goes as it is. Nothing that is put in stands for a thought, and
//! what is told could be seen before.
//!
//! Words have a trap: a model whose own last call became "the tool gave ..." may call again, and for ever where that call
//! is lost, too. So a loop whose newest answers are lost one after another goes on without thinking, where it can.

use super::handling::Restore;
use super::told::{can_tell, tell};
use super::{RequestContext, Without};
use crate::content::{Block, Content, Speaker};
use crate::contract::Told;
use crate::policy::{Action, Decision};
use crate::restore::{Outcome, Restoration, Step, Verdict, Why};
use std::ops::Range;

/// So many lost answers in a row, up to the newest, are a loop that loses whatever the model says.
const LOSES_ALL: usize = 2;

/// An answer in a request without the thought that its model demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lacking {
    pub(super) messages: Range<usize>,
    why: Lost,
    /// Its thought is demanded in this request, and not only in an earlier one of the turn that it stands in.
    pub(super) is_demanded: bool,
}

/// Why an answer has no thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    /// Several fit.
    Ambiguous,
    Because(Why),
}

impl Lost {
    fn sentence(self) -> &'static str {
        match self {
            Lost::Ambiguous => "several thoughts fit this answer",
            Lost::Because(why) => why.sentence(),
        }
    }
}

/// What a limit leaves out is not lost: the model does without it.
fn why(verdict: Verdict) -> Option<Lost> {
    match verdict {
        Verdict::Ambiguous(_) => Some(Lost::Ambiguous),
        Verdict::Dropped(Why::OverLimit)
        | Verdict::Empty
        | Verdict::GoesOn
        | Verdict::Kept
        | Verdict::NotWanted
        | Verdict::Restored => None,
        Verdict::Missed(why) | Verdict::Dropped(why) => Some(Lost::Because(why)),
    }
}

/// Whether this model went on in the same turn behind an answer that it knew no thought of. A record that cannot go back
/// could not then; without one, the record of the next answer says whether there was any.
fn was_lacking(steps: &[(&Step, &Outcome)], at: usize) -> bool {
    let Some(((step, outcome), behind)) = steps.get(at..).and_then(<[_]>::split_first) else {
        return false;
    };
    let is_same_turn = |(next, _): &&(&Step, &Outcome)| next.turn == step.turn;
    let turn = behind.iter().take_while(is_same_turn);
    let mut own = turn.enumerate().filter(|(_, (_, next))| {
        next.found.is_some() && next.verdict != Verdict::Dropped(Why::Foreign)
    });
    own.next().is_some_and(|(place, (_, next))| {
        let was_unknown = next.found.as_ref().is_some_and(|found| found.follows_unknown);
        outcome.found.is_some() || place > 0 || was_unknown
    })
}

/// What is done for a request in which thoughts are lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    /// The provider's documented value goes where a payload is missing.
    Bypass(&'static str),
    /// Nothing is done.
    None,
    /// Thinking is off.
    Off,
    /// The answers are told in words.
    Tell(Told),
}

/// What was done about one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    AsItIs,
    Bypassed,
    Told,
}

impl RequestContext<'_> {
    /// The answers whose thoughts the provider demands and nobody has; and those of earlier turns that were lacking when it
    /// demanded them, for what was told then stays told.
    pub(super) fn lacking(&self, plan: Option<&Restoration>) -> Vec<Lacking> {
        let contract = &self.target.rule.contract;
        if !contract.required {
            return Vec::new();
        }
        let steps = self.question.iter().flat_map(|question| &question.steps);
        let outcomes = plan.into_iter().flat_map(|plan| &plan.outcomes);
        let steps: Vec<(&Step, &Outcome)> = steps.zip(outcomes).collect();
        let mut lacking = Vec::new();
        for (at, (step, outcome)) in steps.iter().enumerate() {
            // A fragment of an answer goes with its first one.
            let Some(why) = why(outcome.verdict) else { continue };
            let is_demanded = contract.demands(step.is_current, step.turn_has_calls);
            let was_demanded = || contract.demands(true, step.turn_has_calls);
            if is_demanded || (was_demanded() && was_lacking(&steps, at)) {
                lacking.push(Lacking { messages: step.contents.clone(), why, is_demanded });
            }
        }
        lacking
    }

    /// The first thing on the ladder that this model has; nothing where the thought must be there, or all goes as it came.
    pub(super) fn fallback(&self, lacking: &[Lacking], contents: &[Content]) -> Fallback {
        let (contract, thinking) = (&self.target.rule.contract, &self.target.rule.thinking);
        let is_asked = self.handling.restore == Restore::Recommended && !self.handling.dry_run;
        if lacking.is_empty() || !is_asked {
            return Fallback::None;
        }
        if let Some(value) = contract.bypass {
            return Fallback::Bypass(value);
        }
        let has_words = |it: &Lacking| can_tell(contents, &it.messages, contract.told);
        let must_be_off = || {
            let is_silent = |it: &Lacking| it.is_demanded && !has_words(it);
            lacking.iter().any(is_silent) || self.loses_all(lacking, contents)
        };
        if thinking.off.is_some() && !contract.when_off && must_be_off() {
            return Fallback::Off;
        }
        Fallback::Tell(contract.told)
    }

    /// The newest answers of the turn under way are lost, one after another. What another model thought is not: what this
    /// one says next may well be kept. Nobody keeps what nobody owns.
    fn loses_all(&self, lacking: &[Lacking], contents: &[Content]) -> bool {
        let is_kept = self.owner.as_ref().is_some_and(|owner| owner.is_kept);
        let is_answer = |step: &&Step| {
            contents.get(step.contents.start).is_some_and(|it| it.speaker == Speaker::Ai)
        };
        let steps = self.question.iter().flat_map(|question| &question.steps);
        let newest =
            steps.filter(is_answer).rev().zip(lacking.iter().rev()).take_while(|(step, it)| {
                step.is_current
                    && step.contents == it.messages
                    && it.why != Lost::Because(Why::Foreign)
            });
        newest.count() >= if is_kept { LOSES_ALL } else { 1 }
    }
}

impl Fallback {
    /// Carries it out on the messages of the answers that lack their thoughts. Gives what was done about each.
    pub(super) fn take(
        self,
        contents: &mut [Content],
        lacking: &[Lacking],
        wire: &'static str,
    ) -> Vec<Done> {
        let done = |it: &Lacking| match self {
            Fallback::Bypass(value) if sign(contents, &it.messages, value) => Done::Bypassed,
            Fallback::Tell(how) if tell(contents, &it.messages, how, wire) => Done::Told,
            Fallback::Bypass(_) | Fallback::None | Fallback::Off | Fallback::Tell(_) => {
                Done::AsItIs
            }
        };
        lacking.iter().map(done).collect()
    }

    /// The numbers of what was done.
    pub(super) fn counts(self, done: &[Done]) -> Without {
        let count = |what: Done| done.iter().filter(|it| **it == what).count();
        Without {
            bypassed: count(Done::Bypassed),
            told: count(Done::Told),
            is_off: self == Fallback::Off,
        }
    }

    /// Says of each answer why its thought is not there, and what was done about it.
    pub(super) fn explain(self, lacking: &[Lacking], done: &[Done], decisions: &mut Vec<Decision>) {
        for (it, done) in lacking.iter().zip(done) {
            let then = match done {
                Done::Bypassed => {
                    bypassed(&it.messages, decisions);
                    continue;
                }
                Done::AsItIs if self == Fallback::Off => "; thinking is off in this request",
                Done::AsItIs if !it.is_demanded => continue,
                Done::AsItIs => "",
                Done::Told => "; the answer and what its calls gave are told in words",
            };
            decisions.push(Decision {
                message: it.messages.start,
                block: 0,
                action: Action::Drop,
                reason: format!(
                    "the model demands a thought here, and {}{then}",
                    it.why.sentence()
                ),
                setting: "contract",
            });
        }
        decisions.sort_by_key(|it| (it.message, it.block));
    }
}

/// Says where a documented value stands.
fn bypassed(messages: &Range<usize>, decisions: &mut [Decision]) {
    let is_there = |it: &&mut Decision| it.action.is_sent() && messages.contains(&it.message);
    for decision in decisions.iter_mut().filter(is_there) {
        decision.action = Action::Add;
        decision.reason =
            "nobody has the thought; the provider documents this value for such calls".to_owned();
    }
}

/// Only the first call of an answer carries a payload.
fn sign(contents: &mut [Content], messages: &Range<usize>, value: &str) -> bool {
    let said = contents.get_mut(messages.clone()).into_iter().flatten();
    let mut calls = said.flat_map(|it| &mut it.blocks).filter_map(|block| match block {
        Block::ToolCall(call) => Some(call),
        Block::Media(_)
        | Block::Other(_)
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolResponse(_) => None,
    });
    match calls.next() {
        Some(call) if call.signature.is_none() => {
            call.signature = Some(value.to_owned());
            true
        }
        Some(_) | None => false,
    }
}
