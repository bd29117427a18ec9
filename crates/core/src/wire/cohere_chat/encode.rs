//! Answers for callers: whole responses and streams.

use super::ID;
use super::response::usage_of;
use crate::answer::Answer;
use crate::content::{Block, Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Fact};
use crate::frame::sse::encode_event;
use crate::json::{Extra, Raw, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::Encode;
use crate::wire::ending::Ending;
use crate::wire::function::call_members;
use crate::wire::serial::Serial;
use crate::wire::tool_ids::NAMELESS_ANSWER;

/// The wire's own words for why an answer ended.
const REASONS: &[&str] =
    &["COMPLETE", "ERROR", "MAX_TOKENS", "STOP_SEQUENCE", "TIMEOUT", "TOOL_CALL"];

/// Writes a whole response. An answer without an id gets one: clients demand it.
pub(super) fn write_response(answer: &Answer) -> String {
    let is_call = |block: &&Block| matches!(block, Block::ToolCall(_));
    let calls: Vec<_> = answer.blocks.iter().filter(is_call).collect();
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("id", answer.response_id.as_deref().unwrap_or(NAMELESS_ANSWER));
        w.opt_str("model", answer.model.as_deref());
        w.key("message").object(|w| message(w, answer));
        let reason = finish_reason(answer.finish_reason.as_deref(), !calls.is_empty());
        w.field_str("finish_reason", reason);
        if let Some(counts) = &answer.usage {
            w.key("usage");
            usage(w, counts);
        }
        fields(w, answer.extra.of(ID), &["message", "citations"]);
    });
    w.finish()
}

fn message(w: &mut Writer, answer: &Answer) {
    w.field_str("role", "assistant");
    w.opt_str("tool_plan", answer.tool_plan.as_deref());
    let content: Vec<Raw> = answer.blocks.iter().filter_map(content).collect();
    let refusal = answer.refusal.as_deref().filter(|refusal| !refusal.is_empty());
    if !content.is_empty() || refusal.is_some() {
        w.key("content").array(|w| {
            content.iter().for_each(|block| w.raw(block));
            if let Some(refusal) = refusal {
                text(w, &Text::new(refusal));
            }
        });
    }
    let calls: Vec<_> = answer
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Media(_)
            | Block::Other(_)
            | Block::Text(_)
            | Block::Thinking(_)
            | Block::ToolResponse(_) => None,
        })
        .collect();
    if !calls.is_empty() {
        w.key("tool_calls").array(|w| {
            for said in calls {
                call(w, said, said.parameters.as_text());
            }
        });
    }
    if let Some(citations) = answer.extra.get(ID, "citations") {
        w.field_raw("citations", citations);
    }
    message_members(w, &answer.extra);
}

/// Members of the message that have no name here.
fn message_members(w: &mut Writer, extra: &Extra) {
    let doc = extra.get(ID, "message").map(Raw::doc);
    for (key, value) in doc.iter().flat_map(|doc| doc.root().entries()) {
        w.key(&key).raw_str(value.raw());
    }
}

fn fields(w: &mut Writer, fields: &[(String, Raw)], told: &[&str]) {
    for (key, value) in fields.iter().filter(|(key, _)| !told.contains(&key.as_str())) {
        w.field_raw(key, value);
    }
}

/// A block of the content, if it is one on this wire.
fn content(block: &Block) -> Option<Raw> {
    match block {
        Block::Text(said) => Some(Raw::build(|w| text(w, said))),
        Block::Thinking(thought) if thought.thought.is_empty() => None,
        Block::Thinking(thought) => Some(Raw::build(|w| thinking(w, thought))),
        Block::Other(other) if other.wire == ID => Some(other.raw.clone()),
        Block::Other(_) | Block::Media(_) | Block::ToolCall(_) | Block::ToolResponse(_) => None,
    }
}

/// Writes visible text.
pub(super) fn text(w: &mut Writer, text: &Text) {
    w.object(|w| {
        w.field_str("type", "text");
        w.field_str("text", &text.text);
        fields(w, text.extra.of(ID), &["type"]);
    });
}

/// Writes a thought.
pub(super) fn thinking(w: &mut Writer, thinking: &Thinking) {
    w.object(|w| {
        w.field_str("type", "thinking");
        w.field_str("thinking", &thinking.thought);
        fields(w, thinking.extra.of(ID), &[]);
    });
}

/// Writes a call with these arguments.
pub(super) fn call(w: &mut Writer, call: &ToolCall, arguments: &str) {
    w.object(|w| {
        w.opt_str("id", call.id.as_deref());
        if call.extra.get(ID, "type").is_none() {
            w.field_str("type", "function");
        }
        call_members(w, ID, call, Some(&Raw::string(arguments)));
    });
}

/// Writes token counts: unchanged if they came on this wire, else in its words.
fn usage(w: &mut Writer, usage: &Usage) {
    if let Some(raw) = usage.raw.as_ref().filter(|raw| usage_of(raw) == *usage) {
        return w.raw(raw);
    }
    w.object(|w| {
        w.key("tokens").object(|w| {
            let counts = [
                // On this wire the input tokens include the cached ones.
                ("input_tokens", usage.input_tokens_with_cached()),
                ("output_tokens", usage.output_tokens_with_reasoning()),
                ("reasoning_tokens", usage.reasoning_tokens),
            ];
            for (key, count) in counts {
                if let Some(count) = count {
                    w.field_u64(key, count);
                }
            }
        });
        if let Some(tokens) = usage.cache_read_tokens {
            w.field_u64("cached_tokens", tokens);
        }
    });
}

/// The wire's word for why an answer ended.
fn finish_reason(word: Option<&str>, has_calls: bool) -> &str {
    match (word, Ending::of_answer(word, has_calls)) {
        // The wire's own words are kept, for every content of the answer.
        (Some(own), _) if REASONS.contains(&own) => own,
        (_, Some(Ending::Complete | Ending::Pause)) => "COMPLETE",
        (_, Some(Ending::ContextFull | Ending::Length)) => "MAX_TOKENS",
        (_, Some(Ending::Failed)) => "ERROR",
        (_, Some(Ending::Refused)) => "ERROR_TOXIC",
        (_, Some(Ending::StopSequence)) => "STOP_SEQUENCE",
        (_, Some(Ending::ToolUse)) => "TOOL_CALL",
        (word, None) => word.unwrap_or("COMPLETE"),
    }
}

/// Encodes one stream.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    serial: Serial,
    stream: Stream,
}

impl Encode for Encoder {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        let Encoder { serial, stream } = self;
        serial.event(event, &mut |event| stream.event(event, out));
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Encoder { serial, stream } = self;
        serial.end(&mut |event| stream.event(event, out));
        stream.end(out);
    }
}

/// The stream behind the order of its blocks.
#[derive(Debug, Default)]
struct Stream {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
    /// Fields of the response that are still to be written.
    fields: Extra,
    /// `message-start` was written.
    started: bool,
    /// The index of the next block of the content.
    next_content: u64,
    /// The index of the next call.
    next_call: u64,
    /// The open block's start was written.
    opened: bool,
    /// Some of the open block's text was written.
    said: bool,
    refusal: String,
    /// The answer ended as it should.
    finish: Option<Option<String>>,
    /// An error was written, so all further events are ignored.
    failed: bool,
}

impl Stream {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        if self.failed {
            return;
        }
        match event {
            Event::ThinkingStart { .. } => {}
            Event::ThinkingDelta { delta, .. } => self.thinking_delta(delta, out),
            Event::ThinkingEnd { thinking, thought, .. } => {
                self.end_thinking(thinking, thought, out);
            }
            Event::TextStart { .. } => self.open_text(out),
            Event::TextDelta { delta, .. } => self.text_delta(delta, out),
            Event::TextEnd { text, whole, .. } => self.end_text(text, whole, out),
            Event::ToolCallStart { call, .. } => self.start_call(call, out),
            Event::ToolCallDelta { delta, .. } => self.call_delta(delta, out),
            Event::ToolCallEnd { call, .. } => self.end_call(call, out),
            Event::Whole { value, .. } => self.whole(value, out),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Finish { finish_reason, model } => {
                self.finish = Some(finish_reason.map(str::to_owned));
                self.model = self.model.take().or(model.map(str::to_owned));
            }
            Event::Fact(fact) => self.fact(fact, out),
            Event::Problem(problem) => self.problem(problem, out),
            // The wire has one choice.
            Event::Choice { .. } => {}
        }
    }

    fn fact(&mut self, fact: Fact<'_>, out: &mut Vec<u8>) {
        match fact {
            Fact::Field { wire, key, value } if wire == ID => {
                self.fields.insert(ID, key, value.clone());
            }
            Fact::Beside { .. }
            | Fact::Field { .. }
            | Fact::Note { .. }
            | Fact::MessageSignature(_)
            | Fact::Sequence(_)
            | Fact::StopSequence(_) => {}
            Fact::Model(model) => self.model = Some(model.to_owned()),
            Fact::Refusal(more) => self.refusal.push_str(more),
            Fact::ResponseId(id) => self.id = Some(id.to_owned()),
            Fact::ToolPlan(plan) => {
                self.start(out);
                send("tool-plan-delta", None, out, |w| w.field_str("tool_plan", plan));
            }
        }
    }

    /// Writes `message-start`, once, with the values known so far.
    fn start(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let mut early = Extra::default();
        let late = ["message", "citations", "logprobs"];
        for (key, value) in std::mem::take(&mut self.fields).fields {
            let place = if late.contains(&key.as_str()) { &mut self.fields } else { &mut early };
            place.insert(ID, &key, value);
        }
        event("message-start", out, |w| {
            w.field_str("id", self.id.as_deref().unwrap_or(NAMELESS_ANSWER));
            w.opt_str("model", self.model.as_deref());
            w.key("delta").object(|w| {
                w.key("message").object(|w| {
                    w.field_str("role", "assistant");
                    w.key("content").array(|_| {});
                    w.field_str("tool_plan", "");
                    w.key("tool_calls").array(|_| {});
                    w.key("citations").array(|_| {});
                });
            });
            w.extra(&early, ID);
        });
    }

    /// Writes the start of a block of the content, once.
    fn open(&mut self, out: &mut Vec<u8>, block: impl FnOnce(&mut Writer)) {
        self.start(out);
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        send("content-start", Some(self.next_content), out, |w| {
            w.key("content");
            block(w);
        });
    }

    fn open_text(&mut self, out: &mut Vec<u8>) {
        self.open(out, |w| text(w, &Text::default()));
    }

    fn text_delta(&mut self, delta: &str, out: &mut Vec<u8>) {
        self.content_delta("text", delta, out);
    }

    fn thinking_delta(&mut self, delta: &str, out: &mut Vec<u8>) {
        self.open(out, |w| thinking(w, &Thinking::default()));
        self.content_delta("thinking", delta, out);
    }

    fn content_delta(&mut self, member: &str, delta: &str, out: &mut Vec<u8>) {
        self.said = true;
        send("content-delta", Some(self.next_content), out, |w| {
            w.key("content").object(|w| w.field_str(member, delta));
        });
    }

    /// Ends a block of the content. Members of it that were not known at its start come first.
    fn close(&mut self, extra: &Extra, out: &mut Vec<u8>) {
        let late = extra.of(ID);
        if !late.is_empty() {
            send("content-delta", Some(self.next_content), out, |w| {
                w.key("content").object(|w| w.extra(extra, ID));
            });
        }
        event("content-end", out, |w| w.field_u64("index", self.next_content));
        self.next_content += 1;
        self.opened = false;
        self.said = false;
    }

    fn end_thinking(&mut self, end: &Thinking, thought: Option<&str>, out: &mut Vec<u8>) {
        if let Some(thought) = thought.filter(|thought| !self.said && !thought.is_empty()) {
            self.thinking_delta(thought, out);
        }
        // A thought without text has no form on this wire.
        if self.said {
            self.close(&end.extra, out);
        }
    }

    fn end_text(&mut self, end: &Text, whole: Option<&str>, out: &mut Vec<u8>) {
        if let Some(whole) = whole.filter(|whole| !self.said && !whole.is_empty()) {
            self.text_delta(whole, out);
        }
        self.close(&end.extra, out);
    }

    fn start_call(&mut self, begun: &ToolCall, out: &mut Vec<u8>) {
        self.start(out);
        let start = ToolCall::new(begun.id.as_deref(), &begun.name);
        send("tool-call-start", Some(self.next_call), out, |w| {
            w.key("tool_calls");
            call(w, &start, "");
        });
    }

    fn call_delta(&mut self, delta: &str, out: &mut Vec<u8>) {
        self.said = true;
        send("tool-call-delta", Some(self.next_call), out, |w| {
            w.key("tool_calls").object(|w| {
                w.key("function").object(|w| w.field_str("arguments", delta));
            });
        });
    }

    fn end_call(&mut self, call: &ToolCall, out: &mut Vec<u8>) {
        if !self.said && call.parameters != Parameters::default() {
            self.call_delta(call.parameters.as_text(), out);
        }
        if !call.extra.of(ID).is_empty() {
            send("tool-call-delta", Some(self.next_call), out, |w| {
                w.key("tool_calls").object(|w| w.extra(&call.extra, ID));
            });
        }
        event("tool-call-end", out, |w| w.field_u64("index", self.next_call));
        self.next_call += 1;
        self.said = false;
    }

    fn whole(&mut self, block: &Block, out: &mut Vec<u8>) {
        match block {
            Block::Text(said) => {
                self.open_text(out);
                self.end_text(said, Some(&said.text), out);
            }
            Block::Thinking(thought) => self.end_thinking(thought, Some(&thought.thought), out),
            Block::ToolCall(call) => {
                self.start_call(call, out);
                self.end_call(call, out);
            }
            Block::Other(other) if other.wire == ID => {
                self.open(out, |w| w.raw(&other.raw));
                self.close(&Extra::default(), out);
            }
            Block::Other(_) | Block::Media(_) | Block::ToolResponse(_) => {}
        }
    }

    /// Errors and cuts become the wire's own end for them, so that no client takes the rest for the whole.
    fn problem(&mut self, problem: &Problem, out: &mut Vec<u8>) {
        match problem.code {
            ProblemCode::UpstreamError | ProblemCode::Truncated | ProblemCode::CapReached => {
                self.start(out);
                self.failed = true;
                event("message-end", out, |w| {
                    w.key("delta").object(|w| {
                        w.field_str("error", &problem.message);
                        w.field_str("finish_reason", "ERROR");
                    });
                });
            }
            ProblemCode::Fallback | ProblemCode::Malformed | ProblemCode::Unknown => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Some(finish) = self.finish.take().filter(|_| !self.failed) else { return };
        self.start(out);
        let refusal = std::mem::take(&mut self.refusal);
        if !refusal.is_empty() {
            self.open_text(out);
            self.end_text(&Text::default(), Some(&refusal), out);
        }
        self.citations(out);
        event("message-end", out, |w| {
            w.key("delta").object(|w| {
                if self.fields.get(ID, "message").is_some() {
                    w.key("message").object(|w| message_members(w, &self.fields));
                }
                let reason = finish_reason(finish.as_deref(), self.next_call > 0);
                w.field_str("finish_reason", reason);
                if let Some(counts) = &self.usage {
                    w.key("usage");
                    usage(w, counts);
                }
            });
            fields(w, self.fields.of(ID), &["message", "citations"]);
        });
    }

    fn citations(&self, out: &mut Vec<u8>) {
        let doc = self.fields.get(ID, "citations").map(Raw::doc);
        let list = doc.iter().flat_map(|doc| doc.root().items());
        for (index, citation) in (0..).zip(list) {
            send("citation-start", Some(index), out, |w| {
                w.key("citations").raw_str(citation.raw());
            });
            event("citation-end", out, |w| w.field_u64("index", index));
        }
    }
}

/// Writes an event whose delta is a piece of the message.
fn send(kind: &str, index: Option<u64>, out: &mut Vec<u8>, body: impl FnOnce(&mut Writer)) {
    event(kind, out, |w| {
        if let Some(index) = index {
            w.field_u64("index", index);
        }
        w.key("delta").object(|w| w.key("message").object(body));
    });
}

/// Writes one server-sent event; `body` writes the members beside its type.
fn event(kind: &str, out: &mut Vec<u8>, body: impl FnOnce(&mut Writer)) {
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("type", kind);
        body(w);
    });
    // A line end can only be white space between values here, and it would end the data line.
    let json: String = w.finish().replace(['\n', '\r'], " ");
    encode_event(Some(kind), &json, out);
}
