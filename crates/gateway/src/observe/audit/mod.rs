//! The audit copy of thoughts: masked here, then stored in the background.
//!
//! At the end of an answer its texts become a draft ([`Transcript`]). One task masks the drafts and passes them to
//! the store in batches. The store holds the traces in a journal until the database has them; while the store is not
//! open, they wait in a separate journal. Only callers that ask for the place of their trace wait for it, and only
//! briefly. Drafts and traces beyond a bound are dropped and counted.

mod confirming;
mod labels;
mod question;
mod recorder;
mod transcript;

pub(crate) use confirming::Confirming;
pub(crate) use labels::Labels;
pub(crate) use question::{Question, words_of};
pub(crate) use transcript::Transcript;

use crate::load::{FairPool, Holder, Reservation, Room};
use crate::observe::summary::Summary;
use prometheus_client::metrics::counter::Counter;
use recorder::{Recorder, run};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::settings::Effort;
use thinkthrough_core::why::Why;
use thinkthrough_json::{Raw, Writer};
use thinkthrough_mask::Masker;
use thinkthrough_store::{
    DraftText, EarlyTraces, TraceContent, TraceCount, TraceDraft, TraceNumbers, TracePlace,
    TraceState, Traces,
};
use tokio::sync::{Notify, mpsc};

/// The most drafts that may wait.
const ROOM: usize = 4_096;
/// The most bytes of waiting texts. No tenant takes more than it leaves to others.
const BYTES: usize = 64 << 20;
/// The number of dropped traces that are remembered.
const DROPPED: usize = 4_096;

/// The destination of traces.
#[derive(Clone, Debug)]
pub enum TracesTo {
    /// The open store.
    Store(Traces),
    /// A journal, until the store is open.
    Early(EarlyTraces),
}

/// Finds the destination of traces and the masker for them. `None` while neither the store nor a journal can be used.
pub type FindTraces = Box<dyn Fn() -> Option<(TracesTo, Masker)> + Send + Sync>;

/// Takes the traces of requests. Clones are handles to the same queue.
#[derive(Clone)]
pub struct Audit {
    inner: Arc<Inner>,
}

struct Inner {
    drafts: mpsc::Sender<TraceDraft>,
    /// Signals that a caller waits for a draft.
    hurry: Arc<Notify>,
    waiting: Mutex<Waiting>,
    /// Counts traces with a text that could not be masked.
    broken: Counter,
    /// Counts traces that lost their items.
    without_items: Counter,
    find: FindTraces,
    content: TraceContent,
    /// The pool for masking texts.
    masking: OnceLock<FairPool>,
}

/// Drafts that still wait, and the latest dropped traces.
struct Waiting {
    /// By the trace's id.
    drafts: HashMap<String, Draft>,
    room: Room,
    /// The number of dropped traces in all.
    lost: Counter,
    dropped: VecDeque<(String, String)>,
}

/// A draft that the store has not received.
struct Draft {
    tenant: String,
    /// Its bytes.
    size: usize,
    /// Its memory, until the store has the trace.
    _rooms: Vec<Reservation>,
}

/// The place of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It was lost.
    Dropped,
    /// It is in the journal of the store, and the database has not taken it yet.
    Spooled,
    /// It is on its way into the store.
    Waiting,
}

impl Place {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Place::Dropped => "dropped",
            Place::Spooled => "spooled",
            Place::Waiting => "waiting",
        }
    }
}

impl Audit {
    /// Begins to take traces; the task ends with the last handle.
    #[must_use]
    pub fn start(find: FindTraces, content: TraceContent) -> Self {
        let (drafts, taken) = mpsc::channel(ROOM);
        let waiting = Waiting {
            drafts: HashMap::new(),
            room: Room::new(BYTES),
            lost: Counter::default(),
            dropped: VecDeque::new(),
        };
        let inner = Arc::new(Inner {
            drafts,
            hurry: Arc::default(),
            waiting: Mutex::new(waiting),
            broken: Counter::default(),
            without_items: Counter::default(),
            find,
            content,
            masking: OnceLock::new(),
        });
        let hurry = Arc::clone(&inner.hurry);
        tokio::spawn(run(taken, hurry, Recorder::new(Arc::downgrade(&inner))));
        Audit { inner }
    }

    /// Whether traces have the items of their requests and answers.
    pub(crate) fn keeps_items(&self) -> bool {
        self.inner.content == TraceContent::Turn
    }

    /// Sets the pool in which texts are masked.
    pub(crate) fn mask_in(&self, pool: &FairPool) {
        // The first pool stays for as long as the gateway runs.
        drop(self.inner.masking.set(pool.clone()));
    }

    /// Waits until every draft has been passed to the store or dropped.
    pub async fn flush(&self) {
        while !self.waiting().drafts.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// The number of traces that are neither in the store nor in a journal.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.waiting().drafts.len() as u64
    }

    /// The number of traces that wait for the store or its database.
    pub(crate) fn waiting_now(&self) -> u64 {
        let handed_over = match (self.inner.find)() {
            Some((TracesTo::Store(traces), _)) => traces.waiting(),
            Some((TracesTo::Early(early), _)) => early.waiting(),
            None => 0,
        };
        self.left() + handed_over as u64
    }

    /// The number of traces that were dropped so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.waiting().lost.get()
    }

    /// Counts traces that are lost with the end of this process.
    pub fn lose(&self, count: u64) {
        self.waiting().lost.inc_by(count);
    }

    /// Counts dropped traces.
    pub(crate) fn lost(&self) -> Counter {
        self.waiting().lost.clone()
    }

    /// Counts traces that lack a text because masking it failed.
    pub(crate) fn broken(&self) -> Counter {
        self.inner.broken.clone()
    }

    /// Counts traces that are stored without their items, although they had some.
    pub(crate) fn without_items(&self) -> Counter {
        self.inner.without_items.clone()
    }

    /// Counts a trace as lost before its draft is made.
    pub(crate) fn drop_one(&self, id: &str, tenant: &Tenant) {
        self.waiting().drop_one(id.to_owned(), tenant.as_str().to_owned());
    }

    /// Takes a trace with its memory, if there is room.
    pub(crate) fn take(&self, draft: TraceDraft, rooms: Vec<Reservation>) {
        let (id, tenant) = (draft.id.clone(), draft.tenant.as_str().to_owned());
        let size = draft.size();
        {
            let mut waiting = self.waiting();
            let is_full = waiting.drafts.len() >= ROOM;
            if is_full || !waiting.room.take(&Holder::Tenant(tenant.clone()), size) {
                return waiting.drop_one(id, tenant);
            }
            waiting.drafts.insert(id.clone(), Draft { tenant, size, _rooms: rooms });
        }
        if self.inner.drafts.try_send(draft).is_err() {
            self.waiting().lose(&id);
        }
    }

    /// Takes a trace, and reports its place as soon as it is safe.
    pub(crate) fn confirm(&self, draft: TraceDraft, rooms: Vec<Reservation>) -> Confirming {
        let (id, tenant) = (draft.id.clone(), draft.tenant.as_str().to_owned());
        self.take(draft, rooms);
        self.inner.hurry.notify_one();
        Confirming::of(self.clone(), tenant, id)
    }

    /// The place of a tenant's trace that is not in the store.
    pub(crate) fn place(&self, tenant: &str, id: &str) -> Option<Place> {
        {
            let waiting = self.waiting();
            let is_it = |(its, dropped): &(String, String)| its == tenant && dropped == id;
            if waiting.drafts.get(id).is_some_and(|draft| draft.tenant == tenant) {
                return Some(Place::Waiting);
            }
            if waiting.dropped.iter().any(is_it) {
                return Some(Place::Dropped);
            }
        }
        let (place, _) = match (self.inner.find)()?.0 {
            TracesTo::Store(traces) => traces.place(id),
            TracesTo::Early(early) => early.tenant(id).map(|its| (TracePlace::Spooled, its)),
        }
        .filter(|(_, its)| its == tenant)?;
        Some(match place {
            TracePlace::Spooled => Place::Spooled,
            TracePlace::Waiting => Place::Waiting,
        })
    }

    /// The store's traces.
    pub(crate) fn traces(&self) -> Option<Traces> {
        match (self.inner.find)()?.0 {
            TracesTo::Store(traces) => Some(traces),
            TracesTo::Early(_) => None,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.inner.waiting()
    }
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Removes a draft. Returns its tenant.
    fn take_out(&mut self, id: &str) -> Option<String> {
        let Draft { tenant, size, .. } = self.drafts.remove(id)?;
        self.room.give(&Holder::Tenant(tenant.clone()), size);
        Some(tenant)
    }

    /// Drops a draft that will never be written.
    fn lose(&mut self, id: &str) {
        if let Some(tenant) = self.take_out(id) {
            self.drop_one(id.to_owned(), tenant);
        }
    }

    fn drop_one(&mut self, id: String, tenant: String) {
        self.lost.inc();
        if self.dropped.len() >= DROPPED {
            self.dropped.pop_front();
        }
        self.dropped.push_back((tenant, id));
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit")
            .field("waiting", &self.waiting().drafts.len())
            .finish_non_exhaustive()
    }
}

/// The trace of a finished request.
pub(crate) fn draft(
    summary: &Summary,
    labels: Labels,
    question: Question,
    transcript: Transcript,
    why: Why,
) -> TraceDraft {
    let settled = summary.said.as_ref().map(|said| said.settled.clone()).unwrap_or_default();
    let count = TraceCount::of(&settled);
    let metadata = metadata(summary, (&question, &transcript), count);
    let state = state_of(summary);
    let Question { mut items, refusal, .. } = question;
    items.append(transcript.items);
    if let Some(words) = refusal.filter(|_| state == TraceState::Failed) {
        items.add_refusal(&words);
    }
    let numbers = TraceNumbers {
        cost: summary.cost(&settled.usage),
        duration: u64::try_from(summary.total.as_millis()).unwrap_or(u64::MAX),
        sealed_bytes: transcript.sealed,
        created_at: summary.at,
        ..count.numbers()
    };
    let (tenant, model, provider) =
        (labels.tenant.clone(), labels.model.clone(), labels.provider.clone());
    let (session, run) = labels.of_trace(transcript.opening.as_deref());
    TraceDraft {
        id: summary.id.clone(),
        tenant,
        session,
        run,
        model,
        provider,
        thought: DraftText { text: transcript.thought.text, is_cut: transcript.thought.is_cut },
        answer: DraftText { text: transcript.answer.text, is_cut: transcript.answer.is_cut },
        metadata,
        why,
        items,
        numbers,
        state,
    }
}

/// The way in which the answer to a request ended.
pub(crate) fn state_of(summary: &Summary) -> TraceState {
    let has_said = summary.said.is_some() && summary.error.is_none();
    match summary.outcome {
        "completed" | "drained" if has_said && summary.status < 400 => TraceState::Whole,
        _ if summary.said.is_some() => TraceState::Cut,
        // The text of an answer that is still read without its caller is known only later.
        "cancelled" if summary.first.is_some() && summary.status < 400 => TraceState::Cut,
        _ => TraceState::Failed,
    }
}

/// Further facts about the request. Only names in them come from persons or models.
fn metadata(
    summary: &Summary,
    (question, transcript): (&Question, &Transcript),
    count: TraceCount,
) -> Raw {
    Raw::build(|w| {
        w.object(|w| {
            w.field_str("route", summary.route);
            w.field_str("asked", &summary.model);
            w.opt_str("effort", question.effort.map(Effort::as_str));
            if question.is_first {
                w.field_bool("begins", true);
            }
            w.opt_str("client", summary.client.as_deref());
            w.field_str("outcome", summary.outcome);
            w.field_u64("status", summary.status.into());
            count.write_sources(w);
            if let Some(said) = &summary.said {
                w.str_or_null("finish_reason", said.finish_reason.as_deref());
            }
            if let Some(error) = summary.error {
                w.field_str("error", error);
            }
            if let Some(period) = summary.circles {
                w.field_u64("repeated_bytes", period);
            }
            let priced = summary.upstream.as_ref().and_then(|upstream| upstream.price?.as_of);
            if let Some(day) = priced {
                w.field_str("price_as_of", &day.to_string());
            }
            let counts = summary.counts;
            for (name, count) in [
                ("restored", counts.restored),
                ("missed", counts.missed),
                ("ambiguous", counts.ambiguous),
                ("dropped", counts.dropped),
                ("hops", summary.hops),
            ] {
                w.field_u64(name, count as u64);
            }
            if !summary.decided.is_empty() {
                // The whole value is masked together with the trace.
                let written = |w: &mut Writer| {
                    summary.decided.iter().for_each(|it| it.write(w, str::to_owned));
                };
                w.key("decisions").array(written);
            }
            if transcript.thought.is_cut || transcript.answer.is_cut {
                w.key("text_is_cut").bool(true);
            }
        });
    })
}
