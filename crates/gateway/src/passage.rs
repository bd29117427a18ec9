//! An answer on its way through the gateway, and what is kept of it.

use crate::audit::Transcript;
use crate::bus::Seen;
use crate::events::Hearing;
use crate::house::Stage;
use crate::keeping::Keeping;
use crate::kept::Tap;
use crate::load::{Load, Reservation};
use crate::progress::Progress;
use crate::spending::{Bounds, Tab, text};
use crate::story::now;
use crate::vault::{APPEND, Vault};
use crate::waits::{Breaker, Breakers};
use bytes::Bytes;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::event::Event;
use thinkthrough_core::exchange::{Done, Ending, Exchange};
use thinkthrough_core::restore::{Head, Kept};
use thinkthrough_core::runaway::Runaway;
use thinkthrough_core::turn::Failure;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Sleep;

/// One answer: the upstream's bytes go in, the caller's come out, and in the end its record is kept.
pub(crate) struct Passage {
    /// Gone once the answer is over.
    exchange: Option<Box<Exchange>>,
    keep: Keep,
    /// What was thought and said, where a trace is kept of it.
    transcript: Option<Transcript>,
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
    /// What is kept of them until the answer is over.
    held: Reservation,
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
    /// To be waited for before the caller gets it.
    pub(crate) saving: Option<Saving>,
    /// What was said, without its blocks.
    pub(crate) answer: Answer,
    /// It has blocks.
    pub(crate) has_said: bool,
    pub(crate) failure: Option<Failure>,
}

impl Passage {
    /// The way of an answer whose head came.
    pub(crate) fn new(exchange: Box<Exchange>, keep: Keep) -> Self {
        let (is_relayed, is_untouched) = (exchange.is_relayed(), exchange.is_untouched());
        let held = keep.load.share.reserve();
        let is_value = !exchange.outgoing().stream;
        let bounds = Bounds::new(&keep.tab, keep.runaway, is_value);
        Passage {
            exchange: Some(exchange),
            is_value,
            transcript: keep.seen.is_audited().then(Transcript::default),
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
            held,
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
        let held = std::mem::replace(&mut self.held, keep.load.share.reserve());
        let (transcript, hearing) = (self.transcript.take(), std::mem::take(&mut self.hearing));
        let bounds = std::mem::take(&mut self.bounds);
        Passage { exchange, keep, held, transcript, hearing, bounds, ..*self }
    }

    /// It is not to be heard to its end, whatever is configured.
    pub(crate) fn abandon(&mut self) {
        self.keep.drained = None;
    }

    /// The error that ends its stream here and now; `None` if it was over before.
    pub(crate) fn interrupted(&mut self, why: &str) -> Option<Vec<u8>> {
        Some(self.exchange.as_mut()?.interrupted(why))
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
            let (seen, heard) = (&self.keep.seen, &mut self.heard);
            let (transcript, hearing) = (&mut self.transcript, &mut self.hearing);
            let bounds = &mut self.bounds;
            seen.tune(hearing);
            exchange.push(&bytes, &mut out, &mut |event: Event<'_>| {
                *heard += text(event);
                bounds.hear(event, seen);
                transcript.iter_mut().for_each(|transcript| transcript.event(event));
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
        self.held.set(if self.is_value { self.came } else { self.heard });
        if self.is_untouched { bytes } else { out.into() }
    }

    /// Nothing comes: those who listen are told what may be told by then.
    pub(crate) fn poll_quiet(&mut self, cx: &mut Context<'_>) {
        self.hearing.poll_quiet(cx);
    }

    /// Waits until more of the answer may come: an answer that has used up what was reserved for it is kept waiting until
    /// the budget gave more, or has nothing more.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.bounds.poll_room(self.heard, cx)
    }

    /// Why no more of the answer may come, in a word and for its caller.
    pub(crate) fn stopped(&self) -> Option<(&'static str, String)> {
        self.bounds.reached(self.heard)
    }

    /// Books what the answer took, and tells all who count.
    fn settle(&self, answer: &Answer, is_stopped: bool) {
        let is_whole = answer.is_complete() && !is_stopped;
        let came = self.bounds.came(self.heard, is_whole);
        let settled = came.settled(answer.usage.as_ref());
        self.keep.tab.settle(&settled, came);
        self.keep.seen.tell(&Progress::Said { answer, settled: &settled, is_stopped });
    }

    /// Nothing of the answer can come any more.
    pub(crate) fn is_over(&self) -> bool {
        self.exchange.as_ref().is_none_or(|exchange| exchange.is_over())
    }

    /// The answer is over; `cut` says why, where the upstream broke off. `None` if it was over before.
    pub(crate) fn end(&mut self, cut: Option<&str>) -> Option<Ended> {
        let exchange = self.exchange.take()?;
        let mut out = Vec::new();
        let ending = Ending { cut, is_stopped: false, at: now() };
        let done = exchange.end(&ending, &mut out, &mut |event: Event<'_>| self.last(event));
        self.told();
        self.settle(&done.answer, false);
        let Done { answer, has_said, failure, records, named } = done;
        let saving = self.save(records, named);
        Some(Ended { out, saving, answer, has_said, failure })
    }

    /// One of the last events, which are for the trace and those who listen: all else that they say is in the answer.
    fn last(&mut self, event: Event<'_>) {
        self.heard += text(event);
        self.bounds.hear(event, &self.keep.seen);
        self.transcript.iter_mut().for_each(|transcript| transcript.event(event));
        self.hearing.event(event);
        self.has_reasoned |= matches!(event, Event::ThinkingStart { .. });
    }

    /// What was thought and said is known.
    fn told(&mut self) {
        self.hearing.end();
        self.transcript.take().into_iter().for_each(|it| self.keep.seen.gathered(it));
    }

    /// Keeps records, and the answer by its id; it goes on whoever waits for it.
    fn save(&mut self, records: Vec<(Head, Kept)>, named: Option<String>) -> Option<Saving> {
        let records =
            self.keep.vault.clone().filter(|_| !records.is_empty()).map(|it| (it, records));
        let named = self.keep.keeping.clone().zip(named);
        let kept = self.keep.tap.take().and_then(|mut tap| tap.work());
        let is_lost = self.keep.is_blind && self.has_reasoned;
        if records.is_none() && named.is_none() && kept.is_none() && !is_lost {
            return None;
        }
        let is_relayed = self.is_relayed;
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
                let lost = Box::new(move || seen.tell(&Progress::Unsaved));
                match vault.hand_over(records, lost).await {
                    Ok(None) => true,
                    Ok(Some(commit)) if lets() => {
                        let writing = async { commit.await.is_ok() };
                        written(&breakers.writes, writing).await
                    }
                    Ok(Some(_)) | Err(_) => false,
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
            records && named && kept
        };
        let seen = Arc::clone(&self.keep.seen);
        Some(Saving { work: Some(Box::pin(work)), is_told: false, limit: None, store, seen })
    }
}

/// A caller that goes away has seen what came so far, and what was complete of it can be put back later.
impl Drop for Passage {
    fn drop(&mut self) {
        let Some(exchange) = self.exchange.take() else { return };
        let ending = Ending { cut: None, is_stopped: true, at: now() };
        let done = exchange.end(&ending, &mut Vec::new(), &mut |event: Event<'_>| self.last(event));
        self.told();
        self.settle(&done.answer, true);
        drop(self.save(done.records, None));
    }
}

impl fmt::Debug for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passage").field("is_relayed", &self.is_relayed).finish_non_exhaustive()
    }
}

/// Whether it is written. A store that answers, whenever and whatever, does not stand still; one that gave up after a
/// long time does.
async fn written(store: &Breaker, writing: impl Future<Output = bool>) -> bool {
    const SOON: Duration = Duration::from_secs(1);
    let began = Instant::now();
    let is_written = writing.await;
    if is_written || began.elapsed() < SOON {
        store.answered();
    }
    is_written
}

/// A record that is being kept.
pub(crate) struct Saving {
    /// Gone once it is done.
    work: Option<Pin<Box<dyn Future<Output = bool> + Send>>>,
    /// It was told that the answer goes out without it.
    is_told: bool,
    /// Begins with the waiting.
    limit: Option<Pin<Box<Sleep>>>,
    store: Arc<Breakers>,
    seen: Arc<Seen>,
}

impl Saving {
    /// Whether the record can be seen; not if that has taken too long, but it goes on being kept then.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Some(work) = &mut self.work else { return Poll::Ready(true) };
        let is_saved = match work.as_mut().poll(cx) {
            Poll::Ready(is_saved) => {
                self.work = None;
                is_saved
            }
            Poll::Pending => {
                let limit = || Box::pin(tokio::time::sleep(APPEND));
                ready!(self.limit.get_or_insert_with(limit).as_mut().poll(cx));
                self.store.writes.was_late(Instant::now());
                false
            }
        };
        if !is_saved {
            self.is_told = true;
            self.seen.tell(&Progress::Unsaved);
        }
        Poll::Ready(is_saved)
    }

    /// Waits for it, as long as it may take, and says whether the record can be seen.
    pub(crate) async fn wait(mut self) -> bool {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }
}

/// Nobody waits any more, and it is kept all the same.
impl Drop for Saving {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            let (seen, is_told) = (Arc::clone(&self.seen), self.is_told);
            runtime.spawn(async move {
                if !work.await && !is_told {
                    seen.tell(&Progress::Unsaved);
                }
            });
        }
    }
}
