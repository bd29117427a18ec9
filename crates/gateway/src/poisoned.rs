//! Records that a provider refused: once the request without them was taken, nobody is sent them again.

use crate::metrics::{Metrics, header, line};
use crate::vault::Vault;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thinkthrough_core::exchange::{Blame, PutBack};

/// What was sent with thoughts of the vault in it.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) put_back: PutBack,
    pub(crate) body: Bytes,
    pub(crate) vault: Arc<dyn Vault>,
}

/// Records that a refusal blames, until it is known whether the request goes through without them.
#[derive(Clone)]
pub(crate) struct Blamed {
    blame: Blame,
    records: Vec<String>,
    vault: Arc<dyn Vault>,
}

impl Sent {
    /// The records that this refusal blames, if it does.
    pub(crate) fn blamed(&self, refusal: &str) -> Option<Blamed> {
        let blame = Blame::of(refusal)?;
        let records = self.put_back.blamed(refusal, &self.body);
        let vault = Arc::clone(&self.vault);
        (!records.is_empty()).then_some(Blamed { blame, records, vault })
    }
}

impl Blamed {
    /// The request went through without them. Nobody waits until that is written down: at worst they are refused once
    /// more.
    pub(crate) fn mark(self, metrics: &Arc<Metrics>) {
        let metrics = Arc::clone(metrics);
        tokio::spawn(async move {
            if let Ok(marked) = self.vault.poison(self.records).await {
                metrics.poisoned.add(self.blame, marked);
            }
        });
    }
}

/// How many records were marked, by the reason.
#[derive(Debug, Default)]
pub(crate) struct Poisoned([AtomicU64; Blame::ALL.len()]);

impl Poisoned {
    fn add(&self, blame: Blame, count: u64) {
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
