//! Response streams.

use super::ID;
use super::response::{
    Beside, SOURCE_FIELD, call_key, content_key, error, finish, head, is_error, name, read_message,
    start_block, start_call, text_part,
};
use crate::content::{Text, Thinking};
use crate::event::{Event, Fact, Sink};
use crate::json::{Doc, Extra, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::wire::Decode;
use crate::wire::function::read_call;
use crate::wire::open::{OpenBlocks, Part};

/// Decodes one response stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoder {
    open: OpenBlocks,
    beside: Beside,
    model: Option<String>,
    /// `message-end` was seen.
    complete: bool,
    /// The provider reported an error.
    failed: bool,
}

impl Decode for Decoder {
    fn message(&mut self, event: Option<&str>, data: &str, sink: &mut dyn Sink) {
        let doc = match Doc::parse_str(data) {
            Ok(doc) => doc,
            // Recordings and proxies put the end mark of another wire behind the last event.
            Err(_) if data.trim() == "[DONE]" => return,
            Err(error) => {
                let message = format!("an event that is no JSON was skipped: {error}");
                let problem = Problem::new(ProblemCode::Malformed, message);
                let at = event.unwrap_or("message");
                return sink.event(Event::Problem(&problem.at(at)));
            }
        };
        let data = doc.root();
        let kind = data.text("type");
        let kind = kind.as_deref().or(event).unwrap_or_default();
        // Events after the end do not belong to this answer.
        if !self.complete {
            self.take(kind, data, sink);
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        self.open.end_all(!self.complete, sink);
        self.beside.say(sink);
        if !self.complete && !self.failed {
            let message = "the stream ended before its `message-end` event";
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    crate::wire::decode_is_value!();
}

impl Decoder {
    fn take(&mut self, kind: &str, data: Val<'_>, sink: &mut dyn Sink) {
        let index = data.u64("index").unwrap_or_default();
        let message = data.path(&["delta", "message"]).filter(|message| message.is_object());
        let member = |key: &str| message.and_then(|message| message.some(key)).map(one);
        match kind {
            "message-start" => self.start(data, message, sink),
            "content-start" => match member("content") {
                Some(block) => start_block(&mut self.open, content_key(index), block, sink),
                None => skipped("a `content-start` without a block", sink),
            },
            "content-delta" => {
                self.beside.logprobs(data);
                if let Some(delta) = member("content") {
                    self.content_delta(content_key(index), delta, sink);
                }
            }
            "content-end" => self.open.end(content_key(index), sink),
            "tool-plan-delta" => {
                if let Some(plan) = message.and_then(|message| name(message, "tool_plan")) {
                    sink.event(Event::Fact(Fact::ToolPlan(&plan)));
                }
            }
            "tool-call-start" => match member("tool_calls") {
                Some(call) => start_call(&mut self.open, call_key(index), call, sink),
                None => skipped("a `tool-call-start` without a call", sink),
            },
            "tool-call-delta" => {
                if let Some(call) = member("tool_calls") {
                    self.call_delta(call_key(index), call, sink);
                }
            }
            "tool-call-end" => self.open.end(call_key(index), sink),
            "citation-start" => message.into_iter().for_each(|m| self.beside.citations(m)),
            "citation-end" | "ping" | "debug" => {}
            "message-end" => self.message_end(data, message, sink),
            _ if kind == "error" || is_error(data) => {
                self.failed = true;
                sink.event(Event::Problem(&error(data)));
            }
            // A server that was asked for a stream and answered whole, in one event.
            _ if data.get("message").is_some_and(Val::is_object) => {
                self.complete = true;
                super::response::read(data, sink);
            }
            other => skipped(&format!("an event of the unknown type `{other}`"), sink),
        }
    }

    fn start(&mut self, data: Val<'_>, message: Option<Val<'_>>, sink: &mut dyn Sink) {
        head(data, sink);
        self.model = name(data, "model").or(self.model.take());
        if let Some(message) = message {
            read_message(&mut self.open, message, sink);
            self.beside.message(message);
        }
    }

    fn content_delta(&mut self, key: u64, delta: Val<'_>, sink: &mut dyn Sink) {
        for (member, value) in delta.entries() {
            let fits = match (member.as_ref(), self.open.part(key)) {
                ("type", _) => continue,
                (_, Some(Part::Other(other))) => {
                    other.add(&member, value);
                    continue;
                }
                ("text", Some(Part::Text { .. })) | ("thinking", Some(Part::Thinking(_))) => true,
                ("text" | "thinking", _) => false,
                (_, Some(Part::Text { text: Text { extra, .. }, .. }))
                | (_, Some(Part::Thinking(Thinking { extra, .. }))) => {
                    extra.insert(ID, &member, Raw::from(value));
                    continue;
                }
                (_, Some(Part::Call { .. }) | None) => continue,
            };
            let Some(text) = value.as_str().filter(|text| fits || !text.is_empty()) else {
                continue;
            };
            if !fits {
                // The start was lost, or the kind changed inside one block: a new one begins.
                let part = match member.as_ref() {
                    "text" => text_part(Extra::default()),
                    _ => Part::Thinking(Thinking::new("", SOURCE_FIELD)),
                };
                self.open.start(key, part, sink);
            }
            self.open.push(key, &text, sink);
        }
    }

    fn call_delta(&mut self, key: u64, call: Val<'_>, sink: &mut dyn Sink) {
        if !self.open.has(key) {
            if call.path(&["function", "name"]).is_none() {
                return skipped("a `tool-call-delta` for a call that was not started", sink);
            }
            return start_call(&mut self.open, key, call, sink);
        }
        let (more, text) = read_call(ID, call, &[]);
        if let Some(Part::Call { call, .. }) = self.open.part(key) {
            for (member, value) in more.extra.fields {
                call.extra.insert(ID, &member, value);
            }
        }
        self.open.push(key, &text, sink);
    }

    fn message_end(&mut self, data: Val<'_>, message: Option<Val<'_>>, sink: &mut dyn Sink) {
        self.complete = true;
        self.open.end_all(false, sink);
        head(data, sink);
        message.into_iter().for_each(|message| self.beside.message(message));
        self.beside.logprobs(data);
        self.beside.say(sink);
        finish(data.some("delta").unwrap_or(data), self.model.as_deref(), sink);
    }
}

/// A member that is an object, or by some servers a list of one.
fn one(value: Val<'_>) -> Val<'_> {
    value.items().next().unwrap_or(value)
}

fn skipped(what: &str, sink: &mut dyn Sink) {
    let problem = Problem::new(ProblemCode::Unknown, format!("{what} was skipped"));
    sink.event(Event::Problem(&problem));
}
