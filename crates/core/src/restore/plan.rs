//! The plan: which record each answer in a request is, and what happens to its thought.
//!
//! A pure function of the question, the records and the contract. An answer is known by what only it has (its ids), else
//! by the identical history and the identical visible answer, else by the answer behind it, which names its parent.
//! Nothing else counts: no text alone, no latest, no only one left.

use super::matching::{Ask, Match, Matches};
use super::question::{Question, Step};
use super::record::{Ancestor, Head, Link};
use super::verdict::{Counts, Found, Outcome, Verdict, Why};

/// What happens to the thoughts of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restoration {
    /// One for each step of the question.
    pub outcomes: Vec<Outcome>,
}

/// So many answers before one that ids name are found by it at most.
const ANCESTORS: usize = 16;

impl Restoration {
    /// Decides for every answer of a request. `records` are those that the question's keys found, in any order.
    #[must_use]
    pub fn plan(question: &Question, records: &[Head], ask: &Ask<'_>) -> Self {
        let matches = Matches::of(question, records, ask);
        let decide = Decide { question, records, ask, matches };
        let mut outcomes: Vec<Outcome> =
            (0..question.steps.len()).map(|index| decide.outcome(index)).collect();
        if ask.contract.bound {
            decide.bind(&mut outcomes);
        }
        Restoration { outcomes }
    }

    /// The ids of further records that the plan wants: answers that only the one behind them names.
    #[must_use]
    pub fn more(question: &Question, records: &[Head], ask: &Ask<'_>) -> Vec<String> {
        Matches::of(question, records, ask).more()
    }

    /// Nothing was looked up.
    #[must_use]
    pub fn none(question: &Question) -> Self {
        let outcome = Outcome::unknown(Verdict::Missed(Why::NoRecord));
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
        link(self.outcomes.last())
    }

    /// The last answer whose thought the coming one is thought behind.
    pub(super) fn follows(&self) -> Link {
        link(self.outcomes.iter().rev().find(|outcome| outcome.verdict.is_sent()))
    }

    /// The answers right before the coming one that no id names.
    pub(super) fn ancestors(&self, question: &Question) -> Vec<Ancestor> {
        let mut ancestors: Vec<Ancestor> = Vec::new();
        for (step, outcome) in question.steps.iter().zip(&self.outcomes).rev().take(ANCESTORS) {
            match &outcome.found {
                Some(found) if !found.is_anchored => {
                    let content = step.visible.content;
                    ancestors.push(Ancestor { id: found.id.clone(), content });
                }
                Some(_) | None => break,
            }
        }
        ancestors
    }
}

fn link(outcome: Option<&Outcome>) -> Link {
    match outcome {
        None => Link::Root,
        Some(outcome) => match outcome.also.last().or(outcome.found.as_ref()) {
            Some(found) => Link::Record(found.id.clone()),
            None => Link::Unknown,
        },
    }
}

struct Decide<'a> {
    question: &'a Question,
    records: &'a [Head],
    ask: &'a Ask<'a>,
    matches: Matches<'a>,
}

impl Decide<'_> {
    fn outcome(&self, index: usize) -> Outcome {
        let (Some(step), Some(of_step)) =
            (self.question.steps.get(index), self.matches.steps.get(index))
        else {
            return Outcome::unknown(Verdict::NotWanted);
        };
        let found = of_step.found.as_ref().and_then(|it| self.found(it));
        let also = of_step.also.iter().filter_map(|it| self.found(it)).collect();
        let verdict = match &of_step.found {
            Some(it) if it.goes_on => Verdict::GoesOn,
            _ => self.verdict(step, of_step),
        };
        Outcome { verdict, found, also }
    }

    fn found(&self, it: &Match) -> Option<Found> {
        let head = self.records.get(it.record)?;
        Some(Found {
            id: head.id.clone(),
            record: it.record,
            level: it.level,
            first: it.first,
            calls: it.calls.clone(),
            is_usable: it.hindrance.is_none() && head.thought.is_some(),
            is_anchored: !head.keys.anchors.is_empty(),
            follows_unknown: head.parent == Link::Unknown,
        })
    }

    fn verdict(&self, step: &Step, of_step: &super::matching::OfStep) -> Verdict {
        let contract = self.ask.contract;
        let it = of_step.found.as_ref();
        let head = it.and_then(|it| self.records.get(it.record));
        // A copy that the caller's wire made of a sealed thought cannot go back: it counts as dropped.
        let is_copy = contract.signed && step.ticket.is_some();
        if step.own.is_some() && !is_copy {
            let is_altered = it.is_some_and(|it| self.is_altered(step, it));
            let verdict = if is_altered { Verdict::Restored } else { Verdict::Kept };
            return verdict;
        }
        if step.refers {
            // The provider has what is named, and nobody here knows what that is.
            return Verdict::Kept;
        }
        if !self.is_wanted(step) {
            return Verdict::NotWanted;
        }
        let is_usable = |it: &Match| self.found(it).is_some_and(|found| found.is_usable);
        match (head, it) {
            _ if of_step.also.iter().any(is_usable) => Verdict::Restored,
            (Some(head), Some(it)) => match it.hindrance {
                Some(why @ (Why::Separate | Why::Stopped)) => Verdict::Missed(why),
                Some(why) => Verdict::Dropped(why),
                None if head.thought.is_none() => Verdict::Empty,
                None => Verdict::Restored,
            },
            _ if of_step.several > 1 => Verdict::Ambiguous(of_step.several),
            _ => Verdict::Missed(of_step.why.unwrap_or(Why::NoRecord)),
        }
    }

    /// A signed thought that the client altered would be refused; a plain one is the client's to edit.
    fn is_altered(&self, step: &Step, it: &Match) -> bool {
        let Some(head) = self.records.get(it.record) else { return false };
        let (Some(own), Some(thought)) = (&step.own, &head.thought) else { return false };
        self.ask.contract.signed
            && head.version == self.question.version
            && it.hindrance.is_none()
            && !thought.is_sent_as(own, true)
            && self.is_wanted(step)
    }

    fn is_wanted(&self, step: &Step) -> bool {
        let contract = self.ask.contract;
        let is_in_scope = contract.returns.takes_in(step.is_current, step.turn_has_calls);
        is_in_scope && (self.ask.is_thinking || contract.when_off)
    }

    /// Where every thought is bound to all before it, those that are sent form one unbroken run that ends with the last
    /// answer; only the oldest may be left out.
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
        let (mut expected, mut is_broken): (Option<Link>, bool) = (None, false);
        for (index, outcome) in outcomes.iter_mut().enumerate().rev() {
            is_broken |= match outcome.verdict {
                Verdict::Missed(_) | Verdict::Ambiguous(_) | Verdict::Dropped(Why::Changed) => true,
                Verdict::Dropped(_)
                | Verdict::Empty
                | Verdict::GoesOn
                | Verdict::Kept
                | Verdict::NotWanted
                | Verdict::Restored => false,
            };
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
            } else if !keeps_own && (is_broken || !is_next) {
                outcome.verdict = Verdict::Dropped(Why::Gap);
            } else {
                expected = Some(head.follows.clone());
            }
        }
    }
}
