//! Thoughts from the vault, put in their places.

use super::Found;
use super::blame::{Known, PutBack};
use crate::content::{Block, Content, Thinking};
use crate::edit::{Change, What, changed};
use crate::plane::{Open, Place, Tenant};
use crate::policy::{Action, Decision};
use crate::restore::{
    Ask, Head, Kept, Outcome, Question, Restoration, Step, Verdict, Why, ticket, weave,
};
use std::borrow::Cow;
use std::ops::Range;

/// What is decided, the messages with their thoughts, and for each step the record that a refusal may name.
pub(super) struct Restored<'c> {
    pub(super) plan: Restoration,
    pub(super) contents: Cow<'c, [Content]>,
    pub(super) known: Vec<Option<Known>>,
}

/// The thoughts that go back, once that is settled.
pub(super) fn put_back(plan: &Restoration, known: Vec<Option<Known>>) -> PutBack {
    let has_own = plan.outcomes.iter().any(|outcome| outcome.verdict == Verdict::Kept);
    let restored = plan.outcomes.iter().zip(known);
    let restored = restored.filter(|(outcome, _)| outcome.verdict == Verdict::Restored);
    PutBack { records: restored.filter_map(|(_, known)| known).collect(), has_own }
}

/// Plans until every record that is used can be opened, and puts the thoughts in their places.
pub(super) fn restore<'c>(
    contents: &'c [Content],
    question: &Question,
    ask: &Ask<'_>,
    found: &[Found],
    tenant: Option<&Tenant>,
    open: &dyn Open,
) -> Restored<'c> {
    let mut usable: Vec<&Found> = found.iter().collect();
    loop {
        let heads: Vec<Head> = usable.iter().map(|found| found.head.clone()).collect();
        let plan = Restoration::plan(question, &heads, ask);
        let (mut changes, mut shut, mut has_main) = (Vec::new(), None, false);
        let mut known = Vec::with_capacity(question.steps.len());
        for (step, outcome) in question.steps.iter().zip(&plan.outcomes) {
            let kept = opened(outcome, &usable, tenant, open);
            // The further parts of an answer that the client split have no thought of their own.
            has_main = match outcome.verdict {
                Verdict::GoesOn => has_main,
                verdict => verdict.is_sent() || verdict == Verdict::Empty,
            };
            if has_main && matches!(outcome.verdict, Verdict::Empty | Verdict::GoesOn) {
                changes.extend(known_empty(step, ask));
            }
            match kept {
                Ok(kept) => {
                    let id = outcome.found.as_ref().map(|it| it.id.as_str()).unwrap_or_default();
                    known.push(kept.as_ref().and_then(|kept| Known::of(id, kept)));
                    let mut woven = weave(contents, step, outcome, kept.as_ref());
                    for part in outcome.parts() {
                        match opened(&part, &usable, tenant, open) {
                            Ok(kept) => woven.extend(weave(contents, step, &part, kept.as_ref())),
                            Err(index) => shut = Some(index),
                        }
                    }
                    let kept = woven.into_iter().filter(|it| !keeps_ticket(contents, it, ask));
                    changes.extend(kept);
                }
                Err(index) => {
                    shut = Some(index);
                    break;
                }
            }
        }
        match shut {
            // One record less each time, so that this ends.
            Some(index) => {
                usable.remove(index);
            }
            None => {
                let contents = changed(contents, &changes);
                return Restored { plan, contents, known };
            }
        }
    }
}

/// The thought of the record that an outcome has, or the record's index where it stays shut. Nothing of a thought that
/// the target cannot read is put in its messages, its ids neither.
fn opened(
    outcome: &Outcome,
    records: &[&Found],
    tenant: Option<&Tenant>,
    open: &dyn Open,
) -> Result<Option<Kept>, usize> {
    let found = outcome.found.as_ref();
    let found = found.filter(|_| outcome.verdict != Verdict::Dropped(Why::Foreign));
    let record = found.and_then(|it| Some((it.record, records.get(it.record)?)));
    let Some(((index, record), tenant)) = record.zip(tenant) else { return Ok(None) };
    let Head { id, origin, .. } = &record.head;
    let place = Place { tenant, record: id, origin, position: 0 };
    record.kept.open(&place, open).map(Some).map_err(|_| index)
}

/// A model whose own ids are strong does better with a ticket than with the weak id of another.
fn keeps_ticket(contents: &[Content], change: &Change, ask: &Ask<'_>) -> bool {
    let block = contents.get(change.message).and_then(|it| it.blocks.get(change.block));
    let id = match block {
        Some(Block::ToolCall(call)) => call.id.as_deref(),
        Some(Block::ToolResponse(result)) => result.call_id.as_deref(),
        _ => None,
    };
    let is_renamed = matches!(change.what, What::Rename(_)) && id.is_some_and(ticket::is_ticket);
    is_renamed && ask.contract.tickets.is_none()
}

/// Where the provider wants its field on every such message, and the thought is known to have been empty.
fn known_empty(step: &Step, ask: &Ask<'_>) -> Option<Change> {
    let contract = ask.contract;
    contract.empty.filter(|_| contract.demands(step.is_current, step.turn_has_calls))?;
    let thinking = Thinking::new("", contract.field.unwrap_or_default());
    let what = What::Insert(Box::new(thinking));
    Some(Change { message: step.contents.start, block: 0, what })
}

/// Says of the thoughts of these messages that they come from the vault. Gives whether any is sent.
pub(super) fn mark(decisions: &mut [Decision], messages: &Range<usize>) -> bool {
    let mut is_sent = false;
    for decision in decisions.iter_mut().filter(|it| messages.contains(&it.message)) {
        if decision.action.is_sent() {
            decision.action = Action::Restore;
            decision.reason = format!("the client dropped it; {}", decision.reason);
            is_sent = true;
        }
    }
    is_sent
}
