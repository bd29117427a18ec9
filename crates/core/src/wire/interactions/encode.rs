//! The encoder of interaction streams.

use super::ID;
use super::response::{head, status, tail, write_error};
use super::write_step::{Steps, media_content};
use crate::content::{Block, Text, Thinking, ToolCall};
use crate::event::{Event, Fact};
use crate::frame::sse;
use crate::json::{Extra, Raw, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::Encode;
use crate::wire::serial::Serial;

/// The state of one stream.
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
    started: bool,
    /// How many steps have begun.
    steps: u64,
    /// Whether a part of the open block was written.
    has_text: bool,
    has_calls: bool,
    usage: Option<Usage>,
    extra: Extra,
    refusal: String,
    finish: Option<Option<String>>,
    error: Option<Problem>,
}

impl Encode for Encoder {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        let Encoder { serial, writer } = self;
        serial.event(event, &mut |event| writer.event(event, out));
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Encoder { serial, writer } = self;
        serial.end(&mut |event| writer.event(event, out));
        writer.end(out);
    }
}

impl Steady {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::ThinkingStart { .. } => self.begin(out, |w| w.field_str("type", "thought")),
            Event::ThinkingDelta { delta, .. } => self.thought(delta, out),
            Event::ThinkingEnd { thinking, thought, .. } => {
                self.end_thought(thinking, thought, out);
            }
            Event::TextStart { .. } => self.begin(out, |w| w.field_str("type", "model_output")),
            Event::TextDelta { delta, .. } => self.text(delta, out),
            Event::TextEnd { text, whole, .. } => self.end_text(text, whole, out),
            Event::ToolCallStart { call, .. } => {
                self.has_calls = true;
                let own = || format!("call_{}_{}", self.steps, self.id.as_deref().unwrap_or("0"));
                let id = call.id.clone().unwrap_or_else(own);
                self.begin(out, |w| {
                    w.field_str("type", "function_call");
                    w.field_str("id", &id);
                    w.field_str("name", &call.name);
                    w.key("arguments").object(|_| {});
                });
            }
            Event::ToolCallDelta { delta, .. } => self.arguments(delta, out),
            Event::ToolCallEnd { call, .. } => self.end_call(call, out),
            Event::Whole { value, .. } => self.whole(value, out),
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

    fn fact(&mut self, fact: Fact<'_>) {
        match fact {
            Fact::Field { wire, key, value } if wire == ID => {
                self.extra.insert(ID, key, value.clone());
            }
            Fact::Model(model) => self.model = Some(model.to_owned()),
            Fact::ResponseId(id) => self.id = Some(id.to_owned()),
            Fact::Refusal(text) => self.refusal.push_str(text),
            Fact::Beside { .. }
            | Fact::Field { .. }
            | Fact::Note { .. }
            | Fact::MessageSignature(_)
            | Fact::Sequence(_)
            | Fact::StopSequence(_)
            | Fact::ToolPlan(_) => {}
        }
    }

    fn say(&mut self, name: &str, out: &mut Vec<u8>, members: impl FnOnce(&mut Writer)) {
        let mut w = Writer::new();
        w.object(|w| {
            members(w);
            w.field_str("event_type", name);
        });
        sse::encode_event(Some(name), &w.finish(), out);
    }

    fn start(&mut self, out: &mut Vec<u8>) {
        if self.started {
            return;
        }
        self.started = true;
        let (id, model) = (self.id.clone(), self.model.clone());
        self.say("interaction.created", out, |w| {
            w.key("interaction").object(|w| {
                w.opt_str("id", id.as_deref());
                head(w, "in_progress", model.as_deref());
            });
        });
        self.say("interaction.status_update", out, |w| {
            w.opt_str("interaction_id", id.as_deref());
            w.field_str("status", "in_progress");
        });
    }

    fn begin(&mut self, out: &mut Vec<u8>, step: impl FnOnce(&mut Writer)) {
        self.start(out);
        let index = self.steps;
        self.steps += 1;
        self.has_text = false;
        self.say("step.start", out, |w| {
            w.field_u64("index", index);
            w.key("step").object(step);
        });
    }

    fn delta(&mut self, out: &mut Vec<u8>, delta: impl FnOnce(&mut Writer)) {
        let index = self.steps.saturating_sub(1);
        self.say("step.delta", out, |w| {
            w.field_u64("index", index);
            w.key("delta").object(delta);
        });
    }

    fn stop(&mut self, out: &mut Vec<u8>) {
        let index = self.steps.saturating_sub(1);
        self.say("step.stop", out, |w| w.field_u64("index", index));
    }

    fn thought(&mut self, text: &str, out: &mut Vec<u8>) {
        self.has_text = true;
        self.delta(out, |w| {
            w.field_str("type", "thought_summary");
            w.key("content").object(|w| {
                w.field_str("type", "text");
                w.field_str("text", text);
            });
        });
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        self.has_text = true;
        self.delta(out, |w| {
            w.field_str("type", "text");
            w.field_str("text", text);
        });
    }

    fn arguments(&mut self, text: &str, out: &mut Vec<u8>) {
        self.has_text = true;
        self.delta(out, |w| {
            w.field_str("type", "arguments_delta");
            w.field_str("arguments", text);
        });
    }

    fn signature(&mut self, signature: &str, out: &mut Vec<u8>) {
        self.delta(out, |w| {
            w.field_str("type", "thought_signature");
            w.field_str("signature", signature);
        });
    }

    fn end_thought(&mut self, thinking: &Thinking, thought: Option<&str>, out: &mut Vec<u8>) {
        if let Some(thought) = thought.filter(|thought| !self.has_text && !thought.is_empty()) {
            self.thought(thought, out);
        }
        if let Some(signature) = &thinking.signature {
            self.signature(signature, out);
        }
        self.stop(out);
    }

    fn end_text(&mut self, text: &Text, whole: Option<&str>, out: &mut Vec<u8>) {
        if let Some(whole) = whole.filter(|whole| !self.has_text && !whole.is_empty()) {
            self.text(whole, out);
        }
        if let Some(annotations) = text.extra.get(ID, "annotations") {
            self.delta(out, |w| {
                w.field_str("type", "text_annotation_delta");
                w.field_raw("annotations", annotations);
            });
        }
        self.stop(out);
    }

    fn end_call(&mut self, call: &ToolCall, out: &mut Vec<u8>) {
        let text = call.parameters.as_text();
        if !self.has_text && text != "{}" {
            self.arguments(text, out);
        }
        if let Some(signature) = &call.signature {
            self.signature(signature, out);
        }
        self.stop(out);
    }

    fn whole(&mut self, value: &Block, out: &mut Vec<u8>) {
        match value {
            Block::Media(media) => {
                self.begin(out, |w| w.field_str("type", "model_output"));
                let raw = Raw::build(|w| media_content(w, media));
                let index = self.steps.saturating_sub(1);
                self.say("step.delta", out, |w| {
                    w.field_u64("index", index);
                    w.field_raw("delta", &raw);
                });
                self.stop(out);
            }
            Block::Other(other) if other.wire != ID => {}
            Block::Other(_)
            | Block::Text(_)
            | Block::Thinking(_)
            | Block::ToolCall(_)
            | Block::ToolResponse(_) => {
                let step = Raw::build(|w| {
                    w.array(|w| Steps::answer().blocks(w, std::slice::from_ref(value)));
                });
                let doc = step.doc();
                for step in doc.root().items() {
                    self.begin(out, |w| {
                        step.entries().for_each(|(key, value)| w.key(&key).raw_str(value.raw()));
                    });
                    self.stop(out);
                }
            }
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.start(out);
        // The wire has no place for a refusal of its own, so it becomes text of the model.
        let refusal = std::mem::take(&mut self.refusal);
        if !refusal.is_empty() {
            self.begin(out, |w| w.field_str("type", "model_output"));
            self.text(&refusal, out);
            self.stop(out);
        }
        if let Some(problem) = self.error.take() {
            return self.say("error", out, |w| write_error(w, &problem));
        }
        // Without a finish event, the end of the answer is uncertain, so the stream gets no end.
        let Some(word) = self.finish.take() else { return };
        let word = status(word.as_deref(), self.has_calls).to_owned();
        let (id, model) = (self.id.take(), self.model.take());
        let (usage, extra) = (self.usage.take(), std::mem::take(&mut self.extra));
        self.say("interaction.completed", out, |w| {
            w.key("interaction").object(|w| {
                w.opt_str("id", id.as_deref());
                head(w, &word, model.as_deref());
                tail(w, usage.as_ref(), &extra);
            });
        });
        sse::encode_event(Some("done"), "[DONE]", out);
    }
}
