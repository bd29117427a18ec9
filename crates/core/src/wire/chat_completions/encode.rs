//! The stream encoder: events become chunks, framing included.

mod abreast;
mod calls;

use super::answer::{self, STEPS};
use super::beside::{self, Beside};
use super::form::Form;
use super::{details, parts, problem, signature, thoughts, usage};
use crate::content::{Block, Text, Thinking};
use crate::event::{Event, Fact};
use crate::json::{Extra, Gathered, Raw, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::Encode;
use abreast::Abreast;
use calls::Form as CallForm;

/// More choices than this are written as the last one.
const MAX_CHOICES: usize = 128;

/// A stream, with the part written so far.
#[derive(Debug)]
pub(in crate::wire) struct Encoder {
    form: &'static Form,
    id: Option<String>,
    model: Option<String>,
    choices: Vec<Choice>,
    usage: Option<Usage>,
    beside: Beside,
    /// The answer ended as it should; without that the stream must not look complete.
    is_finished: bool,
    /// A part is missing, even if others follow.
    is_broken: bool,
    /// The first error. It is written last, because no event may follow it.
    error: Option<Problem>,
}

/// One choice, with the part written so far.
#[derive(Debug, Default)]
struct Choice {
    has_role: bool,
    n_calls: u64,
    open: Vec<Open>,
    /// A text is open.
    speaks: bool,
    abreast: Abreast,
    /// Unknown members for the next piece.
    beside: Gathered,
    /// Bytes that came after an unfinished thought that goes out as a whole.
    held: Vec<u8>,
    /// Written pieces wait for that thought. Members beside them do not wait, so that their order is kept.
    waits: bool,
}

/// A block that is being written.
#[derive(Debug)]
struct Open {
    block: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A call, and whether its id and arguments were written.
    Call { form: CallForm, has_id: bool, has_arguments: bool },
    /// A thought that goes out whole, for its type is known only in the end.
    Entry { field: &'static str, text: String },
    /// A thought in a field of its own.
    Field(String),
    /// A thought in parts of the content.
    Part,
    /// A thought in tags inside the text.
    Tags,
}

impl Choice {
    /// Whether a thought that goes out whole is open.
    fn has_entry(&self) -> bool {
        self.open.iter().any(|open| matches!(open.kind, Kind::Entry { .. }))
    }

    /// The unknown members beside the piece that is written now.
    fn take_beside(&mut self) -> Option<Raw> {
        if self.waits || self.beside.is_empty() {
            return None;
        }
        Some(std::mem::take(&mut self.beside).raw())
    }

    /// Whether a thought that goes out whole began before the block of `event` and is not over.
    fn must_wait(&self, event: &Event<'_>) -> bool {
        let own = match event {
            Event::ThinkingDelta { block, .. } | Event::ThinkingEnd { block, .. } => Some(*block),
            _ => None,
        };
        let mut before = self.open.iter().take_while(|open| Some(open.block) != own);
        before.any(|open| matches!(open.kind, Kind::Entry { .. }))
    }
}

impl Encoder {
    pub(in crate::wire) fn new(form: &'static Form) -> Self {
        Encoder {
            form,
            id: None,
            model: None,
            choices: Vec::new(),
            usage: None,
            beside: Beside::default(),
            is_finished: false,
            is_broken: false,
            error: None,
        }
    }

    fn choice(&mut self, at: usize) -> &mut Choice {
        while self.choices.len() <= at {
            self.choices.push(Choice::default());
        }
        #[expect(clippy::indexing_slicing, reason = "the loop made it")]
        &mut self.choices[at]
    }

    /// Writes a chunk; `body` writes members into its object.
    fn chunk(&mut self, out: &mut Vec<u8>, body: impl FnOnce(&mut Writer)) {
        let mut w = Writer::new();
        w.object(|w| {
            w.opt_str("id", self.id.as_deref());
            w.field_str("object", "chat.completion.chunk");
            w.opt_str("model", self.model.as_deref());
            self.beside.write(w, self.form.id);
            body(w);
        });
        frame(&w.finish(), out);
    }

    /// Writes a chunk with one delta.
    fn delta(&mut self, at: usize, out: &mut Vec<u8>, body: impl FnOnce(&mut Writer)) {
        let has_role = std::mem::replace(&mut self.choice(at).has_role, true);
        let beside = self.choice(at).take_beside();
        self.chunk(out, |w| {
            choices(w, at, |w| {
                w.key("delta").object(|w| {
                    if !has_role {
                        w.field_str("role", "assistant");
                    }
                    body(w);
                    beside::write_message(w, beside.as_ref());
                });
                w.key("finish_reason").null();
                beside::write_choice(w, beside.as_ref());
            });
        });
    }

    /// Writes unknown members beside a piece that has no bytes of its own.
    fn write_beside(&mut self, at: usize, out: &mut Vec<u8>) {
        let choice = self.choice(at);
        if !choice.waits && !choice.beside.is_empty() {
            self.delta(at, out, |_| {});
        }
    }

    /// Writes the held pieces of all choices.
    fn write_rest(&mut self, out: &mut Vec<u8>) {
        for at in 0..self.choices.len() {
            let mut held = std::mem::take(&mut self.choice(at).held);
            self.write_abreast(at, &mut held);
            self.write_beside(at, &mut held);
            out.append(&mut held);
        }
    }

    fn take(&mut self, at: usize, event: Event<'_>, out: &mut Vec<u8>) {
        if !abreast::may_wait(&event) {
            self.write_abreast(at, out);
        }
        match event {
            Event::ThinkingStart { block, source_field } => {
                self.start_thought(at, block, source_field, out);
            }
            Event::ThinkingDelta { block, delta } => self.think(at, block, delta, out),
            Event::ThinkingEnd { block, thinking, thought } => {
                self.end_thought(at, block, (thinking, thought), out);
            }
            Event::TextStart { .. } => self.choice(at).speaks = true,
            Event::TextDelta { delta, .. } => self.speak(at, delta, out),
            Event::TextEnd { text, .. } => self.end_text(at, text, out),
            Event::ToolCallStart { block, call } => self.start_call(at, block, call, out),
            Event::ToolCallDelta { block, delta } => self.call_delta(at, block, delta, out),
            Event::ToolCallEnd { block, call } => self.end_call(at, block, call, out),
            Event::Whole { block, value } => self.whole(at, block, value, out),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Finish { finish_reason, model } => self.finish(at, finish_reason, model, out),
            Event::Fact(fact) => self.fact(at, fact, out),
            Event::Problem(found) if found.code == ProblemCode::UpstreamError => {
                self.is_broken = true;
                self.error.get_or_insert_with(|| found.clone());
            }
            Event::Choice { index, event } => self.take(index.min(MAX_CHOICES - 1), *event, out),
            Event::Problem(found) => {
                self.is_broken |=
                    matches!(found.code, ProblemCode::Truncated | ProblemCode::CapReached);
            }
        }
    }

    fn start_thought(&mut self, at: usize, block: usize, source_field: &str, out: &mut Vec<u8>) {
        let kind = match answer::place_of(self.form, source_field) {
            details::FIELD => Kind::Entry { field: details::FIELD, text: String::new() },
            details::BLOCKS => Kind::Entry { field: details::BLOCKS, text: String::new() },
            STEPS => Kind::Entry { field: STEPS, text: String::new() },
            parts::THINKING => Kind::Part,
            thoughts::TAGS => Kind::Tags,
            field => Kind::Field(field.to_owned()),
        };
        if !matches!(kind, Kind::Field(_)) {
            self.write_abreast(at, out);
        }
        if matches!(kind, Kind::Tags) {
            self.delta(at, out, |w| w.field_str("content", "<think>"));
        }
        let choice = self.choice(at);
        choice.open.retain(|open| open.block != block);
        choice.open.push(Open { block, kind });
    }

    fn think(&mut self, at: usize, block: usize, delta: &str, out: &mut Vec<u8>) {
        let Some(open) = self.choice(at).open.iter_mut().find(|open| open.block == block) else {
            return;
        };
        match &mut open.kind {
            Kind::Call { .. } => {}
            Kind::Entry { text, .. } => text.push_str(delta),
            Kind::Field(field) => {
                let field = field.clone();
                self.think_beside(at, &field, delta, out);
            }
            Kind::Part => {
                let thinking = Thinking::new(delta, parts::THINKING);
                let part = parts::write_thinking(&thinking, self.form.id);
                self.delta(at, out, |w| w.key("content").array(|w| w.raw(&part)));
            }
            Kind::Tags => self.delta(at, out, |w| w.field_str("content", delta)),
        }
    }

    fn end_thought(
        &mut self,
        at: usize,
        block: usize,
        end: (&Thinking, Option<&str>),
        out: &mut Vec<u8>,
    ) {
        let (thinking, thought) = end;
        let choice = self.choice(at);
        let position = choice.open.iter().position(|open| open.block == block);
        let Some(open) = position.map(|position| choice.open.remove(position)) else {
            return self.late_payload(at, thinking, out);
        };
        match open.kind {
            Kind::Call { .. } => {}
            Kind::Field(_) => self.end_beside(at, out),
            Kind::Entry { field, text } => {
                let whole =
                    Thinking { thought: thought.map_or(text, str::to_owned), ..thinking.clone() };
                let entry = if field == STEPS {
                    answer::step(&whole, self.form.id)
                } else {
                    thoughts::entry(&whole, self.form.id)
                };
                self.delta(at, out, |w| w.key(field).array(|w| w.raw(&entry)));
            }
            Kind::Part => {
                let rest = parts::without_text(thinking, self.form.id);
                if rest.signature.is_some() || !rest.extra.of(self.form.id).is_empty() {
                    let part = parts::write_thinking(&rest, self.form.id);
                    self.delta(at, out, |w| w.key("content").array(|w| w.raw(&part)));
                }
            }
            Kind::Tags => self.delta(at, out, |w| w.field_str("content", "</think>")),
        }
    }

    /// A payload that arrives after the end of its thought becomes an entry without text.
    fn late_payload(&mut self, at: usize, thinking: &Thinking, out: &mut Vec<u8>) {
        if matches!(answer::place(self.form, thinking), details::FIELD | details::BLOCKS)
            && thinking.has_payload()
        {
            let rest = Thinking { thought: String::new(), ..thinking.clone() };
            let field = if thinking.source_field == details::BLOCKS {
                details::BLOCKS
            } else {
                details::FIELD
            };
            let entry = thoughts::entry(&rest, self.form.id);
            self.delta(at, out, |w| w.key(field).array(|w| w.raw(&entry)));
        }
    }

    fn end_text(&mut self, at: usize, text: &Text, out: &mut Vec<u8>) {
        self.choice(at).speaks = false;
        self.end_speech(at, out);
        if let Some(annotations) = text.extra.get(self.form.id, "annotations") {
            self.delta(at, out, |w| w.field_raw("annotations", annotations));
        }
    }

    fn whole(&mut self, at: usize, block: usize, value: &Block, out: &mut Vec<u8>) {
        match value {
            Block::Text(text) => {
                self.take(at, Event::TextDelta { block, delta: &text.text }, out);
                self.end_text(at, text, out);
            }
            Block::Thinking(thinking) => {
                self.start_thought(at, block, &thinking.source_field, out);
                self.think(at, block, &thinking.thought, out);
                self.end_thought(at, block, (thinking, None), out);
            }
            Block::ToolCall(call) => {
                self.start_call(at, block, call, out);
                self.end_call(at, block, call, out);
            }
            Block::Other(other) if other.wire == self.form.id => {
                let raw = &other.raw;
                if parts::is_part(other) {
                    self.delta(at, out, |w| w.key("content").array(|w| w.raw(raw)));
                } else if answer::is_beside(other) {
                    self.delta(at, out, |w| w.field_raw(&other.kind, raw));
                } else {
                    self.delta(at, out, |w| w.key(&other.kind).array(|w| w.raw(raw)));
                }
            }
            Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {}
        }
    }

    fn finish(&mut self, at: usize, reason: Option<&str>, model: Option<&str>, out: &mut Vec<u8>) {
        if self.is_broken {
            return;
        }
        self.is_finished = true;
        if let Some(model) = model.filter(|_| self.model.is_none()) {
            self.model = Some(model.to_owned());
        }
        let has_calls = self.choice(at).n_calls > 0;
        let Some(reason) = reason.map(|word| answer::reason(word, has_calls)) else { return };
        let beside = self.choice(at).take_beside();
        self.chunk(out, |w| {
            choices(w, at, |w| {
                w.key("delta").object(|w| beside::write_message(w, beside.as_ref()));
                w.field_str("finish_reason", reason);
                beside::write_choice(w, beside.as_ref());
            });
        });
    }

    fn fact(&mut self, at: usize, fact: Fact<'_>, out: &mut Vec<u8>) {
        match fact {
            Fact::MessageSignature(text) => {
                self.delta(at, out, |w| signature::write(w, &Extra::default(), "", Some(text)));
            }
            Fact::Model(text) => self.model = Some(text.to_owned()),
            Fact::Refusal(text) => self.delta(at, out, |w| w.field_str("refusal", text)),
            Fact::ResponseId(text) => self.id = Some(text.to_owned()),
            Fact::ToolPlan(text) => self.delta(at, out, |w| w.field_str("content", text)),
            Fact::Field { wire, key, value } if wire == self.form.id => {
                self.beside.take(wire, key, value);
            }
            Fact::Beside { wire, members } if wire == self.form.id => {
                self.write_beside(at, out);
                self.choice(at).beside.add(members.doc().root());
            }
            Fact::Beside { .. }
            | Fact::Field { .. }
            | Fact::Note { .. }
            | Fact::Sequence(_)
            | Fact::StopSequence(_) => {}
        }
    }
}

impl Encode for Encoder {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        let (at, event) = match event {
            Event::Choice { index, event } => (index.min(MAX_CHOICES - 1), *event),
            other => (0, other),
        };
        let choice = self.choice(at);
        if choice.must_wait(&event) {
            let mut held = std::mem::take(&mut choice.held);
            choice.waits = true;
            self.take(at, event, &mut held);
            let choice = self.choice(at);
            (choice.held, choice.waits) = (held, false);
        } else {
            self.take(at, event, out);
            let choice = self.choice(at);
            if !choice.has_entry() {
                out.append(&mut choice.held);
            }
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.write_rest(out);
        if let Some(found) = self.error.take() {
            return self.chunk(out, |w| w.key("error").object(|w| problem::write(w, &found)));
        }
        if let Some(raw) = self.usage.as_ref().map(usage::write) {
            self.chunk(out, |w| {
                w.key("choices").array(|_| {});
                w.field_raw("usage", &raw);
            });
        } else if self.beside.has_news()
            || self.id.is_some() && self.choices.iter().all(|choice| !choice.has_role)
        {
            // An answer without any content still reports its model.
            self.chunk(out, |w| w.key("choices").array(|_| {}));
        }
        if self.is_finished && !self.is_broken {
            frame("[DONE]", out);
        }
    }
}

fn choices(w: &mut Writer, at: usize, body: impl FnOnce(&mut Writer)) {
    w.key("choices").array(|w| {
        w.object(|w| {
            w.field_u64("index", u64::try_from(at).unwrap_or(u64::MAX));
            body(w);
        });
    });
}

/// Writes one event. Line feeds in unchanged values are white space between members, for a JSON string has none; here
/// they would end the line.
fn frame(data: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: ");
    out.extend(data.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    out.extend_from_slice(b"\n\n");
}
