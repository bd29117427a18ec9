//! Where everything is told once, and who hears it: metrics, log and traces.

use crate::audit::{Audit, Draft, Labels, Transcript};
use crate::log::Log;
use crate::metrics::Metrics;
use crate::progress::{Heard, News, Progress};
use crate::story::Story;
use crate::traces::{CONTEXT, Traces, carry};
use http::{HeaderMap, HeaderName};
use opentelemetry_sdk::trace::Span;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::exchange::RefusalCause;
use thinkthrough_core::usage::Usage;

/// Those who hear what happens.
#[derive(Debug)]
pub(crate) struct Bus {
    pub(crate) metrics: Metrics,
    log: Log,
    traces: Traces,
    pub(crate) audit: Option<Audit>,
}

impl Bus {
    pub(crate) fn new(log: Log, traces: Traces, audit: Option<Audit>) -> Self {
        let traces_lost = audit.as_ref().map(Audit::lost).unwrap_or_default();
        Bus { metrics: Metrics::new(traces.lost(), traces_lost), log, traces, audit }
    }

    /// Something happened to the gateway as a whole.
    pub(crate) fn news(&self, news: News) {
        self.metrics.news(news);
    }
}

/// One request as those who hear of it see it.
#[derive(Debug)]
pub(crate) struct Seen {
    bus: Arc<Bus>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    story: Story,
    span: Option<Span>,
    /// Whose trace it leaves; none where none is left.
    labels: Option<Labels>,
    transcript: Transcript,
    /// Its caller went away, and its answer is heard to its end.
    is_left: bool,
}

impl Seen {
    /// A request came, at this time in milliseconds since 1970.
    pub(crate) fn new(bus: &Arc<Bus>, at: u64, route: &'static str) -> Arc<Self> {
        let state = State {
            story: Story::new(at, route),
            span: None,
            labels: None,
            transcript: Transcript::default(),
            is_left: false,
        };
        Arc::new(Seen { bus: Arc::clone(bus), state: Mutex::new(state) })
    }

    /// Something happened. A few such things make a request, and none of them is a chunk of its answer. What comes after
    /// its end is of no request.
    pub(crate) fn tell(&self, told: &Progress<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { story, span, .. } = &mut *state;
        if story.is_over() {
            return;
        }
        let Bus { metrics, log, traces, .. } = &*self.bus;
        story.hear(told);
        metrics.hear(told, story);
        traces.hear(told, story, span);
        if story.is_over() {
            if !log.line(story) {
                metrics.log_lost();
            }
            if !state.is_left {
                self.leave_trace(&mut state);
            }
        }
    }

    /// It leaves a trace with these labels, if traces are kept.
    pub(crate) fn label(&self, labels: impl FnOnce() -> Labels) {
        if self.bus.audit.is_some() {
            self.state().labels = Some(labels());
        }
    }

    /// Whether what is said in it is to be gathered.
    pub(crate) fn is_audited(&self) -> bool {
        self.bus.audit.is_some() && self.state().labels.is_some()
    }

    /// What was said in it.
    pub(crate) fn gathered(&self, transcript: Transcript) {
        self.state().transcript = transcript;
    }

    /// Its caller went away, and its answer is heard to its end.
    pub(crate) fn is_left(&self) {
        self.state().is_left = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave_trace(&self, state: &mut State) {
        let (Some(audit), Some(labels)) = (&self.bus.audit, state.labels.take()) else { return };
        let transcript = std::mem::take(&mut state.transcript);
        audit.take(Draft::of(&state.story, labels, transcript));
    }

    /// Whose answer it is.
    pub(crate) fn provider(&self) -> Arc<str> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(state.story.answering())
    }

    /// Its answer was heard to its end although its caller went away, for so long.
    pub(crate) fn drained(&self, heard: Heard, usage: Option<&Usage>, took: Duration) {
        let mut state = self.state();
        let Bus { metrics, log, .. } = &*self.bus;
        metrics.drained(&state.story, heard, usage);
        let drained = state.story.drained(heard, usage, took);
        if !log.line(&drained) {
            metrics.log_lost();
        }
        state.story.outcome = drained.outcome;
        self.leave_trace(&mut state);
    }

    /// Records of its tenant were marked that a provider refused.
    pub(crate) fn poisoned(&self, blame: RefusalCause, records: u64) {
        self.bus.metrics.poisoned(blame, records);
    }

    /// Puts the trace's context on a request that goes upstream: that of the request's own span, else the caller's as it
    /// came.
    pub(crate) fn carry(&self, callers: &HeaderMap, headers: &mut HeaderMap) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.span {
            Some(span) => carry(span, headers),
            None => {
                for name in CONTEXT.map(HeaderName::from_static) {
                    if !headers.contains_key(&name) {
                        for value in callers.get_all(&name) {
                            headers.append(&name, value.clone());
                        }
                    }
                }
            }
        }
    }
}
