//! How fast bodies become frames, beside a newline scan, a copy and the usual crates.
//!
//! Every bench reads the same kind of body in pieces of 64 KiB, as a connection gives them, unless
//! its name says otherwise. The decoders run with their limits on and carry over what the pieces
//! cut. Run with `cargo bench -p thinkthrough-core --bench frame`.

use std::convert::Infallible;
use std::hint::black_box;

use divan::Bencher;
use divan::counter::BytesCount;
use eventsource_stream::Eventsource as _;
use futures::StreamExt as _;
use futures::executor::block_on;
use thinkthrough_core::frame::event_stream::{EventStreamDecoder, encode_event};
use thinkthrough_core::frame::ndjson::NdjsonDecoder;
use thinkthrough_core::frame::sse::SseDecoder;
use thinkthrough_core::frame::{Frame, Framer, Framing};

/// What one read of a connection gives.
const READ: usize = 64 * 1024;

/// The length of the payload of one event.
const PAYLOAD: usize = 300;

/// The least length of a body.
const BODY: usize = 4 * 1024 * 1024;

fn main() {
    divan::main();
}

/// A chunk of a chat stream whose text fills it up to the length of a payload.
fn payload(text: &str) -> String {
    let (head, tail) = (
        "{\"id\":\"chatcmpl-8f1c2d\",\"object\":\"chat.completion.chunk\",\"created\":1763683200,\
         \"model\":\"some-model\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"",
        "\"},\"finish_reason\":null}]}",
    );
    let room = PAYLOAD - head.len() - tail.len();
    let widest = text.chars().map(char::len_utf8).max().unwrap_or(1);
    let filling: String = text.chars().cycle().take(room / widest).collect();
    let mut payload = format!("{head}{filling}");
    payload.extend(std::iter::repeat_n(' ', PAYLOAD - payload.len() - tail.len()));
    payload + tail
}

fn body_of(event: &[u8]) -> Vec<u8> {
    event.repeat(BODY.div_ceil(event.len()))
}

fn plain() -> Vec<u8> {
    body_of(format!("data: {}\n\n", payload("so let us think it through; ")).as_bytes())
}

/// Events of 100 to 500 bytes in an order that no branch predictor knows.
fn varied() -> Vec<u8> {
    let payload = payload("so let us think it through; ");
    let mut body = Vec::new();
    let mut state: usize = 1;
    while body.len() < BODY {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let length = 100 + (state >> 40) % 401;
        body.extend_from_slice(b"data: ");
        body.extend(payload.bytes().cycle().take(length));
        body.extend_from_slice(b"\n\n");
    }
    body
}

fn named() -> Vec<u8> {
    let payload = payload("so let us think it through; ");
    body_of(format!("event: content_block_delta\ndata: {payload}\n\n").as_bytes())
}

fn chinese() -> Vec<u8> {
    body_of(format!("data: {}\n\n", payload("让我们一步一步地思考")).as_bytes())
}

fn returns() -> Vec<u8> {
    body_of(format!("data: {}\r\n\r\n", payload("so let us think it through; ")).as_bytes())
}

/// Looks at a frame as much as any reader must.
fn look(frame: Frame<'_>, bytes: &mut usize) {
    match frame {
        Frame::Event(event) => *bytes += black_box(event.data).len(),
        Frame::Comment | Frame::Problem(_) => *bytes += 1,
    }
}

fn read_sse(bencher: Bencher<'_, '_>, body: &[u8], read: usize) {
    bencher.counter(BytesCount::new(body.len())).bench(|| {
        let mut decoder = SseDecoder::default();
        let mut bytes = 0;
        for piece in black_box(body).chunks(read) {
            decoder.push(piece, &mut |frame| look(frame, &mut bytes));
        }
        decoder.end(&mut |frame| look(frame, &mut bytes));
        bytes
    });
}

#[divan::bench]
fn a1_sse_ours(bencher: Bencher<'_, '_>) {
    read_sse(bencher, &plain(), READ);
}

#[divan::bench]
fn a2_sse_ours_with_event_names(bencher: Bencher<'_, '_>) {
    read_sse(bencher, &named(), READ);
}

#[divan::bench]
fn a3_sse_ours_both_line_end_characters(bencher: Bencher<'_, '_>) {
    read_sse(bencher, &returns(), READ);
}

#[divan::bench]
fn a4_sse_ours_chinese_text(bencher: Bencher<'_, '_>) {
    read_sse(bencher, &chinese(), READ);
}

#[divan::bench]
fn a5_sse_ours_one_event_per_read(bencher: Bencher<'_, '_>) {
    read_sse(bencher, &plain(), PAYLOAD + 8);
}

#[divan::bench]
fn a6_sse_ours_reads_of_100_bytes(bencher: Bencher<'_, '_>) {
    read_sse(bencher, &plain(), 100);
}

#[divan::bench]
fn a7_sse_ours_events_of_100_to_500_bytes(bencher: Bencher<'_, '_>) {
    read_sse(bencher, &varied(), READ);
}

#[divan::bench]
fn a8_sse_ours_through_framer(bencher: Bencher<'_, '_>) {
    let body = plain();
    bencher.counter(BytesCount::new(body.len())).bench(|| {
        let mut framer = Framer::new(Framing::Sse);
        let mut bytes = 0;
        for piece in black_box(&body).chunks(READ) {
            framer.push(piece, &mut |frame| look(frame, &mut bytes));
        }
        bytes
    });
}

#[divan::bench]
fn b1_memchr_line_feeds(bencher: Bencher<'_, '_>) {
    let body = plain();
    bencher.counter(BytesCount::new(body.len())).bench(|| {
        let pieces = black_box(&body).chunks(READ);
        pieces
            .map(|piece| memchr::memchr_iter(b'\n', piece).fold(0, |sum, at| sum ^ at))
            .sum::<usize>()
    });
}

#[divan::bench]
fn b2_copy(bencher: Bencher<'_, '_>) {
    let body = plain();
    let mut copy: Vec<u8> = Vec::with_capacity(READ);
    bencher.counter(BytesCount::new(body.len())).bench_local(|| {
        for piece in black_box(&body).chunks(READ) {
            copy.clear();
            copy.extend_from_slice(piece);
            black_box(&mut copy);
        }
    });
}

#[divan::bench]
fn b3_utf8_check(bencher: Bencher<'_, '_>) {
    let body = plain();
    bencher.counter(BytesCount::new(body.len())).bench(|| {
        black_box(&body).chunks(READ).filter(|piece| std::str::from_utf8(piece).is_ok()).count()
    });
}

#[divan::bench]
fn c1_sse_eventsource_stream(bencher: Bencher<'_, '_>) {
    let body = plain();
    bencher.counter(BytesCount::new(body.len())).bench(|| {
        let pieces = futures::stream::iter(black_box(&body).chunks(READ).map(Ok::<_, Infallible>));
        block_on(pieces.eventsource().fold(0, |bytes, event| async move {
            bytes + event.map_or(0, |event| black_box(event.data).len())
        }))
    });
}

#[divan::bench]
fn c2_sse_sseer(bencher: Bencher<'_, '_>) {
    // This crate takes bytes that it can share; static ones spare it every copy.
    let body: &'static [u8] = plain().leak();
    bencher.counter(BytesCount::new(body.len())).bench(|| {
        let pieces = futures::stream::iter(black_box(body).chunks(READ).map(Ok::<_, Infallible>));
        block_on(sseer::EventStream::new(pieces).fold(0, |bytes, event| async move {
            bytes + event.map_or(0, |event| black_box(event.data).len())
        }))
    });
}

#[divan::bench]
fn d1_ndjson_ours(bencher: Bencher<'_, '_>) {
    let body = body_of(format!("{}\n", payload("so let us think it through; ")).as_bytes());
    bencher.counter(BytesCount::new(body.len())).bench(|| {
        let mut decoder = NdjsonDecoder::default();
        let mut bytes = 0;
        for piece in black_box(&body).chunks(READ) {
            decoder.push(piece, &mut |frame| look(frame, &mut bytes));
        }
        bytes
    });
}

#[divan::bench]
fn d2_event_stream_ours(bencher: Bencher<'_, '_>) {
    let mut message = Vec::new();
    let payload = payload("so let us think it through; ");
    if encode_event("contentBlockDelta", &payload, &mut message).is_err() {
        return;
    }
    let body = body_of(&message);
    bencher.counter(BytesCount::new(body.len())).bench(|| {
        let mut decoder = EventStreamDecoder::default();
        let mut bytes = 0;
        for piece in black_box(&body).chunks(READ) {
            decoder.push(piece, &mut |frame| look(frame, &mut bytes));
        }
        bytes
    });
}
