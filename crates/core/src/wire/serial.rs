//! Blocks one after the other.
//!
//! Decoders may interleave blocks; wires with typed blocks, and their clients, expect that a block ends before
//! the next one begins. Events of a later block wait here until the earlier one has ended.

use crate::content::{Block, Text, Thinking, ToolCall};
use crate::event::Event;
use std::collections::VecDeque;

/// Puts the events of blocks into an order in which no two blocks overlap. Everything else passes at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Serial {
    /// The blocks that have begun and not been passed on whole; the first one is passed on as it comes.
    waiting: VecDeque<Waiting>,
}

#[derive(Clone, Debug, PartialEq)]
struct Waiting {
    block: usize,
    start: Start,
    /// Text that came while another block was passed on.
    text: String,
    end: Option<End>,
}

#[derive(Clone, Debug, PartialEq)]
enum Start {
    Call(ToolCall),
    Text,
    Thinking { source_field: String },
    Whole,
}

#[derive(Clone, Debug, PartialEq)]
enum End {
    Call(ToolCall),
    Text(Text, Option<String>),
    Thinking(Thinking, Option<String>),
    Whole(Block),
}

impl Serial {
    /// Takes an event, and hands out the events that are in order now.
    pub(crate) fn event(&mut self, event: Event<'_>, out: &mut dyn FnMut(Event<'_>)) {
        match event {
            Event::ThinkingStart { block, source_field } => {
                let source_field = source_field.to_owned();
                self.start(block, Start::Thinking { source_field }, out);
            }
            Event::TextStart { block } => self.start(block, Start::Text, out),
            Event::ToolCallStart { block, call } => {
                self.start(block, Start::Call(call.clone()), out);
            }
            Event::ThinkingDelta { block, delta }
            | Event::TextDelta { block, delta }
            | Event::ToolCallDelta { block, delta } => self.delta(block, delta, event, out),
            Event::ThinkingEnd { block, thinking, thought } => {
                let end = || End::Thinking(thinking.clone(), thought.map(str::to_owned));
                self.end_block(block, event, end, out);
            }
            Event::TextEnd { block, text, whole } => {
                let end = || End::Text(text.clone(), whole.map(str::to_owned));
                self.end_block(block, event, end, out);
            }
            Event::ToolCallEnd { block, call } => {
                self.end_block(block, event, || End::Call(call.clone()), out);
            }
            Event::Whole { block, value } => {
                self.start(block, Start::Whole, out);
                self.end_block(block, event, || End::Whole(value.clone()), out);
            }
            Event::Usage(_)
            | Event::Finish { .. }
            | Event::Fact(_)
            | Event::Problem(_)
            | Event::Choice { .. } => out(event),
        }
    }

    /// Ends the stream: hands out the waiting events, without adding missing ends.
    pub(crate) fn end(&mut self, out: &mut dyn FnMut(Event<'_>)) {
        self.waiting.pop_front();
        while let Some(waiting) = self.waiting.pop_front() {
            waiting.say(out);
        }
    }

    fn start(&mut self, block: usize, start: Start, out: &mut dyn FnMut(Event<'_>)) {
        let is_first = self.waiting.is_empty();
        let waiting = Waiting { block, start, text: String::new(), end: None };
        if is_first {
            waiting.say(out);
        }
        self.waiting.push_back(waiting);
    }

    fn delta(
        &mut self,
        block: usize,
        delta: &str,
        event: Event<'_>,
        out: &mut dyn FnMut(Event<'_>),
    ) {
        match self.waiting.iter_mut().position(|waiting| waiting.block == block) {
            Some(0) => out(event),
            Some(at) => {
                if let Some(waiting) = self.waiting.get_mut(at) {
                    waiting.text.push_str(delta);
                }
            }
            None => {}
        }
    }

    fn end_block(
        &mut self,
        block: usize,
        event: Event<'_>,
        end: impl FnOnce() -> End,
        out: &mut dyn FnMut(Event<'_>),
    ) {
        match self.waiting.iter().position(|waiting| waiting.block == block) {
            Some(0) => {
                out(event);
                self.waiting.pop_front();
                self.advance(out);
            }
            Some(at) => {
                if let Some(waiting) = self.waiting.get_mut(at) {
                    waiting.end = Some(end());
                }
            }
            None => {}
        }
    }

    /// Moves on after the end of the first block: hands out the events that the next blocks got meanwhile.
    fn advance(&mut self, out: &mut dyn FnMut(Event<'_>)) {
        while let Some(first) = self.waiting.front_mut() {
            first.say(out);
            if first.end.is_none() {
                first.text.clear();
                return;
            }
            self.waiting.pop_front();
        }
    }
}

impl Waiting {
    fn say(&self, out: &mut dyn FnMut(Event<'_>)) {
        let block = self.block;
        let delta = self.text.as_str();
        match &self.start {
            Start::Call(call) => {
                out(Event::ToolCallStart { block, call });
                if !delta.is_empty() {
                    out(Event::ToolCallDelta { block, delta });
                }
            }
            Start::Text => {
                out(Event::TextStart { block });
                if !delta.is_empty() {
                    out(Event::TextDelta { block, delta });
                }
            }
            Start::Thinking { source_field } => {
                out(Event::ThinkingStart { block, source_field });
                if !delta.is_empty() {
                    out(Event::ThinkingDelta { block, delta });
                }
            }
            Start::Whole => {}
        }
        match &self.end {
            Some(End::Call(call)) => out(Event::ToolCallEnd { block, call }),
            Some(End::Text(text, whole)) => {
                out(Event::TextEnd { block, text, whole: whole.as_deref() });
            }
            Some(End::Thinking(thinking, thought)) => {
                let thought = thought.as_deref();
                out(Event::ThinkingEnd { block, thinking, thought });
            }
            Some(End::Whole(value)) => out(Event::Whole { block, value }),
            None => {}
        }
    }
}
