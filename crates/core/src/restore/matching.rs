//! Finds the record of each answer of a request, and its evidence.
//!
//! A forward pass finds records by (a) ids and (b) history. A backward walk then finds records that (c) the next
//! answer names.

use super::key::Key;
use super::question::{Call, Question, Step};
use super::record::{CallMark, Delivery, Head, Link, Thought};
use crate::content::Origin;
use crate::contract::{Contract, Level};
use crate::decision::Why;
use std::collections::{BTreeMap, BTreeSet};

/// For whom the plan is made.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The contract of the target.
    pub contract: &'a Contract,
    /// The origin of the target's own answers.
    pub origin: &'a Origin,
    /// The request came on the wire that it goes out on.
    pub is_own_wire: bool,
    /// Thinking is on in this request.
    pub is_thinking: bool,
    /// Decisions of earlier requests about thoughts do not count.
    pub is_afresh: bool,
}

/// The findings about one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfStep {
    pub(crate) found: Option<Match>,
    /// All records that fit equally well: the twins of the found record.
    twins: Vec<usize>,
    /// The records of further answers in it, which the client has merged into one message.
    pub(crate) also: Vec<Match>,
    /// The number of unequal records that fit.
    pub(crate) several: usize,
    /// These records; the next answer may name one of them.
    candidates: Vec<usize>,
    pub(crate) why: Option<Why>,
}

/// The record of a step.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    /// Its index among the records.
    pub(crate) record: usize,
    pub(crate) level: Level,
    /// The first call of the step that is one of the record's.
    pub(crate) first: usize,
    /// For each call of the step from there on the call of the record that it is.
    pub(crate) calls: Vec<usize>,
    /// The step is a further part of an answer that began before it.
    pub(crate) goes_on: bool,
    /// Why its thought cannot go back all the same.
    pub(crate) hindrance: Option<Why>,
}

/// The findings about each step of a question.
pub(crate) struct Matches<'a> {
    pub(crate) question: &'a Question,
    records: Vec<&'a Head>,
    pub(crate) ask: &'a Ask<'a>,
    by_key: BTreeMap<Key, Vec<usize>>,
    pub(crate) steps: Vec<OfStep>,
}

/// The ids of further records that are wanted: answers that only the one behind them names. `records` are the records
/// that the question's keys found.
#[must_use]
pub fn more<'r>(
    question: &'r Question,
    records: impl IntoIterator<Item = &'r Head>,
    ask: &'r Ask<'r>,
) -> Vec<String> {
    Matches::of(question, records, ask).more()
}

impl<'a> Matches<'a> {
    pub(crate) fn of(
        question: &'a Question,
        records: impl IntoIterator<Item = &'a Head>,
        ask: &'a Ask<'a>,
    ) -> Self {
        let records: Vec<&Head> = records.into_iter().collect();
        let mut by_key: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (index, record) in records.iter().enumerate() {
            record.all_keys().for_each(|key| by_key.entry(key).or_default().push(index));
        }
        let steps = Vec::with_capacity(question.steps.len());
        let mut matches = Matches { question, records, ask, by_key, steps };
        for index in 0..question.steps.len() {
            let of_step = matches.forward(index);
            matches.steps.push(of_step);
        }
        if ask.contract.level >= Level::Parent {
            (0..question.steps.len()).rev().for_each(|index| matches.backward(index));
        }
        matches
    }

    /// The records that answers name which no key of this request finds.
    fn more(&self) -> Vec<String> {
        let known: BTreeSet<&str> = self.records.iter().map(|head| head.id.as_str()).collect();
        let mut wanted = BTreeSet::new();
        if self.ask.contract.bound || self.ask.contract.level < Level::Parent {
            return Vec::new();
        }
        for (index, of_step) in self.steps.iter().enumerate() {
            let Some(head) = of_step.found.as_ref().and_then(|it| self.head(it.record)) else {
                continue;
            };
            let before = self.question.steps.iter().zip(&self.steps).take(index).rev();
            for (ancestor, (step, known_step)) in head.ancestors.iter().zip(before) {
                if known_step.found.is_some() || step.visible.content != ancestor.content {
                    break;
                }
                wanted.extend((!known.contains(&*ancestor.id)).then(|| ancestor.id.clone()));
            }
        }
        wanted.into_iter().collect()
    }

    fn forward(&self, index: usize) -> OfStep {
        let Some(step) = self.question.steps.get(index) else { return OfStep::default() };
        if let Some(ticket) = step.ticket {
            return self.cut(index, self.by_ticket(step, &ticket));
        }
        if step.is_anchored() {
            return self.by_ids(index, step);
        }
        if self.ask.contract.level < Level::History {
            return OfStep::default();
        }
        let fits = self.by_history(step);
        self.choose(step, fits, Level::History)
    }

    /// The record whose thought was given this ticket, if it has the same calls and, without ids of calls, the same text.
    fn by_ticket(&self, step: &Step, ticket: &Key) -> OfStep {
        let named = self.with_key(ticket).filter(|(_, head)| head.keys.thought == Some(*ticket));
        let is_said = |head: &Head| step.is_anchored() || has_text(step, head);
        let fits = named.filter(|(_, head)| calls_of(step, head).is_some() && is_said(head));
        self.choose(step, fits.map(|(at, _)| at).collect(), Level::Anchor)
    }

    /// The record that the ids of the step's calls name. An id of several unequal records only makes them candidates.
    /// Unknown ids belong to an answer without a record here, even if other answers look alike.
    fn by_ids(&self, index: usize, step: &Step) -> OfStep {
        let mut named: Option<BTreeSet<usize>> = None;
        for key in step.visible.calls.iter().filter_map(|call| call.names) {
            let these = self.with_key(&key).map(|(at, _)| at).collect();
            named = Some(match named {
                None => these,
                Some(those) => those.intersection(&these).copied().collect(),
            });
        }
        let mut fits: Vec<usize> = named.into_iter().flatten().collect();
        fits.retain(|at| self.head(*at).is_some_and(|head| calls_of(step, head).is_some()));
        if self.distinct(&fits) > 1 {
            let is_same = |at: &usize| {
                let head = self.head(*at);
                head.is_some_and(|head| step.is_behind(&head.keys.answered))
            };
            let same: Vec<usize> = fits.iter().copied().filter(is_same).collect();
            if same.is_empty() {
                return OfStep { candidates: fits, ..OfStep::default() };
            }
            return self.choose(step, same, Level::History);
        }
        if fits.is_empty() {
            return self.merged(step).unwrap_or_default();
        }
        self.cut(index, self.choose(step, fits, Level::Anchor))
    }

    /// Marks a found step as a further part of an answer that began earlier.
    fn cut(&self, index: usize, mut of_step: OfStep) -> OfStep {
        if let Some(found) = &mut of_step.found {
            match self.part(index, found) {
                Part::Whole => {}
                Part::Further => found.goes_on = true,
                Part::Separate => found.hindrance = Some(Why::Separate),
            }
        }
        of_step
    }

    /// A message with the calls of several records is split into these answers; one of them may have no record. This
    /// does not apply if thoughts are bound to the messages before them, because the sequence is then a different
    /// one.
    fn merged(&self, step: &Step) -> Option<OfStep> {
        if self.ask.contract.bound {
            return None;
        }
        let mut parts: Vec<Match> = Vec::new();
        let mut last = None;
        for (first, call) in step.visible.calls.iter().enumerate() {
            let named = self.named_alone(call);
            match named {
                Some((record, at)) if last == Some(record) => {
                    let part = parts.last_mut()?;
                    if part.calls.last().is_none_or(|before| *before >= at) {
                        return None;
                    }
                    part.calls.push(at);
                }
                Some((record, _)) if parts.iter().any(|part| part.record == record) => return None,
                Some((record, at)) => {
                    let is_foreign = !self.can_read(self.head(record)?);
                    let hindrance = is_foreign.then_some(Why::Foreign);
                    let (level, calls, goes_on) = (Level::Anchor, vec![at], false);
                    parts.push(Match { record, level, first, calls, goes_on, hindrance });
                }
                None => {}
            }
            last = named.map(|(record, _)| record);
        }
        let mut parts = parts.into_iter();
        let found = parts.next()?;
        Some(OfStep { found: Some(found), also: parts.collect(), ..OfStep::default() })
    }

    /// The one record that the id of a call names, and which of its calls it is.
    fn named_alone(&self, call: &Call) -> Option<(usize, usize)> {
        let place_of = |at: usize| {
            let marks = &self.head(at)?.seen.calls;
            marks.iter().position(|mark| is_call(call, mark))
        };
        let mut named: Vec<usize> = self.with_key(&call.names?).map(|(at, _)| at).collect();
        named.retain(|at| place_of(*at).is_some());
        named.sort_by_key(|at| self.head(*at).map(|head| (head.at, head.id.as_str())));
        let record = *named.first().filter(|_| self.distinct(&named) == 1)?;
        Some((record, place_of(record)?))
    }

    /// Whether the record began in a step before this one, because the client split its calls.
    fn part(&self, index: usize, found: &Match) -> Part {
        // The first call has no earlier part of its answer before it.
        let Some(first) = found.calls.first().filter(|first| **first > 0) else {
            return Part::Whole;
        };
        let is_before = |it: &&Match| {
            it.record == found.record && it.calls.last().is_some_and(|last| last < first)
        };
        let mut between = false;
        for (at, of_step) in self.steps.iter().enumerate().rev() {
            let may_be_part = self.question.steps.get(at + 1).is_some_and(Step::may_be_part);
            between |= at < index && !may_be_part;
            match of_step.found.as_ref().filter(is_before) {
                Some(_) if between => return Part::Separate,
                Some(_) => return Part::Further,
                None => between = true,
            }
        }
        Part::Whole
    }

    /// The records that answered the identical history with the identical visible answer.
    fn by_history(&self, step: &Step) -> Vec<usize> {
        let is_it = |head: &Head| step.is_behind(&head.keys.answered) && self.may_be(step, head);
        let found = step.histories().flat_map(|key| self.with_key(&key));
        found.filter(|(_, head)| is_it(head)).map(|(at, _)| at).collect()
    }

    /// The client's message does not contradict this record.
    fn may_be(&self, step: &Step, head: &Head) -> bool {
        has_ids(step, head)
            && has_copy(step, head)
            && has_seals(step, head, self.ask.contract.signed)
            && head.delivery != Delivery::Cut
    }

    /// Chooses one of the fitting records. Records of one origin with equal visible parts are twins: the oldest one
    /// goes back, so that equal requests always get equal results.
    fn choose(&self, step: &Step, mut fits: Vec<usize>, level: Level) -> OfStep {
        fits.sort_by_key(|at| self.head(*at).map(|head| (head.at, head.id.as_str())));
        fits.dedup();
        let Some(record) = fits.first().copied() else { return OfStep::default() };
        let several = self.distinct(&fits);
        if several > 1 {
            return OfStep { several, candidates: fits, ..OfStep::default() };
        }
        OfStep { found: self.matched(step, record, level), twins: fits, ..OfStep::default() }
    }

    fn matched(&self, step: &Step, record: usize, level: Level) -> Option<Match> {
        let head = self.head(record)?;
        let calls = calls_of(step, head)?;
        let hindrance = self.hindrance(step, head, &calls);
        Some(Match { record, level, first: 0, calls, goes_on: false, hindrance })
    }

    /// Why the thought of a record cannot go back into the answer that it is of.
    fn hindrance(&self, step: &Step, head: &Head, calls: &[usize]) -> Option<Why> {
        let contract = self.ask.contract;
        if !self.can_read(head) {
            return Some(Why::Foreign);
        }
        let is_whole = head.seen.content == step.visible.content;
        if head.delivery == Delivery::Stopped && (contract.bound || !is_whole) {
            return Some(Why::Stopped);
        }
        if !contract.bound {
            return None;
        }
        let is_same_before = head.prefix == step.prefix;
        let same_calls = step.visible.calls.iter().zip(calls).all(|(call, at)| {
            head.seen.calls.get(*at).is_some_and(|mark| mark.digest == call.digest)
        });
        let is_further = calls.first().is_some_and(|first| *first > 0);
        let is_same = is_same_before && same_calls && (is_further || has_text(step, head));
        (!is_same).then_some(Why::Changed)
    }

    /// Counts the unequal ones. Twins are equal, and so are answers that were thought alike.
    fn distinct(&self, fits: &[usize]) -> usize {
        let heads: Vec<&Head> = fits.iter().filter_map(|at| self.head(*at)).collect();
        let Some(first) = heads.first() else { return 0 };
        let is_twin = |head: &&&Head| {
            let is_alike = head.origin == first.origin
                && head.seen.copy == first.seen.copy
                && head.keys.answered == first.keys.answered;
            let is_equal = head.thought == first.thought && head.seen.content == first.seen.content;
            is_alike || is_equal
        };
        1 + heads.iter().filter(|head| !is_twin(head)).count()
    }

    /// The next answer names the record before it. If the visible parts are equal, that is the record, even if the
    /// history has changed; so the result stays the same, however many similar records come later. A named record
    /// that no longer exists is a miss.
    fn backward(&mut self, index: usize) {
        let (Some(step), Some(of_step)) = (self.question.steps.get(index), self.steps.get(index))
        else {
            return;
        };
        let is_open =
            !of_step.candidates.is_empty() || (!step.is_anchored() && step.ticket.is_none());
        let Some(id) = self.parent(index).filter(|_| is_open) else { return };
        let place = self.records.iter().position(|head| head.id == *id);
        if of_step.found.as_ref().is_some_and(|found| Some(found.record) == place) {
            return;
        }
        let found = match place.and_then(|at| Some((at, self.head(at)?))) {
            Some((at, head)) => {
                let is_same = head.seen.content == step.visible.content && self.may_be(step, head);
                let has_history = step.is_behind(&head.keys.answered);
                let is_candidate = of_step.candidates.contains(&at) || has_history;
                if !is_same || (self.ask.contract.bound && !is_candidate) {
                    return;
                }
                self.matched(step, at, Level::Parent)
            }
            // The next answer has the digest of its visible parts.
            None if self.was_seen(index, id) => None,
            None => return,
        };
        if let Some(of_step) = self.steps.get_mut(index) {
            *of_step = OfStep { found, ..OfStep::default() };
        }
    }

    /// The record that the next answer names. If the next answer has twins, all of them must name the same record;
    /// and if several unequal records fit this step, every twin must name one.
    fn parent(&self, index: usize) -> Option<&'a String> {
        let (this, next) = (self.steps.get(index)?, self.steps.get(index + 1)?);
        let named = |at: usize| match &self.head(at)?.parent {
            Link::Record(id) => Some(id),
            Link::Root | Link::Unknown => None,
        };
        let id = named(next.found.as_ref()?.record)?;
        let others: BTreeSet<Option<&String>> = next.twins.iter().map(|at| named(*at)).collect();
        if others.len() < 2 {
            return Some(id);
        }
        let place = |id: &String| self.records.iter().position(|head| head.id == *id);
        let known: Vec<usize> = others.iter().copied().flatten().filter_map(place).collect();
        let is_sure = this.candidates.is_empty() || !others.contains(&None);
        (is_sure && self.distinct(&known) < 2).then_some(id)
    }

    /// Whether the next answer was given behind one of this id that looked as the step does.
    fn was_seen(&self, index: usize, id: &str) -> bool {
        let next = self.steps.get(index + 1).and_then(|next| next.found.as_ref());
        let ancestor = next.and_then(|next| self.head(next.record)?.ancestors.first());
        let step = self.question.steps.get(index);
        ancestor.zip(step).is_some_and(|(ancestor, step)| {
            ancestor.id == *id && ancestor.content == step.visible.content
        })
    }

    pub(crate) fn head(&self, record: usize) -> Option<&'a Head> {
        self.records.get(record).copied()
    }

    /// Whether the target can read thoughts of this origin.
    fn can_read(&self, head: &Head) -> bool {
        self.ask.contract.can_read(&head.origin, self.ask.origin)
    }

    pub(super) fn with_key(
        &self,
        key: &Key,
    ) -> impl Iterator<Item = (usize, &'a Head)> + use<'a, '_> {
        let found = self.by_key.get(key).into_iter().flatten();
        found.filter_map(|at| Some((*at, self.head(*at)?)))
    }
}

/// The position of a step within the answer of its record.
enum Part {
    Whole,
    /// It goes on right behind an earlier part.
    Further,
    /// Other messages are between it and an earlier part.
    Separate,
}

/// The record's call for each call of a step, in order; `None` if one has no counterpart.
fn calls_of(step: &Step, head: &Head) -> Option<Vec<usize>> {
    let mut from = 0;
    let mut calls = Vec::with_capacity(step.visible.calls.len());
    for call in &step.visible.calls {
        let is_it = |mark: &CallMark| is_call(call, mark);
        let at = from + head.seen.calls.iter().skip(from).position(is_it)?;
        calls.push(at);
        from = at + 1;
    }
    // An answer without calls in the request matches only records without calls.
    (!calls.is_empty() || head.seen.calls.is_empty()).then_some(calls)
}

fn is_call(call: &Call, mark: &CallMark) -> bool {
    match call.names {
        Some(_) => call.id == mark.id && call.name == mark.name,
        None => mark.digest == call.digest,
    }
}

fn has_text(step: &Step, head: &Head) -> bool {
    step.visible.text == head.seen.text
}

/// The ids of its calls equal the record's own, if both have some.
fn has_ids(step: &Step, head: &Head) -> bool {
    let pairs = step.visible.calls.iter().zip(&head.seen.calls);
    let mut both = pairs.filter(|(call, mark)| !call.id.is_empty() && !mark.id.is_empty());
    both.all(|(call, mark)| call.id == mark.id)
}

/// A copy of a thought that the client shows is the record's own text, or its thought.
fn has_copy(step: &Step, head: &Head) -> bool {
    let Some(copy) = step.visible.copy else { return true };
    head.seen.copy == Some(copy) || head.words == Some(copy)
}

/// Whether the client's seals belong to the record's thought. Returns true if either has none.
fn has_seals(step: &Step, head: &Head, signed: bool) -> bool {
    let payloads = |thought: Option<Thought>| thought.filter(|_| signed)?.payloads;
    let (Some(own), Some(its)) = (payloads(step.own), payloads(head.thought)) else { return true };
    let each = if step.seals.is_empty() { std::slice::from_ref(&own) } else { &step.seals };
    own == its || each.iter().all(|it| head.seals.contains(it))
}
