//! Response streams.

use super::response::{
    SOURCE_FIELD, call_part, error, fields, is_server_side, message_of, note_unknown, text_part,
    usage_of,
};
use super::{ID, blob};
use crate::content::Thinking;
use crate::event::{Event, Sink};
use crate::json::{Doc, Extra, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::wire::Decode;
use crate::wire::open::{OpenBlocks, OpenOther, Part};

/// The events of a stream.
const EVENTS: &[&str] = &[
    "contentBlockDelta",
    "contentBlockStart",
    "contentBlockStop",
    "messageStart",
    "messageStop",
    "metadata",
];

/// Decodes one response stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoder {
    open: OpenBlocks,
    stop_reason: Option<String>,
    /// `messageStop` was seen.
    stopped: bool,
    /// `metadata`, which ends a stream, was seen.
    has_metadata: bool,
    /// The provider reported an error.
    failed: bool,
}

impl Decode for Decoder {
    fn message(&mut self, event: Option<&str>, data: &str, sink: &mut dyn Sink) {
        let name = event.unwrap_or_default();
        let doc = match Doc::parse_str(data) {
            Ok(doc) => doc,
            Err(_) if is_error(name) => return self.plain_error(name, data, sink),
            Err(error) => {
                let message = format!("an event that is no JSON was skipped: {error}");
                let problem = Problem::new(ProblemCode::Malformed, message).at(name);
                return sink.event(Event::Problem(&problem));
            }
        };
        let data = doc.root();
        match data.entries().next() {
            // Clients that record events as JSON put the name around them.
            Some((inner, value)) if event.is_none() && value.is_object() => {
                self.take(&inner, value, sink);
            }
            _ => self.take(name, data, sink),
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        self.open.end_all(!self.stopped, sink);
        if !self.is_complete() && !self.failed {
            let missing = if self.stopped { "metadata" } else { "messageStop" };
            let message = format!("the stream ended before its `{missing}` event");
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
    }

    fn is_complete(&self) -> bool {
        self.stopped && self.has_metadata
    }

    crate::wire::decode_is_value!();
}

/// Whether a name that is no event's is an error's: a modelled exception, or a code outside the model.
fn is_error(name: &str) -> bool {
    !name.is_empty() && !EVENTS.contains(&name)
}

impl Decoder {
    fn take(&mut self, name: &str, data: Val<'_>, sink: &mut dyn Sink) {
        match name {
            "messageStart" => fields(data, &["role"], sink),
            "contentBlockStart" => self.block_start(data, sink),
            "contentBlockDelta" => self.block_delta(data, sink),
            "contentBlockStop" => self.open.end(key(data), sink),
            "messageStop" => {
                fields(data, &["stopReason"], sink);
                self.stop_reason = data.string("stopReason");
                self.stopped = true;
                self.open.end_all(false, sink);
                self.finish(sink);
            }
            "metadata" => {
                fields(data, &["usage"], sink);
                if let Some(usage) = data.some("usage") {
                    sink.event(Event::Usage(&usage_of(&Raw::from(usage))));
                }
                if !std::mem::replace(&mut self.has_metadata, true) {
                    self.finish(sink);
                }
            }
            _ if name.ends_with("Exception") || message_of(data).is_some() => {
                self.failed = true;
                sink.event(Event::Problem(&error(name, data)));
            }
            other => skipped(&format!("an event of the unknown type `{other}`"), sink),
        }
    }

    fn plain_error(&mut self, name: &str, text: &str, sink: &mut dyn Sink) {
        self.failed = true;
        let problem = Problem::new(ProblemCode::UpstreamError, text).at(name);
        sink.event(Event::Problem(&problem));
    }

    /// Ends the answer once both of the wire's last events were seen.
    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.is_complete() {
            let finish_reason = self.stop_reason.as_deref();
            sink.event(Event::Finish { finish_reason, model: None });
        }
    }

    fn block_start(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let start = data.get("start").and_then(|start| start.entries().next());
        let Some((kind, inner)) = start else {
            return skipped("a `contentBlockStart` without a block", sink);
        };
        if kind == "toolUse" && !is_server_side(inner) {
            return self.open.start(key(data), call_part(inner), sink);
        }
        note_unknown(&kind, sink);
        self.open.start(key(data), other(&kind, Raw::from(inner)), sink);
    }

    fn block_delta(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let key = key(data);
        for (kind, value) in data.get("delta").into_iter().flat_map(Val::entries) {
            if !self.open.has(key) {
                let part = match kind.as_ref() {
                    "text" | "citation" => text_part(Extra::default()),
                    "reasoningContent" => Part::Thinking(Thinking::new("", SOURCE_FIELD)),
                    "toolUse" => return skipped("input for a call that was not started", sink),
                    _ => {
                        note_unknown(&kind, sink);
                        other(&kind, Raw::build(|w| w.object(|_| {})))
                    }
                };
                self.open.start(key, part, sink);
            }
            if kind == "reasoningContent" {
                self.part_hidden_from_readable(key, value, sink);
            }
            self.grow(key, &kind, value, sink);
        }
    }

    /// A block holds readable reasoning or hidden data, never both: if the other kind comes, a new block begins.
    fn part_hidden_from_readable(&mut self, key: u64, piece: Val<'_>, sink: &mut dyn Sink) {
        let has = |member: &str| piece.text(member).is_some_and(|text| !text.is_empty());
        let is_said = self.open.is_announced(key);
        let Some(Part::Thinking(thinking)) = self.open.part(key) else { return };
        let is_hidden = thinking.redacted_data.is_some();
        let is_readable = is_said || thinking.signature.is_some();
        if has("redactedContent") && is_readable || (has("text") || has("signature")) && is_hidden {
            self.open.start(key, Part::Thinking(Thinking::new("", SOURCE_FIELD)), sink);
        }
    }

    /// Adds one piece to the open block.
    fn grow(&mut self, key: u64, kind: &str, value: Val<'_>, sink: &mut dyn Sink) {
        let Some(part) = self.open.part(key) else { return };
        let text = match (kind, part) {
            ("text", Part::Text { .. }) => value.as_str(),
            ("toolUse", Part::Call { .. }) => value.text("input"),
            ("toolUse", Part::Other(other)) if other.kind == "toolUse" => value.text("input"),
            ("citation", Part::Text { citations, .. }) => return citations.push(Raw::from(value)),
            ("reasoningContent", Part::Thinking(thinking)) => {
                add_opaque(thinking, value);
                value.text("text")
            }
            (kind, Part::Other(other)) if kind == other.kind => {
                if value.is_object() {
                    value.entries().for_each(|(key, value)| other.add(&key, value));
                } else {
                    other.add("content", value);
                }
                return;
            }
            (kind, Part::Call { .. } | Part::Other(_) | Part::Text { .. } | Part::Thinking(_)) => {
                return skipped(&format!("a `{kind}` that does not fit its block"), sink);
            }
        };
        if let Some(text) = text {
            self.open.push(key, &text, sink);
        }
    }
}

/// The index that an event speaks of.
fn key(data: Val<'_>) -> u64 {
    data.u64("contentBlockIndex").unwrap_or_default()
}

/// A block with no form of its own, with the members known so far.
fn other(kind: &str, start: Raw) -> Part {
    Part::Other(OpenOther { wrapped: true, ..OpenOther::new(ID, kind, start) })
}

/// Adds the members other than text. Opaque payloads may come in several pieces.
fn add_opaque(thinking: &mut Thinking, piece: Val<'_>) {
    for (key, value) in piece.entries() {
        match (key.as_ref(), value.as_str()) {
            ("text", _) => {}
            ("signature", Some(more)) if !more.is_empty() => {
                thinking.signature.get_or_insert_default().push_str(&more);
            }
            ("redactedContent", Some(more)) if !more.is_empty() => {
                blob::append(thinking.redacted_data.get_or_insert_default(), &more);
            }
            ("signature" | "redactedContent", _) => {}
            (other, _) => thinking.extra.insert(ID, other, Raw::from(value)),
        }
    }
}

fn skipped(what: &str, sink: &mut dyn Sink) {
    let problem = Problem::new(ProblemCode::Unknown, format!("{what} was skipped"));
    sink.event(Event::Problem(&problem));
}
