//! The task that writes traces.

use super::{Draft, Inner};
use std::sync::Weak;
use std::time::Duration;
use thinkthrough_core::mask::Masker;
use thinkthrough_store::{NewTrace, Traces};
use tokio::sync::mpsc;
use tokio::time::sleep;

/// So many traces are written in one commit.
const BATCH: usize = 64;
/// How long a trace waits for others: nobody waits for it.
const GATHER: Duration = Duration::from_millis(20);
/// The pauses between two tries grow from the first of these to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];
/// How often traces are tried that the store does not take.
const TRIES: u32 = 20;

/// Masks and writes.
pub(super) struct Recorder {
    inner: Weak<Inner>,
}

impl Recorder {
    pub(super) fn new(inner: Weak<Inner>) -> Self {
        Recorder { inner }
    }

    fn find(&self) -> Option<(Traces, Masker)> {
        (self.inner.upgrade()?.find)()
    }

    /// Masks and writes a batch, however long the store takes, up to an end.
    async fn write(&self, drafts: Vec<Draft>) -> bool {
        let [mut pause, longest] = PAUSES;
        let (mut drafts, mut batch) = (Some(drafts), Vec::new());
        for _ in 0..TRIES {
            if let Some((traces, masker)) = self.find() {
                if let Some(drafts) = drafts.take() {
                    batch = masked(drafts, masker).await;
                }
                if traces.add(batch.clone()).await.is_ok() {
                    index(&traces).await;
                    return true;
                }
            }
            if self.inner.strong_count() == 0 {
                return false;
            }
            sleep(pause).await;
            pause = (2 * pause).min(longest);
        }
        false
    }

    fn done(&self, ids: &[String], is_written: bool) {
        let Some(inner) = self.inner.upgrade() else { return };
        let mut waiting = inner.waiting();
        ids.iter().for_each(|id| waiting.done(id, is_written));
    }
}

/// Long texts take their time, and other work must not wait for it.
async fn masked(drafts: Vec<Draft>, masker: Masker) -> Vec<NewTrace> {
    let masking = tokio::task::spawn_blocking(move || {
        drafts.into_iter().map(|draft| draft.masked(&masker)).collect()
    });
    masking.await.unwrap_or_default()
}

/// Takes drafts until nobody makes any more.
pub(super) async fn run(mut taken: mpsc::Receiver<Draft>, recorder: Recorder) {
    let mut drafts = Vec::with_capacity(BATCH);
    while taken.recv_many(&mut drafts, BATCH).await > 0 {
        if drafts.len() < BATCH {
            sleep(GATHER).await;
            while drafts.len() < BATCH
                && let Ok(draft) = taken.try_recv()
            {
                drafts.push(draft);
            }
        }
        let ids: Vec<String> = drafts.iter().map(|draft| draft.id.clone()).collect();
        let is_written = recorder.write(std::mem::take(&mut drafts)).await;
        recorder.done(&ids, is_written);
    }
}

/// Search finds them from now on; what is left is indexed with the next.
async fn index(traces: &Traces) {
    while traces.index().await.is_ok_and(|count| count > 0) {}
}
