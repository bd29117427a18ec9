//! Reasoning and answer of one streamed message, kept apart, for callers that want texts instead of events.
//!
//! A [`ReasoningStreamAdapter`] is a decoder and a dialect: it is resolved once for a message, by provider and model, and
//! stays. [`ReasoningAccumulator`] takes its events and keeps the two texts, what is new in them, and the token counts.

use crate::event::{Event, Sink};
use crate::provider::{self, Target};
use crate::read::{Form, Reader};
use crate::tags::{Options, TagSpec};
use crate::tokens::{TokenCount, estimate_utf16_quarter};
use crate::usage::Usage;
use crate::wire;

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

/// Reads one streamed message. What it reads by is fixed when it is made, so nothing is ever read twice.
#[derive(Clone, Debug)]
pub struct ReasoningStreamAdapter {
    id: String,
    reader: Reader,
}

impl ReasoningStreamAdapter {
    /// The adapter for a message: the provider's own reading where the provider is known, else the reading of
    /// chat completions with thoughts between `<think>` tags, which is what unknown servers send.
    #[must_use]
    pub fn resolve(model: &str, provider: &str) -> Self {
        let endpoint = provider::find(provider).and_then(|it| Some((it, it.endpoint(None)?)));
        let Some((provider, endpoint)) = endpoint else { return Self::tag_fallback() };
        let target = Target::of(provider, endpoint, model);
        let mut reader = Reader::new(target.wire, &target.dialect, Form::Auto);
        if let Some(spec) = target.rule.tags.and_then(TagSpec::named) {
            reader = reader.with_tags(&spec, Options::default());
        }
        ReasoningStreamAdapter { id: provider.id.to_owned(), reader }
    }

    fn tag_fallback() -> Self {
        let reader = Reader::new(wire::first(), &wire::Dialect::PLAIN, Form::Auto);
        let reader = match TagSpec::named("think") {
            Some(spec) => reader.with_tags(&spec, Options::default()),
            None => reader,
        };
        ReasoningStreamAdapter { id: "tags".to_owned(), reader }
    }

    /// The provider that it reads for, or `tags`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        self.reader.push(bytes, sink);
    }

    /// The stream is over.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        self.reader.end(sink);
    }
}

/// The two texts of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReasoningAccumulator {
    reasoning: String,
    response: String,
    reasoning_seen: usize,
    response_seen: usize,
    usage: Option<Usage>,
    is_final: bool,
}

impl ReasoningAccumulator {
    /// An empty one, made when the message starts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All reasoning so far.
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

    /// Records the provider's counts; the last ones count.
    pub fn record_usage(&mut self, usage: &Usage) {
        if !self.is_final {
            self.usage = Some(usage.clone());
        }
    }

    /// The reasoning tokens: as reported, else a quarter of the text's UTF-16 length, marked as an estimate.
    /// Cache counts are never taken for them.
    #[must_use]
    pub fn reasoning_tokens(&self) -> TokenCount {
        match self.usage.as_ref().and_then(|usage| usage.reasoning_tokens) {
            Some(tokens) => TokenCount::reported(tokens),
            None => TokenCount::estimated(estimate_utf16_quarter(&self.reasoning)),
        }
    }

    /// The message is over; what comes later is not taken. Calling it again changes nothing.
    pub fn finalize(&mut self) {
        self.is_final = true;
    }
}

impl Sink for ReasoningAccumulator {
    fn event(&mut self, event: Event<'_>) {
        if self.is_final {
            return;
        }
        match event {
            Event::TextDelta { delta, .. } => self.response.push_str(delta),
            Event::Usage(usage) => self.record_usage(usage),
            other => {
                if let Some(chunk) = ReasoningChunk::of(&other) {
                    self.reasoning.push_str(chunk.text);
                }
            }
        }
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

    #[test]
    fn adr_adapter_interleaved_streams_do_not_mix() {
        let mut one = ReasoningStreamAdapter::resolve("any", "openai-compatible");
        let mut two = one.clone();
        let (mut first, mut second) = (ReasoningAccumulator::new(), ReasoningAccumulator::new());
        for byte in NATIVE.as_bytes().chunks(1) {
            one.push(byte, &mut first);
            two.push(byte, &mut second);
        }
        one.end(&mut first);
        two.end(&mut second);
        assert_eq!(first, second);
        assert_eq!(first.reasoning_text(), "Hm, yes.");
    }

    #[test]
    fn adr_accumulator_deltas_concatenate_to_the_whole() {
        let mut adapter = ReasoningStreamAdapter::resolve("any", "openai-compatible");
        let mut accumulator = ReasoningAccumulator::new();
        let (mut reasoning, mut response) = (String::new(), String::new());
        for piece in NATIVE.as_bytes().chunks(5) {
            adapter.push(piece, &mut accumulator);
            reasoning.push_str(accumulator.reasoning_delta());
            response.push_str(accumulator.response_delta());
        }
        assert_eq!(reasoning, accumulator.reasoning_text());
        assert_eq!(response, accumulator.response_text());
    }

    #[test]
    fn adr_usage_is_reported_or_estimated_and_finalizing_twice_changes_nothing() {
        let mut adapter = ReasoningStreamAdapter::resolve("any", "openai-compatible");
        let mut accumulator = read(&mut adapter, NATIVE);
        assert_eq!(accumulator.reasoning_tokens(), TokenCount::reported(7));
        accumulator.finalize();
        accumulator.finalize();
        accumulator.event(Event::TextDelta { block: 0, delta: "late" });
        accumulator.record_usage(&Usage::default());
        assert_eq!(accumulator.response_text(), "<think>4");
        assert_eq!(accumulator.reasoning_tokens(), TokenCount::reported(7));
        let mut silent = ReasoningAccumulator::new();
        silent.event(Event::ThinkingDelta { block: 0, delta: "12345" });
        let cached = Usage { cache_write_tokens: Some(500), ..Usage::default() };
        silent.record_usage(&cached);
        assert_eq!(silent.reasoning_tokens(), TokenCount::estimated(2));
    }
}
