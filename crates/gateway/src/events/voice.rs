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
use thinkthrough_core::mask::Masker;
use thinkthrough_core::plane::{Masked, MaskedText, Unheard};
use tokio::time::{Instant, Sleep};

/// How long the end of a text that may be the beginning of a secret is held back while nothing follows.
const PATIENCE: Duration = Duration::from_millis(100);

/// The ear of one answer: empty while nobody listens.
#[derive(Default)]
pub(crate) struct Hearing {
    /// Who listened when it was looked at last.
    generation: u64,
    voice: Option<Box<Voice>>,
    open: OpenBlock,
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
                let mut voice = Voice::new(&masker, about, channels);
                voice.join(&self.open);
                self.voice = Some(Box::new(voice));
            }
        }
    }

    /// Something of the answer came. Of several answers to one request the first is heard.
    pub(crate) fn event(&mut self, event: Event<'_>) {
        if let Some(voice) = &mut self.voice {
            voice.event(event);
        }
        self.open.event(event);
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

/// What came of the block that is being said, for whoever begins to listen in its middle. Nothing of it is masked
/// while nobody does.
#[derive(Default)]
struct OpenBlock {
    at: Option<(Part, usize)>,
    came: Unheard,
}

impl OpenBlock {
    fn event(&mut self, event: Event<'_>) {
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

struct Voice {
    masker: Masker,
    about: Arc<About>,
    channels: Vec<Arc<Channel>>,
    phase: &'static str,
    /// What of its block is not masked yet.
    streams: [MaskedText; 2],
    /// The block that is being said, where one is.
    open: Option<(Part, usize)>,
    /// It has been said that a thought begins.
    is_begun: bool,
    /// A word of the block has come.
    has_come: bool,
    /// What is masked and not said yet.
    ready: String,
}

impl Voice {
    fn new(masker: &Masker, about: Arc<About>, channels: Vec<Arc<Channel>>) -> Self {
        Voice {
            masker: masker.clone(),
            about,
            channels,
            phase: "waiting",
            streams: [MaskedText::new(masker), MaskedText::new(masker)],
            open: None,
            is_begun: false,
            has_come: false,
            ready: String::new(),
        }
    }

    /// Goes on in the middle of this block: nothing of what came of it is said.
    fn join(&mut self, open: &OpenBlock) {
        let Some((part, block)) = open.at.filter(|_| !open.came.is_empty()) else { return };
        self.open = Some((part, block));
        self.has_come = true;
        *self.stream(part) = open.came.listen(&self.masker);
    }

    fn stream(&mut self, part: Part) -> &mut MaskedText {
        let [thought, text] = &mut self.streams;
        if part == Part::Thought { thought } else { text }
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
        let said = self.stream(part).push(delta);
        self.ready.push_str(said.get());
    }

    /// A thought is complete. Where the wire's last word differs from what came, it is said.
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

    /// The block that is being said is over, or another one comes in between.
    fn close(&mut self) {
        self.rest();
        self.open = None;
    }

    /// Says what is left of the block.
    fn rest(&mut self) {
        let Some((part, _)) = self.open else { return };
        let said = self.stream(part).end();
        self.ready.push_str(said.get());
        self.say();
    }

    /// Says what is masked.
    fn say(&mut self) {
        let Some((part, block)) = self.open else { return };
        let delta = std::mem::take(&mut self.ready);
        if delta.is_empty() {
            return;
        }
        if part == Part::Thought && !self.is_begun {
            // A word that was open when somebody began to listen.
            self.begin_thought(block, None);
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
        let said = self.stream(part).flush();
        self.ready.push_str(said.get());
        self.say();
    }

    fn end(&mut self) {
        let open = self.open;
        self.close();
        if let Some((_, block)) = open.filter(|_| self.is_begun) {
            self.thought_ends(block, 0, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::announced::Whose;
    use super::super::{Scope, Wish};
    use super::*;
    use thinkthrough_core::mask::Tiers;
    use thinkthrough_core::plane::Tenant;

    /// What a listener hears that comes after so many letters.
    async fn heard_from(masker: &Masker, text: &str, cut: usize) -> String {
        let masker = masker.clone();
        let events = Events::masked_by(Arc::new(move || masker.clone()));
        let (tenant, mut hearing) = (Tenant::local(), Hearing::default());
        hearing.event(Event::ThinkingStart { block: 0, source_field: "thinking" });
        let say = |hearing: &mut Hearing, text: &str| {
            for letter in text.chars().map(String::from) {
                let delta = letter.as_str();
                hearing.event(Event::ThinkingDelta { block: 0, delta });
                hearing.pause();
            }
        };
        let (before, from) = text.split_at(cut);
        say(&mut hearing, before);
        let scope = Scope::Tenants(vec![tenant.clone()]);
        let mut listener = events.listen(scope, Wish::default()).unwrap();
        let whose = Whose { tenant, session: None, run: None };
        hearing.tune(events.generation(), Some((&events, &whose, &Story::new(0, "chat"))));
        say(&mut hearing, from);
        let thinking = Thinking::new(text, "thinking");
        hearing.event(Event::ThinkingEnd { block: 0, thinking: &thinking, thought: None });
        hearing.end();
        let mut told = String::new();
        while !told.contains("thinking_end") {
            listener.next().await.iter().for_each(|event| told.push_str(&event.json));
        }
        told
    }

    #[tokio::test]
    async fn a_listener_that_comes_inside_of_a_secret_or_a_span_hears_nothing_of_it() {
        let key = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
        let span = "<REDACTED>PIIalpha77 PIIbeta88</REDACTED>";
        let text = format!("it is {key}, and {span} here");
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        for cut in 0..text.len() {
            let told = heard_from(&masker, &text, cut).await;
            for secret in [key.as_str(), "PIIalpha77", "PIIbeta88"] {
                // Letters are told one by one, so that those of a secret would stand apart.
                let said: String = told
                    .split("\"delta\":\"")
                    .skip(1)
                    .filter_map(|rest| rest.split('"').next())
                    .collect();
                let parts = secret.as_bytes().windows(5);
                let part = parts.filter_map(|part| std::str::from_utf8(part).ok());
                assert_eq!(part.filter(|part| said.contains(part)).count(), 0, "{cut}: {said}");
            }
            assert!(told.contains("thinking_start") && told.contains("thinking_end"), "{told}");
        }
    }
}
