//! The task that masks traces and hands them over to the store.

use super::{Draft, Inner, UNTOLD};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;
use thinkthrough_core::mask::{BROKEN, Masker};
use thinkthrough_store::{LostTrace, NewTrace, Traces};
use tokio::sync::mpsc;
use tokio::time::sleep;

/// So many traces are masked and handed over at once.
const BATCH: usize = 64;
/// How long a trace waits for others: nobody waits for it.
const GATHER: Duration = Duration::from_millis(20);
/// The pauses between two looks whether the store is open grow from the first of these to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

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

    /// The store's traces, once it is open; `None` where nobody wants to know any more.
    async fn find(&self) -> Option<(Traces, Masker)> {
        let [mut pause, longest] = PAUSES;
        loop {
            if let Some(found) = (self.inner.upgrade()?.find)() {
                return Some(found);
            }
            sleep(pause).await;
            pause = (2 * pause).min(longest);
        }
    }

    /// Masks and hands over a batch, once the store is open.
    async fn hand_over(&self, drafts: Vec<Draft>) {
        let ids: Vec<String> = drafts.iter().map(|draft| draft.id.clone()).collect();
        let Some((traces, masker)) = self.find().await else { return };
        let masked = masked(drafts, masker).await;
        let is_masked = masked.is_some();
        let (masked, broken) = masked.unwrap_or_default();
        traces.hand_over(masked, &self.lost).await;
        let Some(inner) = self.inner.upgrade() else { return };
        inner.broken.inc_by(broken);
        let mut waiting = inner.waiting();
        for id in &ids {
            if is_masked {
                waiting.take_out(id);
            } else {
                waiting.lose(id);
            }
        }
    }
}

/// Long texts take their time, and other work must not wait for it. Also says of how many traces the texts are not there
/// because masking them broke.
async fn masked(drafts: Vec<Draft>, masker: Masker) -> Option<(Vec<NewTrace>, u64)> {
    tokio::task::spawn_blocking(move || each(drafts, |draft| draft.masked(&masker))).await.ok()
}

/// Each draft by itself: one that cannot be masked leaves a trace without its texts, and the others theirs.
fn each(drafts: Vec<Draft>, mask: impl Fn(Draft) -> NewTrace) -> (Vec<NewTrace>, u64) {
    let traces: Vec<NewTrace> = drafts
        .into_iter()
        .map(|draft| {
            let bare = draft.without_texts();
            catch_unwind(AssertUnwindSafe(|| mask(draft))).unwrap_or(bare)
        })
        .collect();
    let broken = traces.iter().filter(|trace| is_broken(trace)).count();
    (traces, broken as u64)
}

/// Whether something of a trace could not be masked.
fn is_broken(trace: &NewTrace) -> bool {
    let texts = [&trace.thought, &trace.answer, &trace.metadata, &trace.why];
    texts.iter().any(|text| text.get().contains(BROKEN))
        || trace.metadata.get() == UNTOLD
        || [&trace.session, &trace.model].iter().any(|name| name.as_str() == BROKEN)
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
        recorder.hand_over(std::mem::take(&mut drafts)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::draft;
    use super::*;
    use thinkthrough_core::mask::Tiers;

    #[test]
    fn a_draft_that_breaks_its_masker_leaves_a_trace_without_texts_and_the_others_theirs() {
        let drafts =
            || vec![draft("one", "a thought"), draft("two", "a boom"), draft("three", "b")];
        let masker = Masker::new(Tiers::ALL, &[7; 32]).breaking_at("boom");
        let (traces, broken) = each(drafts(), |draft| draft.masked(&masker));
        let told = |traces: &[NewTrace]| -> Vec<(String, String, String)> {
            let told =
                |it: &NewTrace| (it.id.clone(), it.thought.get().clone(), it.answer.get().clone());
            traces.iter().map(told).collect()
        };
        let row =
            |id: &str, thought: &str, answer: &str| (id.into(), thought.into(), answer.into());
        let others = [row("one", "a thought", "said"), row("three", "b", "said")];
        assert_eq!(
            told(&traces),
            [others[0].clone(), row("two", BROKEN, "said"), others[1].clone()]
        );
        assert_eq!(broken, 1);
        // Whatever else breaks in there, nothing of the texts is kept.
        let (traces, broken) = each(drafts(), |draft| {
            assert!(!draft.transcript.thought.text.contains("boom"), "broken on purpose");
            draft.masked(&masker)
        });
        assert_eq!(
            told(&traces),
            [others[0].clone(), row("two", BROKEN, BROKEN), others[1].clone()]
        );
        assert_eq!((broken, traces[1].metadata.get().as_str()), (1, "{\"masked\":\"error\"}"));
    }
}
