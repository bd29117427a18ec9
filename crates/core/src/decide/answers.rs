//! Decides about each answer of a request, by the thoughts that the vault and the client have.

use super::{bound, limit};
use crate::content::Origin;
use crate::contract::Contract;
use crate::decision::{Action, Decision, Evidence, Lasting, Why};
use crate::model_name;
use crate::restore::{Ask, Head, Match, Matches, OfStep, Question, Step, is_its, shows_copy};

/// Decides for every answer of a request, in their order. `records` are the records that the question's keys found,
/// in any order.
#[must_use]
pub fn answers<'r>(
    question: &'r Question,
    records: impl IntoIterator<Item = &'r Head>,
    ask: &'r Ask<'r>,
) -> Vec<Decision> {
    let matches = Matches::of(question, records, ask);
    let steps = question.steps.iter().zip(&matches.steps);
    let mut answers: Vec<Decision> = steps
        .map(|(step, known)| {
            let records = known.found.iter().chain(&known.also);
            let mut evidence: Vec<Evidence> =
                records.filter_map(|it| evidence(&matches, step, it)).collect();
            let copied = matches.foreign_copy(step);
            let action = match copied.filter(|_| step.own.is_none() && known.found.is_none()) {
                Some(copied) => {
                    evidence.push(copied);
                    Action::Withhold
                }
                None => action(&matches, step, known, &evidence),
            };
            Decision::answer(step.contents.start, action, evidence)
        })
        .collect();
    if !ask.is_afresh {
        for (answer, lasting) in answers.iter_mut().zip(matches.lasting()) {
            answer.lasting = lasting;
            lasting.into_iter().for_each(|lasting| stay(answer, lasting));
        }
    }
    if ask.contract.bound {
        bound::answers(&matches, &mut answers);
    }
    answers
}

/// An earlier decision about an answer's thought lasts, even if its record suggests another one. A thought that the
/// client itself sends is not left out.
fn stay(answer: &mut Decision, lasting: Lasting) {
    let is_put_back = match lasting {
        Lasting::Told => {
            matches!(answer.action, Action::Restore | Action::GoesOn | Action::Empty)
        }
        Lasting::LeftOut | Lasting::OverLimit => answer.action == Action::Restore,
    };
    if is_put_back {
        answer.turns_to(Action::Drop(lasting.why()));
        if lasting == Lasting::OverLimit {
            answer.setting = limit::SETTING;
        }
    }
}

fn evidence(matches: &Matches<'_>, step: &Step, it: &Match) -> Option<Evidence> {
    let head = matches.head(it.record)?;
    Some(Evidence {
        id: head.id.clone(),
        record: it.record,
        level: it.level,
        first: it.first,
        calls: it.calls.clone(),
        is_usable: it.hindrance.is_none() && head.thought.is_some(),
        is_foreign: it.hindrance == Some(Why::Foreign),
        shows_copy: shows_copy(step, head),
        is_anchored: !head.keys.anchors.is_empty(),
    })
}

fn action(matches: &Matches<'_>, step: &Step, known: &OfStep, evidence: &[Evidence]) -> Action {
    let contract = matches.ask.contract;
    let found = known.found.as_ref();
    if found.is_some_and(|it| it.goes_on) {
        return Action::GoesOn;
    }
    // A copy that the caller's wire made of a sealed thought cannot go back: it counts as dropped.
    let is_copy = contract.signed && step.ticket.is_some();
    if step.own.is_some() && !is_copy && !is_seal_alone(contract, step) {
        let is_altered = found.is_some_and(|it| is_altered(matches, step, it));
        return if is_altered { Action::Restore } else { of_the_client(matches, step, found) };
    }
    if step.refers {
        // The provider has the item that the client names, but its content is unknown here.
        return Action::Keep;
    }
    if !is_wanted(matches.ask, step) {
        return Action::Strip;
    }
    if evidence.iter().skip(1).any(|it| it.is_usable) {
        return Action::Restore;
    }
    let Some(found) = found else {
        return match known.several {
            0 | 1 => Action::Miss(known.why.unwrap_or(Why::NoRecord)),
            several => Action::Ambiguous(several),
        };
    };
    match found.hindrance {
        Some(why @ (Why::Separate | Why::Stopped)) => Action::Miss(why),
        Some(Why::Foreign) => Action::Withhold,
        Some(why) => Action::Drop(why),
        None if matches.head(found.record).is_some_and(|it| it.thought.is_some()) => {
            Action::Restore
        }
        None => Action::Empty,
    }
}

/// Decides about a thought that the client sends. The record that has its words or its payload names its maker, wherever
/// the client has moved it; else the form of the payload does.
/// An unknown maker's thought keeps its seal on its own wire only, and not where words are demanded.
fn of_the_client(matches: &Matches<'_>, step: &Step, found: Option<&Match>) -> Action {
    let Ask { contract, origin, is_own_wire, .. } = *matches.ask;
    let of_record = found.and_then(|it| matches.head(it.record));
    let reads = |its: &Origin| contract.can_read(its, origin);
    let by_form =
        || step.maker.zip(model_name::family(&origin.model)).map(|(its, ours)| its == ours);
    // The client may have edited the thought, or joined several: it stays a thought of that answer's maker.
    let makers = || of_record.map(|head| &head.origin).into_iter().chain(matches.makers(step));
    let one_reads = |makers: &mut dyn Iterator<Item = &Origin>| {
        makers.map(&reads).reduce(|one, other| one || other)
    };
    let reads = match of_record.filter(|head| is_its(step, head)) {
        Some(head) => Some(reads(&head.origin)),
        None => one_reads(&mut matches.makers_of_thoughts(step))
            .or_else(by_form)
            .or_else(|| one_reads(&mut makers()).filter(|reads| !reads)),
    };
    let own = step.own.unwrap_or_default();
    let takes_words = !contract.signed || contract.unsealed;
    let demands_words = contract.required && contract.reads_words_alone();
    match reads {
        Some(false) => Action::Withhold,
        _ if !takes_words && own.payloads.is_none() => Action::Drop(Why::Unsealed),
        // The seal is demanded, with or without the words.
        _ if contract.bypass.is_some()
            && own.payloads.is_none()
            && step.has_calls()
            && contract.demands(step.is_current, step.turn_has_calls) =>
        {
            Action::Drop(Why::Unsealed)
        }
        Some(true) => Action::Keep,
        None if own.payloads.is_none() => Action::Keep,
        // A model that demands words reads no seal, on no wire; an answer of its own stays as the client has it.
        None if is_own_wire && (of_record.is_some() || !demands_words) => Action::Keep,
        None if !takes_words || contract.bypass.is_some() => Action::Drop(Why::Unknown),
        None if own.text.is_none() => Action::Drop(Why::Unreadable),
        None => Action::Unseal,
    }
}

/// Whether the client sends only the seal of a thought to a model that reads words alone.
fn is_seal_alone(contract: &Contract, step: &Step) -> bool {
    contract.reads_words_alone() && step.own.is_some_and(|own| own.text.is_none())
}

/// A signed thought that the client altered would be refused; a plain one is the client's to edit.
fn is_altered(matches: &Matches<'_>, step: &Step, it: &Match) -> bool {
    let Some(head) = matches.head(it.record) else { return false };
    let (Some(own), Some(thought)) = (&step.own, &head.thought) else { return false };
    matches.ask.contract.signed
        && head.version == matches.question.version
        && it.hindrance.is_none()
        && (thought != own || step.is_padded && matches.ask.contract.verbatim)
        && is_wanted(matches.ask, step)
}

fn is_wanted(ask: &Ask<'_>, step: &Step) -> bool {
    ask.contract.wants(ask.is_thinking, step.is_current, step.was_sent, step.turn_has_calls)
}

/// Marks blocks that were put back as such, instead of as the caller's own; a thought that a setting keeps out counts
/// as not wanted.
pub(super) fn settle(steps: &[Step], answers: &mut [Decision], blocks: &mut [Decision]) {
    let restored = steps.iter().zip(answers).filter(|(_, it)| it.action == Action::Restore);
    for (step, answer) in restored {
        let mut is_sent = false;
        let own = blocks.iter_mut().filter(|it| step.contents.contains(&it.message));
        for block in own.filter(|it| it.action.is_sent()) {
            block.action = Action::Restore;
            block.reason = format!("the client dropped it; {}", block.reason).into();
            is_sent = true;
        }
        if !is_sent {
            answer.turns_to(Action::Strip);
        }
    }
}
