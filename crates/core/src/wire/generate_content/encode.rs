//! The encoder of response streams.

use super::response::{breaks, candidate_fields, finish_word, is_blocked, tail};
use super::write_part::{Parts, call_part, text_part, thought_part};
use super::{CANDIDATE, ID, error};
use crate::content::{Block, Text, Thinking};
use crate::event::{Event, Fact};
use crate::frame::sse;
use crate::json::{Extra, Writer};
use crate::problem::Problem;
use crate::usage::Usage;
use crate::wire::Encode;
use crate::wire::serial::Serial;

/// The state of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoder {
    lanes: Vec<(Serial, Lane)>,
    head: Head,
}

/// The state that all chunks share.
#[derive(Clone, Debug, Default)]
struct Head {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
    /// The token counts were not yet written.
    has_news: bool,
    extra: Extra,
    error: Option<Problem>,
}

/// One candidate; its blocks do not overlap.
#[derive(Clone, Debug, Default)]
struct Lane {
    index: usize,
    /// Whether a part of the open block was written.
    has_text: bool,
    refusal: String,
    finish: Option<Option<String>>,
    /// Holds the other fields of the candidate.
    extra: Extra,
}

impl Encode for Encoder {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::Choice { index, event } => self.lane_event(index, *event, out),
            _ => self.lane_event(0, event, out),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let Encoder { lanes, head } = self;
        for (serial, lane) in &mut *lanes {
            serial.end(&mut |event| lane.event(event, head, out));
            lane.end(head, out);
        }
        head.end(lanes.first().is_some_and(|(_, lane)| lane.finish.is_some()), out);
    }
}

impl Encoder {
    fn lane_event(&mut self, index: usize, event: Event<'_>, out: &mut Vec<u8>) {
        let Encoder { lanes, head } = self;
        let at = lanes.iter().position(|(_, lane)| lane.index == index).unwrap_or_else(|| {
            lanes.push((Serial::default(), Lane { index, ..Lane::default() }));
            lanes.len() - 1
        });
        if let Some((serial, lane)) = lanes.get_mut(at) {
            serial.event(event, &mut |event| lane.event(event, head, out));
        }
    }
}

impl Head {
    fn chunk(&mut self, out: &mut Vec<u8>, members: impl FnOnce(&mut Writer)) {
        let mut w = Writer::new();
        w.object(|w| {
            members(w);
            let counts = self.usage.as_ref().filter(|_| self.has_news);
            tail(w, counts, self.model.as_deref(), self.id.as_deref());
        });
        self.has_news = false;
        sse::encode_event(None, &w.finish(), out);
    }

    fn fact(&mut self, fact: Fact<'_>) {
        match fact {
            Fact::Field { wire: ID, key, value } => self.extra.insert(ID, key, value.clone()),
            Fact::Model(model) => self.model = Some(model.to_owned()),
            Fact::ResponseId(id) => self.id = Some(id.to_owned()),
            Fact::Beside { .. }
            | Fact::Field { .. }
            | Fact::Note { .. }
            | Fact::MessageSignature(_)
            | Fact::Refusal(_)
            | Fact::Sequence(_)
            | Fact::StopSequence(_)
            | Fact::ToolPlan(_) => {}
        }
    }

    /// Writes the unwritten members beside the candidates, and the error.
    fn end(&mut self, is_finished: bool, out: &mut Vec<u8>) {
        let extra = std::mem::take(&mut self.extra);
        if !extra.is_empty() || (self.has_news && is_finished) {
            self.chunk(out, |w| w.extra(&extra, ID));
        }
        if let Some(problem) = self.error.take() {
            self.chunk(out, |w| error::write(w.key("error"), &problem));
        }
    }
}

impl Lane {
    fn event(&mut self, event: Event<'_>, head: &mut Head, out: &mut Vec<u8>) {
        match event {
            Event::ThinkingStart { .. } | Event::TextStart { .. } => self.has_text = false,
            Event::ToolCallStart { .. } | Event::ToolCallDelta { .. } => {}
            Event::ThinkingDelta { delta, .. } => self.thought(delta, head, out),
            Event::ThinkingEnd { thinking, thought, .. } => {
                self.end_thought(thinking, thought, head, out);
            }
            Event::TextDelta { delta, .. } => self.text(delta, head, out),
            Event::TextEnd { text, whole, .. } => self.end_text(text, whole, head, out),
            // Arguments are written in one piece.
            Event::ToolCallEnd { call, .. } => {
                self.part(head, out, |w| call_part(w, call, true));
            }
            Event::Whole { value, .. } => self.whole(value, head, out),
            Event::Usage(usage) if self.index == 0 => {
                head.usage = Some(usage.clone());
                head.has_news = true;
            }
            Event::Finish { finish_reason, model } => {
                self.finish = Some(finish_reason.map(str::to_owned));
                if let Some(model) = model {
                    head.model = Some(model.to_owned());
                }
            }
            Event::Fact(Fact::Refusal(text)) => self.refusal.push_str(text),
            Event::Fact(Fact::Note { wire: ID, name: CANDIDATE, value }) => {
                self.extra.note(ID, CANDIDATE, value.clone());
            }
            Event::Fact(fact) if self.index == 0 => head.fact(fact),
            Event::Problem(problem) => {
                if breaks(problem) && head.error.is_none() {
                    head.error = Some(problem.clone());
                }
            }
            // A choice has neither counts nor choices of its own.
            Event::Usage(_) | Event::Fact(_) | Event::Choice { .. } => {}
        }
    }

    fn part(&mut self, head: &mut Head, out: &mut Vec<u8>, part: impl FnOnce(&mut Writer)) {
        let index = u64::try_from(self.index).unwrap_or_default();
        head.chunk(out, |w| {
            w.key("candidates").array(|w| {
                w.object(|w| {
                    w.key("content").object(|w| {
                        w.key("parts").array(part);
                        w.field_str("role", "model");
                    });
                    w.field_u64("index", index);
                });
            });
        });
    }

    fn thought(&mut self, thought: &str, head: &mut Head, out: &mut Vec<u8>) {
        self.has_text = true;
        self.part(head, out, |w| {
            w.object(|w| {
                w.field_str("text", thought);
                w.field_bool("thought", true);
            });
        });
    }

    fn text(&mut self, text: &str, head: &mut Head, out: &mut Vec<u8>) {
        self.has_text = true;
        self.part(head, out, |w| w.object(|w| w.field_str("text", text)));
    }

    /// The signature rides on an empty part of the thought's own kind.
    fn end_thought(
        &mut self,
        thinking: &Thinking,
        thought: Option<&str>,
        head: &mut Head,
        out: &mut Vec<u8>,
    ) {
        let thought = thought.filter(|_| !self.has_text).unwrap_or_default().to_owned();
        let rest = Thinking { thought, ..thinking.clone() };
        if !rest.thought.is_empty() || rest.signature.is_some() || !rest.extra.of(ID).is_empty() {
            self.part(head, out, |w| thought_part(w, &rest));
        }
    }

    fn end_text(&mut self, text: &Text, whole: Option<&str>, head: &mut Head, out: &mut Vec<u8>) {
        let said = whole.filter(|_| !self.has_text).unwrap_or_default().to_owned();
        let rest = Text { text: said, ..text.clone() };
        if !rest.text.is_empty() || rest.signature.is_some() || !rest.extra.of(ID).is_empty() {
            self.part(head, out, |w| text_part(w, &rest));
        }
    }

    fn whole(&mut self, value: &Block, head: &mut Head, out: &mut Vec<u8>) {
        if let Block::Other(other) = value
            && other.wire != ID
        {
            return;
        }
        self.part(head, out, |w| Parts::default().block(w, value));
    }

    /// Writes the finish reason. Without a finish event, the answer gets no finish reason.
    fn end(&mut self, head: &mut Head, out: &mut Vec<u8>) {
        // The wire has no place for a refusal of its own, so it becomes text of the model.
        let refusal = std::mem::take(&mut self.refusal);
        if !refusal.is_empty() {
            self.text(&refusal, head, out);
        }
        let Some(word) = self.finish.as_ref().filter(|_| head.error.is_none()) else { return };
        if word.is_none() && is_blocked(&head.extra) {
            return;
        }
        let index = u64::try_from(self.index).unwrap_or_default();
        let extra =
            if self.index == 0 { std::mem::take(&mut head.extra) } else { Extra::default() };
        head.has_news = head.usage.is_some();
        let fields = &self.extra;
        head.chunk(out, |w| {
            w.key("candidates").array(|w| {
                w.object(|w| {
                    w.key("content").object(|w| {
                        w.key("parts").array(|w| w.object(|w| w.field_str("text", "")));
                        w.field_str("role", "model");
                    });
                    w.field_str("finishReason", finish_word(word.as_deref()));
                    w.field_u64("index", index);
                    candidate_fields(w, fields);
                });
            });
            w.extra(&extra, ID);
        });
    }
}
