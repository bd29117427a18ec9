//! Thoughts that are bound to all messages before them: only the oldest may be left out.
//!
//! The request contains one unbroken run that ends with the newest answer. A record names the answer that its thought
//! followed; for blocks, only their order is known.

use crate::content::Content;
use crate::decision::{Action, Decision, Why};
use crate::restore::{Link, Matches, Step};

/// Puts back the vault's thoughts that form one run of parents.
pub(super) fn answers(matches: &Matches<'_>, answers: &mut [Decision]) {
    // A thought that came with a ticket of ours is not the client's own.
    let own = |index: usize| {
        let step = matches.question.steps.get(index).filter(|step: &&Step| step.ticket.is_none());
        step.and_then(|step| step.own)
    };
    // The client keeps its thoughts itself, but not all of them have records, so it is unknown which messages they
    // are bound to.
    let mut places = answers.iter().enumerate();
    let keeps_own = places.any(|(index, it)| {
        it.action == Action::Keep && own(index).is_some() && it.evidence.is_empty()
    });
    // A thought that the client altered is still in its place.
    let is_altered = |index: usize| own(index).is_some_and(|own| own.payloads.is_some());
    let (mut expected, mut is_broken): (Option<Link>, bool) = (None, false);
    for (index, answer) in answers.iter_mut().enumerate().rev() {
        is_broken |= matches!(
            answer.action,
            Action::Miss(_)
                | Action::Ambiguous(_)
                | Action::Drop(Why::Changed | Why::LeftOut | Why::OverLimit | Why::Told)
        );
        let head = answer.found().and_then(|it| matches.head(it.record));
        let Some(head) = head.filter(|_| answer.action.is_sent()) else { continue };
        let is_next = expected.as_ref().is_none_or(|link| *link == Link::Record(head.id.clone()));
        if keeps_own && answer.action == Action::Restore && !is_altered(index) {
            answer.turns_to(Action::Drop(Why::ClientKeepsOwn));
        } else if !keeps_own && (is_broken || !is_next) {
            answer.turns_to(Action::Drop(Why::Gap));
        } else {
            expected = Some(head.follows.clone());
        }
    }
}

/// All blocks behind the first sent block must be sent, too, and no block before an unsendable one may be sent.
pub(super) fn blocks(contents: &[Content], decisions: &mut [Decision]) {
    let is_whole =
        |message| contents.get(message).is_some_and(|content: &Content| !content.partial);
    let blocked = decisions.iter().rposition(|decision| {
        matches!(decision.action, Action::Drop(_) | Action::Withhold) && is_whole(decision.message)
    });
    let mut has_sent = false;
    for (index, decision) in decisions.iter_mut().enumerate() {
        let otherwise = if blocked.is_some_and(|blocked| index < blocked)
            && decision.action.is_sent()
        {
            let reason = "a later thought is missing, and the model refuses a gap in the chain";
            Some((Action::Drop(Why::Gap), reason))
        } else if has_sent && decision.action == Action::Strip {
            let reason = "thoughts are bound to those before them; only the oldest may be left out";
            Some((Action::Add, reason))
        } else {
            None
        };
        if let Some((action, reason)) = otherwise {
            let at = (decision.message, decision.block);
            *decision = Decision::block(action, "contract", reason);
            (decision.message, decision.block) = at;
        }
        has_sent |= decision.action.is_sent();
    }
}
