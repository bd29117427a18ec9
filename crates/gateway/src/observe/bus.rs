//! The bus: requests report each step here once, and metrics, log and traces receive it.

use crate::load::{Pools, Reservation};
use crate::observe::audit::{Audit, Confirming, Labels, Question, Transcript, draft, words_of};
use crate::observe::events::{AnswerEvents, Events, Outbox, Whose};
use crate::observe::log::Log;
use crate::observe::metrics::Metrics;
use crate::observe::progress::{BudgetReached, Heard, News, Progress};
use crate::observe::spans::{CONTEXT, Traces, carry};
use crate::observe::summary::Summary;
use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry_sdk::trace::Span;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::exchange::RefusalCause;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::usage::Usage;
use thinkthrough_core::why::{Prepared, Way, Why};
use thinkthrough_store::TraceDraft;

/// The receivers of all reports.
#[derive(Debug)]
pub(crate) struct Bus {
    pub(crate) metrics: Metrics,
    /// Pools whose places callers take in turn.
    pub(crate) pools: Arc<Pools>,
    log: Log,
    traces: Traces,
    pub(crate) audit: Option<Audit>,
    events: Option<Events>,
}

impl Bus {
    pub(crate) fn new(
        log: Log,
        traces: Traces,
        audit: Option<Audit>,
        events: Option<Events>,
    ) -> Self {
        let of_audit =
            audit.as_ref().map(|audit| [audit.lost(), audit.broken(), audit.without_items()]);
        let metrics = Metrics::new(traces.lost(), of_audit.unwrap_or_default());
        let pools = Arc::new(Pools::new(&metrics.load));
        audit.iter().for_each(|audit| audit.mask_in(&pools.masking));
        Bus { metrics, pools, log, traces, audit, events }
    }

    /// The events of `/v1/events`, if anybody has listened so far.
    fn events(&self) -> Option<&Events> {
        self.events.as_ref().filter(|events| events.generation() > 0)
    }

    /// Reports that a threshold of a budget was reached.
    pub(crate) fn budget(&self, reached: &BudgetReached<'_>) {
        self.metrics.budget(reached);
        self.events().into_iter().for_each(|events| events.budget(reached));
    }

    /// Reports a change of the gateway as a whole.
    pub(crate) fn news(&self, news: News) {
        self.metrics.news(news);
    }
}

/// Collects the progress of one request and passes it on to the bus.
#[derive(Debug)]
pub(crate) struct Reporter {
    bus: Arc<Bus>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    summary: Summary,
    span: Option<Span>,
    /// The labels of its trace; `None` if it leaves no trace.
    labels: Option<Labels>,
    question: Question,
    transcript: Transcript,
    /// The memory of the transcript.
    copy: Option<Reservation>,
    why: Why,
    /// The client's `user-agent`.
    client: Option<HeaderValue>,
    /// The scope whose listeners receive its events; `None` while no tenant is known.
    whose: Option<Whose>,
    /// Its start was announced.
    is_announced: bool,
    /// Its caller allows its text to be stored, even if only for a minute.
    is_kept: bool,
    /// Its caller went away, and the gateway reads its answer to the end.
    is_left: bool,
    /// Its caller wants to know the place of its trace.
    asks_for_state: bool,
}

impl Reporter {
    /// Begins a request that arrived at `at`, in milliseconds since 1970.
    pub(crate) fn new(bus: &Arc<Bus>, at: u64, route: &'static str) -> Arc<Self> {
        let state = State {
            summary: Summary::new(at, route),
            span: None,
            labels: None,
            question: Question::default(),
            transcript: Transcript::default(),
            copy: None,
            why: Why::default(),
            client: None,
            whose: None,
            is_announced: false,
            is_kept: false,
            is_left: false,
            asks_for_state: false,
        };
        Arc::new(Reporter { bus: Arc::clone(bus), state: Mutex::new(state) })
    }

    /// Reports a step of the request. Chunks of the answer are no steps. Steps after the end are ignored.
    pub(crate) fn tell(&self, told: &Progress<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { summary, span, is_left, .. } = &mut *state;
        let Bus { metrics, log, traces, .. } = &*self.bus;
        if summary.is_over() {
            // After the caller left, the finished answer is still counted, traced and reported as drained.
            if *is_left && matches!(told, Progress::Said { .. }) {
                summary.hear(told);
                metrics.hear(told, summary);
            }
            return;
        }
        summary.hear(told);
        metrics.hear(told, summary);
        traces.hear(told, summary, span);
        if let Some(events) = self.bus.events() {
            state.announce(events, told);
        }
        if let Progress::Failed { reason, .. } = told {
            state.why.failed(reason);
        }
        let summary = &state.summary;
        if summary.is_over() {
            if !log.line(summary) {
                metrics.log_lost();
            }
            if !state.is_left {
                self.leave_trace(&mut state);
            }
        }
    }

    /// Notes that the request asks a model, with its trace id and its client. `tenant` is the best guess before the
    /// model is known.
    pub(crate) fn arrived(
        &self,
        trace: &str,
        client: Option<&HeaderValue>,
        tenant: Option<Tenant>,
    ) {
        let mut state = self.state();
        trace.clone_into(&mut state.summary.id);
        state.client = client.cloned();
        state.summary.client = client.and_then(|it| it.to_str().ok()).and_then(product);
        state.whose = tenant.map(|tenant| self.whose(tenant, None, None));
    }

    /// Notes the tenant and labels of the request. Requests whose text must not be stored get no labels.
    pub(crate) fn opened(
        &self,
        tenant: Option<Tenant>,
        (session, is_kept): (Option<&str>, bool),
        labels: Option<impl FnOnce() -> Labels>,
    ) {
        let events = self.bus.events();
        let mut state = self.state();
        // Events come from memory, so that a late store does not hold them up.
        state.is_kept = is_kept;
        let is_wanted = self.bus.audit.is_some() || events.is_some();
        let labels = labels.filter(|_| is_wanted).map(|labels| labels());
        if state.is_announced {
            state.labels = labels;
            return;
        }
        state.is_announced = true;
        let whose = tenant.map(|tenant| match &labels {
            Some(Labels { session, run, .. }) => {
                self.whose(tenant, Some(session.clone()), Some(run.clone()))
            }
            None => self.whose(tenant, session.map(str::to_owned), None),
        });
        state.whose = whose;
        state.labels = labels;
        if let (Some(events), Some(whose)) = (events, &state.whose) {
            whose.started(events, &state.summary, state.client());
        }
    }

    fn whose(&self, tenant: Tenant, session: Option<String>, run: Option<String>) -> Whose {
        let outbox = Outbox::new(&self.bus.pools, &tenant);
        Whose { tenant, session, run, outbox }
    }

    /// Updates the listeners of a running answer. Later listeners join here, unless the text must not be stored.
    pub(crate) fn tune(&self, answer_events: &mut AnswerEvents) {
        let generation = self.bus.events.as_ref().map_or(0, Events::generation);
        if !answer_events.is_of(generation) {
            let state = self.state();
            let whose = state.whose.as_ref().filter(|_| state.is_kept);
            let heard = self.bus.events().zip(whose);
            answer_events
                .tune(generation, heard.map(|(events, whose)| (events, whose, &state.summary)));
        }
    }

    /// Whether to collect a transcript of the answer.
    pub(crate) fn is_audited(&self) -> bool {
        self.bus.audit.is_some() && self.state().labels.is_some()
    }

    /// Whether its trace has the items of request and answer.
    pub(crate) fn keeps_items(&self) -> bool {
        self.bus.audit.as_ref().is_some_and(Audit::keeps_items)
    }

    /// Counts its trace as one without items, because there is no memory for them.
    pub(crate) fn loses_items(&self) {
        if let Some(audit) = &self.bus.audit {
            audit.without_items().inc();
        }
    }

    /// Takes the part of the request that its trace shows.
    pub(crate) fn asks(&self, question: Question) {
        self.state().question = question;
    }

    /// Notes that the provider refused an attempt with this body, or that the attempt ended without an answer.
    pub(crate) fn refused(&self, body: Option<&[u8]>) {
        if self.keeps_items() {
            self.state().question.refusal = body.and_then(words_of);
        }
    }

    /// Notes the next attempt for the trace's explanation.
    pub(crate) fn goes(&self, way: Way, prepared: Prepared) {
        let mut state = self.state();
        state.why.went(way, prepared);
    }

    /// Takes the transcript of its answer, with the memory that it occupies.
    pub(crate) fn gathered(&self, transcript: Transcript, copy: Reservation) {
        let mut state = self.state();
        (state.transcript, state.copy) = (transcript, Some(copy));
    }

    /// Counts its trace as lost, because there is no memory for its transcript.
    pub(crate) fn loses_trace(&self) {
        let mut state = self.state();
        if let (Some(audit), Some(labels)) = (&self.bus.audit, state.labels.take()) {
            audit.drop_one(&state.summary.id, &labels.tenant);
        }
    }

    /// Sets whether the gateway reads the answer to its end without its caller.
    pub(crate) fn is_left(&self, is_left: bool) {
        self.state().is_left = is_left;
    }

    /// Notes that its caller went away before an answer began.
    pub(crate) fn ends_unheard(&self) {
        let mut state = self.state();
        state.is_left = false;
        // Otherwise the end of the request writes the trace.
        if state.summary.is_over() {
            self.leave_trace(&mut state);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave_trace(&self, state: &mut State) {
        if let Some(audit) = &self.bus.audit
            && let Some((draft, rooms)) = state.draft(None)
        {
            audit.take(draft, rooms);
        }
    }

    /// Notes that its caller wants to know the place of its trace before its answer ends.
    pub(crate) fn asks_for_state(&self) {
        self.state().asks_for_state = true;
    }

    /// Writes the trace before the last part of the answer goes out, if the caller wants to know its place. `status`
    /// is given if the caller has not received one yet.
    pub(crate) fn confirm(&self, status: Option<u16>) -> Option<Confirming> {
        let mut state = self.state();
        let audit = self.bus.audit.as_ref().filter(|_| state.asks_for_state)?;
        // The parts that follow do not change the trace.
        let mut ended = state.summary.clone();
        (ended.outcome, ended.total) = ("completed", ended.age());
        ended.status = status.unwrap_or(ended.status);
        let (draft, rooms) = state.draft(Some(&ended))?;
        Some(audit.confirm(draft, rooms))
    }

    /// The provider of the answer.
    pub(crate) fn provider(&self) -> Arc<str> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(state.summary.answering())
    }

    /// Notes the end of an answer that was read without its caller, after the time `took`.
    pub(crate) fn drained(&self, heard: Heard, usage: Option<&Usage>, took: Duration) {
        let mut state = self.state();
        let Bus { metrics, log, .. } = &*self.bus;
        metrics.drained(&state.summary, heard, usage);
        let drained = state.summary.drained(heard, usage, took);
        if !log.line(&drained) {
            metrics.log_lost();
        }
        if let (Some(events), Some(whose)) = (self.bus.events(), &state.whose) {
            whose.drained(events, &drained);
        }
        state.summary.outcome = drained.outcome;
        self.leave_trace(&mut state);
    }

    /// Counts records of its tenant that were marked because a provider refused them.
    pub(crate) fn poisoned(&self, cause: RefusalCause, records: u64) {
        self.bus.metrics.poisoned(cause, records);
    }

    /// Puts the trace context on an upstream request: the context of the request's own span, else the caller's
    /// unchanged.
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

/// The first product that a client names, without its version.
fn product(agent: &str) -> Option<String> {
    let end = agent.find(|c: char| c == '/' || c.is_whitespace()).unwrap_or(agent.len());
    let name: String = agent.get(..end)?.chars().filter(char::is_ascii_graphic).take(40).collect();
    (!name.is_empty()).then_some(name)
}

impl State {
    /// The draft of its trace with its memory, once. Uses the given summary, else its own as far as it got.
    fn draft(&mut self, summary: Option<&Summary>) -> Option<(TraceDraft, Vec<Reservation>)> {
        let labels = self.labels.take()?;
        let mut question = std::mem::take(&mut self.question);
        let rooms = [question.room.take(), self.copy.take()].into_iter().flatten().collect();
        let (transcript, why) =
            (std::mem::take(&mut self.transcript), std::mem::take(&mut self.why));
        let summary = summary.unwrap_or(&self.summary);
        Some((draft(summary, labels, question, transcript, why), rooms))
    }

    fn client(&self) -> Option<&str> {
        self.client.as_ref().and_then(|client| client.to_str().ok())
    }

    /// Passes a step on to listeners. The start of a request that ended early is announced together with its end.
    fn announce(&mut self, events: &Events, told: &Progress<'_>) {
        let Some(whose) = &self.whose else { return };
        if !self.is_announced {
            if !self.summary.is_over() {
                return;
            }
            self.is_announced = true;
            whose.started(events, &self.summary, self.client());
        }
        whose.hear(events, &self.summary, told);
    }
}
