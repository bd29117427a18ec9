//! Counters by reason and outcome, in Prometheus' text form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use thinkthrough_core::exchange::Blame;

/// How many records were marked, by the reason.
#[derive(Debug, Default)]
pub(crate) struct Poisoned([AtomicU64; Blame::ALL.len()]);

impl Poisoned {
    pub(crate) fn add(&self, blame: Blame, count: u64) {
        for (one, counter) in Blame::ALL.iter().zip(&self.0) {
            if *one == blame {
                counter.fetch_add(count, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn write(&self, out: &mut String) {
        header(out, "poisoned_total", "counter", "Records that a provider refused, by the reason.");
        for (blame, counter) in Blame::ALL.iter().zip(&self.0) {
            let labels = format!("{{reason=\"{}\"}}", blame.as_str());
            line(out, "poisoned_total", &labels, counter.load(Ordering::Relaxed));
        }
    }
}

/// How an answer ended that nobody waited for.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Completed,
    Failed,
    /// It took too long, or said too much.
    Left,
}

const ENDS: [(&str, End); 3] =
    [("completed", End::Completed), ("failed", End::Failed), ("left", End::Left)];

/// What answers came to that nobody waited for.
#[derive(Debug, Default)]
pub(crate) struct Drained {
    ends: [AtomicU64; ENDS.len()],
    /// Tokens by provider and kind, as the providers said.
    tokens: Mutex<BTreeMap<(String, &'static str), u64>>,
}

impl Drained {
    pub(crate) fn end(&self, end: End) {
        if let Some(counter) = self.ends.get(end as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn spend(&self, provider: &str, kind: &'static str, count: u64) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        *tokens.entry((provider.to_owned(), kind)).or_default() += count;
    }

    pub(crate) fn write(&self, out: &mut String) {
        let help = "Answers that were heard to their end after their caller went away.";
        header(out, "drained_total", "counter", help);
        for ((word, _), counter) in ENDS.iter().zip(&self.ends) {
            let labels = format!("{{outcome=\"{word}\"}}");
            line(out, "drained_total", &labels, counter.load(Ordering::Relaxed));
        }
        header(out, "drained_tokens_total", "counter", "Their tokens, as the providers said.");
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        for ((provider, kind), count) in tokens.iter() {
            let provider = provider.replace('\\', "\\\\").replace('"', "\\\"");
            let labels = format!("{{provider=\"{provider}\",type=\"{kind}\"}}");
            line(out, "drained_tokens_total", &labels, *count);
        }
    }
}

pub(crate) fn header(out: &mut String, name: &str, kind: &str, help: &str) {
    out.push_str(&format!(
        "# HELP thinkthrough_{name} {help}\n# TYPE thinkthrough_{name} {kind}\n"
    ));
}

pub(crate) fn line(out: &mut String, name: &str, labels: &str, value: u64) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "thinkthrough_{name}{labels} {value}");
}
