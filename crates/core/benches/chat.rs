//! How fast the messages of a chat stream become events, beside a scan, a copy and the usual ways to read JSON.
//!
//! The messages come unframed: what framing costs stands in the bench `frame`. Every reader passes each piece of
//! text to the same sink. Run with `cargo bench -p thinkthrough-core --bench chat`.

#![allow(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench may fail where it stands, and shows nothing to the outside"
)]

use std::borrow::Cow;
use std::hint::black_box;

use divan::counter::{BytesCount, ItemsCount};
use divan::{AllocProfiler, Bencher};
use serde::Deserialize;
use thinkthrough_core::event::{Event, Fold};
use thinkthrough_core::wire::chat_completions::ChatCompletions;
use thinkthrough_core::wire::{Decode, Dialect, Wire};
use thinkthrough_json::{Doc, Scratch};

/// Counts allocations; it does nothing where there are none.
#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

/// Messages in one stream.
const N: usize = 2_000;

fn main() {
    divan::main();
}

/// Words as a model gives them out, each with the space before it.
fn word(at: usize) -> &'static str {
    const WORDS: [&str; 12] = [
        " So", " let", " us", " think", " it", " through", ":", " first", " the", " numbers", ",",
        " then",
    ];
    WORDS[at * 7 % WORDS.len()]
}

/// A stream of reasoning as most servers send it: some 280 bytes a message, of which a word is new.
fn reasoning(escape: bool) -> Vec<String> {
    let message = |at: usize| {
        let word = if escape && at.is_multiple_of(10) { "\\n\\n" } else { word(at) };
        format!(
            "{{\"id\":\"8f2b6c1e-93d7-4a4e-b5de-0c9a7f21d3b4\",\"object\":\"chat.completion.chunk\",\
             \"created\":1763683200,\"model\":\"some-reasoner\",\
             \"system_fingerprint\":\"fp_ffc7281d48_prod0820_fp8_kvcache\",\
             \"choices\":[{{\"index\":0,\"delta\":{{\"content\":null,\"reasoning_content\":\"{word}\"}},\
             \"logprobs\":null,\"finish_reason\":null}}]}}"
        )
    };
    (0..N).map(message).collect()
}

/// The same with structured entries beside the string, and a word that fills each message up to one length.
fn structured() -> Vec<String> {
    let message = |at: usize| {
        let word = word(at);
        format!(
            "{{\"id\":\"gen-1787150080-lE60hPbmJuViaCZSTYIs\",\"object\":\"chat.completion.chunk\",\
             \"created\":1763683200,\"model\":\"some/reasoner\",\"provider\":\"Some\",\"choices\":[{{\"index\":0,\
             \"delta\":{{\"content\":\"\",\"role\":\"assistant\",\"reasoning\":\"{word}\",\"reasoning_details\":\
             [{{\"type\":\"reasoning.text\",\"text\":\"{word}\",\"format\":\"unknown\",\"index\":0}}]}},\
             \"finish_reason\":null,\"native_finish_reason\":null,\"logprobs\":null}}]}}"
        )
    };
    (0..N).map(message).collect()
}

/// Text with a random filling in each message, as some servers send it against eavesdroppers.
fn padded() -> Vec<String> {
    let message = |at: usize| {
        let padding = &"abcdefghijklmnopqrstuvwxyz"[..at * 11 % 26];
        format!(
            "{{\"id\":\"chatcmpl-C1x7Yy0q2b3D4e5F6g7H8i9J0k\",\"object\":\"chat.completion.chunk\",\
             \"created\":1763683200,\"model\":\"some-model-2026\",\"service_tier\":\"default\",\
             \"system_fingerprint\":\"fp_50cad350e4\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}},\
             \"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":\"{padding}\"}}",
            word(at)
        )
    };
    (0..N).map(message).collect()
}

/// Messages of which no two neighbours have the same shape.
fn changing() -> Vec<String> {
    let message = |at: usize| {
        let pair = (format!("\"reasoning_content\":\"{}\"", word(at)), "\"content\":null");
        let fields = [
            "\"id\":\"8f2b6c1e-93d7-4a4e-b5de-0c9a7f21d3b4\"".to_owned(),
            "\"object\":\"chat.completion.chunk\"".to_owned(),
            format!("\"created\":{}", 1_763_683_200 + at),
            "\"model\":\"some-reasoner\"".to_owned(),
            "\"system_fingerprint\":\"fp_ffc7281d48_prod\"".to_owned(),
            format!(
                "\"choices\":[{{\"index\":0,\"delta\":{{{}}},\"logprobs\":null,\"finish_reason\":null}}]",
                if at.is_multiple_of(2) {
                    format!("{},{}", pair.0, pair.1)
                } else {
                    format!("{},{}", pair.1, pair.0)
                }
            ),
        ];
        let turned = (0..fields.len()).map(|i| fields[(i + at) % fields.len()].as_str());
        format!("{{{}}}", turned.collect::<Vec<_>>().join(","))
    };
    (0..N).map(message).collect()
}

fn run(bencher: Bencher<'_, '_>, messages: &[String], read: impl Fn(&[String]) -> usize + Sync) {
    let bytes: usize = messages.iter().map(String::len).sum();
    bencher
        .counter(BytesCount::new(bytes))
        .counter(ItemsCount::new(messages.len()))
        .bench(|| read(black_box(messages)));
}

/// Decodes to events; gives how much text came out.
fn decode(mut decoder: Box<dyn Decode>, messages: &[String]) -> usize {
    let mut n = 0;
    let mut sink = |event: Event<'_>| {
        if let Event::ThinkingDelta { delta, .. } | Event::TextDelta { delta, .. } = event {
            n += black_box(delta).len();
        }
    };
    for message in messages {
        decoder.message(None, message, &mut sink);
    }
    n
}

fn ours(messages: &[String]) -> usize {
    decode(ChatCompletions.decoder(&Dialect::default()), messages)
}

fn plainly(messages: &[String]) -> usize {
    decode(ChatCompletions.plain_decoder(&Dialect::default()), messages)
}

fn by_value(messages: &[String]) -> usize {
    let mut n = 0;
    for message in messages {
        let value: serde_json::Value = serde_json::from_str(message).unwrap();
        let delta = &value["choices"][0]["delta"];
        for key in ["reasoning_content", "reasoning", "content"] {
            n += delta[key].as_str().map_or(0, |text| black_box(text).len());
        }
    }
    n
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: usize,
    #[serde(borrow)]
    delta: Delta<'a>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Text<'a>>,
}

fn by_type(messages: &[String]) -> usize {
    let mut n = 0;
    for message in messages {
        let chunk: Chunk<'_> = serde_json::from_str(message).unwrap();
        black_box((&chunk.id.map(|id| id.0.len()), chunk.model.map(|model| model.0.len())));
        for choice in &chunk.choices {
            black_box((choice.index, choice.finish_reason.as_ref().map(|reason| reason.0.len())));
            let delta = &choice.delta;
            for text in
                [&delta.reasoning_content, &delta.reasoning, &delta.content].into_iter().flatten()
            {
                n += black_box(text.0.as_ref()).len();
            }
        }
    }
    n
}

#[divan::bench]
fn a1_reasoning_ours(bencher: Bencher<'_, '_>) {
    run(bencher, &reasoning(false), ours);
}

#[divan::bench]
fn a2_reasoning_ours_every_tenth_escaped(bencher: Bencher<'_, '_>) {
    run(bencher, &reasoning(true), ours);
}

#[divan::bench]
fn a3_reasoning_ours_plainly(bencher: Bencher<'_, '_>) {
    run(bencher, &reasoning(false), plainly);
}

#[divan::bench]
fn a4_reasoning_serde_json_value(bencher: Bencher<'_, '_>) {
    run(bencher, &reasoning(false), by_value);
}

#[divan::bench]
fn a5_reasoning_serde_json_typed(bencher: Bencher<'_, '_>) {
    run(bencher, &reasoning(false), by_type);
}

#[divan::bench]
fn a6_reasoning_memchr_quotes(bencher: Bencher<'_, '_>) {
    run(bencher, &reasoning(false), |messages| {
        messages.iter().map(|message| memchr::memchr_iter(b'"', message.as_bytes()).count()).sum()
    });
}

#[divan::bench]
fn a7_reasoning_copy(bencher: Bencher<'_, '_>) {
    let mut to = Vec::with_capacity(64 * 1024);
    let messages = reasoning(false);
    let bytes: usize = messages.iter().map(String::len).sum();
    let counted = bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(messages.len()));
    counted.bench_local(|| {
        for message in black_box(&messages) {
            to.clear();
            to.extend_from_slice(message.as_bytes());
            black_box(&to);
        }
    });
}

#[divan::bench]
fn b1_structured_ours(bencher: Bencher<'_, '_>) {
    run(bencher, &structured(), ours);
}

#[divan::bench]
fn b2_structured_serde_json_value(bencher: Bencher<'_, '_>) {
    run(bencher, &structured(), by_value);
}

#[divan::bench]
fn b3_structured_serde_json_typed(bencher: Bencher<'_, '_>) {
    run(bencher, &structured(), by_type);
}

#[divan::bench]
fn c1_padded_ours(bencher: Bencher<'_, '_>) {
    run(bencher, &padded(), ours);
}

#[divan::bench]
fn c2_padded_serde_json_value(bencher: Bencher<'_, '_>) {
    run(bencher, &padded(), by_value);
}

#[divan::bench]
fn c3_padded_serde_json_typed(bencher: Bencher<'_, '_>) {
    run(bencher, &padded(), by_type);
}

#[divan::bench]
fn d1_changing_ours(bencher: Bencher<'_, '_>) {
    run(bencher, &changing(), ours);
}

#[divan::bench]
fn d2_changing_ours_plainly(bencher: Bencher<'_, '_>) {
    run(bencher, &changing(), plainly);
}

#[divan::bench]
fn d3_changing_serde_json_value(bencher: Bencher<'_, '_>) {
    run(bencher, &changing(), by_value);
}

#[divan::bench]
fn d4_changing_serde_json_typed(bencher: Bencher<'_, '_>) {
    run(bencher, &changing(), by_type);
}

#[divan::bench]
fn e1_reasoning_parse_only(bencher: Bencher<'_, '_>) {
    run(bencher, &reasoning(false), |messages| {
        let mut scratch = Scratch::default();
        let mut n = 0;
        for message in messages {
            let doc = Doc::parse_with(message, &mut scratch).unwrap();
            n += black_box(doc.root().span().len());
            scratch.reuse(doc);
        }
        n
    });
}

/// A thought of so many bytes, one a message, gathered into an answer: five times the length is five times the work and
/// the memory.
#[divan::bench(args = [1_000_000, 5_000_000], sample_count = 5, sample_size = 1)]
fn f1_a_thought_in_deltas_of_one_character(bencher: Bencher<'_, '_>, length: usize) {
    let message = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"a"}}]}"#;
    bencher.counter(ItemsCount::new(length)).bench(|| {
        let mut decoder = ChatCompletions.decoder(&Dialect::default());
        let mut fold = Fold::new();
        for _ in 0..length {
            decoder.message(None, black_box(message), &mut fold);
        }
        decoder.end(&mut fold);
        fold.finish()
    });
}
