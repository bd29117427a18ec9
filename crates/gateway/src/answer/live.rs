//! An answer in progress: its way through the gateway, and its record.

mod memory;

use crate::answer::saving::{Saving, written};
use crate::load::{AnswerRoom, Load};
use crate::observe::audit::Transcript;
use crate::observe::bus::Reporter;
use crate::observe::events::AnswerEvents;
use crate::observe::progress::Progress;
use crate::observe::summary::now;
use crate::request::keeping::Keeping;
use crate::request::provider_resource::Tap;
use crate::spending::{Bounds, RequestCharges, text};
use crate::state::Stage;
use crate::store::spilling::Spilling;
use crate::store::vault::Vault;
use crate::store::waits::Breakers;
use crate::store::weight::weight;
use bytes::Bytes;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::task::Context;
use std::time::Instant;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::event::Event;
use thinkthrough_core::exchange::{Done, Ending, Exchange};
use thinkthrough_core::pipeline::{End, Failure};
use thinkthrough_core::price::tier;
use thinkthrough_core::restore::{Head, Kept};
use thinkthrough_limits::runaway::Runaway;
use tokio::sync::watch;

/// One answer: reads the upstream's bytes, gives the caller its own, and makes the record at the end.
pub(crate) struct LiveAnswer {
    /// `None` once the answer is over.
    exchange: Option<Box<Exchange>>,
    keep: Keep,
    /// Its trace is stored, made of the same text as its record.
    is_audited: bool,
    /// Sends its events to the listeners.
    answer_events: AnswerEvents,
    /// The first thought was reported; `has_text` is the same for the first text.
    has_thought: bool,
    has_text: bool,
    /// It has a thought, readable or sealed.
    has_reasoned: bool,
    is_relayed: bool,
    is_untouched: bool,
    /// It is one JSON value, which is parsed once all of it is there.
    is_value: bool,
    /// Bytes of text so far.
    heard: usize,
    /// Limits that end the answer before its model does.
    bounds: Bounds,
    /// Bytes of the upstream so far.
    came: usize,
    /// Bytes of its text and payloads, which its record needs.
    kept: usize,
    /// Bytes of the current, incomplete event.
    unfinished: usize,
    /// Its thoughts in a file.
    spilling: Spilling,
    /// Its memory. The record takes it over at the end of the answer.
    room: Option<AnswerRoom>,
    /// The gateway has no memory for more of it.
    is_crowded_out: bool,
    /// The answer goes on without its text, and so without a record and a trace.
    is_forgotten: bool,
}

/// The destinations, limits and observers of one answer.
#[derive(Clone)]
pub(crate) struct Keep {
    /// `None`: no record is made.
    pub(crate) vault: Option<Arc<dyn Vault>>,
    /// A record is wanted, but the store could not be reached.
    pub(crate) is_blind: bool,
    /// Stores the answer under its id.
    pub(crate) keeping: Option<Arc<Keeping>>,
    /// Watches for provider resources that the answer creates.
    pub(crate) tap: Option<Tap>,
    /// The stage of the process, if the answer is drained when its caller goes away.
    pub(crate) drained: Option<watch::Receiver<Stage>>,
    /// It is a whole answer. A budget or limit books it as its provider counts it, else as reserved.
    pub(crate) is_booked: bool,
    pub(crate) store: Arc<Breakers>,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) charges: Arc<RequestCharges>,
    /// The reaction to a thought that repeats itself.
    pub(crate) runaway: Runaway,
    /// The pool for work on large bodies, and the memory that the answer may hold.
    pub(crate) load: Load,
}

pub(crate) struct Ended {
    /// The last bytes for the caller.
    pub(crate) out: Vec<u8>,
    pub(crate) room: Option<Arc<AnswerRoom>>,
    /// The caller receives the end only after this is done.
    pub(crate) saving: Option<Saving>,
    /// The answer without its blocks.
    pub(crate) answer: Answer,
    pub(crate) has_said: bool,
    /// The body is not an answer.
    pub(crate) is_none: bool,
    pub(crate) failure: Option<Failure>,
}

impl LiveAnswer {
    /// An answer whose head has arrived.
    pub(crate) fn new(mut exchange: Box<Exchange>, keep: Keep) -> Self {
        let (is_relayed, is_untouched) = (exchange.is_relayed(), exchange.is_untouched());
        let (room, is_audited) = (Some(keep.load.begin()), keep.reporter.is_audited());
        // If a stream is not stored, its text is not needed at its end.
        let is_kept = is_audited || keep.vault.is_some() || keep.keeping.is_some();
        let is_forgotten = !is_kept && exchange.outgoing().stream;
        if is_forgotten {
            exchange.forget();
        }
        let is_value = !exchange.outgoing().stream;
        let bounds = Bounds::new(&keep.charges, keep.runaway, is_value);
        LiveAnswer {
            exchange: Some(exchange),
            is_value,
            is_audited,
            answer_events: AnswerEvents::default(),
            keep,
            has_thought: false,
            has_text: false,
            has_reasoned: false,
            is_relayed,
            is_untouched,
            heard: 0,
            bounds,
            came: 0,
            kept: 0,
            unfinished: 0,
            spilling: Spilling::default(),
            room,
            is_crowded_out: false,
            is_forgotten,
        }
    }

    /// The caller went away: returns the rest of the answer if it is to be drained, and the stage that ends the
    /// draining.
    pub(crate) fn leave(&mut self) -> Option<(LiveAnswer, watch::Receiver<Stage>)> {
        let stage = self.keep.drained.take()?;
        let rest = self.take();
        rest.exchange.is_some().then_some((rest, stage))
    }

    /// Moves the rest of the answer out.
    pub(crate) fn take(&mut self) -> LiveAnswer {
        let (exchange, keep) = (self.exchange.take(), self.keep.clone());
        let (room, answer_events) = (self.room.take(), std::mem::take(&mut self.answer_events));
        let bounds = std::mem::take(&mut self.bounds);
        let spilling = std::mem::take(&mut self.spilling);
        LiveAnswer { exchange, keep, room, answer_events, bounds, spilling, ..*self }
    }

    /// Returns the rest of an answer that is not drained, if its record waits for spilled thoughts.
    pub(crate) fn leave_spilled(&mut self) -> Option<LiveAnswer> {
        (self.spilling.is_used() && self.exchange.is_some()).then(|| self.take())
    }

    /// The answer is not drained, even if its route drains answers.
    pub(crate) fn abandon(&mut self) {
        self.keep.drained = None;
    }

    /// The error event that ends its stream now. `None` if it was over before.
    pub(crate) fn interrupted(&mut self, why: &str) -> Option<Vec<u8>> {
        Some(self.exchange.as_mut()?.interrupted(why))
    }

    /// Whether the answer is booked as its provider counts it, even if its caller goes away.
    pub(crate) fn is_booked(&self) -> bool {
        self.keep.is_booked
    }

    pub(crate) fn reporter(&self) -> Arc<Reporter> {
        Arc::clone(&self.keep.reporter)
    }

    pub(crate) fn load(&self) -> Load {
        self.keep.load.clone()
    }

    pub(crate) fn came(&self) -> usize {
        self.came
    }

    pub(crate) fn heard(&self) -> usize {
        self.heard
    }

    /// Whether the caller receives the upstream's own bytes, apart from the ids of calls.
    pub(crate) fn is_relayed(&self) -> bool {
        self.is_relayed
    }

    /// Reads bytes of the upstream and returns bytes for the caller.
    pub(crate) fn push(&mut self, bytes: Bytes) -> Bytes {
        self.came += bytes.len();
        let mut out = Vec::new();
        if let Some(tap) = &mut self.keep.tap {
            tap.push(&bytes);
        }
        if let Some(exchange) = &mut self.exchange {
            let (has_thought, has_text) = (&mut self.has_thought, &mut self.has_text);
            let has_reasoned = &mut self.has_reasoned;
            let (reporter, heard, kept) = (&self.keep.reporter, &mut self.heard, &mut self.kept);
            let (answer_events, bounds) = (&mut self.answer_events, &mut self.bounds);
            reporter.tune(answer_events);
            exchange.push(&bytes, &mut out, &mut |event: Event<'_>| {
                *heard += text(event);
                *kept += weight(event);
                bounds.hear(event, reporter);
                answer_events.event(event);
                *has_reasoned |= matches!(event, Event::ThinkingStart { .. });
                match event {
                    Event::ThinkingDelta { delta, .. } if !*has_thought && !delta.is_empty() => {
                        *has_thought = true;
                        reporter.tell(&Progress::FirstThought);
                    }
                    Event::TextDelta { delta, .. } if !*has_text && !delta.is_empty() => {
                        *has_text = true;
                        reporter.tell(&Progress::FirstText);
                    }
                    _ => {}
                }
            });
            answer_events.pause();
        }
        if self.is_untouched { bytes } else { out.into() }
    }

    /// Sets the size of the current event, which the readers of events hold until it is complete.
    pub(crate) fn carries(&mut self, unfinished: usize) {
        self.unfinished = unfinished;
    }

    /// After a silence, sends the listeners text that masking held back.
    pub(crate) fn poll_quiet(&mut self, cx: &mut Context<'_>) {
        self.answer_events.poll_quiet(cx);
    }

    /// Books the size of the answer, and reports it to all observers.
    fn settle(&self, answer: &Answer, is_stopped: bool) {
        let is_whole = answer.is_complete() && !is_stopped;
        let came = self.bounds.came(self.heard, is_whole);
        let mut settled = came.settled(answer.usage.as_ref());
        settled.usage.is_priced_apart |= tier::is_reported(answer);
        match self.keep.is_booked && !is_whole && answer.usage.is_none() {
            true => self.keep.charges.forfeit(),
            false => self.keep.charges.settle(&settled, came),
        }
        self.keep.reporter.tell(&Progress::Said { answer, settled: &settled, is_stopped });
    }

    /// Whether the answer is complete, so that no more of it can come.
    pub(crate) fn is_over(&self) -> bool {
        self.exchange.as_ref().is_none_or(|exchange| exchange.is_over())
    }

    /// Ends the answer. `cut` is the error if the upstream broke off. Returns `None` if it was over before.
    pub(crate) fn end(&mut self, cut: Option<&str>) -> Option<Ended> {
        let mut exchange = self.exchange.take()?;
        self.lose_spilled(&mut exchange, cut.is_some());
        let mut out = Vec::new();
        let done = self.finish(*exchange, cut, false, &mut out);
        let Done { answer, has_said, failure, end, records, named } = done;
        let room = self.leave_room();
        let saving = self.save(records, named, room.clone());
        let is_none = end == End::Unread;
        Some(Ended { out, room, saving, answer, has_said, is_none, failure })
    }

    /// Ends the exchange, and reports the answer to listeners, trace and budgets.
    fn finish(
        &mut self,
        exchange: Exchange,
        cut: Option<&str>,
        is_stopped: bool,
        out: &mut Vec<u8>,
    ) -> Done {
        let ending = Ending { cut, is_stopped, at: now() };
        let mut transcript = None;
        let is_audited = self.is_audited;
        let keeps_items = self.keep.reporter.keeps_items();
        let done = exchange.end(
            &ending,
            out,
            &mut |event: Event<'_>| self.last(event),
            &mut |answer: &Answer| {
                transcript = is_audited.then(|| Transcript::of(answer, keeps_items));
            },
        );
        transcript.into_iter().for_each(|transcript| self.leave_trace(transcript));
        self.answer_events.end();
        self.settle(&done.answer, is_stopped);
        done
    }

    /// Hands over the texts for the trace. The trace is lost if there is no memory for a copy of them.
    fn leave_trace(&mut self, transcript: Transcript) {
        let mut copy = self.keep.load.share.reserve();
        match copy.grow_copy(transcript.size()) {
            true => self.keep.reporter.gathered(transcript, copy),
            false => self.keep.reporter.loses_trace(),
        }
    }

    /// Handles an event of the end. It is for listeners and counters only, because the answer itself has its content.
    fn last(&mut self, event: Event<'_>) {
        self.heard += text(event);
        self.bounds.hear(event, &self.keep.reporter);
        self.answer_events.event(event);
        self.has_reasoned |= matches!(event, Event::ThinkingStart { .. });
    }

    /// Keeps the part of its memory that the record needs until the store has it.
    fn leave_room(&mut self) -> Option<Arc<AnswerRoom>> {
        let mut room = self.room.take()?;
        room.end(if self.is_value { self.came } else { self.kept });
        Some(Arc::new(room))
    }

    /// Stores the records, and the answer under its id. The work goes on even if its caller does not wait for it.
    fn save(
        &mut self,
        records: Vec<(Head, Kept)>,
        named: Option<String>,
        room: Option<Arc<AnswerRoom>>,
    ) -> Option<Saving> {
        let records =
            self.keep.vault.clone().filter(|_| !records.is_empty()).map(|it| (it, records));
        let named = self.keep.keeping.clone().zip(named);
        let kept = self.keep.tap.take().and_then(|mut tap| tap.work());
        let is_lost = self.keep.is_blind && self.has_reasoned;
        if records.is_none() && named.is_none() && kept.is_none() && !is_lost {
            return None;
        }
        let (is_relayed, kept_bytes) = (self.is_relayed, self.kept);
        let load = self.keep.load.clone();
        let (reporter, store) = (Arc::clone(&self.keep.reporter), Arc::clone(&self.keep.store));
        let breakers = Arc::clone(&store);
        let work = async move {
            // Asks the circuit breaker once per answer, and only before a wait for a commit. Without it, waiting
            // answers would pile up before a store that does not respond.
            let lets = OnceLock::new();
            let lets = || *lets.get_or_init(|| breakers.writes.lets(Instant::now()));
            let records = async {
                let Some((vault, records)) = records else { return !is_lost };
                let held = room.clone();
                let lost = Box::new(move || {
                    drop(held);
                    reporter.tell(&Progress::Unsaved);
                });
                match vault.hand_over(records, lost).await {
                    Ok(None) => true,
                    Ok(Some(commit)) if lets() => {
                        let writing = async { commit.await.is_ok() };
                        written(&breakers.writes, writing).await
                    }
                    // The answer does not wait for a store that does not respond. Its record does, while there is room.
                    Ok(Some(commit)) => {
                        if let Some(late) = load.share.late(kept_bytes) {
                            let breakers = Arc::clone(&breakers);
                            tokio::spawn(async move {
                                written(&breakers.writes, async { commit.await.is_ok() }).await;
                                drop(late);
                            });
                        }
                        false
                    }
                    Err(_) => false,
                }
            };
            let named = async {
                let Some((keeping, answer)) = named else { return true };
                let size = answer.len();
                let work = Box::pin(async move { keeping.keep(&answer, is_relayed).await });
                lets() && written(&breakers.writes, load.offload.go_on(size, work)).await
            };
            let kept = async {
                match kept {
                    Some(kept) => kept.await,
                    None => true,
                }
            };
            let (records, named, kept) = tokio::join!(records, named, kept);
            drop(room);
            records && named && kept
        };
        let reporter = Arc::clone(&self.keep.reporter);
        Some(Saving::by(work, store, reporter))
    }
}

/// The caller went away, and has seen the received part. The complete thoughts of that part can be restored later.
impl Drop for LiveAnswer {
    fn drop(&mut self) {
        let Some(mut exchange) = self.exchange.take() else { return };
        self.lose_spilled(&mut exchange, false);
        let done = self.finish(*exchange, None, true, &mut Vec::new());
        let room = self.leave_room();
        drop(self.save(done.records, None, room));
    }
}

impl fmt::Debug for LiveAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveAnswer").field("is_relayed", &self.is_relayed).finish_non_exhaustive()
    }
}
