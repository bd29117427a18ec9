//! The effective token count of a turn with the real tokenizer: what one more exchange costs at 10, 100 and 1,000
//! messages of history.
//!
//! `cargo bench -p thinkthrough-tokenizer --bench effective_count`
//!
//! - `grown`: the conversation says what is new, and only that is looked at;
//! - `body`: the whole body of the next request is parsed and hashed, and only what is new is tokenized;
//! - `anew`: the whole body is tokenized.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use thinkthrough_core::tokens::{EffectiveCount, Piece, PieceKey, Tokenizer};
use thinkthrough_tokenizer::o200k;

fn main() {
    // The tables are loaded by the first count, which is no part of a turn.
    let loading = Instant::now();
    black_box(o200k().count("load").ok());
    println!("loading the tables: {} ms", loading.elapsed().as_millis());
    println!(
        "{:>9} {:>14} {:>14} {:>14}",
        "messages", "grown us/turn", "body us/turn", "anew us/turn"
    );
    let mut grown = Vec::new();
    for history in [10_usize, 100, 1_000] {
        let messages: Vec<String> = (0..=history).map(message).collect();
        let (old, new) = messages.split_at(history);
        let pieces = || {
            messages.iter().zip(0..).map(|(text, id)| Piece {
                key: PieceKey::of_revision(id, 0),
                text,
                overhead: 1,
            })
        };
        let mut count = EffectiveCount::new(Some(o200k()));
        count.update(0, pieces().take(history));
        let turn = best(20, || {
            black_box(count.update(history, pieces().skip(history)));
            count.update(history, []);
            count.forget_dropped();
        });
        let (before, after) = (body(old), body(&messages));
        let mut count = EffectiveCount::new(Some(o200k()));
        count.of_body(&before);
        let whole = best(5, || {
            black_box(count.of_body(&after));
            count.of_body(&before);
            count.forget_dropped();
        });
        let anew = best(2, || {
            black_box(o200k().count(&after).ok());
        });
        println!(
            "{history:>9} {:>14.1} {:>14.1} {:>14.1}   (new text: {} bytes, body: {} bytes)",
            turn.as_secs_f64() * 1e6,
            whole.as_secs_f64() * 1e6,
            anew.as_secs_f64() * 1e6,
            new.iter().map(String::len).sum::<usize>(),
            after.len(),
        );
        grown.push(turn.as_secs_f64());
    }
    if let [ten, _, thousand] = grown[..] {
        println!("a turn at 1,000 messages costs {:.2} times one at 10 (grown)", thousand / ten);
    }
}

/// A message of two kilobytes; no two are alike.
fn message(number: usize) -> String {
    let words =
        format!("message {number} of an ordinary conversation, with some words in it. ").repeat(30);
    format!("{{\"role\":\"assistant\",\"content\":\"{words}\"}}")
}

fn body(messages: &[String]) -> String {
    format!("{{\"model\":\"m\",\"messages\":[{}]}}", messages.join(","))
}

/// The best mean of several runs, which is what the machine can do when nobody disturbs it.
fn best(turns: u32, mut turn: impl FnMut()) -> Duration {
    let run = |_| {
        let started = Instant::now();
        (0..turns).for_each(|_| turn());
        started.elapsed() / turns
    };
    (0..10).map(run).min().unwrap_or_default()
}
