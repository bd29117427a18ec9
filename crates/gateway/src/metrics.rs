//! What the gateway counts.

use crate::tally::{Drained, Poisoned, header, line};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use thinkthrough_core::restore::Counts;

/// Counters of one process, since its start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: [AtomicU64; 5],
    pub(crate) relayed: AtomicU64,
    pub(crate) translated: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) open: AtomicU64,
    unsaved: AtomicU64,
    blind: AtomicU64,
    /// What became of thoughts, for each provider of the configuration.
    thoughts: Mutex<BTreeMap<String, Counts>>,
    pub(crate) log_lost: AtomicU64,
    pub(crate) reloads: AtomicU64,
    pub(crate) fallbacks: AtomicU64,
    pub(crate) repairs: AtomicU64,
    /// Records that no provider takes back, by the reason.
    pub(crate) poisoned: Poisoned,
    /// Answers that were heard to their end for nobody.
    pub(crate) drained: Drained,
    panics: AtomicU64,
    turned_away: AtomicU64,
    shed: AtomicU64,
}

impl Metrics {
    /// A request was answered with this status.
    pub(crate) fn answered(&self, status: u16) {
        let class = usize::from(status / 100).saturating_sub(1);
        if let Some(counter) = self.requests.get(class) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A request to this provider had answers whose thoughts were wanted.
    pub(crate) fn thoughts(&self, provider: &str, counts: Counts) {
        if counts == Counts::default() {
            return;
        }
        let mut all = self.thoughts.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = all.entry(provider.to_owned()).or_default();
        sum.restored += counts.restored;
        sum.missed += counts.missed;
        sum.ambiguous += counts.ambiguous;
        sum.dropped += counts.dropped;
    }

    /// An answer ended before its record could be seen, if it ever will be.
    pub(crate) fn unsaved(&self) {
        self.unsaved.fetch_add(1, Ordering::Relaxed);
    }

    /// A look-up failed or took too long, so that the request went on as if nothing were known.
    pub(crate) fn blind(&self) {
        self.blind.fetch_add(1, Ordering::Relaxed);
    }

    /// A request broke within the gateway.
    pub(crate) fn panicked(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// A caller had no key, or one that is not known.
    pub(crate) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    /// There was no room for a connection.
    pub(crate) fn shed(&self) {
        self.shed.fetch_add(1, Ordering::Relaxed);
    }

    /// The counters in Prometheus' text form.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        header(&mut out, "requests_total", "counter", "Requests by the class of their status.");
        for (class, counter) in (1..).zip(&self.requests) {
            let value = read(counter);
            line(&mut out, "requests_total", &format!("{{status=\"{class}xx\"}}"), value);
        }
        for (name, kind, help, counter) in [
            ("relayed_total", "counter", "Answers that stayed on their wire.", &self.relayed),
            ("translated_total", "counter", "Answers that changed their wire.", &self.translated),
            (
                "cancelled_total",
                "counter",
                "Answers that the caller did not wait for.",
                &self.cancelled,
            ),
            (
                "unsaved_total",
                "counter",
                "Answers that ended before they were kept.",
                &self.unsaved,
            ),
            (
                "lookups_failed_total",
                "counter",
                "Look-ups that failed or took too long.",
                &self.blind,
            ),
            ("fallbacks_total", "counter", "Requests that went to another model.", &self.fallbacks),
            (
                "repairs_total",
                "counter",
                "Requests that were repaired and sent again.",
                &self.repairs,
            ),
            (
                "auth_failures_total",
                "counter",
                "Requests without a key that is known.",
                &self.turned_away,
            ),
            ("shed_total", "counter", "Connections beyond those that are served.", &self.shed),
            ("panics_total", "counter", "Requests that broke within the gateway.", &self.panics),
            ("config_reloads_total", "counter", "Changes of the configuration.", &self.reloads),
            ("log_lost_total", "counter", "Log lines that nobody took in time.", &self.log_lost),
            ("open_requests", "gauge", "Requests that are being answered.", &self.open),
        ] {
            header(&mut out, name, kind, help);
            line(&mut out, name, "", read(counter));
        }
        self.write_thoughts(&mut out);
        self.poisoned.write(&mut out);
        self.drained.write(&mut out);
        out
    }

    fn write_thoughts(&self, out: &mut String) {
        header(
            out,
            "thoughts_total",
            "counter",
            "Answers in requests by what became of their thoughts.",
        );
        let all = self.thoughts.lock().unwrap_or_else(PoisonError::into_inner);
        for (provider, counts) in all.iter() {
            let provider = provider.replace('\\', "\\\\").replace('"', "\\\"");
            for (outcome, count) in [
                ("restored", counts.restored),
                ("missed", counts.missed),
                ("ambiguous", counts.ambiguous),
                ("dropped", counts.dropped),
            ] {
                let labels = format!("{{provider=\"{provider}\",outcome=\"{outcome}\"}}");
                line(out, "thoughts_total", &labels, count as u64);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_counts() {
        let metrics = Metrics::default();
        metrics.answered(200);
        metrics.answered(404);
        metrics.relayed.fetch_add(2, Ordering::Relaxed);
        metrics.thoughts("a\"b", Counts { restored: 2, missed: 1, ..Counts::default() });
        metrics.thoughts("a\"b", Counts { restored: 1, ..Counts::default() });
        let text = metrics.text();
        for line in [
            "thinkthrough_requests_total{status=\"2xx\"} 1",
            "thinkthrough_requests_total{status=\"4xx\"} 1",
            "thinkthrough_relayed_total 2",
            "thinkthrough_thoughts_total{provider=\"a\\\"b\",outcome=\"restored\"} 3",
            "thinkthrough_thoughts_total{provider=\"a\\\"b\",outcome=\"missed\"} 1",
        ] {
            assert!(text.lines().any(|it| it == line), "{text}");
        }
    }
}
