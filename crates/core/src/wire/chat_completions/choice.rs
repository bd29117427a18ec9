//! One choice of an answer: deltas or a whole message become blocks and events.
//!
//! Order inside one delta is reasoning, text, tool calls. Across deltas, blocks are numbered as they appear. A
//! delta with text and no reasoning ends the thought before it, and the other way round; a delta with both goes
//! on with both.

use super::beside;
use super::calls::Calls;
use super::details::{self, Details};
use super::fields::Fields;
use super::parts;
use super::signature;
use crate::content::{Block, Other, Text, Thinking};
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val};
use std::borrow::Cow;

/// The sibling strings that carry reasoning, in the order of precedence.
pub(crate) const SIBLINGS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The receiver of the events of one choice.
pub(super) struct Out<'a> {
    /// The wire that speaks.
    pub(super) wire: &'static str,
    /// The index of the choice.
    pub(super) choice: usize,
    pub(super) sink: &'a mut dyn Sink,
}

impl Out<'_> {
    pub(super) fn event(&mut self, event: Event<'_>) {
        if self.choice == 0 {
            self.sink.event(event);
        } else {
            self.sink.event(Event::Choice { index: self.choice, event: &event });
        }
    }
}

/// A thought that came as a string or as parts of the content, and can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thought {
    pub(super) block: usize,
    pub(super) field: Cow<'static, str>,
    pub(super) signature: Option<String>,
    pub(super) extra: Extra,
}

/// A text that can go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenText {
    pub(super) block: usize,
    pub(super) extra: Extra,
}

/// One choice, with the pieces so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) next: usize,
    pub(super) thoughts: Vec<Thought>,
    pub(super) text: Option<OpenText>,
    pub(super) details: Details,
    calls: Calls,
    /// Sounds come in pieces and become one block in the end.
    audio: Option<Raw>,
    message_signature: Option<String>,
    /// Whether deltas had text or a thought; a whole message at the end of a stream repeats them.
    pub(super) has_text: bool,
    pub(super) has_thought: bool,
    /// The text of the last whole message inside a stream, which may be cumulative.
    whole: Whole,
    pub(super) finish: Option<String>,
    /// The last unknown members beside its messages.
    pub(super) beside: Option<Raw>,
}

/// The content so far of the whole messages inside a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Whole {
    text: String,
    thought: String,
}

/// The role of a message in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A piece of a stream.
    Delta,
    /// A complete message by itself.
    Message,
    /// A message inside a stream: it repeats the text of deltas or earlier messages.
    Resent,
}

/// The role of a message, and one more sibling string that the provider uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct How<'a> {
    pub(super) mode: Mode,
    pub(super) custom: Option<&'a str>,
}

impl Choice {
    /// Whether any part of the answer came, even if only a finish reason.
    pub(super) fn has_come(&self) -> bool {
        self.next > 0 || self.has_reason()
    }

    /// Whether it has a finish reason; an empty word does not count.
    pub(super) fn has_reason(&self) -> bool {
        self.finish.as_deref().is_some_and(|reason| !reason.is_empty())
    }

    /// Takes a delta or a message.
    pub(super) fn take(
        &mut self,
        message: Val<'_>,
        fields: &Fields<'_>,
        how: How<'_>,
        out: &mut Out<'_>,
    ) {
        let speaks = fields.content.is_some_and(has_text);
        let thinks = fields.think();
        if thinks && !speaks {
            self.end_text(out);
        }
        let is_resent = how.mode == Mode::Resent;
        if !(is_resent && self.has_thought) {
            self.take_reasoning(fields, how, out);
        }
        if speaks && (!thinks || how.mode != Mode::Delta) {
            self.end_thoughts(out);
        }
        if let Some(content) = fields.content.filter(|_| !(is_resent && self.has_text)) {
            self.take_content(content, how.mode, out);
            self.has_text |= speaks && (!is_resent || content.is_array());
        }
        if let Some(refusal) = fields.refusal.and_then(Val::as_str).filter(|text| !text.is_empty())
        {
            out.event(Event::Fact(Fact::Refusal(&refusal)));
        }
        self.take_calls(fields, how.mode, out);
        self.take_media(fields, out);
        if fields.is_signed
            && let Some(signature) = signature::find(message)
            && self.message_signature.as_ref() != Some(&signature)
        {
            out.event(Event::Fact(Fact::MessageSignature(&signature)));
            self.message_signature = Some(signature);
        }
    }

    /// Reports the unknown members beside the pieces. Repeated members are reported only if they continue a text.
    pub(super) fn say_beside(&mut self, members: Option<Raw>, out: &mut Out<'_>) {
        let Some(members) = members else { return };
        if self.beside.as_ref() == Some(&members) && !beside::goes_on(members.as_str()) {
            return;
        }
        let members = &*self.beside.insert(members);
        let fact = Fact::Beside { wire: out.wire, members };
        out.event(Event::Fact(fact));
    }

    fn take_reasoning(&mut self, fields: &Fields<'_>, how: How<'_>, out: &mut Out<'_>) {
        let mut has_text = false;
        if let Some(entries) = fields.structured() {
            has_text = details::have_text(entries.1);
            self.calls.start_named(&mut self.next, out);
            let before = self.next;
            self.details.take(entries, how.mode != Mode::Delta, &mut self.next, out);
            self.has_thought |= self.next > before || has_text;
        }
        // The strings repeat the text of the structured entries.
        if !has_text {
            let is_told = self.take_siblings(fields, how, out);
            self.has_thought |= is_told && how.mode != Mode::Resent;
        }
        for step in fields.steps.iter().flat_map(|steps| steps.items()) {
            self.take_step(step, out);
            self.has_thought = true;
        }
    }

    /// Takes the sibling strings; one text under several names counts once.
    fn take_siblings(&mut self, fields: &Fields<'_>, how: How<'_>, out: &mut Out<'_>) -> bool {
        let mut said: [Option<Cow<'_, str>>; 4] = Default::default();
        let names = SIBLINGS.into_iter().map(Some).chain([None]);
        let values = fields.siblings.into_iter().chain([fields.custom]);
        let mut is_told = false;
        for (at, (name, value)) in names.zip(values).enumerate() {
            // Some servers know the field as a list of texts, too.
            let text = value.map(parts::text_of).filter(|text| !text.is_empty());
            let Some(text) = text else { continue };
            if said.iter().flatten().any(|other| *other == text) {
                continue;
            }
            is_told = true;
            let field = match name {
                Some(name) => Cow::Borrowed(name),
                None => Cow::Owned(how.custom.unwrap_or_default().to_owned()),
            };
            let new = if how.mode == Mode::Resent {
                rest_of(&mut self.whole.thought, &text)
            } else {
                &text
            };
            self.think(field, new, out);
            if let Some(slot) = said.get_mut(at) {
                *slot = Some(text);
            }
        }
        is_told
    }

    /// Goes on with the thought in `field`, or begins it.
    pub(super) fn think(&mut self, field: Cow<'static, str>, delta: &str, out: &mut Out<'_>) {
        if delta.is_empty() {
            return;
        }
        let block = self.thought(field, out).block;
        out.event(Event::ThinkingDelta { block, delta });
    }

    /// The open thought in `field`; begins a new one if necessary.
    pub(super) fn thought(&mut self, field: Cow<'static, str>, out: &mut Out<'_>) -> &mut Thought {
        let at = self.thoughts.iter().position(|thought| thought.field == field);
        let at = at.unwrap_or_else(|| {
            let block = self.next_block(out);
            out.event(Event::ThinkingStart { block, source_field: &field });
            self.thoughts.push(Thought { block, field, signature: None, extra: Extra::default() });
            self.thoughts.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "found or pushed just now")]
        &mut self.thoughts[at]
    }

    /// One step of a search model's reasoning: a thought of its own, with the actions of that step.
    fn take_step(&mut self, step: Val<'_>, out: &mut Out<'_>) {
        let block = self.next_block(out);
        let thinking = Thinking {
            source_field: "reasoning_steps".to_owned(),
            extra: Extra::collect(out.wire, step, &["thought"]),
            ..Thinking::default()
        };
        out.event(Event::ThinkingStart { block, source_field: &thinking.source_field });
        if let Some(delta) = step.text("thought").filter(|text| !text.is_empty()) {
            out.event(Event::ThinkingDelta { block, delta: &delta });
        }
        out.event(Event::ThinkingEnd { block, thinking: &thinking, thought: None });
    }

    fn take_content(&mut self, content: Val<'_>, mode: Mode, out: &mut Out<'_>) {
        if let Some(text) = content.as_str() {
            let new =
                if mode == Mode::Resent { rest_of(&mut self.whole.text, &text) } else { &text };
            self.say(new, out);
            return;
        }
        if content.is_array() {
            for part in content.items() {
                parts::take(self, part, mode, out);
            }
        } else {
            parts::take(self, content, mode, out);
        }
    }

    /// Goes on with the text, or begins it.
    pub(super) fn say(&mut self, delta: &str, out: &mut Out<'_>) {
        if delta.is_empty() {
            return;
        }
        let block = self.open_text(out).block;
        out.event(Event::TextDelta { block, delta });
    }

    /// The open text; begins a new one if necessary.
    pub(super) fn open_text(&mut self, out: &mut Out<'_>) -> &mut OpenText {
        if self.text.is_none() {
            let block = self.next_block(out);
            out.event(Event::TextStart { block });
            self.text = Some(OpenText { block, extra: Extra::default() });
        }
        self.text.get_or_insert_default()
    }

    fn take_calls(&mut self, fields: &Fields<'_>, mode: Mode, out: &mut Out<'_>) {
        if mode == Mode::Resent && !self.calls.is_empty() {
            return;
        }
        let calls = fields.tool_calls.filter(|calls| calls.items().next().is_some());
        let named = |call: &Val<'_>| {
            !call.entries().all(|(_, value)| matches!(value.raw(), "\"\"" | "null"))
        };
        let old = fields.function_call.filter(named).filter(|_| calls.is_none());
        if calls.is_none() && old.is_none() {
            return;
        }
        self.end_thoughts(out);
        self.end_text(out);
        if let Some(calls) = calls {
            self.calls.take(calls, mode != Mode::Delta, &mut self.next, out);
        }
        if let Some(call) = old {
            self.calls.take_old(call, &mut self.next, out);
        }
    }

    fn take_media(&mut self, fields: &Fields<'_>, out: &mut Out<'_>) {
        let some = |list: &Val<'_>| list.items().next().is_some();
        if let Some(annotations) = fields.annotations.filter(some) {
            let wire = out.wire;
            let text = self.open_text(out);
            let before = text.extra.get(wire, "annotations").cloned();
            text.extra.insert(wire, "annotations", appended(before.as_ref(), annotations));
        }
        if let Some(images) = fields.images.filter(some) {
            self.whole_block("images", Raw::from(images), out);
        }
        let is_said = |sound: &Val<'_>| {
            sound.entries().any(|(_, value)| !matches!(value.raw(), "\"\"" | "null" | "0"))
        };
        if let Some(audio) = fields.audio.filter(is_said) {
            self.audio = Some(joined(self.audio.as_ref(), audio));
        }
    }

    /// A block that comes in one piece.
    pub(super) fn whole_block(&mut self, kind: &str, raw: Raw, out: &mut Out<'_>) {
        let value = Block::Other(Other::new(out.wire, kind, raw));
        let block = self.next_block(out);
        out.event(Event::Whole { block, value: &value });
    }

    /// The number of a block that begins now, behind the calls that came before it.
    fn next_block(&mut self, out: &mut Out<'_>) -> usize {
        self.calls.start_named(&mut self.next, out);
        self.next += 1;
        self.next - 1
    }

    /// Ends the thoughts, as visible content comes now.
    pub(super) fn end_thoughts(&mut self, out: &mut Out<'_>) {
        self.close_thoughts(false, out);
        self.details.seal(out);
    }

    fn close_thoughts(&mut self, is_cut: bool, out: &mut Out<'_>) {
        for thought in self.thoughts.drain(..) {
            let thinking = Thinking {
                source_field: thought.field.into_owned(),
                signature: thought.signature,
                partial: is_cut,
                extra: thought.extra,
                ..Thinking::default()
            };
            out.event(Event::ThinkingEnd {
                block: thought.block,
                thinking: &thinking,
                thought: None,
            });
        }
    }

    pub(super) fn end_text(&mut self, out: &mut Out<'_>) {
        if let Some(text) = self.text.take() {
            let end = Text { extra: text.extra, ..Text::default() };
            out.event(Event::TextEnd { block: text.block, text: &end, whole: None });
        }
    }

    /// The stream or message is over.
    pub(super) fn end(&mut self, is_cut: bool, out: &mut Out<'_>) {
        if let Some(audio) = self.audio.take() {
            self.whole_block("audio", audio, out);
        }
        self.close_thoughts(is_cut, out);
        self.details.end(is_cut, out);
        self.end_text(out);
        self.calls.end(is_cut, &mut self.next, out);
    }
}

/// Whether content has visible text, or other parts than reasoning.
fn has_text(content: Val<'_>) -> bool {
    match content.as_str() {
        Some(text) => !text.is_empty(),
        None => content
            .items()
            .any(|part| !part.text("type").is_some_and(|kind| parts::is_thinking(&kind))),
    }
}

/// The part of `text` behind `said`, if `text` repeats it.
fn rest_of<'t>(said: &mut String, text: &'t str) -> &'t str {
    let rest = text.strip_prefix(said.as_str()).unwrap_or(text);
    text.clone_into(said);
    rest
}

/// A list with the items of another behind its own.
pub(super) fn appended(list: Option<&Raw>, more: Val<'_>) -> Raw {
    let Some(list) = list else { return Raw::from(more) };
    let doc = list.doc();
    Raw::build(|w| {
        w.array(|w| doc.root().items().chain(more.items()).for_each(|item| w.raw_str(item.raw())));
    })
}

/// A sound with a further piece: its data and transcript go on, other fields are replaced.
fn joined(sound: Option<&Raw>, more: Val<'_>) -> Raw {
    let Some(sound) = sound else { return Raw::from(more) };
    let doc = sound.doc();
    Raw::build(|w| {
        w.object(|w| {
            for (key, old) in doc.root().entries() {
                match (key.as_ref(), old.as_str(), more.text(&key)) {
                    ("data" | "transcript", Some(old), Some(new)) => {
                        w.field_str(&key, &(old + new));
                    }
                    _ => w.key(&key).raw_str(more.some(&key).unwrap_or(old).raw()),
                }
            }
            for (key, value) in more.entries().filter(|(key, _)| doc.root().get(key).is_none()) {
                w.key(&key).raw_str(value.raw());
            }
        });
    })
}
