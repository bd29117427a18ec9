//! How fast text without secrets goes through the masker, beside what no reader can avoid: a search for one byte that is
//! not there, and a copy.
//!
//! Run with `cargo bench -p thinkthrough-mask --bench masks`.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::BytesCount;
use thinkthrough_mask::{Masker, Tiers};

/// The length of each text.
const LEN: usize = 4 * 1024 * 1024;

fn main() {
    divan::main();
}

const KINDS: [&str; 3] = ["code", "json", "prose"];

fn text(kind: &str) -> Vec<u8> {
    let unit = match kind {
        "code" => {
            "    let token = self.tokens.next().ok_or(Error::End)?;\n    if token.kind == Kind::Word { out.push(token.text); }\n"
        }
        "json" => {
            "{\"id\":\"msg_01\",\"type\":\"text\",\"text\":\"The gateway keeps every thought.\",\"usage\":{\"input_tokens\":12}}\n"
        }
        _ => {
            "First I look at the settings, then at what the client sends; the password is never shown, and so the answer \
             has to come from the vault. 2 + 2 = 4, it's said.\n"
        }
    };
    unit.bytes().cycle().take(LEN).collect()
}

fn mask(bencher: Bencher<'_, '_>, tiers: Tiers, kind: &str, piece: usize) {
    let (text, masker) = (text(kind), Masker::new(tiers, &[7; 32]));
    let mut out = Vec::with_capacity(LEN);
    bencher.counter(BytesCount::new(LEN)).bench_local(|| {
        out.clear();
        let mut stream = masker.stream();
        for piece in text.chunks(piece) {
            stream.push(black_box(piece), &mut out);
        }
        stream.end(&mut out);
        out.len()
    });
}

/// Registered values and what is certain: what runs inline.
#[divan::bench(args = KINDS)]
fn tiers_0_and_1(bencher: Bencher<'_, '_>, kind: &str) {
    mask(bencher, Tiers::CERTAIN, kind, 64 * 1024);
}

/// Everything: what runs before something is written.
#[divan::bench(args = KINDS)]
fn all_tiers(bencher: Bencher<'_, '_>, kind: &str) {
    mask(bencher, Tiers::ALL, kind, 64 * 1024);
}

/// Deltas of a stream, of so many bytes each; a megabyte of 16-byte deltas is 262,144 of them.
#[divan::bench(args = [4, 16, 64])]
fn deltas_of_all_tiers(bencher: Bencher<'_, '_>, length: usize) {
    mask(bencher, Tiers::ALL, "prose", length);
}

#[divan::bench(args = KINDS)]
fn floor_memchr(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind);
    let count = || memchr::memchr_iter(0, black_box(&text)).count();
    bencher.counter(BytesCount::new(LEN)).bench_local(count);
}

#[divan::bench(args = KINDS)]
fn floor_copy(bencher: Bencher<'_, '_>, kind: &str) {
    let text = text(kind);
    bencher.counter(BytesCount::new(LEN)).bench_local(|| black_box(&text).clone());
}
