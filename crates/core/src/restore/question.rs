//! Reads a request as questions to the vault: its answers, and the keys that find their records.
//!
//! One forward pass. The conversation is a sequence of pieces: the messages of people and programs, the text of an
//! answer, each of its calls, and the result of each call right behind it. So the sequence is the same whether each
//! result follows its call or all results follow all calls. No thought is ever in it, so that clients that keep
//! thoughts and clients that drop them ask the same.

use super::ids::{is_listed, normal_id};
use super::key::{Key, Of, Secret, Version};
use super::maker;
use super::normal::Normal;
use super::orphan::Orphan;
use super::record::{Thought, seals};
use super::results::Results;
use super::ticket;
use crate::bookkeeping;
use crate::content::{Block, Content, Speaker, ToolCall};
use crate::json::Raw;
use crate::request::Tool;
use crate::turns::Turns;
use std::ops::Range;

/// All data that restoration needs of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The version of the normal form that its keys have.
    pub version: Version,
    /// The answers in the request, in order.
    pub steps: Vec<Step>,
    /// The results whose calls are not in the request.
    pub(crate) orphans: Vec<Orphan>,
    /// The digest of the session hint, if the client gave one.
    pub hint: Option<Key>,
    /// The digest of the conversation's first message, which every fork shares.
    pub root: Key,
    /// Ids of calls that were drawn at random name records at this endpoint.
    pub(super) lists_ids: bool,
    /// The place of the coming answer.
    pub(super) end: Place,
}

/// One answer of the model in a request: an unbroken run of its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The messages, as indices in the request's contents.
    pub contents: Range<usize>,
    /// The number of its turn.
    pub turn: usize,
    /// It is part of the turn under way.
    pub is_current: bool,
    /// A later answer exists in its turn.
    pub was_sent: bool,
    /// Tools were called in its turn.
    pub turn_has_calls: bool,
    /// Messages other than tool results are between it and the answer before.
    pub is_after_speech: bool,
    /// The visible parts.
    pub(super) visible: Visible,
    /// The thought that the client sent with it.
    pub(crate) own: Option<Thought>,
    /// The digests of the payloads in it, if there are several.
    pub(super) seals: Vec<Key>,
    /// The family that made its payloads, if their form shows it.
    pub(crate) maker: Option<&'static str>,
    /// The key of the ticket in place of the thought's signature.
    pub(crate) ticket: Option<Key>,
    /// The client added empty members to its sealed thoughts.
    pub(crate) is_padded: bool,
    /// The client names items that the provider keeps.
    pub(crate) refers: bool,
    /// The key of the answer and its history; `None` if the answer has no visible part that could distinguish it.
    pub(super) answered: Option<Key>,
    /// The same key as an endpoint of the other kind computes it; a record from there has this key. The two kinds are
    /// endpoints that draw their ids at random, and all others.
    pub(super) elsewhere: Option<Key>,
    /// Everything before it.
    pub(super) prefix: Key,
}

impl Step {
    /// Some of its calls have ids that name its record.
    pub(super) fn is_anchored(&self) -> bool {
        self.visible.calls.iter().any(|call| call.names.is_some())
    }

    /// The keys that show the maker of the answer, if this endpoint does not draw ids at random but the maker's does.
    pub(super) fn hints(&self) -> impl Iterator<Item = Key> {
        let unnamed = self.visible.calls.iter().filter(|call| call.names.is_none());
        unnamed.filter_map(|call| call.hint).chain(self.elsewhere)
    }

    /// The keys of the answer behind its history, as each kind of endpoint sees that.
    pub(super) fn histories(&self) -> impl Iterator<Item = Key> {
        self.answered.into_iter().chain(self.elsewhere.filter(|it| self.answered != Some(*it)))
    }

    /// The keys of the thought that the client sends: its words, and its payloads.
    pub(super) fn thoughts(&self) -> impl Iterator<Item = Key> {
        self.own.into_iter().flat_map(Thought::keys).chain(self.seals.iter().copied())
    }

    /// Whether a record with this key answered the same history.
    pub(super) fn is_behind(&self, key: &Key) -> bool {
        self.histories().any(|it| it == *key)
    }

    /// Tools are called in it.
    #[must_use]
    pub fn has_calls(&self) -> bool {
        !self.visible.calls.is_empty()
    }

    /// It may continue the answer before, if the client has given each call a message of its own: only results are
    /// between them.
    pub(super) fn may_be_part(&self) -> bool {
        !self.is_after_speech && self.has_calls()
    }
}

/// The visible parts of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visible {
    /// The digest of its text, without a copy of the thought.
    pub(super) text: Option<Key>,
    /// The words of the copy of a thought at the head of its text.
    pub(super) copy: Option<Key>,
    pub(super) calls: Vec<Call>,
    /// The digest of text and calls.
    pub(super) content: Key,
}

/// The distinguishing parts of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: String,
    /// Name and arguments.
    pub(super) digest: Key,
    /// The part of the id that clients leave alone; empty without an id.
    pub(super) id: String,
    /// The key of an id that no other answer has.
    pub(super) names: Option<Key>,
    /// The same key as at an endpoint that is known to draw such ids: it shows the maker of an answer.
    pub(super) hint: Option<Key>,
}

/// A place in the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The digest of the messages since the last unique id.
    pub(super) history: Key,
    /// Everything before it.
    pub(super) prefix: Key,
    /// The beginning of the coming answer, if the client sent one.
    pub(super) begun: Option<Begun>,
}

/// The beginning of an answer that the client wants to be gone on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
}

/// Facts about a request beside its messages, and about its endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The tools on offer.
    pub tools: &'a [Tool],
    /// The client's hint about its session.
    pub hint: Option<&'a str>,
    /// The endpoint is unknown, so that its call ids do not identify answers, in any form.
    pub is_unlisted: bool,
    /// Thoughts are sealed there, so that the time of a request matters: the clock of a system message, too.
    pub is_sealed: bool,
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
        let tools = normal.tools(about.tools);
        let (mut history, mut prefix) = (normal.digest(Of::History), normal.digest(Of::Prefix));
        for content in system.iter().filter_map(bookkeeping::left) {
            history.key(&normal.instructed(&content, about.is_sealed));
            prefix.key(&normal.said(&content));
        }
        let place = Place {
            history: history.key(&tools).finish(),
            prefix: prefix.key(&tools).finish(),
            begun: None,
        };
        let mut walk = Walk {
            normal,
            lists_ids: !about.is_unlisted,
            is_sealed: about.is_sealed,
            elsewhere: place.history,
            place,
            root: None,
            steps: Vec::new(),
            turns: Turns::of(contents),
            after_speech: true,
        };
        walk.all(rest, instructions);
        let orphans = Orphan::all(contents, &normal);
        Question { orphans, ..walk.finish(hint) }
    }

    /// Every look-up key for records of this request. If the list is empty, no look-up is necessary.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::with_capacity(self.steps.len() + 4);
        for step in &self.steps {
            keys.extend(step.visible.calls.iter().filter_map(|call| call.names));
            keys.extend(step.ticket);
            keys.extend(step.thoughts().chain(step.visible.copy));
            if !step.is_anchored() {
                keys.extend(step.histories());
            }
            if step.own.is_some() || step.visible.copy.is_some() {
                keys.extend(step.hints());
            }
        }
        keys.extend(self.orphans.iter().map(|orphan| orphan.names));
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

struct Walk<'s> {
    normal: Normal<'s>,
    lists_ids: bool,
    is_sealed: bool,
    place: Place,
    /// The history as an endpoint of the other kind computes it. The two kinds are endpoints that draw their ids at
    /// random, and all others.
    elsewhere: Key,
    root: Option<Key>,
    steps: Vec<Step>,
    turns: Turns,
    /// The last message is neither from the model nor from a tool.
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
        let Some(content) = bookkeeping::left(content) else { return };
        let piece = self.normal.said(&content);
        if content.speaker == Speaker::Human {
            self.root.get_or_insert(piece);
        }
        let in_history = match content.speaker {
            Speaker::System => self.normal.instructed(&content, self.is_sealed),
            Speaker::Ai | Speaker::Human | Speaker::Tool => piece,
        };
        self.add(&in_history, &piece);
        self.after_speech = true;
    }

    fn add(&mut self, history: &Key, prefix: &Key) {
        self.add_history(history);
        self.add_prefix(prefix);
    }

    fn add_history(&mut self, piece: &Key) {
        for history in [&mut self.place.history, &mut self.elsewhere] {
            *history = self.normal.digest(Of::History).key(history).key(piece).finish();
        }
    }

    fn add_prefix(&mut self, piece: &Key) {
        let prefix = &mut self.place.prefix;
        *prefix = self.normal.digest(Of::Prefix).key(prefix).key(piece).finish();
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
        let visible = Visible::of(&self.normal, &text, &calls, self.lists_ids);
        let answered = visible.behind(&self.normal, &self.place.history);
        let elsewhere = visible.behind(&self.normal, &self.elsewhere);
        let before = self.place.clone();
        self.pass(&visible, &calls, given);
        if is_last && given.is_empty() {
            let calls = calls.into_iter().cloned().collect();
            self.place = Place { begun: Some(Begun { text, calls }), ..before.clone() };
        }
        let blocks = || said.iter().flat_map(|it| &it.blocks);
        let refers =
            blocks().any(|block| matches!(block, Block::Other(other) if other.is_reference()));
        self.steps.push(Step {
            turn: self.turns.of_message(contents.start),
            is_current: self.turns.is_current(contents.start),
            was_sent: self.turns.was_sent(contents.start),
            turn_has_calls: self.turns.has_calls(contents.start),
            contents,
            is_after_speech: std::mem::take(&mut self.after_speech),
            visible,
            own: Thought::of(&self.normal, blocks()),
            seals: seals(&self.normal, blocks()),
            maker: maker::of(blocks()),
            ticket: thought_ticket(&self.normal, blocks()),
            is_padded: blocks().any(is_padded),
            refers,
            answered,
            elsewhere,
            prefix: before.prefix,
        });
    }

    /// Goes on behind an answer and its results. A unique id begins the history anew, so that changes of earlier
    /// messages by the client no longer matter. If an answer has several calls, the last one counts, with its own
    /// result, so that the history is the same whether a client keeps them in one message or splits them.
    fn pass(&mut self, visible: &Visible, calls: &[&ToolCall], given: &[Content]) {
        self.add_history(&visible.named(&self.normal));
        visible.text.iter().for_each(|text| self.add_prefix(text));
        let (mut results, mut begun, mut hinted) = (Results::of(given), None, None);
        for (call, seen) in calls.iter().zip(&visible.calls) {
            self.add_prefix(&seen.digest);
            let result = results.take(call).map(|result| self.normal.result(result));
            result.iter().for_each(|result| self.add(result, result));
            let behind = |anchor: &Key| {
                let mut history = self.normal.digest(Of::History);
                history.tag(b'a').key(anchor);
                result.iter().for_each(|result| {
                    history.key(result);
                });
                history.finish()
            };
            begun = seen.names.as_ref().map(behind).or(begun);
            hinted = seen.hint.as_ref().map(behind).or(hinted);
        }
        for result in results.rest() {
            let result = self.normal.result(result);
            self.add(&result, &result);
        }
        if let Some(begun) = begun {
            self.place.history = begun;
        }
        self.elsewhere = hinted.unwrap_or(self.elsewhere);
    }

    fn finish(self, hint: Option<Key>) -> Question {
        Question {
            version: self.normal.version,
            steps: self.steps,
            orphans: Vec::new(),
            hint,
            root: self.root.unwrap_or(self.place.history),
            lists_ids: self.lists_ids,
            end: self.place,
        }
    }
}

/// Whether a sealed item has an empty member that its reader does not know.
fn is_padded(block: &Block) -> bool {
    let Block::Thinking(thinking) = block else { return false };
    let says_nothing = |raw: &Raw| matches!(raw.as_str(), "null" | "[]" | "{}" | "\"\"");
    thinking.encrypted_content.is_some()
        && thinking.extra.fields.iter().any(|(_, value)| says_nothing(value))
}

/// The key of the ticket that all thoughts with a ticket share; `None` if their tickets differ.
fn thought_ticket<'b>(normal: &Normal<'_>, blocks: impl Iterator<Item = &'b Block>) -> Option<Key> {
    let mut tickets = blocks.filter_map(ticket::in_thought);
    let first = tickets.next()?;
    tickets.all(|other| other == first).then(|| ticket::key(normal, first))
}

impl Visible {
    /// `lists_ids`: at this endpoint, ids of a random form identify records; ids that were minted here always do.
    pub(super) fn of(
        normal: &Normal<'_>,
        text: &str,
        calls: &[&ToolCall],
        lists_ids: bool,
    ) -> Self {
        let call = |call: &&ToolCall| {
            let id = normal_id(call.id.as_deref().unwrap_or_default());
            let names = anchor(normal, &id, lists_ids);
            let hint = anchor(normal, &id, !lists_ids);
            Call { name: call.name.clone(), digest: normal.call(call), id, names, hint }
        };
        let (copy, text) = (normal.copy(text), normal.answer(text));
        let calls: Vec<Call> = calls.iter().map(call).collect();
        let mut content = normal.digest(Of::Content);
        content.tag(u8::from(text.is_some()));
        if let Some(text) = &text {
            content.key(text);
        }
        calls.iter().for_each(|call| {
            content.key(&call.digest);
        });
        Visible { text, copy, calls, content: content.finish() }
    }

    /// The visible parts, with the ids of the calls.
    fn named(&self, normal: &Normal<'_>) -> Key {
        let mut digest = normal.digest(Of::Content);
        digest.key(&self.content);
        self.calls.iter().for_each(|call| {
            digest.part(call.id.as_bytes());
        });
        digest.finish()
    }

    /// The key of the answer with a history; `None` if the answer is empty.
    pub(super) fn behind(&self, normal: &Normal<'_>, history: &Key) -> Option<Key> {
        let says = self.text.is_some() || !self.calls.is_empty();
        says.then(|| normal.digest(Of::Answered).key(history).key(&self.content).finish())
    }
}

/// The key of an id in its normal form, if no other answer has it.
pub(super) fn anchor(normal: &Normal<'_>, id: &str, lists_ids: bool) -> Option<Key> {
    let is_alone = ticket::is_minted(normal, id) || (lists_ids && is_listed(id));
    is_alone.then(|| normal.digest(Of::Anchor).part(id.as_bytes()).finish())
}
