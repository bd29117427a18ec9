//! The task that masks traces and hands them over to the store.

use super::{Inner, TracesTo};
use std::sync::{Arc, Weak};
use std::time::Duration;
use thinkthrough_core::mask::Masker;
use thinkthrough_store::{LostTrace, NewTrace, TraceDraft};
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

/// So many traces are masked and handed over at once, and synced to the disk together, at most.
const BATCH: usize = 512;
/// How long a trace waits for others, unless somebody waits for one.
const GATHER: Duration = Duration::from_millis(20);
/// The pauses between two looks whether the store is open grow from the first of these to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// The pause before the next try where a journal takes nothing.
const AGAIN: Duration = Duration::from_secs(1);

/// Masks and hands over.
pub(super) struct Recorder {
    inner: Weak<Inner>,
    /// Hears of traces that the database will never have.
    lost: LostTrace,
}

impl Recorder {
    pub(super) fn new(inner: Weak<Inner>) -> Self {
        let hears = Weak::clone(&inner);
        let lost = move |tenant: &str, id: &str| {
            if let Some(inner) = hears.upgrade() {
                inner.waiting().drop_one(id.to_owned(), tenant.to_owned());
            }
        };
        Recorder { inner, lost: Arc::new(lost) }
    }

    /// Where traces go, as soon as there is a place; `None` where nobody wants to know any more.
    async fn find(&self) -> Option<(TracesTo, Masker)> {
        let [mut pause, longest] = PAUSES;
        loop {
            if let Some(found) = (self.inner.upgrade()?.find)() {
                return Some(found);
            }
            sleep(pause).await;
            pause = (2 * pause).min(longest);
        }
    }

    /// Masks and hands over a batch, once there is a place for it.
    async fn hand_over(&self, drafts: Vec<TraceDraft>) {
        let ids: Vec<String> = drafts.iter().map(|draft| draft.id.clone()).collect();
        let broken = loop {
            let Some((to, masker)) = self.find().await else { return };
            match to {
                TracesTo::Store(traces) => {
                    let Some((new, broken)) = masked(drafts, masker).await else { break None };
                    traces.hand_over(new, &self.lost).await;
                    break Some(broken);
                }
                TracesTo::Early(early) => {
                    // They are masked anew where the store is open first.
                    let masking = masked(drafts.clone(), masker);
                    let Some((new, broken)) = masking.await else { break None };
                    if early.keep(new).await {
                        break Some(broken);
                    }
                    sleep(AGAIN).await;
                }
            }
        };
        let Some(inner) = self.inner.upgrade() else { return };
        inner.broken.inc_by(broken.unwrap_or_default());
        let mut waiting = inner.waiting();
        for id in &ids {
            if broken.is_some() {
                waiting.take_out(id);
            } else {
                waiting.lose(id);
            }
        }
    }
}

/// Long texts take their time, and other work must not wait for it. Also says how many traces have a text that could not
/// be masked.
async fn masked(drafts: Vec<TraceDraft>, masker: Masker) -> Option<(Vec<NewTrace>, u64)> {
    let mask = move || {
        let traces: Vec<NewTrace> = drafts.into_iter().map(|draft| draft.masked(&masker)).collect();
        let broken = traces.iter().filter(|trace| trace.is_broken()).count();
        (traces, broken as u64)
    };
    tokio::task::spawn_blocking(mask).await.ok()
}

/// Takes drafts until nobody makes any more.
pub(super) async fn run(
    mut taken: mpsc::Receiver<TraceDraft>,
    hurry: Arc<Notify>,
    recorder: Recorder,
) {
    let mut drafts = Vec::with_capacity(BATCH);
    while taken.recv_many(&mut drafts, BATCH).await > 0 {
        if drafts.len() < BATCH {
            drop(timeout(GATHER, hurry.notified()).await);
            while drafts.len() < BATCH
                && let Ok(draft) = taken.try_recv()
            {
                drafts.push(draft);
            }
        }
        recorder.hand_over(std::mem::take(&mut drafts)).await;
    }
}
