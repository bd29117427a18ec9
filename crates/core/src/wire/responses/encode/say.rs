//! Writes the events of the wire.

use super::{Item, Kind, Steady};
use crate::content::Block;
use crate::frame::sse;
use crate::json::Writer;
use crate::wire::responses::response::{Ended, NO_ID, State, object};
use crate::wire::responses::write_item::{Items, Place, output_part};

impl Steady {
    /// Writes one event; `members` follow its type and sequence number.
    pub(super) fn say(&mut self, name: &str, out: &mut Vec<u8>, members: impl FnOnce(&mut Writer)) {
        let mut w = Writer::new();
        w.object(|w| {
            w.field_str("type", name);
            w.field_u64("sequence_number", self.sequence);
            members(w);
        });
        self.sequence += 1;
        sse::encode_event(Some(name), &w.finish(), out);
    }

    pub(super) fn start(&mut self, out: &mut Vec<u8>) {
        if !self.started {
            self.started = true;
            let ending = Ended::Status("in_progress", None);
            self.response("response.created", ending, out);
            self.response("response.in_progress", ending, out);
        }
    }

    pub(super) fn response(&mut self, name: &str, ending: Ended<'_>, out: &mut Vec<u8>) {
        let mut output = Writer::new();
        output.array(|w| {
            self.items.iter().filter_map(|i| i.done.as_ref()).for_each(|i| w.raw_str(i));
        });
        let output = output.finish();
        let (id, model, usage) = (self.id.clone(), self.model.clone(), self.usage.take());
        let extra = self.extra.clone();
        let is_last = ending.status() != "in_progress";
        let beside = self.beside.take_if(|_| is_last);
        self.say(name, out, |w| {
            let state = State {
                id: id.as_deref().unwrap_or(NO_ID),
                model: model.as_deref(),
                ending,
                usage: usage.as_ref(),
                extra: &extra,
            };
            object(w.key("response"), &state, &output);
            if let Some(beside) = &beside {
                w.members(beside, "");
            }
        });
        self.usage = usage;
    }

    pub(super) fn add(&mut self, block: usize, kind: Kind) -> usize {
        if self.find(block).is_some() {
            // A block that begins again belongs to another response, which replaces the one before.
            self.items.clear();
            self.started = false;
        }
        self.items.push(Item { block, kind, text: String::new(), done: None });
        self.items.len() - 1
    }

    /// The latest item that a block went into.
    pub(super) fn find(&self, block: usize) -> Option<usize> {
        self.items.iter().rposition(|item| item.block == block)
    }

    pub(super) fn kind(&self, at: usize) -> Kind {
        self.items.get(at).map_or(Kind::Other, |item| item.kind)
    }

    /// The id of an item in all events before its end.
    pub(super) fn item_id(&self, at: usize) -> String {
        let kind = match self.kind(at) {
            Kind::Call => "fc",
            Kind::Custom => "ctc",
            Kind::Content | Kind::Summary => "rs",
            Kind::Message => "msg",
            Kind::Other => "item",
        };
        self.new_id(kind, at)
    }

    /// Makes an id for an item without one.
    pub(super) fn new_id(&self, kind: &str, at: usize) -> String {
        format!("{kind}_{at}_{}", self.id.as_deref().unwrap_or(NO_ID))
    }

    pub(super) fn added(
        &mut self,
        at: usize,
        out: &mut Vec<u8>,
        members: impl FnOnce(&mut Writer),
    ) {
        self.start(out);
        let id = self.item_id(at);
        self.say("response.output_item.added", out, |w| {
            w.field_u64("output_index", index(at));
            w.key("item").object(|w| {
                w.field_str("id", &id);
                members(w);
            });
        });
    }

    /// Begins a thought or a message.
    pub(super) fn begin(&mut self, block: usize, kind: Kind, out: &mut Vec<u8>) -> usize {
        let at = self.add(block, kind);
        self.added(at, out, |w| match kind {
            Kind::Message => {
                w.field_str("type", "message");
                w.field_str("status", "in_progress");
                w.field_str("role", "assistant");
                w.key("content").array(|_| {});
            }
            Kind::Summary | Kind::Content | Kind::Call | Kind::Custom | Kind::Other => {
                w.field_str("type", "reasoning");
                w.key("summary").array(|_| {});
            }
        });
        at
    }

    /// Writes an event about a part of an item.
    pub(super) fn part(
        &mut self,
        at: usize,
        part: usize,
        name: &str,
        out: &mut Vec<u8>,
        members: impl FnOnce(&mut Writer),
    ) {
        let id = self.item_id(at);
        let kind = self.kind(at);
        self.say(name, out, |w| {
            w.field_str("item_id", &id);
            w.field_u64("output_index", index(at));
            match kind {
                Kind::Summary => w.field_u64("summary_index", index(part)),
                Kind::Content | Kind::Message => w.field_u64("content_index", index(part)),
                Kind::Call | Kind::Custom | Kind::Other => {}
            }
            members(w);
        });
    }

    pub(super) fn part_added(&mut self, at: usize, part: usize, out: &mut Vec<u8>) {
        let (name, kind) = match self.kind(at) {
            Kind::Summary => ("response.reasoning_summary_part.added", "summary_text"),
            Kind::Content => ("response.content_part.added", "reasoning_text"),
            Kind::Message => ("response.content_part.added", "output_text"),
            Kind::Call | Kind::Custom | Kind::Other => return,
        };
        self.part(at, part, name, out, |w| {
            w.key("part").object(|w| {
                w.field_str("type", kind);
                w.field_str("text", "");
                if kind == "output_text" {
                    w.key("annotations").array(|_| {});
                }
            });
        });
    }

    pub(super) fn text_delta(&mut self, at: usize, part: usize, delta: &str, out: &mut Vec<u8>) {
        let name = match self.kind(at) {
            Kind::Summary => "response.reasoning_summary_text.delta",
            Kind::Content => "response.reasoning_text.delta",
            Kind::Message => "response.output_text.delta",
            Kind::Call => "response.function_call_arguments.delta",
            Kind::Custom => "response.custom_tool_call_input.delta",
            Kind::Other => return,
        };
        self.part(at, part, name, out, |w| {
            w.field_str("delta", delta);
            if name == "response.output_text.delta" {
                w.key("logprobs").array(|_| {});
            }
        });
    }

    /// Ends a text part: writes its whole text, then the part.
    pub(super) fn part_done(&mut self, at: usize, part: usize, block: &Block, out: &mut Vec<u8>) {
        if let Block::Text(text) = block {
            self.part(at, part, "response.output_text.done", out, |w| {
                w.field_str("text", &text.text);
                w.key("logprobs").array(|_| {});
            });
        }
        self.part(at, part, "response.content_part.done", out, |w| {
            output_part(w.key("part"), block, true);
        });
    }

    /// Writes the end of an item.
    pub(super) fn done(
        &mut self,
        at: usize,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Items<'_>, &mut Writer),
    ) {
        let prefix = self.id.clone().unwrap_or_else(|| NO_ID.to_owned());
        let mut items = Items::new(Place::Answer(&prefix));
        items.count = at;
        let mut w = Writer::new();
        write(&mut items, &mut w);
        let item = w.finish();
        if item.is_empty() {
            return;
        }
        self.say("response.output_item.done", out, |w| {
            w.field_u64("output_index", index(at));
            w.key("item").raw_str(&item);
        });
        if let Some(slot) = self.items.get_mut(at) {
            self.done_bytes += item.len();
            slot.done = Some(item);
            slot.text = String::new();
        }
    }
}

/// Indices always fit.
pub(super) fn index(at: usize) -> u64 {
    u64::try_from(at).unwrap_or(u64::MAX)
}
