//! A thought in a field of its own and a text that go on side by side.
//!
//! Readers of a stream take a delta with text alone for the end of the thought, and the reverse; only deltas with
//! both keep both open. So a piece of one waits for the next piece of the other, and for no more than that. While a
//! thought that goes out whole is open, later pieces are held already, and no pieces are joined.

use super::{Encoder, Kind};
use crate::event::{Event, Fact};

/// The pieces that wait.
#[derive(Debug, Default)]
pub(super) struct Abreast {
    /// A piece of a thought, and its field.
    thought: Option<(String, String)>,
    text: Option<String>,
}

/// Whether a piece may go on waiting after this event.
pub(super) fn may_wait(event: &Event<'_>) -> bool {
    match event {
        Event::ThinkingStart { .. }
        | Event::ThinkingDelta { .. }
        | Event::ThinkingEnd { .. }
        | Event::TextStart { .. }
        | Event::TextDelta { .. }
        | Event::TextEnd { .. }
        | Event::Fact(Fact::Beside { .. } | Fact::Model(_) | Fact::ResponseId(_))
        | Event::Usage(_) => true,
        Event::ToolCallStart { .. }
        | Event::ToolCallDelta { .. }
        | Event::ToolCallEnd { .. }
        | Event::Whole { .. }
        | Event::Finish { .. }
        | Event::Fact(_)
        | Event::Problem(_)
        | Event::Choice { .. } => false,
    }
}

impl Encoder {
    /// More of a thought in a field.
    pub(super) fn think_beside(&mut self, at: usize, field: &str, delta: &str, out: &mut Vec<u8>) {
        if self.choice(at).abreast.thought.is_some() {
            self.write_abreast(at, out);
        }
        let choice = self.choice(at);
        let speaks = choice.speaks && !choice.has_entry();
        match (choice.abreast.text.take(), speaks) {
            (None, true) => choice.abreast.thought = Some((field.to_owned(), delta.to_owned())),
            (text, _) => self.both(at, Some((field, delta)), text.as_deref(), out),
        }
    }

    /// More of the text.
    pub(super) fn speak(&mut self, at: usize, delta: &str, out: &mut Vec<u8>) {
        if self.choice(at).abreast.text.is_some() {
            self.write_abreast(at, out);
        }
        let choice = self.choice(at);
        let in_field = choice.open.iter().any(|open| matches!(open.kind, Kind::Field(_)));
        let thinks = in_field && !choice.has_entry();
        match (choice.abreast.thought.take(), thinks) {
            (None, true) => choice.abreast.text = Some(delta.to_owned()),
            (thought, _) => {
                let thought = thought.as_ref().map(|(field, text)| (field.as_str(), text.as_str()));
                self.both(at, thought, Some(delta), out);
            }
        }
    }

    /// A thought in a field is over: a text needs no more of it.
    pub(super) fn end_beside(&mut self, at: usize, out: &mut Vec<u8>) {
        if self.choice(at).abreast.thought.is_none() {
            self.write_abreast(at, out);
        }
    }

    /// The text is over: a thought needs no more of it.
    pub(super) fn end_speech(&mut self, at: usize, out: &mut Vec<u8>) {
        if self.choice(at).abreast.text.is_none() {
            self.write_abreast(at, out);
        }
    }

    /// Writes the waiting pieces in one delta.
    pub(super) fn write_abreast(&mut self, at: usize, out: &mut Vec<u8>) {
        let Abreast { thought, text } = std::mem::take(&mut self.choice(at).abreast);
        if thought.is_some() || text.is_some() {
            let thought = thought.as_ref().map(|(field, text)| (field.as_str(), text.as_str()));
            self.both(at, thought, text.as_deref(), out);
        }
    }

    fn both(
        &mut self,
        at: usize,
        thought: Option<(&str, &str)>,
        text: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        self.delta(at, out, |w| {
            if let Some((field, thought)) = thought {
                w.field_str(field, thought);
            }
            w.opt_str("content", text);
        });
    }
}
