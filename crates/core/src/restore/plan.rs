//! The plan: which record each answer in a request gets its thought from, and why.
//!
//! A pure function of the question, the records and the contract. It picks a path, not messages: every record names the
//! one before it, and a record that names another is not on the path.

use super::candidates::{Ask, Candidate, Candidates, Doubt};
use super::question::{Question, Step};
use super::record::{Head, Link};
use super::verdict::{Counts, Found, Outcome, Verdict, Why};
use crate::contract::Level;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// What happens to the thoughts of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restoration {
    /// One for each step of the question.
    pub outcomes: Vec<Outcome>,
}

impl Restoration {
    /// Decides for every answer of a request. `records` are those that the question's keys found, in any order.
    #[must_use]
    pub fn plan(question: &Question, records: &[Head], ask: &Ask<'_>) -> Self {
        let mut path = Path::new(question, records, ask);
        path.choose();
        path.check_weak_ones();
        let mut outcomes: Vec<Outcome> =
            (0..question.steps.len()).map(|index| path.outcome(index)).collect();
        if ask.contract.bound {
            path.bind(&mut outcomes);
        }
        Restoration { outcomes }
    }

    /// Nothing was looked up.
    #[must_use]
    pub fn none(question: &Question) -> Self {
        let outcome = Outcome { verdict: Verdict::Missed(Why::NoRecord), found: None };
        Restoration { outcomes: vec![outcome; question.steps.len()] }
    }

    /// The numbers of the answer's header.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.outcomes.iter().for_each(|outcome| counts.add(&outcome.verdict));
        counts
    }

    /// What the coming answer hangs on.
    pub(super) fn parent(&self) -> Link {
        match self.outcomes.last() {
            None => Link::Root,
            Some(Outcome { found: Some(found), .. }) => Link::Record(found.id.clone()),
            Some(_) => Link::Unknown,
        }
    }

    /// The last answer whose thought the coming one is thought behind.
    pub(super) fn follows(&self) -> Link {
        let sent = self.outcomes.iter().rev().find(|outcome| outcome.verdict.is_sent());
        match sent {
            None => Link::Root,
            Some(Outcome { found: Some(found), .. }) => Link::Record(found.id.clone()),
            Some(_) => Link::Unknown,
        }
    }
}

/// What is decided about the answer that a step belongs to.
#[derive(Clone, Copy, Debug, Default)]
struct Spot {
    /// The step that the answer begins with; an earlier one where the client split its calls.
    begin: usize,
    chosen: Option<Candidate>,
    doubt: Option<Why>,
}

/// A candidate and the step that it would begin with.
#[derive(Clone, Copy, Debug)]
struct Part {
    begin: usize,
    candidate: Candidate,
}

/// What the answer behind a place says about the one before it.
#[derive(Clone, Debug, Default)]
struct Behind<'a> {
    /// The records that it may hang on, where they are known.
    parents: Option<BTreeSet<&'a str>>,
    /// How surely it is itself known.
    level: Option<Level>,
    /// What stands before it ended by then: when the answers behind it ended that are sure.
    until: Option<u64>,
    /// It is sure, or a firm one names it: then it hung on what it names when that was sent, whatever fits by now.
    is_firm: bool,
}

impl<'a> Behind<'a> {
    /// What is known if it is one of these, as surely as can be.
    fn of(heads: impl IntoIterator<Item = &'a Head>) -> Self {
        let (mut parents, mut until) = (Some(BTreeSet::new()), None);
        for head in heads {
            parents = parents.zip(head.parent.record()).map(|(mut ids, id)| {
                ids.insert(id);
                ids
            });
            until = until.max(Some(head.at));
        }
        let parents = parents.filter(|ids| !ids.is_empty());
        let is_firm = until.is_some();
        Behind { parents, level: is_firm.then_some(Level::Chain), until, is_firm }
    }

    fn is_sure(&self) -> bool {
        self.level.is_some_and(|level| level <= Level::Chain)
    }
}

struct Path<'a> {
    question: &'a Question,
    records: &'a [Head],
    ask: &'a Ask<'a>,
    candidates: Candidates<'a>,
    found: Vec<Spot>,
}

impl<'a> Path<'a> {
    fn new(question: &'a Question, records: &'a [Head], ask: &'a Ask<'a>) -> Self {
        let candidates = Candidates::new(question, records, ask);
        let found = (0..question.steps.len()).map(|begin| Spot { begin, ..Spot::default() });
        Path { question, records, ask, candidates, found: found.collect() }
    }

    fn head(&self, candidate: Candidate) -> Option<&'a Head> {
        self.records.get(candidate.record)
    }

    /// The answers that each step may be the end of: those whose ids the client has, where it has those of any, and
    /// those that hang on one of them.
    fn ends(&self) -> Vec<Vec<Part>> {
        let mut all = vec![Vec::new(); self.found.len()];
        for begin in 0..self.found.len() {
            for candidate in self.candidates.of(begin) {
                if let Some(end) = all.get_mut(begin + candidate.covers - 1) {
                    end.push(Part { begin, candidate });
                }
            }
        }
        let mut ends: Vec<Vec<Part>> = Vec::with_capacity(all.len());
        for parts in &all {
            let any_has_ids = parts.iter().any(|part| self.has_ids(part));
            let here = parts.iter().filter(|part| !any_has_ids || self.has_ids(part));
            let here = here.filter(|part| self.is_on_path(part, &all, &ends)).copied().collect();
            ends.push(self.hanging(here, &ends));
        }
        ends
    }

    /// Of plain thoughts, of which the latest is taken: not those that name an answer which cannot be the one before,
    /// if another names one that can. Calls one after the other may look like calls at once.
    fn hanging(&self, mut parts: Vec<Part>, ends: &[Vec<Part>]) -> Vec<Part> {
        let hangs = |part: &Part| {
            let before = part.begin.checked_sub(1).and_then(|before| ends.get(before))?;
            let parent = self.parent(part)?;
            Some(before.iter().any(|it| self.id(it) == Some(parent)))
        };
        if !self.ask.contract.signed && parts.iter().any(|part| hangs(part) == Some(true)) {
            parts.retain(|part| hangs(part) != Some(false) || self.has_ids(part));
        }
        parts
    }

    /// It does not hang on an answer of which the client's ids say that it is another one than the one before.
    fn is_on_path(&self, part: &Part, all: &[Vec<Part>], ends: &[Vec<Part>]) -> bool {
        let Some(before) = part.begin.checked_sub(1) else { return true };
        let (all, still) = (all.get(before), ends.get(before));
        let Some(parent) = self.parent(part) else {
            return !self.is_adrift(part, still.map_or(&[], Vec::as_slice));
        };
        let named = |parts: Option<&Vec<Part>>| {
            parts.and_then(|parts| parts.iter().find(|it| self.id(it) == Some(parent)).copied())
        };
        let is_known = still.is_some_and(|parts| parts.iter().any(|it| self.has_ids(it)));
        // It may be a further part of an answer that the client has split.
        let may_be_part = self.question.steps.get(part.begin).is_some_and(Step::may_be_part);
        match named(still) {
            Some(parent) => !(may_be_part && self.is_renamed_alone(part, &parent)),
            None if is_known || named(all).is_some() => false,
            // What it hangs on is there and cannot be the answer before.
            None => !(may_be_part && self.records.iter().any(|it| it.id == parent)),
        }
    }

    /// A sealed one that does not know what it hangs on, though the answer before was there by then, and that answered
    /// another request than this client sends.
    fn is_adrift(&self, part: &Part, before: &[Part]) -> bool {
        let Some(head) = self.head(part.candidate) else { return false };
        let was_there = |it: &Part| self.head(it.candidate).is_some_and(|it| it.at <= head.at);
        self.ask.contract.signed
            && head.parent == Link::Unknown
            && !self.has_ids(part)
            && !self.candidates.answers_this(part.begin, &part.candidate)
            && before.iter().any(|it| self.has_ids(it) && was_there(it))
    }

    /// Its ids would be others than the client's, and those of the one that it hangs on not: whoever renames ids renames
    /// all.
    fn is_renamed_alone(&self, part: &Part, parent: &Part) -> bool {
        let is_renamed = |part: &Part| self.candidates.has_other_ids(part.begin, &part.candidate);
        is_renamed(part) == Some(true) && is_renamed(parent) == Some(false)
    }

    /// The client has its ids, and no other answer has them.
    fn has_ids(&self, part: &Part) -> bool {
        let Part { begin, candidate } = part;
        candidate.level == Level::Ticket || self.candidates.has_ids(*begin, candidate)
    }

    fn id(&self, part: &Part) -> Option<&'a str> {
        self.head(part.candidate).map(|head| head.id.as_str())
    }

    fn parent(&self, part: &Part) -> Option<&'a str> {
        self.head(part.candidate).and_then(|head| head.parent.record())
    }

    /// Chooses from the end, because each record names the one before it.
    fn choose(&mut self) {
        let mut ends = self.ends();
        let mut behind = self.again().map_or_else(Behind::default, |head| Behind::of([head]));
        while let Some(mut parts) = ends.pop() {
            let last = ends.len();
            let (chosen, doubt) = self.pick(&mut parts, &behind);
            let all = match doubt {
                // None of them is the answer, so that they say nothing about what else is.
                Some(Why::NoRecord | Why::PathGone) => &[][..],
                _ => &parts,
            };
            let begin = match chosen {
                Some(part) => part.begin,
                // The steps that any of them takes in are in doubt together.
                None => all.iter().map(|part| part.begin).min().unwrap_or(last),
            };
            behind = match &chosen {
                Some(part) => self.behind(std::slice::from_ref(part), &behind),
                None => self.behind(&self.to_this(all), &behind),
            };
            let chosen = chosen.map(|part| part.candidate);
            for spot in self.found.iter_mut().take(last + 1).skip(begin) {
                *spot = Spot { begin, chosen, doubt };
            }
            ends.truncate(begin);
        }
    }

    /// The first answer to this very request: what was sent then is sent again.
    fn again(&self) -> Option<&'a Head> {
        let (request, ours) = (self.question.request?, self.ask.origin);
        let is_same = |head: &&Head| head.keys.request == Some(request) && head.origin == *ours;
        let same = self.records.iter().filter(is_same);
        same.min_by_key(|head| (head.at, head.id.as_str()))
    }

    /// Of answers that nothing tells apart, those to the very request that stands before them, if there are any: what was
    /// sent before them then is sent again.
    fn to_this(&self, parts: &[Part]) -> Vec<Part> {
        let is_to_this = |part: &&Part| self.candidates.answers_this(part.begin, &part.candidate);
        let these: Vec<Part> = parts.iter().filter(is_to_this).copied().collect();
        if these.is_empty() { parts.to_vec() } else { these }
    }

    /// What these say about the answer before them, with `after` known of the one behind them.
    fn behind(&self, parts: &[Part], after: &Behind<'_>) -> Behind<'a> {
        let heads = parts.iter().filter_map(|part| self.head(part.candidate));
        let level = parts.iter().map(|part| part.candidate.level).max();
        let is_sure = level.is_some_and(|level| level <= Level::Chain);
        let is_named = after.is_firm && parts.iter().all(|part| self.is_named(part, after));
        let Behind { parents, until, .. } = Behind::of(heads);
        let until = until.filter(|_| is_sure).into_iter().chain(after.until).min();
        Behind { parents, level, until, is_firm: is_sure || is_named }
    }

    fn is_named(&self, part: &Part, behind: &Behind<'_>) -> bool {
        let id = self.id(part);
        behind.parents.as_ref().zip(id).is_some_and(|(ids, id)| ids.contains(id))
    }

    /// The answer that ends here, if it is known; `parts` are left as those that it may be.
    fn pick(&self, parts: &mut Vec<Part>, behind: &Behind<'_>) -> (Option<Part>, Option<Why>) {
        let is_named = |part: &Part| self.is_named(part, behind);
        let ended = |part: &Part| self.head(part.candidate).map(|head| head.at);
        parts.retain(|part| {
            // What is named was there by then, whatever the clocks of several gateways say.
            let is_late = behind.until.is_some() && ended(part) > behind.until && !is_named(part);
            let is_allowed = match part.candidate.doubt {
                Doubt::None => true,
                Doubt::UnlessKnown => behind.is_sure(),
                Doubt::UnlessNamed => behind.is_sure() && is_named(part),
            };
            is_allowed && !is_late
        });
        let surest = self.surest(parts);
        let named: Vec<Part> = if behind.is_firm { &*parts } else { &surest }
            .iter()
            .copied()
            .filter(is_named)
            .collect();
        let Some(first) = surest.first().map(|part| part.candidate.level) else {
            return (None, Some(Why::NoRecord));
        };
        // Something as sure as these says that the path's own record is gone: these are of another one.
        let is_gone = behind.parents.is_some() && behind.level.is_some_and(|level| level <= first);
        *parts = match named.is_empty() {
            true if is_gone => return (None, Some(Why::PathGone)),
            true => surest,
            false => self.surest(&named),
        };
        self.only(parts)
    }

    fn surest(&self, parts: &[Part]) -> Vec<Part> {
        let candidates = parts.iter().map(|part| part.candidate).collect();
        let begin = |of: &Candidate| {
            let is_it = |part: &&Part| part.candidate == *of;
            parts.iter().find(is_it).map_or(0, |part| part.begin)
        };
        let surest = self.candidates.surest(candidates, begin);
        parts.iter().filter(|part| surest.contains(&part.candidate)).copied().collect()
    }

    /// The one of these, or the latest of those that nothing tells apart.
    fn only(&self, parts: &[Part]) -> (Option<Part>, Option<Why>) {
        let contract = self.ask.contract;
        if parts.iter().all(|part| !part.candidate.is_readable) {
            return (None, Some(Why::Foreign));
        }
        let heads = || parts.iter().filter_map(|part| self.head(part.candidate));
        let thoughts: BTreeSet<_> = heads().map(|head| head.thought).collect();
        let begins: BTreeSet<_> = parts.iter().map(|part| part.begin).collect();
        let is_chain = parts.iter().all(|part| part.candidate.level == Level::Chain);
        let may_take_latest = !contract.signed && is_chain;
        if begins.len() > 1 || (thoughts.len() > 1 && !may_take_latest) {
            return (None, Some(Why::Several(thoughts.len().max(begins.len()))));
        }
        let latest = parts.iter().max_by_key(|part| {
            let Candidate { is_readable, is_usable, .. } = part.candidate;
            let head = self.head(part.candidate);
            let order = head.map(|head| (head.delivery, head.at, Reverse(head.id.as_str())));
            (is_readable, is_usable, order)
        });
        (latest.copied(), None)
    }

    /// A record that only part of the conversation speaks for must name the record before it, where that is known.
    fn check_weak_ones(&mut self) {
        for index in 0..self.found.len() {
            let Some(&Spot { begin, chosen: Some(chosen), .. }) = self.found.get(index) else {
                continue;
            };
            let before = begin.checked_sub(1).and_then(|before| self.found.get(before)?.chosen);
            let Some(parent) = before.and_then(|before| self.head(before)) else { continue };
            let names = |head: &Head| head.parent == Link::Record(parent.id.clone());
            let is_weak = chosen.level > Level::Chain;
            if is_weak
                && !self.head(chosen).is_some_and(names)
                && let Some(spot) = self.found.get_mut(index)
            {
                (spot.chosen, spot.doubt) = (None, Some(Why::OtherPath));
            }
        }
    }

    fn outcome(&self, index: usize) -> Outcome {
        let none = Outcome { verdict: Verdict::NotWanted, found: None };
        let (Some(step), Some(spot)) = (self.question.steps.get(index), self.found.get(index))
        else {
            return none;
        };
        let found = spot.chosen.and_then(|chosen| {
            let before = self.question.steps.get(spot.begin..index).unwrap_or_default();
            Some(Found {
                id: self.head(chosen)?.id.clone(),
                record: chosen.record,
                level: chosen.level,
                calls_before: before.iter().map(|step| step.calls.len()).sum(),
            })
        });
        let verdict = if spot.begin < index && found.is_some() {
            Verdict::GoesOn
        } else {
            self.verdict(step, index, spot)
        };
        Outcome { verdict, found }
    }

    fn verdict(&self, step: &Step, index: usize, spot: &Spot) -> Verdict {
        let contract = self.ask.contract;
        let head = spot.chosen.and_then(|chosen| self.head(chosen));
        // A copy that the caller's wire made of a sealed thought cannot go back: it counts as dropped.
        let is_copy = contract.signed && step.ticket.is_some();
        if let Some(own) = step.own.as_ref().filter(|_| !is_copy) {
            return match head.and_then(|head| head.thought) {
                // A signed thought that the client altered would be refused; a plain one is the client's to edit.
                Some(thought)
                    if contract.signed
                        && spot.chosen.is_some_and(|chosen| chosen.is_usable)
                        && !thought.is_sent_as(own, true)
                        && self.is_wanted(step) =>
                {
                    Verdict::Restored
                }
                Some(_) | None => Verdict::Kept,
            };
        }
        if step.refers {
            // The provider has what is named, and nobody here knows what that is.
            return Verdict::Kept;
        }
        if !self.is_wanted(step) {
            return Verdict::NotWanted;
        }
        if spot.chosen.is_some_and(|chosen| !chosen.is_usable) {
            return Verdict::Missed(Why::Stopped);
        }
        match (head, spot.doubt) {
            (Some(_), _) if self.was_sent_without(step, index) => Verdict::Missed(Why::SentWithout),
            (Some(Head { thought: None, .. }), _) => Verdict::Empty,
            (Some(_), _) => Verdict::Restored,
            (None, Some(Why::Several(count))) => Verdict::Ambiguous(count),
            (None, Some(Why::Foreign)) => Verdict::Dropped(Why::Foreign),
            (None, doubt) => Verdict::Missed(doubt.unwrap_or(Why::NoRecord)),
        }
    }

    fn is_wanted(&self, step: &Step) -> bool {
        let contract = self.ask.contract;
        let is_in_scope = contract.returns.takes_in(step.is_current, step.turn_has_calls);
        is_in_scope && (self.ask.is_thinking || contract.when_off)
    }

    /// The answer behind this one was thought without it. Putting it in now would change a prompt that was sent before,
    /// so it stays out until the turn is over; and what is sealed for ever, because what is found only now may be the
    /// thought of an answer that looks the same.
    fn was_sent_without(&self, step: &Step, index: usize) -> bool {
        let next = self.found.iter().skip(index + 1).find(|spot| spot.begin > index);
        let child = next.and_then(|spot| spot.chosen).filter(|child| child.level <= Level::Chain);
        let child = match next {
            Some(_) => child.and_then(|child| self.head(child)),
            None => self.again(),
        };
        let is_without = child.is_some_and(|head| head.parent == Link::Unknown);
        is_without && (step.is_current || self.ask.contract.signed)
    }

    /// Where every thought is bound to all before it, those that are sent form one chain that ends with the last one
    /// that is known; only the oldest may be left out.
    fn bind(&self, outcomes: &mut [Outcome]) {
        let own_without_record = |(index, outcome): (usize, &Outcome)| {
            let is_own = |step: &Step| step.own.is_some() && step.ticket.is_none();
            let has_own = self.question.steps.get(index).is_some_and(is_own);
            has_own && outcome.found.is_none()
        };
        // A client that keeps its thoughts itself, and of which not all are known: what they are bound to is not known.
        let keeps_own = outcomes.iter().enumerate().any(own_without_record);
        // What it altered stands where it stood.
        let is_altered = |index: usize| {
            let step = self.question.steps.get(index).filter(|step| step.ticket.is_none());
            step.and_then(|step| step.own).is_some_and(|own| own.payloads.is_some())
        };
        let mut expected: Option<Link> = None;
        for (index, outcome) in outcomes.iter_mut().enumerate().rev() {
            let Some(head) = outcome.found.as_ref().and_then(|it| self.records.get(it.record))
            else {
                continue;
            };
            if !outcome.verdict.is_sent() {
                continue;
            }
            let is_next =
                expected.as_ref().is_none_or(|link| *link == Link::Record(head.id.clone()));
            if keeps_own && outcome.verdict == Verdict::Restored && !is_altered(index) {
                outcome.verdict = Verdict::Dropped(Why::ClientKeepsOwn);
            } else if !keeps_own && !is_next {
                outcome.verdict = Verdict::Dropped(Why::Gap);
            } else {
                expected = Some(head.follows.clone());
            }
        }
    }
}
