//! Where everything is told once, and who hears it: metrics, log and traces.

use crate::log::Log;
use crate::metrics::Metrics;
use crate::story::Story;
use crate::told::{News, Told};
use crate::traces::{CONTEXT, Traces, carry};
use http::{HeaderMap, HeaderName};
use opentelemetry_sdk::trace::Span;
use std::sync::{Arc, Mutex, PoisonError};

/// Those who hear what happens.
#[derive(Debug)]
pub(crate) struct Bus {
    pub(crate) metrics: Metrics,
    log: Log,
    traces: Traces,
}

impl Bus {
    pub(crate) fn new(log: Log, traces: Traces) -> Self {
        Bus { metrics: Metrics::new(traces.lost()), log, traces }
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
}

impl Seen {
    /// A request came, at this time in milliseconds since 1970.
    pub(crate) fn new(bus: &Arc<Bus>, at: u64, route: &'static str) -> Arc<Self> {
        let state = State { story: Story::new(at, route), span: None };
        Arc::new(Seen { bus: Arc::clone(bus), state: Mutex::new(state) })
    }

    /// Something happened. A few such things make a request, and none of them is a chunk of its answer. What comes after
    /// its end is of no request.
    pub(crate) fn tell(&self, told: &Told<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { story, span } = &mut *state;
        if story.is_over() {
            return;
        }
        let Bus { metrics, log, traces } = &*self.bus;
        story.hear(told);
        metrics.hear(told, story);
        traces.hear(told, story, span);
        if story.is_over() && !log.line(story) {
            metrics.log_lost();
        }
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
