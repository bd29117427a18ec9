//! What a model thinks and says, for those who listen now: masked once, as it comes.

use super::channel::Channel;
use super::event::{About, Happening, Stream};
use super::tell;
use super::{Events, Whose};
use crate::story::Story;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;
use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::event::Event;
use thinkthrough_core::json::Writer;
use thinkthrough_core::mask::{MaskStream, Masker};
use tokio::time::{Instant, Sleep};

/// How long the end of a text that may be the beginning of a secret is held back while nothing follows.
const PATIENCE: Duration = Duration::from_millis(100);

/// The ear of one answer: empty while nobody listens.
#[derive(Default)]
pub(crate) struct Hearing {
    /// Who listened when it was looked at last.
    generation: u64,
    voice: Option<Box<Voice>>,
    /// When what is held back is let go.
    until: Option<Instant>,
    quiet: Option<Pin<Box<Sleep>>>,
}

impl Hearing {
    /// Whether the same listen as when it was looked at last.
    pub(crate) fn is_of(&self, generation: u64) -> bool {
        self.generation == generation
    }

    /// Whoever listens hears it from here on: of this request, if of any.
    pub(crate) fn tune(&mut self, generation: u64, to: Option<(&Events, &Whose, &Story)>) {
        self.generation = generation;
        let channels = to.map(|(events, whose, _)| events.hearing(&whose.tenant));
        let (Some((events, whose, story)), Some(channels)) = (to, channels) else {
            self.voice = None;
            return;
        };
        match &mut self.voice {
            _ if channels.is_empty() => self.voice = None,
            Some(voice) => voice.channels = channels,
            None => {
                let masker = events.masker();
                let about = whose.about(story, &masker);
                self.voice = Some(Box::new(Voice::new(&masker, about, channels)));
            }
        }
    }

    /// Something of the answer came. Of several answers to one request the first is heard.
    pub(crate) fn event(&mut self, event: Event<'_>) {
        if let Some(voice) = &mut self.voice {
            voice.event(event);
        }
    }

    /// All that came together was heard.
    pub(crate) fn pause(&mut self) {
        let Some(voice) = &mut self.voice else { return };
        voice.say();
        self.until = voice.holds_back().then(|| Instant::now() + PATIENCE);
    }

    /// Nothing more came for a while.
    pub(crate) fn poll_quiet(&mut self, cx: &mut Context<'_>) {
        let (Some(until), Some(voice)) = (self.until, &mut self.voice) else { return };
        let quiet = self.quiet.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if quiet.deadline() != until {
            quiet.as_mut().reset(until);
        }
        if quiet.as_mut().poll(cx).is_ready() {
            self.until = None;
            voice.flush();
        }
    }

    /// Nothing more will come.
    pub(crate) fn end(&mut self) {
        self.until = None;
        if let Some(mut voice) = self.voice.take() {
            voice.end();
        }
    }
}

/// The two texts of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Thought,
    Text,
}

struct Voice {
    masker: Masker,
    about: Arc<About>,
    channels: Vec<Arc<Channel>>,
    phase: &'static str,
    /// What of its block is not masked yet.
    streams: [MaskStream; 2],
    /// The block that is being said, where one is.
    open: Option<(Part, usize)>,
    /// It has been said that a thought begins.
    is_begun: bool,
    /// A word of the block has come.
    has_come: bool,
    /// What is masked and not said yet.
    ready: Vec<u8>,
}

impl Voice {
    fn new(masker: &Masker, about: Arc<About>, channels: Vec<Arc<Channel>>) -> Self {
        Voice {
            masker: masker.clone(),
            about,
            channels,
            phase: "waiting",
            streams: [masker.stream(), masker.stream()],
            open: None,
            is_begun: false,
            has_come: false,
            ready: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
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

    /// Words of this block follow; what is left of another one is said before.
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
            // Who listens from here on is told what it listens to.
            self.begin_thought(block, None);
        }
        self.has_come |= !delta.is_empty();
        let [thought, text] = &mut self.streams;
        let stream = if part == Part::Thought { thought } else { text };
        stream.push(delta.as_bytes(), &mut self.ready);
    }

    /// A thought is complete. Where the wire's last word differs from what came, it is said.
    fn end_thought(&mut self, block: usize, thinking: &Thinking, whole: Option<&str>) {
        self.begin(Part::Thought, block);
        let whole = match whole {
            Some(whole) if !self.has_come => {
                self.push(Part::Thought, block, whole);
                None
            }
            whole => whole.map(|whole| self.masker.mask_text(whole)),
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

    /// The block that is being said is over, or another one comes in between.
    fn close(&mut self) {
        self.rest();
        self.open = None;
    }

    /// Says what is left of the block.
    fn rest(&mut self) {
        let Some((part, _)) = self.open else { return };
        let [thought, text] = &mut self.streams;
        let stream = if part == Part::Thought { thought } else { text };
        stream.end(&mut self.ready);
        self.say();
    }

    /// Says what is masked, up to its last whole letter.
    fn say(&mut self) {
        let Some((part, block)) = self.open else { return };
        let whole = match std::str::from_utf8(&self.ready) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let left = self.ready.split_off(whole);
        let said = std::mem::replace(&mut self.ready, left);
        let delta = String::from_utf8(said).unwrap_or_default();
        if delta.is_empty() {
            return;
        }
        let kind = if part == Part::Thought { "thinking_delta" } else { "text_delta" };
        self.tell(Stream::Thinking, kind, &|w| {
            w.field_u64("block", block as u64);
            w.field_str("delta", &delta);
        });
    }

    fn holds_back(&self) -> bool {
        self.streams.iter().any(|stream| stream.held() > 0)
    }

    fn flush(&mut self) {
        let Some((part, _)) = self.open else { return };
        let [thought, text] = &mut self.streams;
        let stream = if part == Part::Thought { thought } else { text };
        stream.flush(&mut self.ready);
        self.say();
    }

    fn end(&mut self) {
        let open = self.open.filter(|_| self.is_begun);
        self.close();
        if let Some((_, block)) = open {
            self.thought_ends(block, 0, None);
        }
    }
}
