//! Puts a scanner between a decoder and its sink.

use super::piece::{End, Piece};
use super::scanner::{Options, Start, TagScanner};
use super::spec::TagSpec;
use crate::content::{Text, Thinking};
use crate::event::{Event, Sink};
use crate::problem::ProblemCode;
use std::collections::BTreeMap;

/// The source field of thoughts between tags.
pub(crate) const SOURCE_FIELD: &str = "think_tags";

/// A hostile upstream may send more choices; they share the last slot.
const MAX_CHOICES: usize = 128;

/// Passes a decoder's events on, with the thoughts in its visible text as blocks of their own, in their place.
///
/// Every text block is a message for the scanner; only the first block of an answer can begin inside a thought: if
/// another block comes before it, the provider separates thoughts itself. Every event that begins another block
/// settles a text that is held back, so that the order of blocks is the wire's. A thought without its end tag is
/// partial if the answer was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagFilter {
    spec: TagSpec,
    options: Options,
    /// The decoder's block numbers and ours.
    blocks: BTreeMap<usize, usize>,
    next: usize,
    text: Option<OpenText>,
    lanes: Lanes,
    /// A thought without an end; the next event shows whether it was cut.
    unclosed: Option<usize>,
    choices: Vec<TagFilter>,
}

/// The decoder's open block of text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenText {
    block: usize,
    scanner: TagScanner,
    /// The text came in deltas.
    is_fed: bool,
    /// All further text is plain.
    is_settled: bool,
}

/// Our open blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lanes {
    thought: Option<usize>,
    text: Option<usize>,
    /// Thoughts were in the current text.
    had_thoughts: bool,
}

impl TagFilter {
    /// A filter for one response.
    #[must_use]
    pub fn new(spec: &TagSpec, options: Options) -> Self {
        Self {
            spec: spec.clone(),
            options,
            blocks: BTreeMap::new(),
            next: 0,
            text: None,
            lanes: Lanes::default(),
            unclosed: None,
            choices: Vec::new(),
        }
    }

    /// Takes one event, and passes its translation on.
    pub fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) {
        match event {
            Event::TextStart { block } => self.begin_text(block, out),
            Event::TextDelta { block, delta } => self.text_delta(block, delta, out),
            Event::TextEnd { block, text, whole } => self.end_text(block, text, whole, out),
            Event::ThinkingStart { block, source_field } => {
                let block = self.begin(block, out);
                out.event(Event::ThinkingStart { block, source_field });
            }
            Event::ThinkingDelta { block, delta } => {
                out.event(Event::ThinkingDelta { block: self.number(block), delta });
            }
            Event::ThinkingEnd { block, thinking, thought } => {
                out.event(Event::ThinkingEnd { block: self.number(block), thinking, thought });
            }
            Event::ToolCallStart { block, call } => {
                let block = self.begin(block, out);
                out.event(Event::ToolCallStart { block, call });
            }
            Event::ToolCallDelta { block, delta } => {
                out.event(Event::ToolCallDelta { block: self.number(block), delta });
            }
            Event::ToolCallEnd { block, call } => {
                out.event(Event::ToolCallEnd { block: self.number(block), call });
            }
            Event::Whole { block, value } => {
                let block = self.begin(block, out);
                out.event(Event::Whole { block, value });
            }
            Event::Finish { finish_reason, .. } => {
                self.settle(out);
                self.close_thought(finish_reason.is_some_and(is_limit), out);
                out.event(event);
            }
            Event::Problem(problem) => {
                if is_cut(problem.code) {
                    self.settle(out);
                    self.close_thought(true, out);
                }
                out.event(event);
            }
            Event::Choice { index, event } => self.choice(index, event, out),
            Event::Usage(_) | Event::Fact(_) => out.event(event),
        }
    }

    /// Ends the answer after the decoder's last event.
    pub fn end(&mut self, out: &mut dyn Sink) {
        self.settle(out);
        self.close_thought(true, out);
        for (at, choice) in self.choices.iter_mut().enumerate() {
            choice.end(&mut |event: Event<'_>| {
                out.event(Event::Choice { index: at + 1, event: &event });
            });
        }
    }

    fn choice(&mut self, index: usize, event: &Event<'_>, out: &mut dyn Sink) {
        let Some(slot) = index.checked_sub(1) else { return self.event(*event, out) };
        let slot = slot.min(MAX_CHOICES - 1);
        while self.choices.len() <= slot {
            self.choices.push(Self::new(&self.spec, self.options));
        }
        if let Some(choice) = self.choices.get_mut(slot) {
            choice.event(*event, &mut |event: Event<'_>| {
                out.event(Event::Choice { index, event: &event });
            });
        }
    }

    /// Our number for a block that begins and is no text.
    fn begin(&mut self, block: usize, out: &mut dyn Sink) -> usize {
        self.settle(out);
        self.close_thought(false, out);
        self.number(block)
    }

    fn number(&mut self, block: usize) -> usize {
        let next = &mut self.next;
        *self.blocks.entry(block).or_insert_with(|| advance(next))
    }

    fn begin_text(&mut self, block: usize, out: &mut dyn Sink) {
        self.settle(out);
        self.close_thought(false, out);
        let mut options = self.options;
        if self.next > 0 {
            // Another block came first, so no later tag opens a thought.
            options.thinking_off |= options.start == Start::Leading;
            options.start = Start::Text;
        }
        let scanner = TagScanner::new(&self.spec, options);
        self.lanes = Lanes::default();
        self.text = Some(OpenText { block, scanner, is_fed: false, is_settled: false });
    }

    fn text_delta(&mut self, block: usize, delta: &str, out: &mut dyn Sink) {
        if self.text.as_ref().is_none_or(|text| text.block != block) {
            self.begin_text(block, out);
        }
        let Some(mut text) = self.text.take() else { return };
        text.is_fed |= !delta.is_empty();
        if text.is_settled {
            self.close_thought(false, out);
            self.piece(Piece::Text(delta), out);
        } else {
            text.scanner.push(delta, &mut |piece| self.piece(piece, out));
        }
        self.text = Some(text);
    }

    fn end_text(&mut self, block: usize, text: &Text, whole: Option<&str>, out: &mut dyn Sink) {
        if self.text.as_ref().is_none_or(|open| open.block != block) {
            self.begin_text(block, out);
        }
        let is_fed = self.text.as_ref().is_some_and(|open| open.is_fed);
        if let (Some(whole), false) = (whole, is_fed) {
            self.text_delta(block, whole, out);
        }
        self.settle(out);
        self.text = None;
        // The final text of the wire can replace a text only if no thought was taken out of it.
        let whole = whole.filter(|whole| is_fed && self.is_plain(whole));
        if self.lanes.text.is_none() && (text.signature.is_some() || !text.extra.is_empty()) {
            self.close_thought(false, out);
            self.say("", out);
        }
        if let Some(block) = self.lanes.text.take() {
            out.event(Event::TextEnd { block, text, whole });
        }
    }

    /// Whether a new scan finds only visible text.
    fn is_plain(&self, whole: &str) -> bool {
        let start = match self.options.start {
            Start::Leading => Start::Leading,
            Start::Family | Start::Text | Start::Thought => Start::Text,
        };
        let mut scanner = TagScanner::new(&self.spec, Options { start, ..self.options });
        let mut thoughts = false;
        let mut take = |piece: Piece<'_>| thoughts |= piece == Piece::ThinkingStart;
        scanner.push(whole, &mut take);
        scanner.end(End::Cut, &mut take);
        !thoughts && !self.lanes.had_thoughts
    }

    /// Hands out the held part of the open text.
    fn settle(&mut self, out: &mut dyn Sink) {
        let Some(mut text) = self.text.take() else { return };
        if !text.is_settled {
            text.is_settled = true;
            text.scanner.end(End::Cut, &mut |piece| self.piece(piece, out));
            self.unclosed = self.lanes.thought.take();
        }
        self.text = Some(text);
    }

    fn close_thought(&mut self, partial: bool, out: &mut dyn Sink) {
        if let Some(block) = self.unclosed.take() {
            let partial = partial && !self.spec.joined();
            let thinking = Thinking { partial, ..Thinking::new("", SOURCE_FIELD) };
            out.event(Event::ThinkingEnd { block, thinking: &thinking, thought: None });
        }
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut dyn Sink) {
        let joined = self.spec.joined();
        match piece {
            Piece::ThinkingStart if joined && self.lanes.thought.is_some() => {}
            Piece::ThinkingStart => {
                if !joined && let Some(block) = self.lanes.text.take() {
                    out.event(Event::TextEnd { block, text: &Text::default(), whole: None });
                }
                let block = advance(&mut self.next);
                self.lanes.thought = Some(block);
                self.lanes.had_thoughts = true;
                out.event(Event::ThinkingStart { block, source_field: SOURCE_FIELD });
            }
            Piece::Thinking(delta) => {
                if let Some(block) = self.lanes.thought {
                    out.event(Event::ThinkingDelta { block, delta });
                }
            }
            Piece::ThinkingEnd if joined => {}
            Piece::ThinkingEnd => {
                self.unclosed = self.lanes.thought.take();
                self.close_thought(false, out);
            }
            Piece::Text(delta) => self.say(delta, out),
        }
    }

    fn say(&mut self, delta: &str, out: &mut dyn Sink) {
        let block = match self.lanes.text {
            Some(block) => block,
            None => {
                let block = advance(&mut self.next);
                self.lanes.text = Some(block);
                out.event(Event::TextStart { block });
                block
            }
        };
        if !delta.is_empty() {
            out.event(Event::TextDelta { block, delta });
        }
    }
}

fn advance(next: &mut usize) -> usize {
    let block = *next;
    *next += 1;
    block
}

/// Whether the finding means that the answer is not whole.
fn is_cut(code: ProblemCode) -> bool {
    match code {
        ProblemCode::CapReached | ProblemCode::Truncated | ProblemCode::UpstreamError => true,
        ProblemCode::Fallback | ProblemCode::Malformed | ProblemCode::Unknown => false,
    }
}

/// Whether the word means that a length limit ended the answer.
fn is_limit(finish_reason: &str) -> bool {
    matches!(
        finish_reason,
        "length" | "max_tokens" | "MAX_TOKENS" | "max_output_tokens" | "incomplete"
    )
}
