//! The decoder of response streams.

use super::item::ItemKind;
use super::slot::{Numbers, Part, Slot};
use super::terminal;
use crate::event::{Event, Fact, Sink};
use crate::json::{Doc, Val};
use crate::problem::{Problem, ProblemCode};
use crate::wire::Decode;
use std::borrow::Cow;
use std::collections::HashMap;

/// The state of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoder {
    slots: Vec<Slot>,
    /// The latest slot at each place of the output.
    places: HashMap<u64, usize>,
    numbers: Numbers,
    /// The slots before this one have their numbers.
    claimed: usize,
    response_id: Option<String>,
    model: Option<String>,
    /// The error that was reported; it comes twice in some streams.
    error: Option<String>,
    /// The number of the last event.
    sequence: Option<u64>,
    /// The wire's own end of stream was seen.
    ended: bool,
    /// The events of unknown names that were reported.
    unknown: Vec<String>,
}

/// More names of unknown events than this are not distinguished.
const MAX_UNKNOWN: usize = 16;

impl Decode for Decoder {
    fn message(&mut self, name: Option<&str>, data: &str, sink: &mut dyn Sink) {
        if data.trim() == "[DONE]" {
            return;
        }
        match Doc::parse_str(data) {
            Ok(doc) => {
                let number = doc.root().u64("sequence_number");
                self.sequence = number.or(self.sequence);
                self.event(name, doc.root(), sink);
            }
            Err(error) => {
                let problem = Problem::new(ProblemCode::Malformed, error.to_string());
                sink.event(Event::Problem(&problem.at(name.unwrap_or("data"))));
            }
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        self.close(true, sink);
        if let Some(sequence) = self.sequence.filter(|_| !self.ended) {
            sink.event(Event::Fact(Fact::Sequence(sequence)));
        }
        if !self.ended {
            let message = "the stream ended before `response.completed`";
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
    }

    fn is_complete(&self) -> bool {
        self.ended
    }

    decode_is_value!();
}

impl Decoder {
    fn event(&mut self, name: Option<&str>, data: Val<'_>, sink: &mut dyn Sink) {
        let kind = data.text("type");
        let Some(kind) = kind.as_deref().or(name) else {
            return self.nameless(data, sink);
        };
        match kind {
            "response.created" | "response.in_progress" | "response.queued" => {
                self.begin(kind, data, sink);
            }
            "response.output_item.added" => self.added(data, sink),
            "response.output_item.done" => self.done(data, sink),
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.done"
            | "response.cancelled" => self.terminal(data, sink),
            "error" | "response.error" => self.error(terminal::error_of(data), sink),
            _ => match kind.strip_prefix("response.") {
                Some(kind) => self.part(kind, data, sink),
                None => self.unknown(kind, data, sink),
            },
        }
    }

    /// An event without a name: an error body in the stream, or a relative's own form.
    fn nameless(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        if terminal::is_error(data) {
            self.error(terminal::error_of(data), sink);
        } else {
            self.unknown("an event without a type", data, sink);
        }
    }

    /// A response begins. A response that begins after another in the same stream replaces it.
    fn begin(&mut self, kind: &str, data: Val<'_>, sink: &mut dyn Sink) {
        let Some(response) = data.get("response") else { return };
        let is_other = response.string("id") != self.response_id || self.ended;
        if kind == "response.created" && is_other && !self.slots.is_empty() {
            self.slots.clear();
            self.places.clear();
            self.numbers = Numbers::default();
            self.claimed = 0;
            self.ended = false;
        }
        self.facts(response, sink);
    }

    fn facts(&mut self, response: Val<'_>, sink: &mut dyn Sink) {
        if let Some(model) = response.string("model")
            && self.model.as_ref() != Some(&model)
        {
            sink.event(Event::Fact(Fact::Model(&model)));
            self.model = Some(model);
        }
        if let Some(id) = response.string("id")
            && self.response_id.as_ref() != Some(&id)
        {
            sink.event(Event::Fact(Fact::ResponseId(&id)));
            self.response_id = Some(id);
        }
    }

    fn added(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let Some(item) = data.get("item") else { return };
        let index = data.u64("output_index");
        let known = index.and_then(|index| self.places.get(&index).copied());
        let is_open = |at: &usize| self.slots.get(*at).is_some_and(|slot| !slot.done);
        let at = match known.filter(is_open) {
            Some(at) => at,
            None => self.add(Slot::new(index, item.string("id"), ItemKind::of_item(item))),
        };
        self.claim(at, sink);
        if let Some(slot) = self.slots.get_mut(at) {
            slot.begin(item, &mut self.numbers, sink);
        }
    }

    fn done(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let Some(item) = data.get("item") else { return };
        let id = item.text("id");
        let at = self.locate(data.u64("output_index"), id, ItemKind::of_item(item));
        self.finish(at, item, sink);
    }

    /// The last word about an item.
    pub(super) fn finish(&mut self, at: usize, item: Val<'_>, sink: &mut dyn Sink) {
        self.claim(at, sink);
        if let Some(slot) = self.slots.get_mut(at) {
            if !slot.done
                && let Some(text) = super::slot::refusal(item)
            {
                sink.event(Event::Fact(Fact::Refusal(&text)));
            }
            slot.finish(item, &mut self.numbers, sink);
        }
    }

    /// Gives all slots before this one their numbers.
    fn claim(&mut self, at: usize, sink: &mut dyn Sink) {
        while self.claimed < at {
            if let Some(slot) = self.slots.get_mut(self.claimed) {
                slot.claim(&mut self.numbers, sink);
            }
            self.claimed += 1;
        }
    }

    /// The slot at this place of the output, or the slot with this id, or a new slot.
    fn locate(&mut self, index: Option<u64>, id: Option<Cow<'_, str>>, kind: ItemKind) -> usize {
        let by_id = |slot: &Slot| slot.id.as_deref() == id.as_deref();
        let found = match (index, &id) {
            (Some(index), _) => self.places.get(&index).copied(),
            (None, Some(_)) => self.slots.iter().rposition(by_id),
            (None, None) => self.slots.iter().rposition(|slot| slot.kind == kind && !slot.done),
        };
        found.unwrap_or_else(|| self.add(Slot::new(index, id.map(Cow::into_owned), kind)))
    }

    /// A new slot at the end.
    pub(super) fn add(&mut self, slot: Slot) -> usize {
        let at = self.slots.len();
        if let Some(index) = slot.index {
            self.places.insert(index, at);
        }
        self.slots.push(slot);
        at
    }

    /// The items so far.
    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// An event about a part of an item.
    fn part(&mut self, kind: &str, data: Val<'_>, sink: &mut dyn Sink) {
        let (kind, item_kind) = match kind {
            "output_text.delta" | "refusal.delta" | "output_text.done" => (kind, ItemKind::Message),
            "reasoning_text.delta" | "reasoning.delta" => {
                ("reasoning_text.delta", ItemKind::Reasoning)
            }
            "reasoning_text.done" | "reasoning.done" => {
                ("reasoning_text.done", ItemKind::Reasoning)
            }
            "reasoning_summary_text.delta" | "reasoning_summary.delta" => {
                ("reasoning_summary_text.delta", ItemKind::Reasoning)
            }
            "reasoning_summary_text.done" | "reasoning_summary.done" => {
                ("reasoning_summary_text.done", ItemKind::Reasoning)
            }
            "function_call_arguments.delta" | "function_call_arguments.done" => {
                (kind, ItemKind::Function)
            }
            "custom_tool_call_input.delta" | "custom_tool_call_input.done" => {
                (kind, ItemKind::Custom)
            }
            // Progress of items, and boundaries of parts: their last word comes with the item.
            _ => return,
        };
        let at = self.locate(data.u64("output_index"), data.text("item_id"), item_kind);
        self.claim(at, sink);
        let Some(slot) = self.slots.get_mut(at) else { return };
        if slot.done {
            return;
        }
        let numbers = &mut self.numbers;
        let content = Part::Content(data.u64("content_index").unwrap_or(0));
        let summary = Part::Summary(data.u64("summary_index").unwrap_or(0));
        match kind {
            "output_text.delta" => slot.push_text(content, &delta(data), numbers, sink),
            "refusal.delta" => slot.push_refusal(&delta(data)),
            "reasoning_text.delta" => slot.push_thought(content, &delta(data), numbers, sink),
            "reasoning_summary_text.delta" => {
                slot.push_thought(summary, &delta(data), numbers, sink);
            }
            "function_call_arguments.delta" | "custom_tool_call_input.delta" => {
                slot.push_call(&delta(data), sink);
            }
            // The other events repeat a part as a whole; text that its deltas lacked is added.
            "output_text.done" => {
                let whole = data.text("text").unwrap_or_default();
                slot.push_text(content, slot.rest(content, &whole), numbers, sink);
            }
            "reasoning_text.done" => {
                let whole = data.text("text").unwrap_or_default();
                slot.push_thought(content, slot.rest(content, &whole), numbers, sink);
            }
            "reasoning_summary_text.done" => {
                let whole = data.text("text").unwrap_or_default();
                slot.push_thought(summary, slot.rest(summary, &whole), numbers, sink);
            }
            _ => {
                let whole = data.text("arguments").or(data.text("input")).unwrap_or_default();
                slot.push_call(slot.rest(Part::Only, &whole), sink);
            }
        }
    }

    fn terminal(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let response = data.get("response").unwrap_or(data);
        self.facts(response, sink);
        terminal::take_output(self, response, sink);
        // Some relatives give items no last word and leave the output empty.
        self.close(!terminal::is_completed(response), sink);
        terminal::usage(response, sink);
        terminal::fields(response, sink);
        terminal::beside(data, sink);
        self.ended = true;
        match response.some("error") {
            Some(_) => self.error(terminal::error_of(response), sink),
            None => terminal::finish(response, sink),
        }
    }

    /// Ends all items that had no last word.
    fn close(&mut self, is_cut: bool, sink: &mut dyn Sink) {
        for slot in &mut self.slots {
            slot.close(is_cut, &mut self.numbers, sink);
        }
    }

    fn error(&mut self, error: Problem, sink: &mut dyn Sink) {
        self.ended = true;
        if self.error.as_ref() != Some(&error.message) {
            sink.event(Event::Problem(&error));
            self.error = Some(error.message);
        }
    }

    fn unknown(&mut self, name: &str, data: Val<'_>, sink: &mut dyn Sink) {
        let is_known = matches!(name, "keepalive" | "ping")
            || self.unknown.iter().any(|known| known == name)
            || self.unknown.len() >= MAX_UNKNOWN;
        if is_known {
            return;
        }
        if terminal::is_error(data) {
            return self.error(terminal::error_of(data), sink);
        }
        let problem = Problem::new(ProblemCode::Unknown, "an event that is not known was skipped");
        sink.event(Event::Problem(&problem.at(name)));
        self.unknown.push(name.to_owned());
    }
}

/// The new text of an event; some relatives wrap it in an object.
fn delta(data: Val<'_>) -> Cow<'_, str> {
    match data.get("delta") {
        Some(delta) => delta.as_str().or(delta.text("text")).unwrap_or_default(),
        None => Cow::Borrowed(""),
    }
}
