//! The decisions about earlier answers that a record stores, because later requests could not derive them.
//!
//! Its own request may have described answers in words, or left out thoughts that had records. Every record stores
//! this for all answers before it, so that one record behind an answer is enough. Answers are named by the visible
//! path up to them, so that a client's changes behind an answer do not affect it.

use super::key::Key;
use super::matching::Matches;
use super::question::{Question, Step};
use super::record::Head;
use crate::decision::{Action, Decision, Lasting, Why};
use crate::model_name::is_same;
use std::collections::BTreeMap;

/// Consecutive answers with the same decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Everything before the last of them.
    pub before: Key,
    /// The digest of the visible parts of the last answer.
    pub content: Key,
    /// How many they are.
    pub count: u64,
    /// The decision about their thoughts.
    pub lasting: Lasting,
}

/// The most runs in a record; the newest are kept.
const RUNS: usize = 128;

/// The decisions about a request's answers, for the record of the coming answer.
pub(super) fn runs(question: &Question, answers: &[Decision]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut goes_on = false;
    for (step, answer) in question.steps.iter().zip(answers) {
        let lasting = answer.lasting.or_else(|| left_out(answer));
        if let Some(lasting) = lasting {
            let (before, content) = (step.prefix, step.visible.content);
            let last = runs.last_mut().filter(|last| goes_on && last.lasting == lasting);
            let count = last.as_ref().map_or(1, |last| last.count + 1);
            let run = Run { before, content, count, lasting };
            match last {
                Some(last) => *last = run,
                None => runs.push(run),
            }
        }
        goes_on = lasting.is_some();
    }
    runs.drain(..runs.len().saturating_sub(RUNS));
    runs
}

/// A thought that is left out although a record is there. A thought that the target cannot read, or that is not
/// wanted, is left out by every similar request, so it is not stored.
fn left_out(answer: &Decision) -> Option<Lasting> {
    match answer.action {
        Action::Drop(Why::OverLimit) => Some(Lasting::OverLimit),
        Action::Ambiguous(_) | Action::Drop(_) | Action::Miss(Why::Separate | Why::Stopped) => {
            Some(Lasting::LeftOut)
        }
        _ => None,
    }
}

impl<'a> Matches<'a> {
    /// The decision about each answer in earlier requests to the same model. The newest record on the same path
    /// decides; a record from another path counts only for the answers that it names.
    pub(crate) fn lasting(&self) -> Vec<Option<Lasting>> {
        let steps = &self.question.steps;
        let mut all: Vec<Option<Lasting>> = vec![None; steps.len()];
        let mut is_known = vec![false; steps.len()];
        let mut places: Option<BTreeMap<(Key, Key), usize>> = None;
        for (at, step) in steps.iter().enumerate().rev() {
            let Some((head, runs)) = self.sent_to_same(at) else { continue };
            if !runs.is_empty() {
                let places = places.get_or_insert_with(|| places_of(steps));
                for (place, lasting) in named(runs, places, at) {
                    if let (Some(known), Some(it)) = (is_known.get_mut(place), all.get_mut(place))
                        && !std::mem::replace(known, true)
                    {
                        *it = Some(lasting);
                    }
                }
            }
            if head.prefix == step.prefix {
                // It knows of all before it.
                break;
            }
        }
        all
    }

    /// The record of a step, and its decisions about earlier answers, if it came from the same target.
    fn sent_to_same(&self, at: usize) -> Option<(&'a Head, &'a [Run])> {
        let head = self.head(self.steps.get(at)?.found.as_ref()?.record)?;
        let runs = head.earlier.as_deref()?;
        let ours = self.ask.origin;
        let is_same = is_same(&head.origin.model, &ours.model) && head.origin.is_beside(ours);
        is_same.then_some((head, runs))
    }
}

fn places_of(steps: &[Step]) -> BTreeMap<(Key, Key), usize> {
    let place = |(at, step): (usize, &Step)| ((step.prefix, step.visible.content), at);
    steps.iter().enumerate().map(place).collect()
}

/// The answers before `end` that the runs name, with their decisions.
fn named<'r>(
    runs: &'r [Run],
    places: &'r BTreeMap<(Key, Key), usize>,
    end: usize,
) -> impl Iterator<Item = (usize, Lasting)> + use<'r> {
    runs.iter().flat_map(move |run| {
        let last = places.get(&(run.before, run.content)).filter(|last| **last < end);
        let places = last.into_iter().flat_map(|last| {
            let count = usize::try_from(run.count).unwrap_or(usize::MAX);
            (last + 1).saturating_sub(count)..last + 1
        });
        places.map(|place| (place, run.lasting))
    })
}
