//! Who is told about an answer that is heard to its end for nobody.

use crate::log::{Line, Log};
use crate::metrics::Metrics;
use crate::tally::End;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use thinkthrough_core::usage::Usage;
use tokio::time::Instant;

/// Who is told about an answer that is heard to its end.
pub(crate) struct Leaving {
    pub(crate) line: Line,
    pub(crate) log: Log,
    pub(crate) metrics: Arc<Metrics>,
}

impl Leaving {
    /// It is over.
    pub(crate) fn tell(&self, end: End, usage: Option<&Usage>, since: Instant) {
        let drained = &self.metrics.drained;
        drained.end(end);
        let mut counts = Vec::new();
        for (kind, name, count) in [
            ("input", "input_tokens", usage.and_then(|usage| usage.input_tokens)),
            ("output", "output_tokens", usage.and_then(|usage| usage.output_tokens)),
            ("reasoning", "reasoning_tokens", usage.and_then(|usage| usage.reasoning_tokens)),
        ] {
            // What the provider does not say is not guessed.
            let Some(count) = count else { continue };
            drained.spend(&self.line.provider, kind, count);
            counts.push((name, count));
        }
        if !self.log.is_on() {
            return;
        }
        let outcome = match end {
            End::Completed => "drained",
            End::Failed => "failed",
            End::Left => "cancelled",
        };
        let line = Line { outcome, counts, total: since.elapsed(), ..self.line.clone() };
        if !self.log.line(&line) {
            self.metrics.log_lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
