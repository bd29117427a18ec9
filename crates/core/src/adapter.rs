//! Reasoning and answer of one streamed message, kept apart, for callers that want texts instead of events.
//!
//! A [`ReasoningStreamAdapter`] is a decoder and a dialect: it is resolved once for a message, by provider and model,
//! and stays. [`ReasoningAccumulator`] takes its events and keeps the two texts, their new parts, and the token
//! counts.

use crate::content::push_thought;
use crate::event::{Event, Sink};
use crate::pipeline::Pipeline;
use crate::provider::{self, Target};
use crate::read::{Form, Reader};
use crate::tags::{Options, TagSpec};
use crate::tokens::{TokenCount, estimate_thought};
use crate::usage::Usage;
use crate::wire;
use std::fmt;

/// A piece of reasoning, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasoningChunk<'a> {
    /// The index of the thought that it belongs to.
    pub block: usize,
    /// The new text.
    pub text: &'a str,
}

impl<'a> ReasoningChunk<'a> {
    /// The piece of reasoning that an event is, if it is one.
    #[must_use]
    pub fn of(event: &Event<'a>) -> Option<Self> {
        match *event {
            Event::ThinkingDelta { block, delta } => Some(ReasoningChunk { block, text: delta }),
            _ => None,
        }
    }
}

/// Reads one streamed message. The reader is fixed when it is made, so no byte is read twice.
#[derive(Clone, Debug)]
pub struct ReasoningStreamAdapter {
    id: String,
    pipeline: Pipeline,
}

impl ReasoningStreamAdapter {
    /// The adapter for a message: the provider's own reading if the provider is known, else the reading of chat
    /// completions with thoughts between `<think>` tags, the usual form of unknown servers.
    #[must_use]
    pub fn resolve(model: &str, provider: &str) -> Self {
        let endpoint = provider::find(provider).and_then(|it| Some((it, it.endpoint(None)?)));
        let Some((provider, endpoint)) = endpoint else { return Self::tag_fallback() };
        let target = Target::of(provider, endpoint, model);
        Self::reading(provider.id, target.reader(true))
    }

    fn tag_fallback() -> Self {
        let reader = Reader::new(wire::WireId::FIRST.wire(), &wire::Dialect::PLAIN, Form::Stream);
        let reader = match TagSpec::named("think") {
            Some(spec) => reader.with_tags(&spec, Options::default()),
            None => reader,
        };
        Self::reading("tags", reader)
    }

    fn reading(id: &str, reader: Reader) -> Self {
        ReasoningStreamAdapter { id: id.to_owned(), pipeline: Pipeline::new(reader) }
    }

    /// The provider that it reads for, or `tags`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        self.pipeline.push(bytes, &mut Vec::new(), sink);
    }

    /// The stream is over.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        self.pipeline.end(None, &mut Vec::new(), sink);
    }
}

/// The two texts of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReasoningAccumulator {
    reasoning: String,
    response: String,
    reasoning_seen: usize,
    response_seen: usize,
    /// The thought that the last text belongs to.
    block: Option<usize>,
    usage: Option<Usage>,
    is_final: bool,
    /// Events came after the end.
    is_used_after: bool,
}

/// The error for an event after the end of an accumulator's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finalized;

impl fmt::Display for Finalized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message is over; make a new accumulator for the next one")
    }
}

impl std::error::Error for Finalized {}

impl ReasoningAccumulator {
    /// An empty one, made when the message starts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All reasoning so far. A line feed separates two thoughts.
    #[must_use]
    pub fn reasoning_text(&self) -> &str {
        &self.reasoning
    }

    /// All of the answer so far.
    #[must_use]
    pub fn response_text(&self) -> &str {
        &self.response
    }

    /// The reasoning that came since the last call.
    pub fn reasoning_delta(&mut self) -> &str {
        let from = std::mem::replace(&mut self.reasoning_seen, self.reasoning.len());
        self.reasoning.get(from..).unwrap_or_default()
    }

    /// The part of the answer that came since the last call.
    pub fn response_delta(&mut self) -> &str {
        let from = std::mem::replace(&mut self.response_seen, self.response.len());
        self.response.get(from..).unwrap_or_default()
    }

    /// Adds an event; an event without text or counts is ignored.
    ///
    /// # Errors
    /// When the message is over.
    pub fn add(&mut self, event: &Event<'_>) -> Result<(), Finalized> {
        self.while_open()?;
        match event {
            Event::TextDelta { delta, .. } => self.response.push_str(delta),
            Event::Usage(usage) => self.usage = Some((*usage).clone()),
            other => {
                if let Some(chunk) = ReasoningChunk::of(other) {
                    self.think(chunk);
                }
            }
        }
        Ok(())
    }

    /// Records the provider's counts; the last ones count.
    ///
    /// # Errors
    /// When the message is over.
    pub fn record_usage(&mut self, usage: &Usage) -> Result<(), Finalized> {
        self.add(&Event::Usage(usage))
    }

    /// The reasoning tokens: as reported, else a quarter of the text's UTF-16 length, marked as an estimate.
    /// Cache counts are never taken for them.
    #[must_use]
    pub fn reasoning_tokens(&self) -> TokenCount {
        match self.usage.as_ref().and_then(|usage| usage.reasoning_tokens) {
            Some(tokens) => TokenCount::reported(tokens),
            None => TokenCount::estimated(estimate_thought(&self.reasoning)),
        }
    }

    /// Ends the message; later events are refused. Calling it again changes nothing.
    ///
    /// # Errors
    /// When an event came after the first call. A [`Sink`] cannot refuse the event itself, so the error is returned
    /// here.
    pub fn finalize(&mut self) -> Result<(), Finalized> {
        self.is_final = true;
        if self.is_used_after { Err(Finalized) } else { Ok(()) }
    }

    fn while_open(&self) -> Result<(), Finalized> {
        if self.is_final { Err(Finalized) } else { Ok(()) }
    }

    fn think(&mut self, chunk: ReasoningChunk<'_>) {
        if chunk.text.is_empty() {
            return;
        }
        if self.block.replace(chunk.block).is_some_and(|before| before != chunk.block) {
            push_thought(&mut self.reasoning, chunk.text);
        } else {
            self.reasoning.push_str(chunk.text);
        }
    }
}

impl Sink for ReasoningAccumulator {
    fn event(&mut self, event: Event<'_>) {
        self.is_used_after |= self.add(&event).is_err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NATIVE: &str = concat!(
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm, \"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"yes.\",\"content\":\"<think>4\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,",
        "\"completion_tokens\":9,\"completion_tokens_details\":{\"reasoning_tokens\":7}}}\n\n",
        "data: [DONE]\n\n",
    );

    fn read(adapter: &mut ReasoningStreamAdapter, body: &str) -> ReasoningAccumulator {
        let mut accumulator = ReasoningAccumulator::new();
        adapter.push(body.as_bytes(), &mut accumulator);
        adapter.end(&mut accumulator);
        accumulator
    }

    #[test]
    fn adr_adapter_resolution_takes_the_provider_first_and_tags_last() {
        for listed in provider::ALL {
            assert_eq!(ReasoningStreamAdapter::resolve("any", listed.id).id(), listed.id);
        }
        assert_eq!(ReasoningStreamAdapter::resolve("any", "nobody").id(), "tags");
    }

    #[test]
    fn adr_adapter_a_native_stream_keeps_tags_in_its_answer() {
        let mut adapter = ReasoningStreamAdapter::resolve("any", "openai-compatible");
        let accumulator = read(&mut adapter, NATIVE);
        assert_eq!(accumulator.reasoning_text(), "Hm, yes.");
        assert_eq!(accumulator.response_text(), "<think>4");
    }

    #[test]
    fn adr_adapter_the_tag_fallback_crosses_chunk_boundaries() {
        let body = "data: {\"choices\":[{\"delta\":{\"content\":\"<thi\"}}]}\n\n\
                    data: {\"choices\":[{\"delta\":{\"content\":\"nk>Hm.</think>\\n\\n4\"}}]}\n\n\
                    data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        let mut adapter = ReasoningStreamAdapter::resolve("any", "nobody");
        let accumulator = read(&mut adapter, body);
        assert_eq!(accumulator.reasoning_text(), "Hm.");
        assert_eq!(accumulator.response_text().trim(), "4");
    }

    /// Another stream of the same provider, with no text in common with the first one.
    const OTHER: &str = concat!(
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Who \"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"asks?\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"Nobody\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,",
        "\"completion_tokens\":5,\"completion_tokens_details\":{\"reasoning_tokens\":2}}}\n\n",
        "data: [DONE]\n\n",
    );

    /// Two thoughts with an answer between them.
    const TWO_THOUGHTS: &str = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"m\",\"content\":[]}}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm, \"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"é\"}}\n\n",
        "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Wait.\"}}\n\n",
        "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
        "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"yes.\"}}\n\n",
        "data: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );

    #[test]
    fn adr_adapter_interleaved_streams_do_not_mix() {
        let mut one = ReasoningStreamAdapter::resolve("any", "openai-compatible");
        let mut two = one.clone();
        let (mut first, mut second) = (ReasoningAccumulator::new(), ReasoningAccumulator::new());
        let (mut ours, mut theirs) = (NATIVE.as_bytes().chunks(1), OTHER.as_bytes().chunks(3));
        loop {
            let (our, their) = (ours.next(), theirs.next());
            if our.is_none() && their.is_none() {
                break;
            }
            one.push(our.unwrap_or_default(), &mut first);
            two.push(their.unwrap_or_default(), &mut second);
        }
        one.end(&mut first);
        two.end(&mut second);
        let of = |it: &ReasoningAccumulator| {
            (it.reasoning_text().to_owned(), it.response_text().to_owned(), it.reasoning_tokens())
        };
        let expected = |thought: &str, text: &str, tokens| {
            (thought.to_owned(), text.to_owned(), TokenCount::reported(tokens))
        };
        assert_eq!(of(&first), expected("Hm, yes.", "<think>4", 7));
        assert_eq!(of(&second), expected("Who asks?", "Nobody", 2));
    }

    #[test]
    fn adr_accumulator_deltas_concatenate_to_the_whole_however_the_stream_is_cut() {
        // Any number that is not 0 begins the sequence; it is the same in every run.
        let mut seed = 0x9e37_79b9_u32;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            seed
        };
        for (provider, body, thought, text) in [
            ("openai-compatible", NATIVE, "Hm, yes.", "<think>4"),
            ("openai-compatible", OTHER, "Who asks?", "Nobody"),
            ("anthropic", TWO_THOUGHTS, "Hm, é\nyes.", "Wait."),
        ] {
            for _ in 0..200 {
                let mut adapter = ReasoningStreamAdapter::resolve("any", provider);
                let mut accumulator = ReasoningAccumulator::new();
                let (mut reasoning, mut response) = (String::new(), String::new());
                let mut rest = body.as_bytes();
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at((1 + next() as usize % 40).min(rest.len()));
                    rest = after;
                    adapter.push(piece, &mut accumulator);
                    if next() % 2 == 0 {
                        reasoning.push_str(accumulator.reasoning_delta());
                        response.push_str(accumulator.response_delta());
                    }
                }
                adapter.end(&mut accumulator);
                reasoning.push_str(accumulator.reasoning_delta());
                response.push_str(accumulator.response_delta());
                let whole = (accumulator.reasoning_text(), accumulator.response_text());
                assert_eq!(whole, (thought, text));
                assert_eq!((reasoning.as_str(), response.as_str()), (thought, text));
            }
        }
    }

    #[test]
    fn adr_accumulator_a_line_feed_stands_between_two_thoughts() {
        let mut accumulator = ReasoningAccumulator::new();
        for (block, delta) in [(0, ""), (0, "a"), (1, ""), (0, "b"), (2, "c"), (2, "d"), (3, "e")] {
            accumulator.event(Event::ThinkingDelta { block, delta });
            accumulator.event(Event::TextDelta { block: block + 9, delta });
        }
        assert_eq!(accumulator.reasoning_text(), "ab\ncd\ne");
        assert_eq!(accumulator.response_text(), "abcde");
    }

    #[test]
    fn adr_usage_is_reported_or_estimated() {
        let mut adapter = ReasoningStreamAdapter::resolve("any", "openai-compatible");
        let accumulator = read(&mut adapter, NATIVE);
        assert_eq!(accumulator.reasoning_tokens(), TokenCount::reported(7));
        let mut silent = ReasoningAccumulator::new();
        silent.event(Event::ThinkingDelta { block: 0, delta: "12345" });
        let cached = Usage { cache_write_tokens: Some(500), ..Usage::default() };
        assert_eq!(silent.record_usage(&cached), Ok(()));
        assert_eq!(silent.reasoning_tokens(), TokenCount::estimated(2));
    }

    #[test]
    fn adr_accumulator_finalizing_twice_changes_nothing_and_use_after_it_is_an_error() {
        let mut adapter = ReasoningStreamAdapter::resolve("any", "openai-compatible");
        let mut accumulator = read(&mut adapter, NATIVE);
        assert_eq!(accumulator.finalize(), Ok(()));
        let before = accumulator.clone();
        assert_eq!(accumulator.finalize(), Ok(()));
        for late in [Event::TextDelta { block: 0, delta: "late" }, Event::TextStart { block: 7 }] {
            assert_eq!(accumulator.add(&late), Err(Finalized));
        }
        assert_eq!(accumulator.record_usage(&Usage::default()), Err(Finalized));
        assert_eq!(accumulator, before, "what was refused left no trace");
        accumulator.event(Event::ThinkingDelta { block: 0, delta: "late" });
        assert_eq!(accumulator.finalize(), Err(Finalized));
        assert_eq!(accumulator.reasoning_text(), "Hm, yes.");
        assert_eq!(accumulator.response_text(), "<think>4");
        assert_eq!(accumulator.reasoning_tokens(), TokenCount::reported(7));
    }
}
