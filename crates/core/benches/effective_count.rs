//! The effective token count of a turn: the same cost at 10 and at 1,000 messages of history.
//!
//! `cargo bench -p thinkthrough-core --bench effective_count`

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use thinkthrough_core::tokens::{
    EffectiveCount, IncrementalCount, IncrementalEstimate, Piece, PieceKey, Tokenizer,
    TokenizerFailure, estimate_conservative,
};

/// Reads every byte of a text, as a tokenizer does, without its tables.
struct Reads;

struct Growing(IncrementalEstimate);

impl Tokenizer for Reads {
    fn name(&self) -> &str {
        "reads"
    }

    fn count(&self, text: &str) -> Result<u64, TokenizerFailure> {
        Ok(estimate_conservative(text))
    }

    fn incremental(&self) -> Result<Box<dyn IncrementalCount + '_>, TokenizerFailure> {
        Ok(Box::new(Growing(IncrementalEstimate::default())))
    }
}

impl IncrementalCount for Growing {
    fn push(&mut self, text: &str) -> Result<(), TokenizerFailure> {
        self.0.push(text);
        Ok(())
    }

    fn total(&mut self) -> Result<u64, TokenizerFailure> {
        Ok(self.0.total())
    }
}

fn main() {
    let message = "a message of an ordinary conversation, with some words in it. ".repeat(32);
    println!(
        "{:>9} {:>16} {:>16} {:>16}",
        "messages", "grown ns/turn", "compared ns/turn", "anew ns/turn"
    );
    let mut grown = Vec::new();
    for history in [10_usize, 100, 1_000] {
        let pieces: Vec<Piece<'_>> = (0..=history as u64)
            .map(|id| Piece { key: PieceKey::of_revision(id, 0), text: &message, overhead: 4 })
            .collect();
        let (old, new) = pieces.split_at(history);
        let mut count = EffectiveCount::new(Some(&Reads));
        count.update(0, old.iter().copied());
        let turn = best(|| {
            count.update(history, new.iter().copied());
            count.update(history, []);
            count.forget_dropped();
        });
        let compared = best(|| {
            black_box(count.update(0, pieces.iter().copied()));
            count.update(history, []);
            count.forget_dropped();
        });
        let anew = best(|| {
            black_box(EffectiveCount::new(Some(&Reads)).update(0, pieces.iter().copied()));
        });
        println!(
            "{history:>9} {:>16} {:>16} {:>16}",
            turn.as_nanos(),
            compared.as_nanos(),
            anew.as_nanos()
        );
        grown.push(turn.as_secs_f64());
    }
    if let [ten, _, thousand] = grown[..] {
        println!("a turn at 1,000 messages costs {:.2} times one at 10", thousand / ten);
    }
}

/// The best mean of several runs, which is what the machine can do when nobody disturbs it.
fn best(mut turn: impl FnMut()) -> Duration {
    const TURNS: u32 = 200;
    let run = |_| {
        let started = Instant::now();
        (0..TURNS).for_each(|_| turn());
        started.elapsed() / TURNS
    };
    (0..20).map(run).min().unwrap_or_default()
}
