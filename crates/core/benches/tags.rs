//! How fast text goes through the tag scanner, beside what it cannot avoid: a search for the first byte of its tags,
//! and a copy.
//!
//! Every text comes in pieces of 4 KiB unless the bench's name says otherwise. Run with
//! `cargo bench -p thinkthrough-core --bench tags`.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::BytesCount;
use thinkthrough_core::tags::{
    End, Options, Piece, SplitOptions, Start, TagScanner, TagSpec, split,
};

/// The length of each text.
const LEN: usize = 4 * 1024 * 1024;

/// What comes at once.
const PIECE: usize = 4 * 1024;

fn main() {
    divan::main();
}

/// Prose as models write it, without a tag and without code.
fn prose() -> String {
    repeat(
        "The gateway keeps every thought and puts it back when the client dropped it, so that naive clients \
         work with strict models.\nIt also translates between interfaces, enforces budgets, and keeps a trail; \
         2 + 2 = 4, it's said.\n\n",
    )
}

/// Markdown with code spans, fences and comparisons.
fn markdown() -> String {
    repeat(
        "Call `push` with each piece, then `end`.\n\n```rust\nif a < b && c > d {\n    out(Piece::Text(\"x\"));\n}\n```\n\n\
         - **first**: as `a < b` says\n- *second*: nothing else\n\n",
    )
}

/// HTML: the first byte of most tags is everywhere.
fn html() -> String {
    repeat("<p>One <b>two</b> three</p>\n<ul><li>a</li><li>b</li></ul>\n")
}

fn repeat(unit: &str) -> String {
    unit.chars().cycle().take(LEN).collect()
}

fn text(kind: &str) -> String {
    match kind {
        "markdown" => markdown(),
        "html" => html(),
        _ => prose(),
    }
}

fn pieces(text: &str, len: usize) -> Vec<&str> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn scan(spec: &TagSpec, start: Start, pieces: &[&str]) -> usize {
    let mut scanner = TagScanner::new(spec, Options { start, ..Options::default() });
    let mut said = 0;
    let mut take = |piece: Piece<'_>| {
        if let Piece::Text(text) | Piece::Thinking(text) = piece {
            said += black_box(text).len();
        }
    };
    for piece in pieces {
        scanner.push(piece, &mut take);
    }
    scanner.end(End::Clean, &mut take);
    said
}

#[divan::bench(args = ["prose", "markdown", "html"])]
fn floor_memchr(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind);
    let pieces = pieces(&text, PIECE);
    // Visited one by one, as a parser must, not counted.
    let visit = |piece: &&str| memchr::memchr_iter(b'<', piece.as_bytes()).fold(0, |n, at| n ^ at);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| pieces.iter().map(visit).fold(0, |n, at| n ^ at));
}

#[divan::bench(args = ["prose", "markdown", "html"])]
fn floor_memmem(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind);
    let pieces = pieces(&text, PIECE);
    let finder = memchr::memmem::Finder::new("<think>");
    bencher.counter(BytesCount::new(text.len())).bench_local(|| {
        pieces.iter().filter(|piece| finder.find(piece.as_bytes()).is_some()).count()
    });
}

/// The standard library's search, for what a parser without a state machine would do.
#[divan::bench(args = ["prose", "markdown", "html"])]
fn floor_std_find(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind);
    let pieces = pieces(&text, PIECE);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| pieces.iter().filter(|piece| black_box(piece).contains("<think>")).count());
}

#[divan::bench]
fn floor_copy(bencher: Bencher<'_, '_>) {
    let text = prose();
    let pieces = pieces(&text, PIECE);
    bencher.counter(BytesCount::new(text.len())).bench_local(|| {
        let mut copy = String::with_capacity(LEN);
        for piece in &pieces {
            copy.push_str(piece);
        }
        copy
    });
}

/// Visible text after the thought.
#[divan::bench(args = ["prose", "markdown", "html"])]
fn text_think(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind);
    let (spec, pieces) = (named("think"), pieces(&text, PIECE));
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| scan(&spec, Start::Text, black_box(&pieces)));
}

/// A thought.
#[divan::bench(args = ["prose", "markdown", "html"])]
fn thought_think(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind);
    let (spec, pieces) = (named("think"), pieces(&text, PIECE));
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| scan(&spec, Start::Thought, black_box(&pieces)));
}

/// Text of which nobody knows yet what it is; it is kept.
#[divan::bench]
fn undecided_think(bencher: Bencher<'_, '_>) {
    let text = prose();
    let (spec, pieces) = (named("think"), pieces(&text, PIECE));
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| scan(&spec, Start::Family, black_box(&pieces)));
}

/// Prose through other families.
#[divan::bench(args = ["reasoning", "harmony", "hunyuan", "kimi_vl", "granite", "mistral"])]
fn text_prose(bencher: Bencher<'_, '_>, family: &str) {
    let text = prose();
    let (spec, pieces) = (named(family), pieces(&text, PIECE));
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| scan(&spec, Start::Text, black_box(&pieces)));
}

/// Deltas as models send them.
#[divan::bench(args = [1, 4, 16, 64, 256])]
fn deltas_think(bencher: Bencher<'_, '_>, len: usize) {
    let text = prose();
    let (spec, pieces) = (named("think"), pieces(&text, len));
    bencher
        .counter(BytesCount::new(text.len()))
        .bench_local(|| scan(&spec, Start::Text, black_box(&pieces)));
}

/// A whole message: half thought, half answer.
#[divan::bench(args = ["think", "reasoning"])]
fn split_whole(bencher: Bencher<'_, '_>, family: &str) {
    let tag = if family == "reasoning" { "REASONING" } else { "think" };
    let half = repeat(&prose()).chars().take(LEN / 2).collect::<String>();
    let text = format!("<{tag}>{half}</{tag}>{half}");
    let options = SplitOptions::new(named(family));
    bencher.counter(BytesCount::new(text.len())).bench_local(|| split(black_box(&text), &options));
}

#[expect(clippy::panic, reason = "a bench of a family that is not there measures nothing")]
fn named(family: &str) -> TagSpec {
    TagSpec::named(family).unwrap_or_else(|| panic!("family `{family}`"))
}
