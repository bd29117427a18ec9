//! Which records may be the one of a step, and how surely.

use super::key::Key;
use super::question::{Call, Question, Step};
use super::record::{Delivery, Head, Thought};
use crate::content::Origin;
use crate::contract::{Contract, Level, Readable};
use std::collections::BTreeMap;

/// For whom the plan is made.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The contract of the target.
    pub contract: &'a Contract,
    /// What the target's own answers are marked with.
    pub origin: &'a Origin,
    /// Thinking is on in this request.
    pub is_thinking: bool,
}

/// A record that may be the one of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Its index among the records.
    pub(super) record: usize,
    /// How surely it is the one.
    pub(super) level: Level,
    /// How many steps its calls stand in; more than one where the client split them.
    pub(super) covers: usize,
    /// The target can read it.
    pub(super) is_readable: bool,
    /// It is whole enough to go back to this target.
    pub(super) is_usable: bool,
    /// What has to be known of the answer behind it.
    pub(super) doubt: Doubt,
}

/// A step may be part of an answer that the client has split, which only the answer behind it can deny.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It is not.
    None,
    /// Unless the answer behind it is known.
    UnlessKnown,
    /// Unless the answer behind it is known, and names the record.
    UnlessNamed,
}

/// The records by their keys.
pub(super) struct Candidates<'a> {
    question: &'a Question,
    records: &'a [Head],
    ask: &'a Ask<'a>,
    by_key: BTreeMap<Key, Vec<usize>>,
}

/// A shorter answer than this is said in many conversations, so that its turn alone does not tell it from others.
const TELLING: usize = 64;

impl<'a> Candidates<'a> {
    pub(super) fn new(question: &'a Question, records: &'a [Head], ask: &'a Ask<'a>) -> Self {
        let mut by_key: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (index, record) in records.iter().enumerate() {
            if record.version == question.version {
                record.keys.all().for_each(|key| by_key.entry(key).or_default().push(index));
            }
        }
        Candidates { question, records, ask, by_key }
    }

    /// Every record that may be the answer that begins with the step at `index`, each once.
    pub(super) fn of(&self, index: usize) -> Vec<Candidate> {
        let Some(step) = self.question.steps.get(index) else { return Vec::new() };
        let Some(asks) = step.asks else { return Vec::new() };
        let keys = step.tickets().chain([asks.chain, asks.tail]).chain(asks.calls);
        let mut seen: Vec<usize> =
            keys.filter_map(|key| self.by_key.get(&key)).flatten().copied().collect();
        seen.sort_unstable();
        seen.dedup();
        seen.into_iter().filter_map(|record| self.candidate(index, record)).collect()
    }

    /// Of the answers that end with the same step, those that what is known speaks for most. `begin` gives the step that
    /// a candidate begins with.
    pub(super) fn surest(
        &self,
        mut found: Vec<Candidate>,
        begin: impl Fn(&Candidate) -> usize,
    ) -> Vec<Candidate> {
        // Plain text that can be read decides; what cannot only says why there is nothing. What is sealed was thought by
        // one of them, and which is not known.
        if !self.ask.contract.signed {
            prefer(&mut found, |it| it.is_readable);
        }
        let surest = found.iter().map(|it| it.level).min();
        found.retain(|it| Some(it.level) == surest);
        prefer(&mut found, |it| self.head(it).is_some_and(|head| self.is_same_request(head)));
        prefer(&mut found, |it| self.head(it).is_some_and(|it| it.hint == self.question.hint));
        prefer(&mut found, |it| self.ids(begin(it), it) >= Ids::Same);
        if !self.ask.contract.signed {
            prefer(&mut found, |it| self.answers_this(begin(it), it));
        }
        found
    }

    /// It answered what stands before the step that it begins with, as this client sends it. What a client leaves out of
    /// turns that are over it did not leave out then, so that this tells which answers may stand there, and not which of
    /// them does.
    pub(super) fn answers_this(&self, begin: usize, candidate: &Candidate) -> bool {
        let (step, head) = (self.question.steps.get(begin), self.head(candidate));
        let is_it = step.zip(head).is_some_and(|(step, head)| step.request == head.keys.request);
        is_it && candidate.level == Level::Chain
    }

    /// The client has the candidate's ids, and no other answer has them.
    pub(super) fn has_ids(&self, begin: usize, candidate: &Candidate) -> bool {
        self.ids(begin, candidate) == Ids::SameStrong
    }

    /// Whether the client has other ids than the candidate's; `None` where one of them has none.
    pub(super) fn has_other_ids(&self, begin: usize, candidate: &Candidate) -> Option<bool> {
        match self.ids(begin, candidate) {
            Ids::Same | Ids::SameStrong => Some(false),
            Ids::AnothersTicket | Ids::Other | Ids::OtherStrong => Some(true),
            Ids::Unsaid => None,
        }
    }

    fn head(&self, candidate: &Candidate) -> Option<&'a Head> {
        self.records.get(candidate.record)
    }

    fn candidate(&self, index: usize, record: usize) -> Option<Candidate> {
        let (step, head) = (self.question.steps.get(index)?, self.records.get(record)?);
        let is_usable = match head.delivery {
            Delivery::Cut => return None,
            Delivery::Stopped => !self.ask.contract.bound,
            Delivery::Full => true,
        };
        let covers =
            if head.calls.len() == step.calls.len() { 1 } else { self.fragments(index, head)? };
        let is_readable = can_read(self.ask, head);
        let level = Level::Chain;
        let doubt = Doubt::None;
        let candidate = Candidate { record, level, covers, is_readable, is_usable, doubt };
        let ids = self.ids(index, &candidate);
        let has_thought = has_thought_of(step, head, self.ask.contract.signed);
        let is_anothers = match ids {
            // Of an answer with these ids it is the thought, which the client has altered.
            _ if has_thought == Some(false) => step.ticket.is_some() || ids != Ids::SameStrong,
            Ids::AnothersTicket => true,
            _ if has_thought == Some(true) => false,
            // A signed thought of an answer with other ids is that of another answer, however alike they look. So is one
            // whose calls the client would have to have split besides.
            Ids::OtherStrong => self.ask.contract.signed || covers > 1,
            Ids::Other => covers > 1,
            Ids::Same | Ids::SameStrong | Ids::Unsaid => false,
        };
        let level = self.level(index, head, ids, covers).filter(|_| !is_anothers)?;
        // The first of split calls looks like the only call of another answer, which may be all that is left: the record
        // of the whole was lost, or made before the head of the history became a summary.
        let is_sure = ids == Ids::SameStrong || level == Level::Ticket;
        let doubt = match (self.is_part(index), self.is_part(index + 1)) {
            _ if is_sure || covers > 1 => Doubt::None,
            (_, true) if level == Level::Chain => Doubt::UnlessKnown,
            (true, _) | (_, true) if level > Level::Chain => Doubt::UnlessNamed,
            _ => Doubt::None,
        };
        (level <= self.ask.contract.level).then_some(Candidate { level, doubt, ..candidate })
    }

    fn level(&self, index: usize, head: &Head, ids: Ids, covers: usize) -> Option<Level> {
        let step = self.question.steps.get(index)?;
        let (asks, bound) = (step.asks?, self.ask.contract.bound);
        let fits =
            step.calls.iter().zip(&head.calls).all(|(call, mark)| call.digest == mark.digest);
        let fragment = step.calls.len().checked_sub(1).and_then(|at| head.keys.fragments.get(at));
        let is_chain =
            if covers == 1 { head.keys.chain == asks.chain } else { fragment == Some(&asks.chain) };
        let is_same_request = self.is_same_request(head);
        let mut tickets = step.calls.iter().zip(&head.keys.tickets);
        let has_ticket = !step.calls.is_empty()
            && step.calls.len() <= head.keys.tickets.len()
            && tickets.all(|(call, ticket)| call.ticket == Some(*ticket));
        let has_ticket = has_ticket || is_very_thought(step, head);
        if has_ticket && fits && (!bound || (is_chain && is_same_request)) {
            return Some(Level::Ticket);
        }
        // Behind another system message it is the same answer if the provider's own ids say so too.
        if is_chain && (is_same_request || (!bound && ids == Ids::SameStrong)) {
            return Some(Level::Chain);
        }
        let is_session = head.hint.is_some() && head.hint == self.question.hint;
        if covers > 1 || !self.is_weakly_possible(head, ids) {
            return None;
        }
        // Few words, or a call that many conversations make, do not tell one turn from another like it.
        let tells = step.said >= TELLING
            || ids == Ids::SameStrong
            || (step.turn_has_calls && (is_session || step.calls.is_empty()));
        if is_chain || (head.keys.tail == asks.tail && tells) {
            return Some(Level::Tail);
        }
        // The same call is made again and again in a session, and ids that repeat do not tell one from the next.
        let is_call = asks.calls.is_some() && head.keys.calls == asks.calls;
        (is_call && ids == Ids::SameStrong).then_some(Level::Calls)
    }

    /// Nothing speaks against a record that only part of the conversation speaks for: neither another session nor, in
    /// no known session, other tools, nor other ids where ids are the provider's and strong.
    fn is_weakly_possible(&self, head: &Head, ids: Ids) -> bool {
        let is_session = match (head.hint, self.question.hint) {
            (Some(its), Some(ours)) if its != ours => return false,
            (Some(_), Some(_)) => true,
            (None, _) | (_, None) => false,
        };
        let has_tools = is_session || head.tools == self.question.tools;
        has_tools && ids != Ids::OtherStrong
    }

    /// A request with other instructions or other tools is part of another conversation.
    fn is_same_request(&self, head: &Head) -> bool {
        head.system == self.question.system && head.tools == self.question.tools
    }

    /// The step may be a further one of several that a client has made of one answer, as far as can be seen.
    fn is_part(&self, index: usize) -> bool {
        self.question.steps.get(index).is_some_and(Step::may_be_part)
    }

    /// Whether the calls of an answer stand in this step and those behind it, with nothing but results between them.
    /// Gives the number of steps.
    fn fragments(&self, index: usize, head: &Head) -> Option<usize> {
        let mut marks = head.calls.iter();
        let steps = self.question.steps.iter().skip(index).enumerate();
        for (count, step) in steps {
            if step.calls.is_empty() || (count > 0 && !step.may_be_part()) {
                return None;
            }
            for call in &step.calls {
                if marks.next().is_none_or(|mark| mark.digest != call.digest) {
                    return None;
                }
            }
            if marks.as_slice().is_empty() {
                return Some(count + 1);
            }
        }
        None
    }

    /// What the ids of all calls say that would be those of the candidate that begins with the step at `index`.
    fn ids(&self, index: usize, candidate: &Candidate) -> Ids {
        let Some(head) = self.head(candidate) else { return Ids::Other };
        let steps = self.question.steps.iter().skip(index).take(candidate.covers);
        let calls = steps.flat_map(|step| &step.calls).enumerate();
        let all = calls.map(|(at, call)| id_of(call, head, at));
        all.min().unwrap_or(Ids::Unsaid)
    }
}

/// Whether the client has the thought of the one or of another, as far as what it sends of it tells. Another seal is
/// that of another thought until the provider refuses it: only its maker can tell whether it was damaged on its way.
fn has_thought_of(step: &Step, head: &Head, signed: bool) -> Option<bool> {
    if let Some(ticket) = step.ticket {
        return Some(head.keys.thought == Some(ticket));
    }
    step.own.filter(|own| signed && own.payloads.is_some())?;
    head.thought.map(|_| has_seals_of(step, head))
}

/// The client has seals, and each is one of the record's.
fn has_seals_of(step: &Step, head: &Head) -> bool {
    let payloads = |thought: Option<Thought>| thought.and_then(|it| it.payloads);
    let Some(own) = payloads(step.own) else { return false };
    let each = if step.seals.is_empty() { std::slice::from_ref(&own) } else { &step.seals };
    payloads(head.thought) == Some(own) || each.iter().all(|seal| head.seals.contains(seal))
}

/// The client has the very thought, which no other answer has: sealed by the provider, or with the ticket that was given
/// for it.
fn is_very_thought(step: &Step, head: &Head) -> bool {
    let (Some(own), Some(its)) = (step.own, head.thought) else { return false };
    match step.ticket {
        Some(ticket) => head.keys.thought == Some(ticket) && own.text == its.text,
        None => has_seals_of(step, head),
    }
}

/// What the id of one call says, if it is the one at `at` of the record.
fn id_of(call: &Call, head: &Head, at: usize) -> Ids {
    let Some(mark) = head.calls.get(at) else { return Ids::Other };
    let ticket = head.keys.tickets.get(at);
    if ticket.is_some() && call.ticket.is_some() && call.ticket.as_ref() != ticket {
        return Ids::AnothersTicket;
    }
    let is_strong = is_strong(&mark.id);
    match (call.id.is_empty() || mark.id.is_empty(), call.id == mark.id) {
        (true, _) => Ids::Unsaid,
        (false, true) if is_strong => Ids::SameStrong,
        (false, true) => Ids::Same,
        (false, false) if is_strong => Ids::OtherStrong,
        (false, false) => Ids::Other,
    }
}

/// Keeps only those that something speaks for, if there are any.
fn prefer(found: &mut Vec<Candidate>, is_preferred: impl Fn(&Candidate) -> bool) {
    if found.iter().any(&is_preferred) {
        found.retain(is_preferred);
    }
}

/// What the ids of a step's calls say about a record, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ids {
    /// A ticket of ours that was minted for another answer.
    AnothersTicket,
    /// Others, though the record's are drawn at random: the client has its own, or it is another answer.
    OtherStrong,
    /// Others.
    Other,
    /// There are none on one side.
    Unsaid,
    /// The record's, which may be those of other answers too.
    Same,
    /// The record's, and no other answer has them.
    SameStrong,
}

/// Whether an id looks as if it was drawn at random: its last run has nine letters and digits or more, of both kinds.
/// Names with a number (`list_dir_0`, `call_12`) are no such ids.
fn is_strong(id: &str) -> bool {
    let run = id.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let has = |is: fn(&u8) -> bool| run.bytes().any(|byte| is(&byte));
    run.len() >= 9 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Whether the target can read what was thought elsewhere.
fn can_read(ask: &Ask<'_>, head: &Head) -> bool {
    let (its, ours) = (&head.origin, ask.origin);
    let is_here = its.provider == ours.provider && its.endpoint == ours.endpoint;
    let is_account = its.account.is_none() || ours.account.is_none() || its.account == ours.account;
    match ask.contract.readable {
        Readable::PlainText | Readable::SameEndpoint => is_here && is_account,
        Readable::SameModel => is_here && is_account && its.model == ours.model,
    }
}
