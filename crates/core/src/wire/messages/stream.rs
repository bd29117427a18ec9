//! Response streams.

use super::ID;
use super::response::{
    SOURCE_FIELD, error, fields, head, merge_usage, name, read, refusal, start_block, text_part,
    usage_of,
};
use crate::content::{Text, Thinking, ToolCall};
use crate::event::{Event, Fact, Sink};
use crate::json::{Doc, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::Decode;
use crate::wire::open::{OpenBlocks, Part};

/// Decodes one response stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoder {
    open: OpenBlocks,
    /// The usage object, merged over the events.
    usage: Option<Raw>,
    /// The answer was counted, or is treated as counted.
    is_counted: bool,
    model: Option<String>,
    stop_reason: Option<String>,
    /// The wire's index of the block that was spoken of last.
    last: Option<u64>,
    /// `message_stop` was seen.
    complete: bool,
    /// The provider reported an error.
    failed: bool,
}

impl Decode for Decoder {
    fn message(&mut self, event: Option<&str>, data: &str, sink: &mut dyn Sink) {
        // Messages after the end belong to no answer.
        if self.complete {
            return;
        }
        let doc = match Doc::parse_str(data) {
            Ok(doc) => doc,
            Err(_) if data.trim() == "[DONE]" => return self.done(sink),
            Err(_) if event == Some("ping") => return,
            Err(error) => {
                let message = format!("an event that is no JSON was skipped: {error}");
                let problem = Problem::new(ProblemCode::Malformed, message);
                let at = event.unwrap_or("message");
                return sink.event(Event::Problem(&problem.at(at)));
            }
        };
        let data = doc.root();
        // The type inside the data wins over the event's name: proxies lose or invent names.
        let kind = data.text("type");
        let kind = kind.as_deref().or(event).unwrap_or_default();
        match kind {
            "ping" => {}
            "message_start" => self.message_start(data, sink),
            "content_block_start" => self.block_start(data, sink),
            "content_block_delta" => self.block_delta(data, sink),
            "content_block_stop" => self.block_stop(data, sink),
            "message_delta" => self.message_delta(data, sink),
            "message_stop" => self.finish(sink),
            // A server that was asked for a stream and answered whole, in one event.
            "message" => {
                self.complete = true;
                read(data, sink);
            }
            _ if kind == "error" || data.some("error").is_some() => {
                self.failed = true;
                sink.event(Event::Problem(&error(data)));
            }
            other => skipped(&format!("an event of the unknown type `{other}`"), sink),
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        self.open.end_all(!self.complete, sink);
        if !self.complete && !self.failed {
            let message = "the stream ended before its `message_stop` event";
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    crate::wire::decode_is_value!();
}

impl Decoder {
    /// The index that an event names; without an index, the last one used.
    fn key(&self, data: Val<'_>) -> u64 {
        data.u64("index").or(self.last).unwrap_or_default()
    }

    fn message_start(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let Some(message) = data.some("message") else { return };
        head(message, sink);
        self.model = name(message, "model").or(self.model.take());
        let content = message.get("content").into_iter().flat_map(Val::each);
        let has_come = content.clone().next().is_some();
        self.merge_usage(message, has_come, sink);
        for (key, block) in (0..).zip(content) {
            start_block(&mut self.open, key, block, sink);
            self.open.end(key, sink);
        }
    }

    fn block_start(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let next = self.last.map_or(0, |last| last.saturating_add(1));
        let key = data.u64("index").unwrap_or(next);
        self.last = Some(key);
        match data.some("content_block") {
            Some(block) => start_block(&mut self.open, key, block, sink),
            None => skipped("a `content_block_start` without a block", sink),
        }
    }

    fn block_delta(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let key = self.key(data);
        self.last = Some(key);
        let Some(delta) = data.some("delta") else {
            return skipped("a `content_block_delta` without a delta", sink);
        };
        let kind = delta.text("type").unwrap_or_default();
        if !self.open.has(key) {
            let Some(part) = part_for(&kind) else {
                return skipped(&format!("a `{kind}` for a block that was not started"), sink);
            };
            self.open.start(key, part, sink);
        }
        let Some(part) = self.open.part(key) else { return };
        let member = match (kind.as_ref(), part) {
            ("text_delta", Part::Text { .. }) => "text",
            ("thinking_delta", Part::Thinking(t)) if t.redacted_data.is_none() => "thinking",
            ("input_json_delta", Part::Call { .. } | Part::Other(_)) => "partial_json",
            ("citations_delta", Part::Text { citations, .. }) => {
                return citations.extend(delta.some("citation").map(Raw::from));
            }
            ("signature_delta", Part::Thinking(thinking)) if thinking.redacted_data.is_none() => {
                if let Some(signature) = name(delta, "signature") {
                    thinking.signature = Some(signature);
                }
                return;
            }
            (_, Part::Other(other)) => {
                let members = delta.entries().filter(|(key, _)| key != "type");
                return members.for_each(|(key, value)| other.add(&key, value));
            }
            (kind, Part::Call { .. } | Part::Text { .. } | Part::Thinking(_)) => {
                return skipped(&format!("a `{kind}` that does not fit its block"), sink);
            }
        };
        if let Some(text) = delta.text(member) {
            self.open.push(key, &text, sink);
        }
    }

    /// Ends a block. It may have members of the block that its sender learned only at the end.
    fn block_stop(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let key = self.key(data);
        let late = data.entries().filter(|(key, _)| key != "type" && key != "index");
        match self.open.part(key) {
            Some(Part::Call { call: ToolCall { extra, .. }, .. })
            | Some(Part::Text { text: Text { extra, .. }, .. })
            | Some(Part::Thinking(Thinking { extra, .. })) => {
                late.for_each(|(key, value)| extra.insert(ID, &key, Raw::from(value)));
            }
            Some(Part::Other(other)) => late.for_each(|(key, value)| other.add(&key, value)),
            None => {}
        }
        self.open.end(key, sink);
    }

    fn message_delta(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        fields(data, &["type", "delta", "usage"], sink);
        if let Some(delta) = data.some("delta") {
            fields(delta, &["stop_reason", "stop_sequence"], sink);
            refusal(delta, sink);
            if let Some(stop) = delta.text("stop_sequence") {
                sink.event(Event::Fact(Fact::StopSequence(&stop)));
            }
            self.stop_reason = delta.string("stop_reason").or(self.stop_reason.take());
        }
        self.merge_usage(data, true, sink);
    }

    /// Takes counts; before any part of the answer `has_come`, they are counts of the request.
    fn merge_usage(&mut self, holder: Val<'_>, has_come: bool, sink: &mut dyn Sink) {
        if let Some(usage) = holder.some("usage") {
            let merged = merge_usage(self.usage.as_ref(), usage);
            self.is_counted |= has_come && usage.u64("output_tokens").is_some();
            let is_early = !self.is_counted;
            sink.event(Event::Usage(&Usage { is_early, ..usage_of(&merged) }));
            self.usage = Some(merged);
        }
    }

    /// The mark that ends streams of another wire. Gateways send it behind `message_stop`, some instead of it.
    fn done(&mut self, sink: &mut dyn Sink) {
        if self.stop_reason.is_some() {
            self.finish(sink);
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.complete {
            return;
        }
        self.complete = true;
        self.open.end_all(false, sink);
        sink.event(Event::Finish {
            finish_reason: self.stop_reason.as_deref(),
            model: self.model.as_deref(),
        });
    }
}

/// The block that a delta belongs to when its start was lost.
fn part_for(delta: &str) -> Option<Part> {
    match delta {
        "text_delta" | "citations_delta" => Some(text_part(Text::default(), Vec::new())),
        "thinking_delta" | "signature_delta" => {
            Some(Part::Thinking(Thinking::new("", SOURCE_FIELD)))
        }
        _ => None,
    }
}

fn skipped(what: &str, sink: &mut dyn Sink) {
    let problem = Problem::new(ProblemCode::Unknown, format!("{what} was skipped"));
    sink.event(Event::Problem(&problem));
}
