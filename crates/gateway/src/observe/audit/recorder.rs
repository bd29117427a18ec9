//! The tasks that mask traces and hand them over to the store.
//!
//! The traces of each tenant are masked apart, with a place of the masking pool, so that no tenant waits for the long
//! texts of another. Masked traces are handed over together, because each hand-over is synced to the disk.

use super::{Inner, TracesTo};
use crate::load::Holder;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use thinkthrough_mask::Masker;
use thinkthrough_store::{LostTrace, NewTrace, TraceDraft};
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

/// The most traces that are masked and handed over at once, and synced to the disk together.
const BATCH: usize = 512;
/// The bytes of one tenant's texts that are masked in one turn. The last trace may exceed it.
const TURN: usize = 1 << 20;
/// The time that a trace waits for others, unless a caller waits for it.
const GATHER: Duration = Duration::from_millis(20);
/// The first and the longest pause between two checks whether the store is open.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// The pause before the next try if a journal refuses traces.
const AGAIN: Duration = Duration::from_secs(1);

/// Masks traces and hands them over. Clones do the same.
#[derive(Clone)]
pub(super) struct Recorder {
    inner: Weak<Inner>,
    /// Receives traces that the database will never have.
    lost: LostTrace,
}

/// Traces of one tenant that are masked.
struct Ready {
    tenant: Holder,
    to: TracesTo,
    traces: Vec<NewTrace>,
    /// The unmasked drafts, in case a journal refuses the traces. They are masked anew if the store opens first.
    drafts: Vec<TraceDraft>,
    ids: Vec<String>,
    /// The number of traces with a text that could not be masked.
    broken: u64,
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

    /// Waits for the destination of traces; `None` if the audit is gone.
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

    /// Masks traces of one tenant, once there is a place for them. Traces whose masking fails are lost.
    async fn mask(
        self,
        tenant: Holder,
        drafts: Vec<TraceDraft>,
        out: mpsc::UnboundedSender<Ready>,
    ) {
        let ids: Vec<String> = drafts.iter().map(|draft| draft.id.clone()).collect();
        match self.masked(tenant, drafts).await {
            // The receiver lives as long as this sender.
            Some(masked) => drop(out.send(masked)),
            None => self.leave(&ids, false),
        }
    }

    async fn masked(&self, tenant: Holder, drafts: Vec<TraceDraft>) -> Option<Ready> {
        let (to, masker) = self.find().await?;
        let pool = self.inner.upgrade()?.masking.get().cloned();
        let bytes = drafts.iter().map(TraceDraft::size).sum();
        let place = match pool {
            Some(pool) => Some(pool.enter(&tenant, bytes).await.ok()?),
            None => None,
        };
        let mask = move || {
            let ids = drafts.iter().map(|draft| draft.id.clone()).collect();
            let kept = if matches!(to, TracesTo::Early(_)) { drafts.clone() } else { Vec::new() };
            let traces: Vec<NewTrace> =
                drafts.into_iter().map(|draft| draft.masked(&masker)).collect();
            let broken = traces.iter().filter(|trace| trace.is_broken()).count() as u64;
            drop(place);
            Ready { tenant, to, traces, drafts: kept, ids, broken }
        };
        tokio::task::spawn_blocking(mask).await.ok()
    }

    /// Hands over masked traces. Returns the drafts that a journal refused, to be tried again.
    async fn hand_over(&self, ready: Vec<Ready>) -> Vec<(Holder, Vec<TraceDraft>)> {
        let (mut store, mut all, mut ids, mut broken) = (None, Vec::new(), Vec::new(), 0);
        let (mut again, mut without_items) = (Vec::new(), 0);
        for one in ready {
            let is_taken = match one.to {
                TracesTo::Store(traces) => {
                    store = Some(traces);
                    all.extend(one.traces);
                    true
                }
                TracesTo::Early(early) => {
                    let has_items = |trace: &&NewTrace| trace.has_items();
                    let early_items = one.traces.iter().filter(has_items).count() as u64;
                    let is_kept = early.keep(one.traces).await;
                    without_items += if is_kept { early_items } else { 0 };
                    is_kept
                }
            };
            if !is_taken {
                again.push((one.tenant, one.drafts));
                continue;
            }
            ids.extend(one.ids);
            broken += one.broken;
        }
        if let Some(store) = store {
            without_items += store.hand_over(all, &self.lost).await;
        }
        if let Some(inner) = self.inner.upgrade() {
            inner.broken.inc_by(broken);
            inner.without_items.inc_by(without_items);
        }
        self.leave(&ids, true);
        again
    }

    /// Removes these from the waiting drafts: they were handed over, or are lost.
    fn leave(&self, ids: &[String], is_handed_over: bool) {
        let Some(inner) = self.inner.upgrade() else { return };
        let mut waiting = inner.waiting();
        for id in ids {
            if is_handed_over {
                waiting.take_out(id);
            } else {
                waiting.lose(id);
            }
        }
    }
}

/// Takes drafts until the last handle of the audit is gone.
pub(super) async fn run(
    mut taken: mpsc::Receiver<TraceDraft>,
    hurry: Arc<Notify>,
    recorder: Recorder,
) {
    let (out, ready) = mpsc::unbounded_channel();
    tokio::spawn(hand_over_all(ready, out.downgrade(), recorder.clone()));
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
        let mut tenants: BTreeMap<Holder, (usize, Vec<TraceDraft>)> = BTreeMap::new();
        for draft in drafts.drain(..) {
            let tenant = Holder::Tenant(draft.tenant.as_str().to_owned());
            let (bytes, all) = tenants.entry(tenant.clone()).or_default();
            *bytes += draft.size();
            all.push(draft);
            if *bytes > TURN {
                *bytes = 0;
                let all = std::mem::take(all);
                tokio::spawn(recorder.clone().mask(tenant, all, out.clone()));
            }
        }
        for (tenant, (_, drafts)) in tenants.into_iter().filter(|(_, (_, all))| !all.is_empty()) {
            tokio::spawn(recorder.clone().mask(tenant, drafts, out.clone()));
        }
    }
}

/// Hands over until the last masking task is gone.
async fn hand_over_all(
    mut ready: mpsc::UnboundedReceiver<Ready>,
    out: mpsc::WeakUnboundedSender<Ready>,
    recorder: Recorder,
) {
    let mut batch = Vec::with_capacity(BATCH);
    while ready.recv_many(&mut batch, BATCH).await > 0 {
        for (tenant, drafts) in recorder.hand_over(std::mem::take(&mut batch)).await {
            let (recorder, out) = (recorder.clone(), out.clone());
            tokio::spawn(async move {
                sleep(AGAIN).await;
                if let Some(out) = out.upgrade() {
                    recorder.mask(tenant, drafts, out).await;
                }
            });
        }
    }
}
