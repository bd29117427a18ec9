//! Announces thoughts and text of a running answer to listeners, masked once as they come.

use super::channel::Channel;
use super::event::{About, Happening, Stream};
use super::tell;
use std::sync::Arc;
use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::event::Event;
use thinkthrough_core::plane::{Masked, MaskedText, Unheard};
use thinkthrough_json::Writer;
use thinkthrough_mask::Masker;

/// The most bytes of text in one event, and in one masking step.
pub(super) const PIECE: usize = 64 * 1024;

/// Splits a long text into pieces that end with whole characters.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let most = PIECE.min(rest.len());
        let end = (0..=most).rev().find(|at| rest.is_char_boundary(*at)).filter(|at| *at > 0)?;
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        Some(piece)
    })
}

/// The two texts of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Thought,
    Text,
}

/// The received part of the current block, for listeners that join in its middle. It is not masked before one joins.
#[derive(Clone, Default)]
pub(super) struct OpenBlock {
    at: Option<(Part, usize)>,
    came: Unheard,
}

impl OpenBlock {
    pub(super) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::ThinkingStart { block, .. } => self.begin(Part::Thought, block),
            Event::ThinkingDelta { block, delta } => self.push(Part::Thought, block, delta),
            Event::TextStart { block } => self.begin(Part::Text, block),
            Event::TextDelta { block, delta } => self.push(Part::Text, block, delta),
            Event::ThinkingEnd { .. }
            | Event::TextEnd { .. }
            | Event::ToolCallStart { .. }
            | Event::Whole { .. } => *self = OpenBlock::default(),
            _ => {}
        }
    }

    /// Whether the current block has text.
    pub(super) fn is_open(&self) -> bool {
        self.at.is_some() && !self.came.is_empty()
    }

    fn begin(&mut self, part: Part, block: usize) {
        if self.at != Some((part, block)) {
            *self = OpenBlock { at: Some((part, block)), came: Unheard::default() };
        }
    }

    fn push(&mut self, part: Part, block: usize, delta: &str) {
        self.begin(part, block);
        self.came.push(delta);
    }
}

pub(super) struct Announcer {
    masker: Masker,
    about: Arc<About>,
    channels: Vec<Arc<Channel>>,
    phase: &'static str,
    /// The text of each part that is not masked yet.
    streams: [MaskedText; 2],
    /// The current block, if any.
    open: Option<(Part, usize)>,
    /// The start of the thought was announced.
    is_begun: bool,
    /// The block has some text.
    has_come: bool,
    /// Masked text that was not announced yet.
    ready: String,
    /// A part of the text was not masked, so that no later text may be announced.
    is_lost: bool,
}

impl Announcer {
    pub(super) fn new(masker: &Masker, about: Arc<About>, channels: Vec<Arc<Channel>>) -> Self {
        Announcer {
            masker: masker.clone(),
            about,
            channels,
            phase: "waiting",
            streams: [MaskedText::new(masker), MaskedText::new(masker)],
            open: None,
            is_begun: false,
            has_come: false,
            ready: String::new(),
            is_lost: false,
        }
    }

    /// Joins in the middle of this block, without the text that came before.
    pub(super) fn join(&mut self, open: &OpenBlock) {
        let Some((part, block)) = open.at.filter(|_| !open.came.is_empty()) else { return };
        self.open = Some((part, block));
        self.has_come = true;
        *self.stream(part) = open.came.listen(&self.masker);
    }

    fn stream(&mut self, part: Part) -> &mut MaskedText {
        let [thought, text] = &mut self.streams;
        if part == Part::Thought { thought } else { text }
    }

    pub(super) fn event(&mut self, event: Event<'_>) {
        if self.is_lost {
            return;
        }
        match event {
            Event::ThinkingStart { block, source_field } => {
                self.begin(Part::Thought, block);
                self.begin_thought(block, Some(source_field));
            }
            Event::ThinkingDelta { block, delta } => self.push(Part::Thought, block, delta),
            Event::ThinkingEnd { block, thinking, thought } => {
                self.end_thought(block, thinking, thought);
            }
            Event::TextStart { block } => self.begin(Part::Text, block),
            Event::TextDelta { block, delta } => self.push(Part::Text, block, delta),
            Event::TextEnd { block, whole, .. } => {
                if let Some(whole) = whole.filter(|_| !self.has_come) {
                    self.push(Part::Text, block, whole);
                }
                self.close();
            }
            Event::Whole { block, value: Block::Thinking(thinking) } => {
                self.begin(Part::Thought, block);
                self.begin_thought(block, Some(&thinking.source_field));
                self.push(Part::Thought, block, &thinking.thought);
                self.end_thought(block, thinking, None);
            }
            Event::Whole { block, value: Block::Text(text) } => {
                self.push(Part::Text, block, &text.text);
                self.close();
            }
            Event::ToolCallStart { .. } | Event::Whole { value: Block::ToolCall(_), .. } => {
                self.close();
                self.phase("tools");
            }
            _ => {}
        }
    }

    fn tell(&self, stream: Stream, kind: &'static str, data: &dyn Fn(&mut Writer)) {
        tell(&self.channels, &self.about, Happening { stream, kind, data });
    }

    fn phase(&mut self, phase: &'static str) {
        if self.phase != phase {
            self.phase = phase;
            self.tell(Stream::Lifecycle, "phase", &|w| w.field_str("phase", phase));
        }
    }

    /// Makes this block the current one. First announces the rest of another open block.
    fn begin(&mut self, part: Part, block: usize) {
        if self.open != Some((part, block)) {
            self.close();
            self.open = Some((part, block));
            self.has_come = false;
        }
        self.phase(match part {
            Part::Thought => "thinking",
            Part::Text => "answering",
        });
    }

    fn begin_thought(&mut self, block: usize, field: Option<&str>) {
        self.is_begun = true;
        self.tell(Stream::Thinking, "thinking_start", &|w| {
            w.field_u64("block", block as u64);
            w.str_or_null("source_field", field);
        });
    }

    fn push(&mut self, part: Part, block: usize, delta: &str) {
        self.begin(part, block);
        if part == Part::Thought && !self.is_begun {
            // A listener that joins here learns the kind of the text.
            self.begin_thought(block, None);
        }
        self.has_come |= !delta.is_empty();
        for piece in pieces(delta) {
            let said = self.stream(part).push(piece);
            self.ready.push_str(said.get());
            // A listener's ring has no room for one event of a megabyte.
            if self.ready.len() >= PIECE {
                self.say();
            }
        }
    }

    /// Ends a thought. Announces the wire's final text if it differs from the received one.
    fn end_thought(&mut self, block: usize, thinking: &Thinking, whole: Option<&str>) {
        self.begin(Part::Thought, block);
        let whole = match whole {
            Some(whole) if !self.has_come => {
                self.push(Part::Thought, block, whole);
                None
            }
            whole => whole.map(|whole| Masked::by(&self.masker, &whole.to_owned()).into_inner()),
        };
        if !self.is_begun {
            self.begin_thought(block, None);
        }
        let is_empty = !self.has_come;
        self.rest();
        let signature = thinking.signature.as_ref().filter(|_| is_empty);
        let sealed =
            [signature, thinking.redacted_data.as_ref(), thinking.encrypted_content.as_ref()];
        let sealed: usize = sealed.into_iter().flatten().map(String::len).sum();
        self.thought_ends(block, sealed, whole.as_deref());
    }

    fn thought_ends(&mut self, block: usize, sealed: usize, whole: Option<&str>) {
        (self.open, self.is_begun) = (None, false);
        self.tell(Stream::Thinking, "thinking_end", &|w| {
            w.field_u64("block", block as u64);
            w.field_u64("sealed_bytes", sealed as u64);
            w.opt_str("text", whole);
        });
    }

    /// Ends the current block, or interrupts it for another one.
    fn close(&mut self) {
        self.rest();
        self.open = None;
    }

    /// Announces the rest of the block.
    fn rest(&mut self) {
        let Some((part, _)) = self.open else { return };
        let said = self.stream(part).end();
        self.ready.push_str(said.get());
        self.say();
    }

    /// Announces the masked text.
    pub(super) fn say(&mut self) {
        let Some((part, block)) = self.open else { return };
        let delta = std::mem::take(&mut self.ready);
        if delta.is_empty() {
            return;
        }
        if part == Part::Thought && !self.is_begun {
            // The listener joined in the middle of a word.
            self.begin_thought(block, None);
        }
        let kind = if part == Part::Thought { "thinking_delta" } else { "text_delta" };
        self.tell(Stream::Thinking, kind, &|w| {
            w.field_u64("block", block as u64);
            w.field_str("delta", &delta);
        });
    }

    /// Sends all later events to these channels.
    pub(super) fn tune(&mut self, channels: Vec<Arc<Channel>>) {
        if !self.is_lost {
            self.channels = channels;
        }
    }

    /// Stops announcing the answer, because it could not be masked in time.
    pub(super) fn lose(&mut self) {
        self.tell(Stream::Lifecycle, "events_lost", &|w| w.u64_or_null("count", None));
        self.channels.clear();
        self.is_lost = true;
    }

    pub(super) fn holds_back(&self) -> bool {
        self.streams.iter().any(|stream| stream.held() > 0)
    }

    pub(super) fn flush(&mut self) {
        let Some((part, _)) = self.open else { return };
        let said = self.stream(part).flush();
        self.ready.push_str(said.get());
        self.say();
    }

    pub(super) fn end(&mut self) {
        let open = self.open;
        self.close();
        if let Some((_, block)) = open.filter(|_| self.is_begun) {
            self.thought_ends(block, 0, None);
        }
    }
}
