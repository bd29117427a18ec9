//! Traces: each generation leaves a masked copy of its thoughts in the store, for people to read, as requests through
//! the gateway do.
//!
//! Writes run in the background, and only the end of the program waits for them. Traces that cannot be written are
//! counted.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::Content;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::Effort;
use thinkthrough_core::settled::{AnswerSize, Settled};
use thinkthrough_core::why::Why;
use thinkthrough_json::Raw;
use thinkthrough_mask::Masker;
use thinkthrough_store::{
    LostTrace, NewTrace, TraceContent, TraceCount, TraceDraft, TraceItems, TraceNumbers,
    TracePlace, TraceState, TraceTexts, Traces,
};
use tokio::task::JoinSet;

/// The pauses between retries of a failed write.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(500), Duration::from_secs(2)];

/// Writes the traces of a program. Clones are handles to the same one.
#[derive(Clone)]
pub struct Tracer {
    traces: Traces,
    masker: Masker,
    front: &'static str,
    content: TraceContent,
    writing: Arc<Mutex<JoinSet<()>>>,
    lost: Arc<AtomicUsize>,
}

impl Tracer {
    /// Writes traces to `traces` with their secrets covered. `front` is the program's name in them.
    #[must_use]
    pub fn new(traces: Traces, masker: Masker, front: &'static str, content: TraceContent) -> Self {
        let (writing, lost) = (Arc::default(), Arc::default());
        Tracer { traces, masker, front, content, writing, lost }
    }

    /// A question in this conversation. `None` if the system has no random numbers for its name.
    #[must_use]
    pub fn question(&self, session: &str) -> Option<Traced> {
        let (session, run) = (session.to_owned(), self.traces.new_id().ok()?);
        Some(Traced { tracer: self.clone(), session, run })
    }

    /// A question outside a stored conversation: a session of its own.
    #[must_use]
    pub fn lone_question(&self) -> Option<Traced> {
        self.question(&self.traces.new_id().ok()?)
    }

    /// Waits until everything is written, and returns the number of lost traces.
    pub async fn end(&self) -> usize {
        let all = std::mem::take(&mut *self.writing());
        all.join_all().await;
        self.lost.load(Ordering::Acquire)
    }

    fn writing(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, draft: TraceDraft) {
        let Tracer { traces, masker, lost, .. } = self.clone();
        let mut writing = self.writing();
        while writing.try_join_next().is_some() {}
        writing.spawn(async move {
            // Masking a long text takes long, and the screen must not wait for it.
            let masked = tokio::task::spawn_blocking(move || draft.masked(&masker)).await;
            let is_written = match masked {
                Ok(trace) => add(&traces, trace).await,
                Err(_) => false,
            };
            if !is_written {
                lost.fetch_add(1, Ordering::AcqRel);
            }
        });
    }
}

async fn add(traces: &Traces, trace: NewTrace) -> bool {
    let id = trace.id.clone();
    if traces.add(vec![trace.clone()]).await.is_ok() {
        // Makes the trace searchable. A failed indexing is repeated with the next trace.
        while traces.index().await.is_ok_and(|count| count > 0) {}
        return true;
    }
    let is_lost = Arc::new(AtomicBool::new(false));
    let lost: LostTrace = {
        let is_lost = Arc::clone(&is_lost);
        Arc::new(move |_, _| is_lost.store(true, Ordering::Release))
    };
    traces.hand_over(vec![trace], &lost).await;
    for pause in PAUSES {
        match traces.place(&id) {
            // The next program that opens the store takes it from its journal.
            Some((TracePlace::Spooled, _)) => return true,
            Some((TracePlace::Waiting, _)) => tokio::time::sleep(pause).await,
            None => return !is_lost.load(Ordering::Acquire),
        }
    }
    false
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").field("front", &self.front).finish_non_exhaustive()
    }
}

/// A question whose generations leave traces.
#[derive(Clone, Debug)]
pub struct Traced {
    tracer: Tracer,
    session: String,
    /// The id of the question, shared by all its rounds.
    run: String,
}

/// The result of a request.
pub(crate) struct Generation<'a> {
    pub(crate) target: &'a Target,
    /// When the request went out.
    pub(crate) at: SystemTime,
    pub(crate) took: Duration,
    /// The messages of the request.
    pub(crate) contents: &'a [Content],
    pub(crate) effort: Option<Effort>,
    pub(crate) answer: Option<&'a Answer>,
    /// The answer came to its end.
    pub(crate) is_whole: bool,
    /// The user stopped it.
    pub(crate) is_stopped: bool,
    /// Why there is no proper answer.
    pub(crate) error: Option<String>,
    /// The provider's words for its refusal.
    pub(crate) refusal: Option<&'a str>,
    /// Why the request went out as it did.
    pub(crate) why: Why,
}

impl Generation<'_> {
    /// The new messages of the request, the calls of the answer, and a refusal.
    fn items(&self) -> TraceItems {
        let mut items = TraceItems::asked(self.contents);
        self.answer.into_iter().for_each(|answer| items.add_calls(&answer.blocks));
        self.refusal.into_iter().for_each(|words| items.add_refusal(words));
        items
    }
}

impl Traced {
    /// Stores the trace of a finished request, and returns its id.
    pub(crate) fn leave(&self, generation: Generation<'_>) -> Option<String> {
        let Tracer { traces, front, content, .. } = &self.tracer;
        let id = traces.new_id().ok()?;
        let Generation { target, answer, is_whole, is_stopped, .. } = generation;
        let blocks = answer.map(|answer| answer.blocks.as_slice()).unwrap_or_default();
        let usage = answer.and_then(|answer| answer.usage.as_ref());
        let settled = Settled::of(usage, AnswerSize::of(blocks), is_whole);
        let (texts, count) = (TraceTexts::of(blocks), TraceCount::of(&settled));
        let state = match (is_whole, blocks.is_empty()) {
            (true, _) => TraceState::Whole,
            (false, false) => TraceState::Cut,
            (false, true) => TraceState::Failed,
        };
        let at = generation.at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let numbers = TraceNumbers {
            cost: target.price.and_then(|price| price.of(&settled.usage)),
            duration: millis(generation.took),
            sealed_bytes: texts.sealed_bytes,
            created_at: millis(at),
            ..count.numbers()
        };
        let outcome = match (state, is_stopped) {
            (_, true) => "cancelled",
            (TraceState::Whole, _) => "completed",
            _ => "failed",
        };
        let items = match content {
            TraceContent::Thoughts => TraceItems::default(),
            TraceContent::Turn => generation.items(),
        };
        let metadata = Raw::build(|w| {
            w.object(|w| {
                w.field_str("route", front);
                w.opt_str("effort", generation.effort.map(Effort::as_str));
                w.field_str("outcome", outcome);
                count.write_sources(w);
                let finish = answer.and_then(|answer| answer.finish_reason.as_deref());
                w.str_or_null("finish_reason", finish);
                w.opt_str("error", generation.error.as_deref());
                let priced = target.price.and_then(|price| price.as_of);
                w.opt_str("price_as_of", priced.map(|day| day.to_string()).as_deref());
                if texts.is_cut() {
                    w.field_bool("text_is_cut", true);
                }
            });
        });
        let draft = TraceDraft {
            id: id.clone(),
            tenant: Tenant::local(),
            session: self.session.clone(),
            run: self.run.clone(),
            model: target.model.clone(),
            provider: target.provider.clone(),
            thought: texts.thought,
            answer: texts.answer,
            metadata,
            why: generation.why,
            items,
            numbers,
            state,
        };
        self.tracer.write(draft);
        Some(id)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
