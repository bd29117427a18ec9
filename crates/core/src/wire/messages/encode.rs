//! Answers for callers: whole responses and streams.

use super::ID;
use super::block::{extra, input_object, text, thinking, tool_use, usage};
use super::error::write_member;
use crate::answer::{Answer, REFUSAL_DETAILS};
use crate::content::{Block, Other, Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Fact};
use crate::json::{Extra, Raw, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::Encode;
use crate::wire::ending::Ending;
use crate::wire::serial::Serial;
use crate::wire::tool_ids::{CallIds, NAMELESS_ANSWER};

/// Writes a whole response. An answer without an id or a model gets empty ones: this wire demands them, and a caller
/// that knows better ones sets them before.
pub(super) fn write_response(answer: &Answer) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        head(w, answer.response_id.as_deref(), answer.model.as_deref());
        w.key("content").array(|w| content(w, answer));
        let has_calls = answer.blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
        w.field_str("stop_reason", stop_reason(answer.finish_reason.as_deref(), has_calls));
        w.str_or_null("stop_sequence", answer.stop_sequence.as_deref());
        w.key("usage");
        usage(w, answer.usage.as_ref());
        extra(w, answer.extra.of(ID));
    });
    w.finish()
}

/// The members that a message begins with.
fn head(w: &mut Writer, id: Option<&str>, model: Option<&str>) {
    w.field_str("id", id.filter(|id| !id.is_empty()).unwrap_or(NAMELESS_ANSWER));
    w.field_str("type", "message");
    w.field_str("role", "assistant");
    w.field_str("model", model.unwrap_or_default());
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
            Block::Thinking(thought) => {
                if !is_unsayable(thought) {
                    thinking(w, thought);
                }
            }
            Block::ToolCall(call) => {
                let id = ids.next(call.id.as_deref());
                match &call.parameters {
                    // Broken arguments stay recognisable: the original text instead of an object.
                    Parameters::Invalid(broken) => tool_use(w, &id, call, &Raw::string(broken)),
                    Parameters::Free(_) | Parameters::Json(_) => {
                        tool_use(w, &id, call, &input_object(&call.parameters));
                    }
                }
            }
            Block::Other(other) if other.wire == ID => w.raw(&other.raw),
            // The wire's answers have no place for these.
            Block::Other(_) | Block::Media(_) | Block::ToolResponse(_) => {}
        }
    }
    // The details, if they are present, already contain the refusal.
    let is_detailed = answer.extra.get(ID, REFUSAL_DETAILS).is_some();
    for rest in [plan, answer.refusal.as_deref().filter(|_| !is_detailed)].into_iter().flatten() {
        text(w, &Text::new(rest));
    }
}

/// A thought whose only payload is of a kind that this wire has no member for.
fn is_unsayable(thinking: &Thinking) -> bool {
    thinking.thought.is_empty() && thinking.signature.is_none() && thinking.redacted_data.is_none()
}

/// The wire's word for why an answer ended.
fn stop_reason(word: Option<&str>, has_calls: bool) -> &str {
    // Some providers write an empty word.
    let word = word.filter(|word| !word.is_empty());
    match (word, Ending::of_answer(word, has_calls)) {
        // The wire's own words are kept, for every content of the answer.
        (Some("end_turn"), _) | (_, Some(Ending::Complete)) => "end_turn",
        (_, Some(Ending::ContextFull)) => "model_context_window_exceeded",
        (_, Some(Ending::Failed | Ending::Length)) => "max_tokens",
        (_, Some(Ending::Pause)) => "pause_turn",
        (_, Some(Ending::Refused)) => "refusal",
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
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
    /// Members of the message that are still to be written.
    fields: Extra,
    /// `message_start` was written.
    started: bool,
    /// The index of the next block on the wire.
    next: u64,
    /// The open block's start was written.
    opened: bool,
    /// Some of the open block's text was written.
    said: bool,
    has_calls: bool,
    calls: CallIds,
    /// Text that goes before tool calls.
    plan: String,
    refusal: String,
    stop_sequence: Option<String>,
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
            // The kind of block for a thought is known only with its first text or its end.
            Event::ThinkingStart { .. } => {}
            Event::ThinkingDelta { delta, .. } => {
                self.open(out, |w| thinking(w, &Thinking::default()));
                self.delta("thinking_delta", "thinking", delta, out);
            }
            Event::ThinkingEnd { thinking, thought, .. } => {
                self.end_thinking(thinking, thought, out);
            }
            Event::TextStart { .. } => self.open(out, |w| text(w, &Text::default())),
            Event::TextDelta { delta, .. } => self.delta("text_delta", "text", delta, out),
            Event::TextEnd { text, whole, .. } => self.end_text(text, whole, out),
            Event::ToolCallStart { call, .. } => self.start_call(call, out),
            Event::ToolCallDelta { delta, .. } => {
                self.delta("input_json_delta", "partial_json", delta, out);
            }
            Event::ToolCallEnd { call, .. } => self.end_call(call, out),
            Event::Whole { value, .. } => self.whole(value, out),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Finish { finish_reason, model } => {
                self.finish = Some(finish_reason.map(str::to_owned));
                self.model = self.model.take().or(model.map(str::to_owned));
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
            Fact::Beside { .. }
            | Fact::Field { .. }
            | Fact::Note { .. }
            | Fact::Sequence(_)
            | Fact::MessageSignature(_) => {}
            Fact::Model(model) => self.model = Some(model.to_owned()),
            Fact::Refusal(more) => self.refusal.push_str(more),
            Fact::ResponseId(id) => {
                self.id = Some(id.to_owned());
                self.calls.answer(id);
            }
            Fact::StopSequence(stop) => self.stop_sequence = Some(stop.to_owned()),
            Fact::ToolPlan(more) => self.plan.push_str(more),
        }
    }

    /// Writes `message_start`, once.
    fn start(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        send("message_start", out, |w| {
            w.key("message").object(|w| {
                head(w, self.id.as_deref(), self.model.as_deref());
                w.key("content").array(|_| {});
                w.key("stop_reason").null();
                w.key("stop_sequence").null();
                w.key("usage");
                usage(w, self.usage.as_ref());
                extra(w, self.fields.of(ID));
            });
        });
        self.fields = Extra::default();
    }

    /// Writes the start of a block, once.
    fn open(&mut self, out: &mut Vec<u8>, block: impl FnOnce(&mut Writer)) {
        self.start(out);
        if std::mem::replace(&mut self.opened, true) {
            return;
        }
        send("content_block_start", out, |w| {
            w.field_u64("index", self.next);
            w.key("content_block");
            block(w);
        });
    }

    fn delta(&mut self, kind: &str, member: &str, delta: &str, out: &mut Vec<u8>) {
        self.said = true;
        self.send_delta(kind, out, |w| w.field_str(member, delta));
    }

    fn send_delta(&self, kind: &str, out: &mut Vec<u8>, body: impl FnOnce(&mut Writer)) {
        send("content_block_delta", out, |w| {
            w.field_u64("index", self.next);
            w.key("delta").object(|w| {
                w.field_str("type", kind);
                body(w);
            });
        });
    }

    /// Writes the end of a block. It contains the members that were unknown at the block's start.
    fn close<'f>(&mut self, out: &mut Vec<u8>, late: impl Iterator<Item = &'f (String, Raw)>) {
        send("content_block_stop", out, |w| {
            w.field_u64("index", self.next);
            late.for_each(|(key, value)| w.field_raw(key, value));
        });
        self.next += 1;
        self.opened = false;
        self.said = false;
    }

    fn end_thinking(&mut self, end: &Thinking, thought: Option<&str>, out: &mut Vec<u8>) {
        let late = thought.filter(|_| !self.said).unwrap_or_default();
        if self.said || !late.is_empty() || end.signature.is_some() {
            self.open(out, |w| thinking(w, &Thinking::default()));
            if !late.is_empty() {
                self.delta("thinking_delta", "thinking", late, out);
            }
            if let Some(signature) = &end.signature {
                self.send_delta("signature_delta", out, |w| w.field_str("signature", signature));
            }
            self.close(out, late_members(&end.extra, &[]));
        }
        if end.redacted_data.is_some() {
            self.open(out, |w| thinking(w, end));
            self.close(out, [].iter());
        }
    }

    fn end_text(&mut self, end: &Text, whole: Option<&str>, out: &mut Vec<u8>) {
        if let Some(whole) = whole.filter(|whole| !self.said && !whole.is_empty()) {
            self.delta("text_delta", "text", whole, out);
        }
        if let Some(citations) = end.extra.get(ID, "citations") {
            for citation in citations.doc().root().items() {
                self.send_delta("citations_delta", out, |w| {
                    w.key("citation").raw_str(citation.raw());
                });
            }
        }
        self.close(out, late_members(&end.extra, &["citations"]));
    }

    fn start_call(&mut self, call: &ToolCall, out: &mut Vec<u8>) {
        self.say_plan(out);
        self.has_calls = true;
        let id = self.calls.next(call.id.as_deref()).into_owned();
        let start = ToolCall::new(None, &call.name);
        self.open(out, |w| tool_use(w, &id, &start, &input_object(&start.parameters)));
    }

    fn end_call(&mut self, call: &ToolCall, out: &mut Vec<u8>) {
        if !self.said && call.parameters != Parameters::default() {
            let whole = match &call.parameters {
                Parameters::Invalid(broken) => Raw::string(broken),
                Parameters::Free(_) | Parameters::Json(_) => input_object(&call.parameters),
            };
            self.delta("input_json_delta", "partial_json", whole.as_str(), out);
        }
        self.close(out, late_members(&call.extra, &[]));
    }

    fn whole(&mut self, block: &Block, out: &mut Vec<u8>) {
        match block {
            Block::Text(said) => {
                self.open(out, |w| text(w, &Text::default()));
                self.end_text(said, Some(&said.text), out);
            }
            Block::Thinking(thought) => self.end_thinking(thought, Some(&thought.thought), out),
            Block::ToolCall(call) => {
                self.start_call(call, out);
                self.end_call(call, out);
            }
            Block::Other(other) if other.wire == ID => self.other(other, out),
            Block::Other(_) | Block::Media(_) | Block::ToolResponse(_) => {}
        }
    }

    /// Blocks of the provider's own tools: calls stream their arguments as the client's own calls do, because
    /// clients collect them from deltas.
    fn other(&mut self, other: &Other, out: &mut Vec<u8>) {
        let doc = other.raw.doc();
        let input = doc
            .root()
            .get("input")
            .filter(|input| other.kind.ends_with("tool_use") && input.entries().next().is_some());
        let Some(input) = input else {
            self.open(out, |w| w.raw(&other.raw));
            return self.close(out, [].iter());
        };
        let empty = [("input".to_owned(), input_object(&Parameters::default()))];
        self.open(out, |w| w.raw(&other.raw.with(&empty)));
        self.delta("input_json_delta", "partial_json", input.raw(), out);
        self.close(out, [].iter());
    }

    /// Writes the model's words before its calls, as text.
    fn say_plan(&mut self, out: &mut Vec<u8>) {
        let plan = std::mem::take(&mut self.plan);
        self.say(&plan, out);
    }

    fn say(&mut self, words: &str, out: &mut Vec<u8>) {
        if !words.is_empty() {
            self.open(out, |w| text(w, &Text::default()));
            self.end_text(&Text::default(), Some(words), out);
        }
    }

    /// Errors and cuts become the wire's error event, so that no client takes the rest for the whole.
    fn problem(&mut self, problem: &Problem, out: &mut Vec<u8>) {
        match problem.code {
            ProblemCode::UpstreamError | ProblemCode::Truncated | ProblemCode::CapReached => {
                self.failed = true;
                send("error", out, |w| write_member(w, problem));
            }
            ProblemCode::Fallback | ProblemCode::Malformed | ProblemCode::Unknown => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Some(finish) = self.finish.take().filter(|_| !self.failed) else { return };
        self.start(out);
        self.say_plan(out);
        let refusal = std::mem::take(&mut self.refusal);
        if self.fields.get(ID, REFUSAL_DETAILS).is_none() {
            self.say(&refusal, out);
        }
        let (inner, outer): (Vec<_>, Vec<_>) = std::mem::take(&mut self.fields)
            .fields
            .into_iter()
            .partition(|(key, _)| matches!(key.as_str(), "container" | REFUSAL_DETAILS));
        send("message_delta", out, |w| {
            w.key("delta").object(|w| {
                w.field_str("stop_reason", stop_reason(finish.as_deref(), self.has_calls));
                w.str_or_null("stop_sequence", self.stop_sequence.as_deref());
                extra(w, &inner);
            });
            w.key("usage");
            usage(w, self.usage.as_ref());
            extra(w, &outer);
        });
        send("message_stop", out, |_| {});
    }
}

/// Members of a block on this wire that have no delta of their own.
fn late_members<'f>(
    extra: &'f Extra,
    told: &'static [&'static str],
) -> impl Iterator<Item = &'f (String, Raw)> {
    extra.of(ID).iter().filter(move |(key, _)| !told.contains(&key.as_str()))
}

/// Writes one server-sent event; `body` writes the members beside its type.
fn send(kind: &str, out: &mut Vec<u8>, body: impl FnOnce(&mut Writer)) {
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("type", kind);
        body(w);
    });
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    // A line end can only be white space between values here, and it would end the data line.
    out.extend(w.finish().bytes().map(|b| if matches!(b, b'\n' | b'\r') { b' ' } else { b }));
    out.extend_from_slice(b"\n\n");
}
