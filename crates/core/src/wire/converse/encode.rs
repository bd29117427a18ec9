//! Answers for callers: whole responses and streams.

use super::ID;
use super::block::{extra, input_object, is_unsayable, text, thinking, tool_use, usage};
use super::error::exception;
use crate::answer::Answer;
use crate::content::{Block, Other, Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Fact};
use crate::frame::event_stream::{encode_event, encode_exception};
use crate::json::{Extra, Raw, Val, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::Encode;
use crate::wire::ending::Ending;
use crate::wire::serial::Serial;
use crate::wire::tool_ids::CallIds;

/// Writes a whole response.
pub(super) fn write_response(answer: &Answer) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        w.key("output").object(|w| {
            w.key("message").object(|w| {
                w.field_str("role", "assistant");
                w.key("content").array(|w| content(w, answer));
            });
        });
        let has_calls = answer.blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
        w.field_str("stopReason", stop_reason(answer.finish_reason.as_deref(), has_calls));
        w.key("usage");
        usage(w, answer.usage.as_ref());
        extra(w, &answer.extra);
    });
    w.finish()
}

fn content(w: &mut Writer, answer: &Answer) {
    // Words of the model before its calls, and a refusal beside the content, are text here.
    let mut plan = answer.tool_plan.as_deref();
    let mut ids = CallIds::of(answer.response_id.as_deref());
    for block in &answer.blocks {
        if let Block::ToolCall(_) = block
            && let Some(plan) = plan.take()
        {
            text(w, &Text::new(plan));
        }
        match block {
            Block::Text(said) => text(w, said),
            Block::Thinking(thought) if is_unsayable(thought) => {}
            Block::Thinking(thought) => thinking(w, thought),
            Block::ToolCall(call) => {
                let id = ids.next(call.id.as_deref());
                tool_use(w, &id, call, &input_value(&call.parameters));
            }
            Block::Other(other) if other.wire == ID => w.raw(&other.raw),
            // The wire's answers have no place for these.
            Block::Other(_) | Block::Media(_) | Block::ToolResponse(_) => {}
        }
    }
    for rest in [plan, answer.refusal.as_deref()].into_iter().flatten() {
        text(w, &Text::new(rest));
    }
}

/// The arguments for a caller. Broken ones stay recognisable: the original text instead of an object.
fn input_value(parameters: &Parameters) -> Raw {
    match parameters {
        Parameters::Invalid(broken) => Raw::string(broken),
        Parameters::Free(_) | Parameters::Json(_) => input_object(parameters),
    }
}

/// The wire's word for why an answer ended.
fn stop_reason(word: Option<&str>, has_calls: bool) -> &str {
    // Some providers write an empty word.
    let word = word.filter(|word| !word.is_empty());
    let own = [
        "content_filtered",
        "end_turn",
        "guardrail_intervened",
        "malformed_model_output",
        "malformed_tool_use",
    ];
    match (word, Ending::of_answer(word, has_calls)) {
        // The wire's own words are kept, for every content of the answer.
        (Some(word), _) if own.contains(&word) => word,
        (_, Some(Ending::Complete | Ending::Pause)) => "end_turn",
        (_, Some(Ending::ContextFull)) => "model_context_window_exceeded",
        (_, Some(Ending::Failed | Ending::Length)) => "max_tokens",
        (_, Some(Ending::Refused)) => "content_filtered",
        (_, Some(Ending::StopSequence)) => "stop_sequence",
        (_, Some(Ending::ToolUse)) => "tool_use",
        (word, None) => word.unwrap_or("end_turn"),
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
    usage: Option<Usage>,
    /// Members of the response that have no name here.
    fields: Extra,
    /// `messageStart` was written.
    started: bool,
    /// The index of the next block on the wire.
    next: u64,
    /// A part of the open block was written.
    said: bool,
    has_calls: bool,
    calls: CallIds,
    /// Text that goes before tool calls.
    plan: String,
    refusal: String,
    /// The answer ended as it should.
    finish: Option<Option<String>>,
    /// An exception was written, so all further events are ignored.
    failed: bool,
}

impl Stream {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        if self.failed {
            return;
        }
        match event {
            // Texts and thoughts open with their first delta.
            Event::ThinkingStart { .. } | Event::TextStart { .. } => {}
            Event::ThinkingDelta { delta, .. } => self.thought("text", delta, out),
            Event::ThinkingEnd { thinking, thought, .. } => {
                self.end_thinking(thinking, thought, out);
            }
            Event::TextDelta { delta, .. } => self.delta(out, |w| w.field_str("text", delta)),
            Event::TextEnd { text, whole, .. } => self.end_text(text, whole, out),
            Event::ToolCallStart { call, .. } => self.start_call(call, out),
            Event::ToolCallDelta { delta, .. } => self.input(delta, out),
            Event::ToolCallEnd { call, .. } => self.end_call(call, out),
            Event::Whole { value, .. } => self.whole(value, out),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Finish { finish_reason, .. } => {
                self.finish = Some(finish_reason.map(str::to_owned));
            }
            Event::Fact(fact) => self.fact(fact),
            Event::Problem(problem) => self.problem(problem, out),
            // The wire has one choice.
            Event::Choice { .. } => {}
        }
    }

    fn fact(&mut self, fact: Fact<'_>) {
        match fact {
            Fact::Field { wire, key, value } if wire == ID => {
                self.fields.insert(ID, key, value.clone());
            }
            Fact::Refusal(more) => self.refusal.push_str(more),
            Fact::ToolPlan(more) => self.plan.push_str(more),
            Fact::ResponseId(id) => self.calls.answer(id),
            // The wire has no place for these.
            Fact::Beside { .. }
            | Fact::Field { .. }
            | Fact::Note { .. }
            | Fact::MessageSignature(_)
            | Fact::Model(_)
            | Fact::Sequence(_)
            | Fact::StopSequence(_) => {}
        }
    }

    /// Writes `messageStart`, once.
    fn start(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.started, true) {
            send("messageStart", out, |w| w.field_str("role", "assistant"));
        }
    }

    fn block_start(&mut self, out: &mut Vec<u8>, body: impl FnOnce(&mut Writer)) {
        self.start(out);
        self.said = true;
        send("contentBlockStart", out, |w| {
            w.key("start").object(body);
            w.field_u64("contentBlockIndex", self.next);
        });
    }

    fn delta(&mut self, out: &mut Vec<u8>, body: impl FnOnce(&mut Writer)) {
        self.start(out);
        self.said = true;
        send("contentBlockDelta", out, |w| {
            w.key("delta").object(body);
            w.field_u64("contentBlockIndex", self.next);
        });
    }

    /// Ends the block, if a part of it was written.
    fn close(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.said) {
            send("contentBlockStop", out, |w| w.field_u64("contentBlockIndex", self.next));
            self.next += 1;
        }
    }

    fn thought(&mut self, member: &str, value: &str, out: &mut Vec<u8>) {
        self.delta(out, |w| {
            w.key("reasoningContent").object(|w| w.field_str(member, value));
        });
    }

    fn end_thinking(&mut self, end: &Thinking, thought: Option<&str>, out: &mut Vec<u8>) {
        if let Some(text) = thought.filter(|text| !self.said && !text.is_empty()) {
            self.thought("text", text, out);
        }
        if let Some(signature) = &end.signature {
            self.thought("signature", signature, out);
        }
        if let Some(data) = &end.redacted_data {
            // A block holds text or hidden data, never both.
            self.close(out);
            self.thought("redactedContent", data, out);
        }
        self.close(out);
    }

    fn end_text(&mut self, end: &Text, whole: Option<&str>, out: &mut Vec<u8>) {
        if let Some(whole) = whole.filter(|whole| !self.said && !whole.is_empty()) {
            self.delta(out, |w| w.field_str("text", whole));
        }
        if let Some(citations) = end.extra.get(ID, "citations") {
            for citation in citations.doc().root().items() {
                self.delta(out, |w| w.key("citation").raw_str(citation.raw()));
            }
        }
        self.close(out);
    }

    fn start_call(&mut self, call: &ToolCall, out: &mut Vec<u8>) {
        self.say_plan(out);
        self.has_calls = true;
        let id = self.calls.next(call.id.as_deref());
        self.block_start(out, |w| {
            w.key("toolUse").object(|w| {
                w.field_str("toolUseId", &id);
                w.field_str("name", &call.name);
            });
        });
        self.said = false;
    }

    fn input(&mut self, delta: &str, out: &mut Vec<u8>) {
        self.delta(out, |w| w.key("toolUse").object(|w| w.field_str("input", delta)));
    }

    fn end_call(&mut self, call: &ToolCall, out: &mut Vec<u8>) {
        if !self.said && call.parameters != Parameters::default() {
            self.input(input_value(&call.parameters).as_str(), out);
        }
        self.said = true;
        self.close(out);
    }

    fn whole(&mut self, block: &Block, out: &mut Vec<u8>) {
        match block {
            Block::Text(said) => self.end_text(said, Some(&said.text), out),
            Block::Thinking(thought) => self.end_thinking(thought, Some(&thought.thought), out),
            Block::ToolCall(call) => {
                self.start_call(call, out);
                self.end_call(call, out);
            }
            Block::Other(other) if other.wire == ID => self.other(other, out),
            Block::Other(_) | Block::Media(_) | Block::ToolResponse(_) => {}
        }
    }

    /// Blocks of the provider's own tools, in the events that they would have come in.
    fn other(&mut self, other: &Other, out: &mut Vec<u8>) {
        let doc = other.raw.doc();
        let Some(inner) = doc.root().get(&other.kind) else { return };
        if other.kind == "citationsContent" {
            return self.cited(inner, out);
        }
        let late = match other.kind.as_str() {
            "toolUse" => inner.get("input").map(|input| {
                Raw::build(|w| {
                    w.object(|w| w.field_str("input", input.raw()));
                })
            }),
            "toolResult" => inner.get("content").map(Raw::from),
            "image" => inner.get("source").map(|source| {
                Raw::build(|w| {
                    w.object(|w| w.key("source").raw_str(source.raw()));
                })
            }),
            _ => None,
        };
        self.block_start(out, |w| {
            w.key(&other.kind);
            match &late {
                Some(_) => w.object(|w| {
                    let later = ["content", "input", "source"];
                    for (key, value) in
                        inner.entries().filter(|(key, _)| !later.contains(&key.as_ref()))
                    {
                        w.key(&key).raw_str(value.raw());
                    }
                }),
                None => w.raw_str(inner.raw()),
            }
        });
        if let Some(late) = late {
            self.delta(out, |w| w.field_raw(&other.kind, &late));
        }
        self.close(out);
    }

    /// Cited text comes as text and citations in streams.
    fn cited(&mut self, content: Val<'_>, out: &mut Vec<u8>) {
        let items = |key: &str| content.get(key).into_iter().flat_map(Val::items);
        for text in items("content").filter_map(|item| item.string("text")) {
            self.delta(out, |w| w.field_str("text", &text));
        }
        for citation in items("citations") {
            self.delta(out, |w| w.key("citation").raw_str(citation.raw()));
        }
        self.close(out);
    }

    /// Writes the model's words before its calls, as text.
    fn say_plan(&mut self, out: &mut Vec<u8>) {
        let plan = std::mem::take(&mut self.plan);
        self.end_text(&Text::default(), Some(&plan), out);
    }

    /// Errors and cuts become an exception, so that no client takes the rest for the whole.
    fn problem(&mut self, problem: &Problem, out: &mut Vec<u8>) {
        match problem.code {
            ProblemCode::UpstreamError | ProblemCode::Truncated | ProblemCode::CapReached => {
                self.failed = true;
                let body = Raw::build(|w| w.object(|w| w.field_str("message", &problem.message)));
                // The only errors are lengths beyond 4 GiB.
                let _ = encode_exception(exception(problem), body.as_str(), out);
            }
            ProblemCode::Fallback | ProblemCode::Malformed | ProblemCode::Unknown => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Some(finish) = self.finish.take().filter(|_| !self.failed) else { return };
        self.start(out);
        self.say_plan(out);
        let refusal = std::mem::take(&mut self.refusal);
        self.end_text(&Text::default(), Some(&refusal), out);
        const AT_STOP: &str = "additionalModelResponseFields";
        send("messageStop", out, |w| {
            w.field_str("stopReason", stop_reason(finish.as_deref(), self.has_calls));
            if let Some(fields) = self.fields.get(ID, AT_STOP) {
                w.field_raw(AT_STOP, fields);
            }
        });
        send("metadata", out, |w| {
            w.key("usage");
            usage(w, self.usage.as_ref());
            for (key, value) in self.fields.of(ID).iter().filter(|(key, _)| key != AT_STOP) {
                w.field_raw(key, value);
            }
        });
    }
}

/// Writes one event; `body` writes its members.
fn send(name: &str, out: &mut Vec<u8>, body: impl FnOnce(&mut Writer)) {
    let body = Raw::build(|w| w.object(body));
    // The only errors are lengths beyond 4 GiB.
    let _ = encode_event(name, body.as_str(), out);
}
