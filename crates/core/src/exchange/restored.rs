//! Thoughts from the vault, put in their places.

use super::Found;
use super::limit::limit;
use super::refused::{Known, PutBack};
use crate::content::{Block, Content, Thinking};
use crate::edit::{Change, What, changed};
use crate::plane::{Open, Place, Tenant};
use crate::policy::{Action, Decision};
use crate::reasoning::estimate_thinking_tokens;
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

/// What was found in the vault, and what its thoughts are opened with.
pub(super) struct Hits<'a> {
    pub(super) found: &'a [Found],
    pub(super) tenant: Option<&'a Tenant>,
    pub(super) open: &'a dyn Open,
}

/// The thoughts of one answer's records.
pub(super) struct Opened {
    own: Option<Kept>,
    /// Those of further answers that the client has merged into its message.
    parts: Vec<Option<Kept>>,
}

impl Opened {
    /// What they cost in a request, as an estimate.
    pub(super) fn tokens(&self) -> u64 {
        let kept = self.own.iter().chain(self.parts.iter().flatten());
        let thoughts: Vec<&Thinking> = kept.flat_map(Kept::thoughts).collect();
        estimate_thinking_tokens(&thoughts)
    }
}

/// Plans until every record that is used can be opened, and puts the thoughts in their places, `most` tokens of them.
pub(super) fn restore<'c>(
    contents: &'c [Content],
    question: &Question,
    ask: &Ask<'_>,
    hits: &Hits<'_>,
    most: Option<u64>,
) -> Restored<'c> {
    let Hits { found, tenant, open } = *hits;
    let mut usable: Vec<&Found> = found.iter().collect();
    loop {
        let heads: Vec<Head> = usable.iter().map(|found| found.head.clone()).collect();
        let mut plan = Restoration::plan(question, &heads, ask);
        let opened = plan.outcomes.iter().map(|outcome| all_of(outcome, &usable, tenant, open));
        match opened.collect::<Result<Vec<Opened>, usize>>() {
            // One record less each time, so that this ends.
            Err(shut) => drop(usable.remove(shut)),
            Ok(opened) => {
                if let Some(most) = most {
                    limit(&mut plan.outcomes, &question.steps, &opened, ask.contract, most);
                }
                let changes = changes(contents, question, &plan, &opened, ask);
                let known = plan.outcomes.iter().zip(&opened).map(|(outcome, opened)| {
                    let id = outcome.found.as_ref().map(|it| it.id.as_str()).unwrap_or_default();
                    opened.own.as_ref().and_then(|kept| Known::of(id, kept))
                });
                let known = known.collect();
                return Restored { plan, contents: changed(contents, &changes), known };
            }
        }
    }
}

/// What is put into the messages, and renamed in them.
fn changes(
    contents: &[Content],
    question: &Question,
    plan: &Restoration,
    opened: &[Opened],
    ask: &Ask<'_>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for ((step, outcome), opened) in question.steps.iter().zip(&plan.outcomes).zip(opened) {
        if outcome.verdict == Verdict::Empty {
            changes.extend(known_empty(step, ask));
        }
        let mut woven = weave(contents, step, outcome, opened.own.as_ref());
        for (part, kept) in outcome.parts().zip(&opened.parts) {
            woven.extend(weave(contents, step, &part, kept.as_ref()));
        }
        changes.extend(woven.into_iter().filter(|it| !keeps_ticket(contents, it, ask)));
    }
    changes
}

/// The thoughts of the records that an outcome has, or the index of one that stays shut.
fn all_of(
    outcome: &Outcome,
    records: &[&Found],
    tenant: Option<&Tenant>,
    open: &dyn Open,
) -> Result<Opened, usize> {
    let own = opened(outcome, records, tenant, open)?;
    let parts = outcome.parts().map(|part| opened(&part, records, tenant, open));
    Ok(Opened { own, parts: parts.collect::<Result<_, _>>()? })
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
