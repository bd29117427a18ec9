//! How many tokens a thought has that is coming, where its provider says no number.

use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::event::Event;
use thinkthrough_core::tokens::estimate_opaque;

/// The thoughts of one answer so far: a quarter of their letters, or what the payload says that stands for one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Thoughts {
    units: u64,
    sealed: u64,
    /// The thought that is open has text.
    has_text: bool,
}

impl Thoughts {
    pub(crate) fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::ThinkingStart { .. } => self.has_text = false,
            Event::ThinkingDelta { delta, .. } => self.add(delta),
            Event::ThinkingEnd { thinking, .. } => self.seal(thinking),
            Event::Whole { value: Block::Thinking(thinking), .. } => {
                self.has_text = false;
                self.add(&thinking.thought);
                self.seal(thinking);
            }
            Event::Choice { event, .. } => self.hear(*event),
            _ => {}
        }
    }

    /// The estimate.
    pub(crate) fn tokens(self) -> u64 {
        self.units.div_ceil(4).saturating_add(self.sealed)
    }

    /// The estimate of what came in all, with so many bytes of text.
    pub(crate) fn with(self, text: usize) -> u64 {
        (text as u64).div_ceil(4).saturating_add(self.sealed)
    }

    fn add(&mut self, text: &str) {
        self.has_text |= !text.is_empty();
        self.units = self.units.saturating_add(text.encode_utf16().count() as u64);
    }

    fn seal(&mut self, thinking: &Thinking) {
        let payload = thinking.encrypted_content.as_ref().or(thinking.redacted_data.as_ref());
        let payload = payload.or(thinking.signature.as_ref()).filter(|_| !self.has_text);
        let tokens = payload.map(|payload| estimate_opaque(payload)).unwrap_or_default();
        self.sealed = self.sealed.saturating_add(tokens);
    }
}

/// How many bytes of text an event adds.
pub(crate) fn text(event: Event<'_>) -> usize {
    match event {
        Event::ThinkingDelta { delta, .. }
        | Event::TextDelta { delta, .. }
        | Event::ToolCallDelta { delta, .. } => delta.len(),
        Event::Whole { value: Block::Thinking(thinking), .. } => thinking.thought.len(),
        Event::Whole { value: Block::Text(said), .. } => said.text.len(),
        Event::Choice { event, .. } => text(*event),
        _ => 0,
    }
}
