//! Decides about an own conversation: all its thoughts are there, but not every model can read them.
//!
//! If the model demands a thought that it cannot read, the ladder applies as for a lost thought. A change of model,
//! endpoint or name therefore never makes a conversation unusable. Thoughts that a setting leaves out do not count as
//! missing.

use super::ladder::{self, Fallback, Lacking};
use super::named::is_named_at;
use super::{Applied, Decided, PutBack, apply, as_asked, blocks, bound, without_thinking};
use crate::content::{Content, Origin, Speaker};
use crate::contract::is_kin;
use crate::decision::{Action, Decision, Why};
use crate::model_name::is_same;
use crate::problem::{Problem, ProblemCode};
use crate::provider::Target;
use crate::request::Request;
use crate::settings::{Include, Resolved};
use crate::turns::Turns;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Decides about every thought and applies the decisions; each message stays in its place. A thought stays out if
/// `is_refused` returns true for its payload, id or text, because the provider refused it.
pub(crate) fn decide<'c>(
    request: &'c Request,
    target: &Target,
    settings: &Resolved,
    is_refused: &dyn Fn(&str) -> bool,
) -> Decided<'c> {
    let settings = &*as_asked(request, target, settings);
    let contents = request.contents.as_slice();
    let of = |contents: &[Content], settings: &Resolved| {
        let mut decided = blocks::decide(contents, &[], target, settings);
        refuse(contents, &mut decided.decisions, target, is_refused);
        decided
    };
    let mut applied = of(contents, settings);
    let mut lacking = lacking(contents, &applied.decisions, target, settings);
    let mut told = Cow::Borrowed(contents);
    let withheld = without(&mut told, &applied.decisions, &lacking);
    // An answer that was only a thought has no text or calls for the words.
    lacking.retain(|it| {
        told.get(it.messages.clone()).unwrap_or_default().iter().any(|it| !it.blocks.is_empty())
    });
    let fallback = ladder::first(&told, &lacking, target, loses_all(contents, &lacking));
    let is_off = fallback == Fallback::Off;
    let settings =
        if is_off { Cow::Owned(without_thinking(settings)) } else { Cow::Borrowed(settings) };
    let mut laddered = Vec::new();
    match fallback {
        Fallback::None => told = Cow::Borrowed(contents),
        Fallback::Off => {
            told = Cow::Borrowed(contents);
            applied = of(contents, &settings);
            laddered = fallback.take(&mut told.clone(), &lacking);
            applied.warnings.push(goes_off(target));
        }
        Fallback::Bypass(_) | Fallback::Tell(_) => {
            laddered = fallback.take(&mut told, &lacking);
            applied = of(&told, &settings);
            applied.warnings.extend(warning(&laddered, target));
        }
    }
    ladder::explain(&laddered, &mut applied.decisions);
    let contents = apply::blocks(told, &applied.decisions, target, &settings);
    let has_own = applied.decisions.iter().any(|it| it.action.is_sent());
    if matches!(fallback, Fallback::Bypass(_) | Fallback::Tell(_)) {
        // The block indices in `withheld` refer to the original conversation, not to the answers in words.
        let is_said = |it: &&Decision| {
            let done = laddered.iter().find(|done| done.message == it.message);
            done.is_some_and(|done| done.block == it.block)
        };
        applied.decisions.extend(withheld.iter().filter(|it| !is_said(it)).cloned());
    }
    super::in_order(&mut applied.decisions);
    let mut contents = without_foreign_ids(contents, target);
    let has_refused =
        |it: &Content| it.blocks.iter().filter_map(apply::item_id).any(|id| is_refused(&id));
    if contents.iter().any(has_refused) {
        contents.to_mut().iter_mut().for_each(|it| apply::without_ids(it, is_refused));
    }
    let applied = Applied { contents, ..applied };
    let put_back = PutBack { records: Vec::new(), has_own };
    Decided { applied, is_off, missing: None, put_back, hook: None }
}

/// Leaves out the refused thoughts. If thoughts are bound to earlier ones, the thoughts before them stay out as well.
fn refuse(
    contents: &[Content],
    decisions: &mut [Decision],
    target: &Target,
    is_refused: &dyn Fn(&str) -> bool,
) {
    let mut is_any = false;
    for decision in decisions.iter_mut().filter(|it| it.action.is_sent()) {
        let place = contents.get(decision.message).zip(decision.block);
        if place.is_some_and(|(content, block)| is_named_at(content, block, is_refused)) {
            decision.turns_to(Action::Drop(Why::Refused));
            is_any = true;
        }
    }
    if is_any && target.rule.contract.bound {
        bound::blocks(contents, decisions);
    }
}

/// Removes the ids of items from other endpoints: an id names an item that one endpoint stores.
fn without_foreign_ids<'c>(
    mut contents: Cow<'c, [Content]>,
    target: &Target,
) -> Cow<'c, [Content]> {
    let own = target.origin(None);
    let is_foreign =
        |content: &Content| content.origin.as_ref().is_some_and(|its| !its.is_beside(&own));
    if contents.iter().any(is_foreign) {
        let foreign = contents.to_mut().iter_mut().filter(|content| is_foreign(content));
        foreign.for_each(apply::without_item_ids);
    }
    contents
}

/// The number of thoughts in a conversation that this model cannot read.
#[must_use]
pub fn withheld(contents: &[Content], target: &Target, settings: &Resolved) -> usize {
    let decisions = blocks::decide(contents, &[], target, settings).decisions;
    decisions.iter().filter(|it| it.action == Action::Withhold).count()
}

/// The warning about a request that goes without thinking because a demanded thought is missing.
fn goes_off(target: &Target) -> Problem {
    let text = format!(
        "`{}` answers this request without thinking: it demands a thought with each answer of the turn, and some have none that it can read",
        target.model
    );
    Problem::new(ProblemCode::Fallback, text)
}

/// The answers that lack a thought that the model demands.
fn lacking(
    contents: &[Content],
    decisions: &[Decision],
    target: &Target,
    settings: &Resolved,
) -> Vec<Lacking> {
    let contract = &target.rule.contract;
    let is_left_out = settings.include_in_context.value == Include::False
        || (!settings.enabled.value && !contract.when_off);
    if is_left_out || !contract.required {
        return Vec::new();
    }
    let (turns, own) = (Turns::of(contents), target.origin(None));
    let seen = seen_by(&own, contents, &turns);
    let joined = joined(contents, &turns, target);
    let is_left = |content: &Content| !content.partial || blocks::says_anything(content);
    let lacks = |messages: Range<usize>| {
        if !contents.get(messages.clone())?.iter().any(is_left) {
            return None;
        }
        let turn = turns.of_message(messages.start);
        // An answer that went out in words during its turn stays in words, so that the prompt cache holds.
        let was_current = seen.get(&turn).is_some_and(|last| *last >= messages.end);
        let is_current = was_current || turns.is_current(messages.start) || joined == Some(turn);
        let is_demanded = contract.demands(is_current, turns.has_calls(messages.start));
        let of_answer = || decisions.iter().filter(|it| messages.contains(&it.message));
        if !is_demanded || of_answer().any(|it| it.action.is_sent() || it.action == Action::Strip) {
            return None;
        }
        let why = of_answer().find_map(|it| ladder::why(it.action));
        // If the model's own answer is complete and has no thought, the model did not think.
        let had_none = || {
            contents.get(messages.clone()).unwrap_or_default().iter().all(|content| {
                !content.partial
                    && content
                        .origin
                        .as_ref()
                        .is_some_and(|its| its.is_beside(&own) && is_kin(its, &own))
            })
        };
        match why {
            None if had_none() => None,
            why => Some(Lacking::demanded(messages.clone(), why.unwrap_or(Why::NoRecord))),
        }
    };
    answers(contents).into_iter().filter_map(lacks).collect()
}

/// The turn whose last tool results go out in one message with the question after them. For the provider its tool loop
/// still runs, so that it demands the thoughts.
fn joined(contents: &[Content], turns: &Turns, target: &Target) -> Option<usize> {
    let question = (0..contents.len()).find(|at| turns.is_current(*at))?;
    let before = contents.get(question.checked_sub(1)?)?;
    let is_joined = before.speaker == Speaker::Tool && target.wire.joins_results();
    is_joined.then(|| turns.of_message(question - 1))
}

/// The last answer of this model in each turn.
fn seen_by(own: &Origin, contents: &[Content], turns: &Turns) -> BTreeMap<usize, usize> {
    let is_own = |content: &Content| {
        let its = content.origin.as_ref().filter(|_| content.speaker == Speaker::Ai);
        its.is_some_and(|its| its.is_beside(own) && is_same(&its.model, &own.model))
    };
    let answers = contents.iter().enumerate().filter(|(_, content)| is_own(content));
    answers.map(|(at, _)| (turns.of_message(at), at)).collect()
}

/// The ranges of consecutive messages of a model, one for each answer.
fn answers(contents: &[Content]) -> Vec<Range<usize>> {
    let mut answers: Vec<Range<usize>> = Vec::new();
    let said = contents.iter().enumerate().filter(|(_, it)| it.speaker == Speaker::Ai);
    for (message, _) in said {
        match answers.last_mut().filter(|last| last.end == message) {
            Some(last) => last.end += 1,
            None => answers.push(message..message + 1),
        }
    }
    answers
}

/// Removes all thoughts and broken calls from the answers that lack the demanded thought. Returns the decisions about them.
fn without(
    contents: &mut Cow<'_, [Content]>,
    decisions: &[Decision],
    lacking: &[Lacking],
) -> Vec<Decision> {
    let is_lacking = |it: &&Decision| lacking.iter().any(|l| l.messages.contains(&it.message));
    let withheld: Vec<Decision> = decisions.iter().filter(is_lacking).cloned().collect();
    let mut messages: Vec<usize> = withheld.iter().map(|it| it.message).collect();
    messages.dedup();
    for message in messages {
        if let Some(content) = contents.to_mut().get_mut(message) {
            apply::without_thoughts(content);
        }
    }
    for message in lacking.iter().flat_map(|it| it.messages.clone()) {
        if contents.get(message).is_some_and(|it| it.partial)
            && let Some(content) = contents.to_mut().get_mut(message)
        {
            apply::without_broken_calls(content);
        }
    }
    withheld
}

/// Whether the newest answers of the turn under way lack their thoughts one after another, because the thoughts are
/// lost and not another model's.
fn loses_all(contents: &[Content], lacking: &[Lacking]) -> bool {
    let turns = Turns::of(contents);
    let steps: Vec<(Range<usize>, bool)> = answers(contents)
        .into_iter()
        .map(|messages| (messages.clone(), turns.is_current(messages.start)))
        .collect();
    ladder::lost_in_a_row(steps.iter().rev().cloned(), lacking) >= ladder::LOSES_ALL
}

fn warning(laddered: &[Decision], target: &Target) -> Option<Problem> {
    let told = laddered.iter().filter(|it| it.action == Action::Tell).count();
    let answers = if told == 1 { "1 answer is" } else { &*format!("{told} answers are") };
    let model = &target.model;
    let text = format!(
        "{answers} told to `{model}` in words: it demands a thought with each, and these have none that it can read"
    );
    (told > 0).then(|| Problem::new(ProblemCode::Fallback, text))
}
