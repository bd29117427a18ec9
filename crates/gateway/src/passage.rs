//! An answer on its way through the gateway, and what is kept of it.

mod memory;

use crate::audit::Transcript;
use crate::bus::Seen;
use crate::events::Hearing;
use crate::house::Stage;
use crate::keeping::Keeping;
use crate::load::{AnswerRoom, Load};
use crate::progress::Progress;
use crate::provider_resource::Tap;
use crate::saving::{Saving, written};
use crate::spending::{Bounds, Tab, text};
use crate::spilling::Spilling;
use crate::story::now;
use crate::vault::Vault;
use crate::waits::Breakers;
use crate::weight::weight;
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
use thinkthrough_core::runaway::Runaway;
use tokio::sync::watch;

/// One answer: the upstream's bytes go in, the caller's come out, and in the end its record is kept.
pub(crate) struct Passage {
    /// Gone once the answer is over.
    exchange: Option<Box<Exchange>>,
    keep: Keep,
    /// A trace is kept of it, out of the same text that its record is made of.
    is_audited: bool,
    /// Tells it to those who listen now.
    hearing: Hearing,
    /// What was seen of the answer and said.
    has_thought: bool,
    has_text: bool,
    /// It has a thought, be it one that nobody can read.
    has_reasoned: bool,
    is_relayed: bool,
    is_untouched: bool,
    /// It is one value, which is read once all of it came.
    is_value: bool,
    /// How many bytes of text were said so far.
    heard: usize,
    /// What ends it before its model does.
    bounds: Bounds,
    /// How many bytes came so far.
    came: usize,
    /// Bytes of its text and payloads, which its record needs.
    kept: usize,
    /// Bytes of the current event, which is not complete.
    unfinished: usize,
    /// Its thoughts that are out of memory.
    spilling: Spilling,
    /// The memory for both. The record takes it over at the end of the answer.
    room: Option<AnswerRoom>,
    /// The gateway has no memory for more of it.
    is_crowded_out: bool,
    /// The answer goes on without its text, and so without a record and a trace.
    is_forgotten: bool,
}

/// Where the record goes.
#[derive(Clone)]
pub(crate) struct Keep {
    /// `None`: nothing is kept.
    pub(crate) vault: Option<Arc<dyn Vault>>,
    /// It would be kept, and the store could not be reached.
    pub(crate) is_blind: bool,
    /// Where the answer is kept by its id.
    pub(crate) keeping: Option<Arc<Keeping>>,
    /// Listens for what the provider keeps of it.
    pub(crate) tap: Option<Tap>,
    /// It is heard to its end although its caller went away, or until the process ends.
    pub(crate) drained: Option<watch::Receiver<Stage>>,
    /// It is a whole answer that is booked as its provider counts it, or as what was reserved for it.
    pub(crate) is_booked: bool,
    /// Whether the store answers.
    pub(crate) store: Arc<Breakers>,
    pub(crate) seen: Arc<Seen>,
    /// What it counts against.
    pub(crate) tab: Arc<Tab>,
    /// What is done about a thought that says the same again and again.
    pub(crate) runaway: Runaway,
    /// Where work on large bodies is done, and what the answer may hold.
    pub(crate) load: Load,
}

/// The end of an answer.
pub(crate) struct Ended {
    /// What the caller is still to get.
    pub(crate) out: Vec<u8>,
    /// The memory of the answer.
    pub(crate) room: Option<Arc<AnswerRoom>>,
    /// To be waited for before the caller gets it.
    pub(crate) saving: Option<Saving>,
    /// What was said, without its blocks.
    pub(crate) answer: Answer,
    /// It has blocks.
    pub(crate) has_said: bool,
    /// It is no answer at all.
    pub(crate) is_none: bool,
    pub(crate) failure: Option<Failure>,
}

impl Passage {
    /// The way of an answer whose head came.
    pub(crate) fn new(mut exchange: Box<Exchange>, keep: Keep) -> Self {
        let (is_relayed, is_untouched) = (exchange.is_relayed(), exchange.is_untouched());
        let (room, is_audited) = (Some(keep.load.begin()), keep.seen.is_audited());
        // Where nothing is kept of a stream, its text is not needed at its end.
        let is_kept = is_audited || keep.vault.is_some() || keep.keeping.is_some();
        let is_forgotten = !is_kept && exchange.outgoing().stream;
        if is_forgotten {
            exchange.forget();
        }
        let is_value = !exchange.outgoing().stream;
        let bounds = Bounds::new(&keep.tab, keep.runaway, is_value);
        Passage {
            exchange: Some(exchange),
            is_value,
            is_audited,
            hearing: Hearing::default(),
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

    /// The caller went away: what is left of the passage, if it is to be heard to its end, and what says when there is no
    /// time for it any more.
    pub(crate) fn leave(&mut self) -> Option<(Passage, watch::Receiver<Stage>)> {
        let stage = self.keep.drained.take()?;
        let rest = self.take();
        rest.exchange.is_some().then_some((rest, stage))
    }

    /// All that is left of the passage.
    pub(crate) fn take(&mut self) -> Passage {
        let (exchange, keep) = (self.exchange.take(), self.keep.clone());
        let (room, hearing) = (self.room.take(), std::mem::take(&mut self.hearing));
        let bounds = std::mem::take(&mut self.bounds);
        let spilling = std::mem::take(&mut self.spilling);
        Passage { exchange, keep, room, hearing, bounds, spilling, ..*self }
    }

    /// The rest of a passage that nobody hears to its end, if its record waits for thoughts that are out of memory.
    pub(crate) fn leave_spilled(&mut self) -> Option<Passage> {
        (self.spilling.is_used() && self.exchange.is_some()).then(|| self.take())
    }

    /// It is not to be heard to its end, whatever is configured.
    pub(crate) fn abandon(&mut self) {
        self.keep.drained = None;
    }

    /// The error that ends its stream here and now; `None` if it was over before.
    pub(crate) fn interrupted(&mut self, why: &str) -> Option<Vec<u8>> {
        Some(self.exchange.as_mut()?.interrupted(why))
    }

    /// Whether it is booked as its provider counts it, whoever hears it.
    pub(crate) fn is_booked(&self) -> bool {
        self.keep.is_booked
    }

    /// Whose it is.
    pub(crate) fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.keep.seen)
    }

    /// Where work on large bodies is done, and what the answer may hold.
    pub(crate) fn load(&self) -> Load {
        self.keep.load.clone()
    }

    /// How many bytes came so far.
    pub(crate) fn came(&self) -> usize {
        self.came
    }

    /// How many bytes of text were said so far.
    pub(crate) fn heard(&self) -> usize {
        self.heard
    }

    /// The caller gets the upstream's own bytes, or all but the ids of calls.
    pub(crate) fn is_relayed(&self) -> bool {
        self.is_relayed
    }

    /// Bytes came; gives those of the caller.
    pub(crate) fn push(&mut self, bytes: Bytes) -> Bytes {
        self.came += bytes.len();
        let mut out = Vec::new();
        if let Some(tap) = &mut self.keep.tap {
            tap.push(&bytes);
        }
        if let Some(exchange) = &mut self.exchange {
            let (has_thought, has_text) = (&mut self.has_thought, &mut self.has_text);
            let has_reasoned = &mut self.has_reasoned;
            let (seen, heard, kept) = (&self.keep.seen, &mut self.heard, &mut self.kept);
            let (hearing, bounds) = (&mut self.hearing, &mut self.bounds);
            seen.tune(hearing);
            exchange.push(&bytes, &mut out, &mut |event: Event<'_>| {
                *heard += text(event);
                *kept += weight(event);
                bounds.hear(event, seen);
                hearing.event(event);
                *has_reasoned |= matches!(event, Event::ThinkingStart { .. });
                match event {
                    Event::ThinkingDelta { delta, .. } if !*has_thought && !delta.is_empty() => {
                        *has_thought = true;
                        seen.tell(&Progress::FirstThought);
                    }
                    Event::TextDelta { delta, .. } if !*has_text && !delta.is_empty() => {
                        *has_text = true;
                        seen.tell(&Progress::FirstText);
                    }
                    _ => {}
                }
            });
            hearing.pause();
        }
        if self.is_untouched { bytes } else { out.into() }
    }

    /// Sets the size of the current event, which the readers of events hold until it is complete.
    pub(crate) fn carries(&mut self, unfinished: usize) {
        self.unfinished = unfinished;
    }

    /// Nothing comes: those who listen are told what may be told by then.
    pub(crate) fn poll_quiet(&mut self, cx: &mut Context<'_>) {
        self.hearing.poll_quiet(cx);
    }

    /// Books what the answer took, and tells all who count.
    fn settle(&self, answer: &Answer, is_stopped: bool) {
        let is_whole = answer.is_complete() && !is_stopped;
        let came = self.bounds.came(self.heard, is_whole);
        let mut settled = came.settled(answer.usage.as_ref());
        settled.usage.is_priced_apart |= tier::is_reported(answer);
        match self.keep.is_booked && !is_whole && answer.usage.is_none() {
            true => self.keep.tab.forfeit(),
            false => self.keep.tab.settle(&settled, came),
        }
        self.keep.seen.tell(&Progress::Said { answer, settled: &settled, is_stopped });
    }

    /// Nothing of the answer can come any more.
    pub(crate) fn is_over(&self) -> bool {
        self.exchange.as_ref().is_none_or(|exchange| exchange.is_over())
    }

    /// The answer is over; `cut` says why, where the upstream broke off. `None` if it was over before.
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

    /// Ends the exchange, and tells all who hear of it what was thought and said.
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
        let done = exchange.end(
            &ending,
            out,
            &mut |event: Event<'_>| self.last(event),
            &mut |answer: &Answer| transcript = is_audited.then(|| Transcript::of(answer)),
        );
        transcript.into_iter().for_each(|transcript| self.leave_trace(transcript));
        self.hearing.end();
        self.settle(&done.answer, is_stopped);
        done
    }

    /// Hands over the texts for the trace, or loses it where there is no memory for a copy of them.
    fn leave_trace(&mut self, transcript: Transcript) {
        let mut copy = self.keep.load.share.reserve();
        match copy.grow_copy(transcript.size()) {
            true => self.keep.seen.gathered(transcript, copy),
            false => self.keep.seen.loses_trace(),
        }
    }

    /// One of the last events, which are for those who listen: all else that they say is in the answer.
    fn last(&mut self, event: Event<'_>) {
        self.heard += text(event);
        self.bounds.hear(event, &self.keep.seen);
        self.hearing.event(event);
        self.has_reasoned |= matches!(event, Event::ThinkingStart { .. });
    }

    /// Keeps the part of its memory that the record needs until the store has it.
    fn leave_room(&mut self) -> Option<Arc<AnswerRoom>> {
        let mut room = self.room.take()?;
        room.end(if self.is_value { self.came } else { self.kept });
        Some(Arc::new(room))
    }

    /// Keeps records, and the answer by its id; it goes on whoever waits for it.
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
        let (seen, store) = (Arc::clone(&self.keep.seen), Arc::clone(&self.keep.store));
        let breakers = Arc::clone(&store);
        let work = async move {
            // Asked by what waits for a commit, and answered once: what would wait for a store that stands still would
            // only grow.
            let lets = OnceLock::new();
            let lets = || *lets.get_or_init(|| breakers.writes.lets(Instant::now()));
            let records = async {
                let Some((vault, records)) = records else { return !is_lost };
                let held = room.clone();
                let lost = Box::new(move || {
                    drop(held);
                    seen.tell(&Progress::Unsaved);
                });
                match vault.hand_over(records, lost).await {
                    Ok(None) => true,
                    Ok(Some(commit)) if lets() => {
                        let writing = async { commit.await.is_ok() };
                        written(&breakers.writes, writing).await
                    }
                    // The answer does not wait for a store that stands still. Its record does, while there is room.
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
        let seen = Arc::clone(&self.keep.seen);
        Some(Saving::by(work, store, seen))
    }
}

/// A caller that goes away has seen what came so far, and what was complete of it can be put back later.
impl Drop for Passage {
    fn drop(&mut self) {
        let Some(mut exchange) = self.exchange.take() else { return };
        self.lose_spilled(&mut exchange, false);
        let done = self.finish(*exchange, None, true, &mut Vec::new());
        let room = self.leave_room();
        drop(self.save(done.records, None, room));
    }
}

impl fmt::Debug for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passage").field("is_relayed", &self.is_relayed).finish_non_exhaustive()
    }
}
