//! The gateway's metrics for Prometheus.
//!
//! Every label has few values: providers and models of the configuration, and words of this program. Values that a
//! caller chooses (keys, users, sessions, names of other models) are never labels.

mod labels;

use crate::load::{Gauges, NO_ROOM};
use crate::observe::process::Process;
use crate::observe::progress::{BudgetReached, Heard, News, Progress};
use crate::observe::summary::{Summary, Verdict, flaw, spent};
use labels::{Ending, Spent, Thought, Tokens, Trouble, Whose};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use thinkthrough_core::decision::Counts;
use thinkthrough_core::exchange::{RefusalCause, Without};
use thinkthrough_core::price::DOLLAR;
use thinkthrough_core::settled::Settled;
use thinkthrough_core::tokens::TokenSource;
use thinkthrough_core::usage::Usage;
use thinkthrough_limits::{BudgetEventKind, Scope};
use thinkthrough_store::Backlog;

/// The label of models that are not listed.
const OTHER: &str = "other";
/// The classes of a status.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// The reasons why answers are cut.
const CUTS: [Word; 3] = ["budget", NO_ROOM, "runaway"];
/// The limits: whose, and of what.
const LIMITS: [(Word, Word); 8] = [
    ("key", "reasoning"),
    ("key", "requests"),
    ("key", "tokens"),
    ("key", "unknown"),
    ("key", "usd"),
    ("provider", "requests"),
    ("provider", "tokens"),
    ("provider", "unknown"),
];
/// Seconds until an answer is over: thoughts take minutes.
const LONG: [f64; 14] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0];
/// Seconds that the gateway itself takes.
const SHORT: [f64; 10] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5];

/// The names of models that are counted by name.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<Arc<str>>);

impl Names {
    pub(crate) fn of(names: impl IntoIterator<Item = String>) -> Self {
        Names(names.into_iter().map(Arc::from).collect())
    }

    /// The label under which the model is counted.
    pub(crate) fn label(&self, model: &str) -> Arc<str> {
        self.0.get(model).map_or_else(|| Arc::from(OTHER), Arc::clone)
    }
}

type Word = &'static str;

/// One label whose values are words of this program.
type By = [(Word, Word); 1];

type Times<L> = Family<L, Histogram, fn() -> Histogram>;

/// Counters of one process, since its start.
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) load: Gauges,
    requests: Family<By, Counter>,
    relayed: Counter,
    translated: Counter,
    cancelled: Counter,
    unsaved: Counter,
    circles: Counter,
    cut: Family<By, Counter>,
    blind: Counter,
    fallbacks: Counter,
    limited: Family<[(Word, Word); 2], Counter>,
    alone: Family<By, Counter>,
    budgets: Family<[(Word, Word); 2], Counter>,
    repairs: Counter,
    turned_away: Counter,
    shed: Counter,
    panics: Counter,
    reloads: Counter,
    unshared: Counter,
    log_lost: Counter,
    open: Gauge,
    streams: Gauge,
    store_up: Gauge,
    store_writable: Gauge,
    waiting: Gauge,
    traces_waiting: Gauge,
    journal_fallbacks: Counter,
    thoughts: Family<Thought, Counter>,
    without: Family<By, Counter>,
    tokens: Family<Tokens, Counter>,
    cost: Family<Whose, Counter<f64, AtomicU64>>,
    unpriced: Family<Whose, Counter>,
    trouble: Family<Trouble, Counter>,
    poisoned: Family<By, Counter>,
    drained: Family<By, Counter>,
    drained_tokens: Family<Spent, Counter>,
    duration: Times<Ending>,
    overhead: Times<By>,
    first_byte: Times<Whose>,
    first_thought: Times<Whose>,
    first_text: Times<Whose>,
}

impl Metrics {
    /// Counters at zero. The exporter of spans counts `spans_lost`, and the audit counts lost and broken traces.
    pub(crate) fn new(spans_lost: Counter, of_audit: [Counter; 3]) -> Self {
        let [traces_lost, traces_broken, without_items] = of_audit;
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Process::now()));
        let mut registered = Registered(registry.sub_registry_with_prefix("thinkthrough"));
        let version: By = [("version", env!("CARGO_PKG_VERSION"))];
        registered.0.register("build", "The program", Info::new(version));
        let new = Metrics {
            load: Gauges::register(registered.0),
            requests: registered.add("requests", "Requests by the class of their status"),
            relayed: registered.add("relayed", "Answers that stayed on their wire"),
            translated: registered.add("translated", "Answers that changed their wire"),
            cancelled: registered.add("cancelled", "Answers that the caller did not wait for"),
            unsaved: registered.add("unsaved", "Answers that ended before they were kept"),
            circles: registered.add("repeating_thoughts", "Thoughts that go round in circles"),
            cut: registered.add("cut", "Answers that the gateway cut, by the reason"),
            blind: registered.add("lookups_failed", "Look-ups that failed or took too long"),
            fallbacks: registered.add("fallbacks", "Requests that went to another model"),
            budgets: registered.add("budget_reached", "Thresholds of budgets that were reached"),
            limited: registered.add("limit_rejected", "Requests that a limit did not let out"),
            alone: registered.add("limit_alone", "Requests let out by this gateway's window alone"),
            repairs: registered.add("repairs", "Requests that were repaired and sent again"),
            turned_away: registered.add("auth_failures", "Requests without a key that is known"),
            shed: registered.add("shed", "Connections beyond those that are served"),
            panics: registered.add("panics", "Requests that broke within the gateway"),
            reloads: registered.add("config_reloads", "Changes of the configuration"),
            unshared: registered
                .add("facts_failed", "Exchanges of facts with the store that failed"),
            log_lost: registered.add("log_lost", "Log lines that nobody took in time"),
            open: registered.add("open_requests", "Requests that are being answered"),
            streams: registered.add("streams_live", "Streamed answers that are under way"),
            store_up: registered.add("store_up", "Whether the store answers"),
            store_writable: registered.add("store_writable", "Whether it takes what is written"),
            waiting: registered
                .add("store_waiting_bytes", "Bytes of records that the database has not taken"),
            traces_waiting: registered
                .add("traces_waiting", "Traces of thoughts that the database has not taken"),
            journal_fallbacks: registered
                .add("journal_fallbacks", "Answers that the journal did not take"),
            thoughts: registered
                .add("thoughts", "Answers in requests by what became of their thoughts"),
            without: registered
                .add("without_thought", "What was done where demanded thoughts are lost"),
            tokens: registered.add("tokens", "Tokens as the providers reported them"),
            cost: registered.add("cost_usd", "Dollars that answers cost, where that is known"),
            unpriced: registered.add("cost_unknown", "Answers of which it is not known"),
            trouble: registered
                .add("upstream_errors", "Tries that an upstream did not answer well"),
            poisoned: registered.add("poisoned", "Records that a provider refused, by the reason"),
            drained: registered.add("drained", "Answers that were heard to their end for nobody"),
            drained_tokens: registered.add("drained_tokens", "Their tokens as the providers said"),
            duration: registered.times(
                "request_duration_seconds",
                "Until the end of an answer",
                long,
            ),
            overhead: registered.times("overhead_seconds", "What the gateway itself took", short),
            first_byte: registered.times(
                "ttfb_seconds",
                "Until the first byte for the caller",
                long,
            ),
            first_thought: registered.times(
                "time_to_first_reasoning_seconds",
                "Until the first letter of a thought in a stream",
                long,
            ),
            first_text: registered.times(
                "time_to_first_answer_seconds",
                "Until the first letter of visible text in a stream",
                long,
            ),
            registry: Registry::default(),
        };
        registered.put("traces_lost", "Traces of thoughts that were not kept", traces_lost);
        registered.put("traces_unmasked", "Traces with a text that masking broke", traces_broken);
        registered.put("trace_items_lost", "Traces without their items", without_items);
        registered.put("spans_lost", "Spans that could not be exported", spans_lost);
        new.at_zero();
        Metrics { registry, ..new }
    }

    /// Creates all metrics with few labels, so that they exist from the start.
    fn at_zero(&self) {
        for class in CLASSES {
            drop(self.requests.get_or_create(&[("status", class)]));
        }
        for cause in RefusalCause::ALL {
            drop(self.poisoned.get_or_create(&[("reason", cause.as_str())]));
        }
        for scope in Scope::ALL {
            for kind in [BudgetEventKind::Warning, BudgetEventKind::Exceeded] {
                drop(self.budgets.get_or_create(&by_threshold(scope.as_str(), kind)));
            }
        }
        for reason in CUTS {
            drop(self.cut.get_or_create(&[("reason", reason)]));
        }
        for by in ["key", "provider"] {
            drop(self.alone.get_or_create(&[("by", by)]));
        }
        for (by, unit) in LIMITS {
            drop(self.limited.get_or_create(&[("by", by), ("unit", unit)]));
        }
        for (way, _) in by_way(Without::default()) {
            drop(self.without.get_or_create(&[("way", way)]));
        }
        for end in Heard::ALL {
            drop(self.drained.get_or_create(&[("outcome", end.as_str())]));
        }
    }

    /// Counts a step of a request.
    pub(crate) fn hear(&self, told: &Progress<'_>, summary: &Summary) {
        match told {
            Progress::Admitted { took, .. } => self.took("auth", *took),
            Progress::TurnedAway => count(&self.turned_away),
            Progress::RequestContext { stream, .. } => {
                self.open.inc();
                if *stream {
                    self.streams.inc();
                }
            }
            Progress::Passed { .. } => {
                self.open.inc();
            }
            Progress::Blind => count(&self.blind),
            Progress::Led => self.decided(summary),
            Progress::Sent { took, .. } => self.took("restore", *took),
            Progress::Failed { reason, .. } | Progress::TryFailed { reason } => {
                self.failed(summary, reason);
            }
            Progress::Repaired => count(&self.repairs),
            Progress::FellBack => count(&self.fallbacks),
            Progress::Limited { by, unit } => {
                self.limited.get_or_create(&[("by", *by), ("unit", *unit)]).inc();
            }
            Progress::LetOutAlone { by } => count(&self.alone.get_or_create(&[("by", *by)])),
            Progress::Panicked => count(&self.panics),
            Progress::Head { status } => {
                let class = usize::from(status / 100).saturating_sub(1);
                if let Some(class) = CLASSES.get(class) {
                    self.requests.get_or_create(&[("status", *class)]).inc();
                }
            }
            Progress::FirstByte if summary.is_asked => observe(&self.first_byte, summary),
            Progress::FirstThought if summary.stream => observe(&self.first_thought, summary),
            Progress::FirstText if summary.stream => observe(&self.first_text, summary),
            Progress::FirstByte | Progress::FirstThought | Progress::FirstText => {}
            Progress::Said { answer, settled, is_stopped } => {
                if let Some(reason) = flaw(answer).filter(|_| !is_stopped && summary.cut.is_none())
                {
                    self.failed(summary, reason);
                }
                self.used(summary, settled);
            }
            Progress::Circles { .. } => count(&self.circles),
            Progress::Cut { reason } => {
                self.cut.get_or_create(&[("reason", *reason)]).inc();
            }
            Progress::Unsaved => count(&self.unsaved),
            Progress::Ended { .. } => {
                // Its caller went away before the attempt was final.
                if !summary.is_final {
                    self.decided(summary);
                }
                self.ended(summary);
            }
            Progress::Decided { .. } | Progress::Routed { .. } | Progress::Explained { .. } => {}
            Progress::Unrouted { .. } => {}
        }
    }

    /// Counts a change of the gateway.
    pub(crate) fn news(&self, news: News) {
        match news {
            News::Reloaded => count(&self.reloads),
            News::Shed => count(&self.shed),
            News::Unshared => count(&self.unshared),
        }
    }

    /// Counts a reached threshold of a budget.
    pub(crate) fn budget(&self, reached: &BudgetReached<'_>) {
        self.budgets.get_or_create(&by_threshold(reached.scope, reached.event.kind)).inc();
    }

    /// Counts records that were marked because a provider refused them.
    pub(crate) fn poisoned(&self, cause: RefusalCause, records: u64) {
        self.poisoned.get_or_create(&[("reason", cause.as_str())]).inc_by(records);
    }

    /// Counts an answer that was read without its caller, with its cost as its provider reported it.
    pub(crate) fn drained(&self, summary: &Summary, heard: Heard, usage: Option<&Usage>) {
        self.drained.get_or_create(&[("outcome", heard.as_str())]).inc();
        for (name, count) in usage.map(spent).into_iter().flatten() {
            let provider = Arc::clone(summary.answering());
            let r#type = name.trim_end_matches("_tokens");
            self.drained_tokens.get_or_create(&Spent { provider, r#type }).inc_by(count);
        }
    }

    /// A line of the log is lost.
    pub(crate) fn log_lost(&self) {
        count(&self.log_lost);
    }

    fn took(&self, phase: Word, took: Duration) {
        self.overhead.get_or_create(&[("phase", phase)]).observe(took.as_secs_f64());
    }

    fn failed(&self, summary: &Summary, reason: Word) {
        let provider = Arc::clone(summary.answering());
        self.trouble.get_or_create(&Trouble { provider, reason }).inc();
    }

    /// Counts the decisions about thoughts. The last of several attempts counts, as in the answer's header.
    fn decided(&self, summary: &Summary) {
        let Some(Verdict { counts, without, is_relayed }) = summary.verdict else { return };
        count(if is_relayed { &self.relayed } else { &self.translated });
        for (way, count) in by_way(without) {
            self.without.get_or_create(&[("way", way)]).inc_by(count as u64);
        }
        if counts == Counts::default() {
            return;
        }
        for (outcome, count) in [
            ("restored", counts.restored),
            ("missed", counts.missed),
            ("ambiguous", counts.ambiguous),
            ("dropped", counts.dropped),
        ] {
            let provider = Arc::clone(&summary.provider);
            self.thoughts.get_or_create(&Thought { provider, outcome }).inc_by(count as u64);
        }
    }

    fn used(&self, summary: &Summary, settled: &Settled) {
        let Settled { usage, reasoning, total } = settled;
        let reported = TokenSource::Reported;
        for (r#type, count, source) in [
            ("input", usage.input_tokens_with_cached(), reported),
            ("output", usage.output_tokens_with_reasoning(), total.source),
            ("reasoning", usage.reasoning_tokens, reasoning.source),
            ("cache_read", usage.cache_read_tokens, reported),
            ("cache_write", usage.cache_write_tokens, reported),
        ] {
            let Some(count) = count else { continue };
            let Whose { provider, model } = whose(summary);
            let labels = Tokens { provider, model, r#type, source: source.as_str() };
            self.tokens.get_or_create(&labels).inc_by(count);
        }
        self.cost(summary, usage);
    }

    fn cost(&self, summary: &Summary, usage: &Usage) {
        match summary.cost(usage) {
            // Only the metric is in dollars. Bookings are in micro-dollars.
            #[expect(
                clippy::cast_precision_loss,
                reason = "exact up to nine thousand million dollars"
            )]
            Some(cost) => {
                self.cost.get_or_create(&whose(summary)).inc_by(cost as f64 / DOLLAR as f64);
            }
            None => count(&self.unpriced.get_or_create(&whose(summary))),
        }
    }

    fn ended(&self, summary: &Summary) {
        if !summary.is_open {
            return;
        }
        self.open.dec();
        if summary.stream {
            self.streams.dec();
        }
        if summary.outcome == "cancelled" {
            count(&self.cancelled);
        }
        if summary.is_asked {
            let Whose { provider, model } = whose(summary);
            let labels = Ending { provider, model, outcome: summary.outcome };
            self.duration.get_or_create(&labels).observe(summary.total.as_secs_f64());
        }
    }

    /// Sets the gauges of the store's backlog when metrics are read.
    pub(crate) fn see(&self, backlog: Backlog, traces: u64) {
        self.store_writable.set(i64::from(!backlog.is_refused));
        self.traces_waiting.set(i64::try_from(traces).unwrap_or(i64::MAX));
        self.waiting.set(i64::try_from(backlog.bytes).unwrap_or(i64::MAX));
        self.journal_fallbacks.inner().store(backlog.fallbacks, Ordering::Relaxed);
    }

    /// The counters in the text form of OpenMetrics. `is_up` is whether the store answers.
    pub(crate) fn text(&self, is_up: bool) -> String {
        self.store_up.set(i64::from(is_up));
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = text::encode(&mut out, &self.registry);
        out
    }
}

/// The form of [`Metrics::text`].
pub(crate) const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// Registers metrics under their names.
struct Registered<'a>(&'a mut Registry);

impl Registered<'_> {
    fn add<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        self.put(name, help, M::default())
    }

    fn times<L>(&mut self, name: &str, help: &str, make: fn() -> Histogram) -> Times<L>
    where
        L: Clone + Hash + Eq + EncodeLabelSet + fmt::Debug + Send + Sync + 'static,
    {
        let times = Times::new_with_constructor(make);
        self.0.register(name, help, times.clone());
        times
    }

    fn put<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }
}

fn long() -> Histogram {
    Histogram::new(LONG)
}

fn short() -> Histogram {
    Histogram::new(SHORT)
}

fn count(counter: &Counter) {
    counter.inc();
}

fn whose(summary: &Summary) -> Whose {
    Whose { provider: Arc::clone(summary.answering()), model: Arc::clone(&summary.label) }
}

/// Answers (for thinking that is off: requests) by the words of the answer's header.
fn by_way(without: Without) -> [(Word, usize); 3] {
    let Without { bypassed, told, is_off } = without;
    [("bypassed", bypassed), ("flattened", told), ("off", usize::from(is_off))]
}

fn by_threshold(scope: Word, kind: BudgetEventKind) -> [(Word, Word); 2] {
    let threshold = match kind {
        BudgetEventKind::Exceeded => "exceeded",
        BudgetEventKind::Warning => "warning",
    };
    [("scope", scope), ("threshold", threshold)]
}

fn observe(times: &Times<Whose>, summary: &Summary) {
    times.get_or_create(&whose(summary)).observe(summary.age().as_secs_f64());
}

#[cfg(test)]
mod tests;
