//! A request as questions to the vault: which answers stand in it, and by which keys their records are found.
//!
//! The conversation is a sequence of pieces: what people and programs say, the text of an answer, each of its calls,
//! and what the tool gave right behind its call. So it is the same sequence whether a client keeps the calls of one
//! answer in one message or in several, and whether their results come after each or after all.
//! Every key digests that sequence without any thought, so that clients that keep thoughts and clients that drop them
//! ask the same.

use super::key::{Key, Of, Secret, Version};
use super::normal::{Normal, weak_id};
use super::record::{Thought, seals};
use super::ticket;
use crate::content::{Block, Content, Speaker, ToolCall, ToolResponse};
use crate::request::Tool;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// Everything that restoration asks of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The version of the normal form that its keys have.
    pub version: Version,
    /// The answers in the request, in order.
    pub steps: Vec<Step>,
    /// The digest of the system messages before all others.
    pub system: Key,
    /// The digest of the tools on offer.
    pub tools: Key,
    /// The digest of the session hint, if the client gave one.
    pub hint: Option<Key>,
    /// The conversation's first node, which every fork shares.
    pub root: Key,
    /// The whole request, if answers stand in it that are not to be gone on with.
    pub(super) request: Option<Key>,
    /// Where the coming answer hangs.
    pub(super) end: Place,
}

/// One answer of the model in a request: a run of its messages with nothing between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The messages, as indices in the request's contents.
    pub contents: Range<usize>,
    /// It stands in the turn under way.
    pub is_current: bool,
    /// Tools were called in its turn.
    pub turn_has_calls: bool,
    /// Something stands between it and the answer before it that is no result of a tool.
    pub is_after_speech: bool,
    /// The digest of its text, if it has any.
    pub(super) text: Option<Key>,
    /// The length of its text in bytes: a few words are said in many conversations.
    pub(super) said: usize,
    /// Its calls.
    pub(super) calls: Vec<Call>,
    /// What the client sent with it of the thought.
    pub(super) own: Option<Thought>,
    /// The digests of the payloads in it, where there are several.
    pub(super) seals: Vec<Key>,
    /// The key of the ticket that stands in the place of the thought's signature.
    pub(super) ticket: Option<Key>,
    /// The client names items that the provider keeps.
    pub(super) refers: bool,
    /// The request that it answered, as far as what stands before it tells; `None` where no answer does.
    pub(super) request: Option<Key>,
    /// The digests by which its record is found; `None` where it says nothing that could be told from others.
    pub(super) asks: Option<Asks>,
}

impl Step {
    /// The keys of the tickets that the client has of it.
    pub(super) fn tickets(&self) -> impl Iterator<Item = Key> {
        self.calls.iter().filter_map(|call| call.ticket).chain(self.ticket)
    }

    /// It may go on with the answer before, if the client has given each call a message of its own.
    pub(super) fn may_be_part(&self) -> bool {
        self.text.is_none() && !self.is_after_speech && !self.calls.is_empty()
    }
}

/// A call as far as it can be told from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// Name and arguments.
    pub(super) digest: Key,
    /// The id as far as clients leave it alone; empty without one.
    pub(super) id: String,
    /// The key of the id, if it has the form of a ticket.
    pub(super) ticket: Option<Key>,
}

/// The keys of a step, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asks {
    pub(super) chain: Key,
    pub(super) tail: Key,
    pub(super) calls: Option<Key>,
}

/// A place in the conversation: everything before it, and everything of the turn before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) node: Key,
    pub(super) turn: Key,
    /// What the model said already of the answer that is to come.
    pub(super) begun: Option<Begun>,
}

/// The beginning of an answer that the client wants to be gone on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
}

/// What a request says of itself beside its messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The tools on offer.
    pub tools: &'a [Tool],
    /// What the client says about its session.
    pub hint: Option<&'a str>,
}

impl Question {
    /// Reads a request in one version of the normal form.
    #[must_use]
    pub fn read(
        contents: &[Content],
        about: About<'_>,
        secret: &Secret,
        version: Version,
    ) -> Question {
        let normal = Normal { secret, version };
        let hint = about.hint.map(|hint| normal.digest(Of::Hint).part(hint.as_bytes()).finish());
        let instructions =
            contents.iter().take_while(|content| content.speaker == Speaker::System).count();
        let (system, rest) = contents.split_at_checked(instructions).unwrap_or_default();
        let mut digest = normal.digest(Of::System);
        system.iter().for_each(|content| {
            digest.key(&normal.said(content));
        });
        let system = digest.finish();
        let tools = normal.tools(about.tools);
        let (start, turn) = (normal.digest(Of::Root).finish(), normal.digest(Of::Turn).finish());
        let mut frame = normal.digest(Of::Request);
        frame.key(&system).key(&tools);
        hint.iter().for_each(|hint| {
            frame.key(hint);
        });
        let mut walk = Walk {
            normal,
            hint,
            beside: frame.finish(),
            place: Place { node: start, turn, begun: None },
            start,
            fresh_turn: turn,
            root: None,
            steps: Vec::new(),
            turns: vec![0],
            after_speech: true,
        };
        walk.all(rest, instructions);
        walk.finish(system, tools)
    }

    /// The conversation's name where the client gives none: its first node, which every fork shares.
    #[must_use]
    pub fn session(&self) -> Key {
        self.hint.unwrap_or(self.root)
    }

    /// Every key by which a record may be found. Of an empty list nothing has to be looked up.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.request.into_iter().collect();
        for step in &self.steps {
            if let Some(asks) = step.asks {
                keys.extend([asks.chain, asks.tail]);
                keys.extend(asks.calls);
            }
            keys.extend(step.tickets());
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

struct Walk<'s> {
    normal: Normal<'s>,
    hint: Option<Key>,
    /// What else tells one request from others: what stands around the messages, and all names that answers were given.
    beside: Key,
    place: Place,
    start: Key,
    fresh_turn: Key,
    root: Option<Key>,
    steps: Vec<Step>,
    /// The turn of each step, and at the end the turn that the next one would have.
    turns: Vec<usize>,
    /// What came last was said by somebody else than the model or a tool.
    after_speech: bool,
}

impl Walk<'_> {
    fn all(&mut self, contents: &[Content], offset: usize) {
        let mut at = 0;
        while let Some(content) = contents.get(at) {
            let is_answer = |content: &Content| content.speaker == Speaker::Ai;
            let run = |from: usize, of: &dyn Fn(&Content) -> bool| {
                contents.iter().skip(from).take_while(|content| of(content)).count()
            };
            if is_answer(content) {
                let answers = run(at, &is_answer);
                let results = run(at + answers, &|content| content.speaker == Speaker::Tool);
                let (said, rest) = contents
                    .get(at..)
                    .unwrap_or_default()
                    .split_at_checked(answers)
                    .unwrap_or_default();
                let given = rest.get(..results).unwrap_or_default();
                let is_last = at + answers == contents.len();
                self.answer(said, given, offset + at..offset + at + answers, is_last);
                at += answers + results;
            } else {
                self.said(content);
                at += 1;
            }
        }
    }

    fn said(&mut self, content: &Content) {
        let piece = self.normal.said(content);
        if content.speaker == Speaker::Human {
            // A new turn, whose digest knows nothing of what was before. What a program says beside results goes on
            // with the turn.
            if self.after_speech || self.steps.is_empty() || self.results_are_in() {
                self.place.turn = self.fresh_turn;
            }
            if let Some(turn) = self.turns.last_mut() {
                *turn += 1;
            }
        }
        self.add(&piece);
        if content.speaker == Speaker::Human && self.root.is_none() {
            self.root = Some(self.place.node);
        }
        self.after_speech = true;
    }

    /// The last answer called no tools, so that a person speaks next.
    fn results_are_in(&self) -> bool {
        self.steps.last().is_none_or(|step| step.calls.is_empty())
    }

    fn add(&mut self, piece: &Key) {
        for node in [&mut self.place.node, &mut self.place.turn] {
            *node = self.normal.digest(Of::Node).key(node).key(piece).finish();
        }
    }

    fn answer(
        &mut self,
        said: &[Content],
        given: &[Content],
        contents: Range<usize>,
        is_last: bool,
    ) {
        let text: String = said.iter().map(Content::visible_text).collect();
        let calls: Vec<&ToolCall> = said.iter().flat_map(Content::tool_calls).collect();
        let visible = Visible::of(&self.normal, &text, &calls);
        let asks = visible.asks(&self.normal, &self.place, self.hint.as_ref());
        let (before, said_len) = (self.place.clone(), text.trim().len());
        let request = self.request(&before.node);
        if let Some(text) = &visible.text {
            self.add(text);
        }
        let mut results = Results::of(given);
        for (call, seen) in calls.iter().zip(&visible.calls) {
            self.add(&seen.digest);
            if let Some(result) = results.take(call) {
                self.add(&self.normal.result(result));
            }
        }
        for result in results.rest() {
            self.add(&self.normal.result(result));
        }
        if is_last && given.is_empty() {
            let calls = calls.into_iter().cloned().collect();
            self.place.begun = Some(Begun { text, calls });
            self.place = Place { begun: self.place.begun.take(), ..before };
        }
        let turn = self.turns.last().copied().unwrap_or_default();
        self.turns.push(turn);
        let blocks = || said.iter().flat_map(|it| &it.blocks);
        let ticket = thought_ticket(&self.normal, blocks());
        let own = Thought::of(&self.normal, blocks());
        self.names(ticket, own, &visible.calls);
        let refers =
            blocks().any(|block| matches!(block, Block::Other(other) if other.is_reference()));
        self.steps.push(Step {
            contents,
            is_current: false,
            turn_has_calls: false,
            is_after_speech: std::mem::take(&mut self.after_speech),
            own,
            seals: seals(&self.normal, blocks()),
            ticket,
            refers,
            request,
            text: visible.text,
            said: said_len,
            calls: visible.calls,
            asks,
        });
    }

    /// The request that ends at a node, if answers stand in it.
    fn request(&self, node: &Key) -> Option<Key> {
        let digest = || self.normal.digest(Of::Request).key(node).key(&self.beside).finish();
        (!self.steps.is_empty()).then(digest)
    }

    /// Requests that name other calls are others, and so are those with other thoughts or tickets of thoughts: who has a
    /// thought asks for that one, and not for one that looks like it. It is the same in however many messages an answer
    /// stands.
    fn names(&mut self, ticket: Option<Key>, own: Option<Thought>, calls: &[Call]) {
        let next = |beside: &Key, tag: u8, name: &[u8]| {
            self.normal.digest(Of::Request).key(beside).tag(tag).part(name).finish()
        };
        if let Some(ticket) = ticket {
            self.beside = next(&self.beside, b't', ticket.bytes());
        } else if let Some(thought) = own.and_then(|own| own.payloads.or(own.text)) {
            self.beside = next(&self.beside, b'o', thought.bytes());
        }
        for call in calls {
            self.beside = next(&self.beside, b'c', call.id.as_bytes());
        }
    }

    fn finish(mut self, system: Key, tools: Key) -> Question {
        let current = self.turns.pop().unwrap_or_default();
        let with_calls: BTreeSet<usize> = self
            .turns
            .iter()
            .zip(&self.steps)
            .filter(|(_, step)| !step.calls.is_empty())
            .map(|(turn, _)| *turn)
            .collect();
        for (step, turn) in self.steps.iter_mut().zip(&self.turns) {
            step.is_current = *turn == current;
            step.turn_has_calls = with_calls.contains(turn);
        }
        let is_whole = self.place.begun.is_none();
        Question {
            version: self.normal.version,
            request: self.request(&self.place.node).filter(|_| is_whole),
            steps: self.steps,
            system,
            tools,
            hint: self.hint,
            root: self.root.unwrap_or(self.start),
            end: self.place,
        }
    }
}

/// The key of the ticket that all thoughts of an answer have which have one; those of several say nothing.
fn thought_ticket<'b>(normal: &Normal<'_>, blocks: impl Iterator<Item = &'b Block>) -> Option<Key> {
    let mut tickets = blocks.filter_map(ticket::in_thought);
    let first = tickets.next()?;
    tickets.all(|other| other == first).then(|| ticket::key(normal, first))
}

/// What can be seen of an answer.
pub(super) struct Visible {
    pub(super) text: Option<Key>,
    pub(super) calls: Vec<Call>,
}

impl Visible {
    pub(super) fn of(normal: &Normal<'_>, text: &str, calls: &[&ToolCall]) -> Self {
        let call = |call: &&ToolCall| {
            let id = call.id.as_deref().unwrap_or_default();
            Call {
                digest: normal.call(call),
                id: weak_id(id),
                ticket: ticket::is_ticket(id).then(|| ticket::key(normal, id)),
            }
        };
        Visible { text: normal.answer(text), calls: calls.iter().map(call).collect() }
    }

    pub(super) fn asks(
        &self,
        normal: &Normal<'_>,
        place: &Place,
        hint: Option<&Key>,
    ) -> Option<Asks> {
        if self.text.is_none() && self.calls.is_empty() {
            return None;
        }
        Some(Asks {
            chain: self.behind(normal, Of::Chain, &place.node, self.calls.len()),
            tail: self.behind(normal, Of::Tail, &place.turn, self.calls.len()),
            calls: hint
                .filter(|_| !self.calls.is_empty())
                .map(|hint| self.in_session(normal, hint)),
        })
    }

    /// The answer with its first `calls` calls, behind a place.
    pub(super) fn behind(&self, normal: &Normal<'_>, of: Of, place: &Key, calls: usize) -> Key {
        let mut digest = normal.digest(of);
        digest.key(place).tag(u8::from(self.text.is_some()));
        if let Some(text) = &self.text {
            digest.key(text);
        }
        self.calls.iter().take(calls).for_each(|call| {
            digest.key(&call.digest);
        });
        digest.finish()
    }

    /// The full set of calls in a session, ids included.
    fn in_session(&self, normal: &Normal<'_>, hint: &Key) -> Key {
        let mut calls: Vec<_> =
            self.calls.iter().map(|call| (call.digest, call.id.as_str())).collect();
        calls.sort_unstable();
        let mut digest = normal.digest(Of::Calls);
        digest.key(hint);
        for (call, id) in calls {
            digest.key(&call).part(id.as_bytes());
        }
        digest.finish()
    }
}

/// The results behind an answer, each to be found by its call.
struct Results<'c>(VecDeque<&'c ToolResponse>);

impl<'c> Results<'c> {
    fn of(given: &'c [Content]) -> Self {
        let blocks = given.iter().flat_map(|content| &content.blocks);
        let result = |block: &'c Block| match block {
            Block::ToolResponse(response) => Some(response),
            Block::Media(_)
            | Block::Other(_)
            | Block::Text(_)
            | Block::Thinking(_)
            | Block::ToolCall(_) => None,
        };
        Results(blocks.filter_map(result).collect())
    }

    /// The first result that names the call's id; without ids the first of all.
    fn take(&mut self, call: &ToolCall) -> Option<&'c ToolResponse> {
        let is_named = self.0.iter().all(|result| result.call_id.is_some());
        if !is_named || call.id.is_none() {
            return self.0.pop_front();
        }
        let at = self.0.iter().position(|result| result.call_id == call.id)?;
        self.0.remove(at)
    }

    fn rest(self) -> impl Iterator<Item = &'c ToolResponse> {
        self.0.into_iter()
    }
}
