//! The encoder of response streams.

mod say;

use super::ID;
use super::response::{Ended, refusal_block};
use super::write_item::{continues, is_part};
use crate::answer::Answer;
use crate::content::{Block, Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Fact};
use crate::json::{Extra, Raw};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::Encode;
use crate::wire::serial::Serial;

/// The state of one stream. Items do not overlap, because clients do not expect it.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoder {
    serial: Serial,
    writer: Steady,
}

/// Writes events of blocks that do not overlap.
#[derive(Clone, Debug, Default)]
struct Steady {
    id: Option<String>,
    model: Option<String>,
    sequence: u64,
    started: bool,
    items: Vec<Item>,
    /// The bytes of all finished items.
    done_bytes: usize,
    /// A finished message whose end is held back, because the next part may continue it.
    held: Option<Held>,
    usage: Option<Usage>,
    extra: Extra,
    /// The members beside the response in its last event.
    beside: Option<Raw>,
    finish: Option<Option<String>>,
    error: Option<Problem>,
    refusal: String,
    /// A message had a refusal as a part.
    has_refusal: bool,
}

/// One output item; its place in the list is its `output_index`.
#[derive(Clone, Debug)]
struct Item {
    block: usize,
    kind: Kind,
    text: String,
    /// The item as written at its end.
    done: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Call,
    /// A call with free text instead of JSON.
    Custom,
    /// A thought in content parts.
    Content,
    Message,
    Other,
    /// A thought in summary parts.
    Summary,
}

/// A message with some complete parts.
#[derive(Clone, Debug)]
struct Held {
    at: usize,
    parts: Vec<Block>,
    /// A text in progress that may continue this message.
    next: Option<(usize, String)>,
}

impl Encode for Encoder {
    fn go_on(&mut self, answer: &Answer, said: Option<u64>) {
        let Steady { id, model, started, sequence, .. } = &mut self.writer;
        (*id, *model, *started) = (answer.response_id.clone(), answer.model.clone(), true);
        *sequence = said.map_or(0, |said| said.saturating_add(1));
    }

    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        let Encoder { serial, writer } = self;
        serial.event(event, &mut |event| writer.event(event, out));
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Encoder { serial, writer } = self;
        serial.end(&mut |event| writer.event(event, out));
        writer.end(out);
    }

    fn held(&self) -> usize {
        self.writer.done_bytes
    }
}

impl Steady {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::ThinkingStart { block, source_field } => {
                let kind = if source_field == "content" { Kind::Content } else { Kind::Summary };
                self.release(out);
                self.begin(block, kind, out);
            }
            Event::TextStart { block } => self.begin_text(block, out),
            Event::ToolCallStart { block, call } => {
                self.release(out);
                self.start_call(block, call, out);
            }
            Event::ThinkingDelta { block, delta }
            | Event::TextDelta { block, delta }
            | Event::ToolCallDelta { block, delta } => self.delta(block, delta, out),
            Event::ThinkingEnd { block, thinking, thought } => {
                self.end_thinking(block, thinking, thought, out);
            }
            Event::TextEnd { block, text, whole } => self.end_text(block, text, whole, out),
            Event::ToolCallEnd { block, call } => self.end_call(block, call, out),
            Event::Whole { block, value } => self.whole(block, value, out),
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Finish { finish_reason, model } => {
                self.finish = Some(finish_reason.map(str::to_owned));
                if let Some(model) = model {
                    self.model = Some(model.to_owned());
                }
            }
            Event::Fact(fact) => self.fact(fact),
            Event::Problem(problem) => {
                let breaks =
                    matches!(problem.code, ProblemCode::UpstreamError | ProblemCode::Truncated);
                if breaks && self.error.is_none() {
                    self.error = Some(problem.clone());
                }
            }
            // This wire has one choice.
            Event::Choice { .. } => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.start(out);
        self.release(out);
        self.lone_refusal(out);
        let error = self.error.take();
        let finish = self.finish.take();
        let ending = match (&error, &finish) {
            (Some(error), _) => Ended::Failed(error),
            (None, Some(word)) => Ended::of(word.as_deref()),
            // Without an end of the answer, the stream stays without its end as well.
            (None, None) => return,
        };
        if let Some(error) = &error {
            self.say("error", out, |w| {
                w.field_str("code", error.at.as_deref().unwrap_or("server_error"));
                w.field_str("message", &error.message);
                w.key("param").null();
            });
        }
        let name = match ending.status() {
            "incomplete" => "response.incomplete",
            "failed" => "response.failed",
            _ => "response.completed",
        };
        self.response(name, ending, out);
    }
}

impl Steady {
    fn fact(&mut self, fact: Fact<'_>) {
        match fact {
            Fact::Field { wire, key, value } if wire == ID => {
                self.extra.insert(ID, key, value.clone());
            }
            Fact::Model(model) => self.model = Some(model.to_owned()),
            Fact::ResponseId(id) => self.id = Some(id.to_owned()),
            Fact::Refusal(text) => self.refusal.push_str(text),
            Fact::Beside { wire, members } if wire == ID => self.beside = Some(members.clone()),
            Fact::Beside { .. }
            | Fact::Field { .. }
            | Fact::Note { .. }
            | Fact::MessageSignature(_)
            | Fact::Sequence(_)
            | Fact::StopSequence(_)
            | Fact::ToolPlan(_) => {}
        }
    }

    fn delta(&mut self, block: usize, delta: &str, out: &mut Vec<u8>) {
        if let Some(Held { next: Some((next, text)), .. }) = &mut self.held
            && *next == block
        {
            return text.push_str(delta);
        }
        let Some(at) = self.find(block) else { return };
        let is_first = self.items.get(at).is_some_and(|item| item.text.is_empty());
        if is_first {
            self.part_added(at, 0, out);
        }
        if let Some(item) = self.items.get_mut(at) {
            item.text.push_str(delta);
        }
        self.text_delta(at, 0, delta, out);
    }

    fn end_thinking(
        &mut self,
        block: usize,
        thinking: &Thinking,
        thought: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        let Some(at) = self.find(block) else { return };
        let streamed = self.items.get_mut(at).map(|item| std::mem::take(&mut item.text));
        let streamed = streamed.unwrap_or_default();
        let (text_done, part_done, kind) = match self.kind(at) {
            Kind::Content => {
                ("response.reasoning_text.done", "response.content_part.done", "reasoning_text")
            }
            Kind::Summary | Kind::Call | Kind::Custom | Kind::Message | Kind::Other => (
                "response.reasoning_summary_text.done",
                "response.reasoning_summary_part.done",
                "summary_text",
            ),
        };
        if !streamed.is_empty() {
            self.part(at, 0, text_done, out, |w| w.field_str("text", &streamed));
            self.part(at, 0, part_done, out, |w| {
                super::write_item::part(w.key("part"), kind, &streamed);
            });
        }
        let mut whole = thinking.clone();
        whole.thought = thought.map_or(streamed, str::to_owned);
        if whole.source_field.is_empty() && self.kind(at) == Kind::Content {
            "content".clone_into(&mut whole.source_field);
        }
        self.done(at, out, |items, w| items.reasoning(w, &whole));
    }

    fn begin_text(&mut self, block: usize, out: &mut Vec<u8>) {
        match &mut self.held {
            Some(held) if held.next.is_none() => held.next = Some((block, String::new())),
            _ => {
                self.release(out);
                self.begin(block, Kind::Message, out);
            }
        }
    }

    fn end_text(&mut self, block: usize, text: &Text, whole: Option<&str>, out: &mut Vec<u8>) {
        let mut text = text.clone();
        let next = self.held.as_mut().and_then(|held| held.next.take_if(|next| next.0 == block));
        if let Some((_, said)) = next {
            text.text = whole.map_or(said, str::to_owned);
            let value = Block::Text(text);
            return self.whole_part(block, &value, out);
        }
        let Some(at) = self.find(block) else { return };
        let said = self.items.get_mut(at).map(|item| std::mem::take(&mut item.text));
        let said = said.unwrap_or_default();
        if said.is_empty() {
            self.part_added(at, 0, out);
        }
        text.text = whole.map_or(said, str::to_owned);
        let is_own = text.extra.wire == Some(ID);
        let value = Block::Text(text);
        self.part_done(at, 0, &value, out);
        self.hold(at, value, is_own, out);
    }

    /// Writes a complete part of a message.
    fn whole_part(&mut self, block: usize, value: &Block, out: &mut Vec<u8>) {
        let continued = if continues(value) { self.held.take() } else { None };
        let held = match continued {
            Some(held) => held,
            None => {
                self.release(out);
                let at = self.begin(block, Kind::Message, out);
                Held { at, parts: Vec::new(), next: None }
            }
        };
        let (at, part) = (held.at, held.parts.len());
        self.held = Some(held);
        if let Block::Text(text) = value {
            self.part_added(at, part, out);
            if !text.text.is_empty() {
                self.text_delta(at, part, &text.text, out);
            }
        }
        self.part_done(at, part, value, out);
        if let Some(held) = &mut self.held {
            held.parts.push(value.clone());
        }
    }

    /// Holds a message back for parts that may continue it. Only answers of this wire have such parts.
    fn hold(&mut self, at: usize, part: Block, may_continue: bool, out: &mut Vec<u8>) {
        self.release(out);
        self.held = Some(Held { at, parts: vec![part], next: None });
        if !may_continue {
            self.release(out);
        }
    }

    /// Ends the message that was held back, and continues the text that waited for it.
    fn release(&mut self, out: &mut Vec<u8>) {
        let Some(held) = self.held.take() else { return };
        self.done(held.at, out, |items, w| items.output_message(w, &held.parts));
        if let Some((block, text)) = held.next {
            self.begin(block, Kind::Message, out);
            if !text.is_empty() {
                self.delta(block, &text, out);
            }
        }
    }

    fn start_call(&mut self, block: usize, call: &ToolCall, out: &mut Vec<u8>) {
        let (kind, item, key) = match call.parameters {
            Parameters::Free(_) => (Kind::Custom, "custom_tool_call", "input"),
            Parameters::Invalid(_) | Parameters::Json(_) => {
                (Kind::Call, "function_call", "arguments")
            }
        };
        let at = self.add(block, kind);
        let id = call.id.clone().unwrap_or_else(|| self.new_id("call", at));
        self.added(at, out, |w| {
            w.field_str("type", item);
            w.field_str("status", "in_progress");
            w.field_str("call_id", &id);
            w.field_str("name", &call.name);
            w.field_str(key, "");
        });
    }

    fn end_call(&mut self, block: usize, call: &ToolCall, out: &mut Vec<u8>) {
        let Some(at) = self.find(block) else { return };
        let (name, key) = match self.kind(at) {
            Kind::Custom => ("response.custom_tool_call_input.done", "input"),
            Kind::Call | Kind::Content | Kind::Message | Kind::Other | Kind::Summary => {
                ("response.function_call_arguments.done", "arguments")
            }
        };
        self.part(at, 0, name, out, |w| w.field_str(key, call.parameters.as_text()));
        self.done(at, out, |items, w| items.call(w, call));
    }

    fn whole(&mut self, block: usize, value: &Block, out: &mut Vec<u8>) {
        if is_part(value) {
            self.has_refusal |= matches!(value, Block::Other(other) if other.kind == "refusal");
            return self.whole_part(block, value, out);
        }
        self.release(out);
        match value {
            Block::Other(other) if other.wire == ID => {
                let doc = other.raw.doc();
                let at = self.find(block).unwrap_or_else(|| {
                    let at = self.add(block, Kind::Other);
                    self.start(out);
                    self.say("response.output_item.added", out, |w| {
                        w.field_u64("output_index", say::index(at));
                        w.key("item").raw_str(doc.root().raw());
                    });
                    at
                });
                self.done(at, out, |_, w| w.raw(&other.raw));
            }
            Block::Thinking(thinking) => {
                let at = self.begin(block, Kind::Summary, out);
                self.done(at, out, |items, w| items.reasoning(w, thinking));
            }
            Block::ToolCall(call) => {
                let at = self.add(block, Kind::Call);
                self.start(out);
                self.done(at, out, |items, w| items.call(w, call));
            }
            // An answer on this wire has no place for these.
            Block::Media(_) | Block::Other(_) | Block::Text(_) | Block::ToolResponse(_) => {}
        }
    }

    /// Writes a refusal that was beside the content on another wire.
    fn lone_refusal(&mut self, out: &mut Vec<u8>) {
        let said = std::mem::take(&mut self.refusal);
        if !said.is_empty() && !self.has_refusal {
            let block = self.items.len();
            self.whole_part(block, &refusal_block(&said), out);
            self.release(out);
        }
    }
}
