//! A record on its way into the store. The end of its answer waits for it, but not for long.

use crate::observe::bus::Reporter;
use crate::observe::progress::Progress;
use crate::store::vault::APPEND;
use crate::store::waits::{Breaker, Breakers};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::time::Sleep;

/// Runs a write and returns its success. A store that answers, even with an error, does not stand still, unless it
/// gave up after a long time.
pub(crate) async fn written(store: &Breaker, writing: impl Future<Output = bool>) -> bool {
    const SOON: Duration = Duration::from_secs(1);
    let began = Instant::now();
    let is_written = writing.await;
    if is_written || began.elapsed() < SOON {
        store.answered();
    }
    is_written
}

/// A record that is being stored.
pub(crate) struct Saving {
    /// `None` once it is done.
    work: Option<Pin<Box<dyn Future<Output = bool> + Send>>>,
    /// The end of the answer was reported as unsaved.
    is_told: bool,
    /// Begins with the waiting.
    limit: Option<Pin<Box<Sleep>>>,
    store: Arc<Breakers>,
    reporter: Arc<Reporter>,
}

impl Saving {
    /// A record that `work` stores.
    pub(crate) fn by(
        work: impl Future<Output = bool> + Send + 'static,
        store: Arc<Breakers>,
        reporter: Arc<Reporter>,
    ) -> Self {
        Saving { work: Some(Box::pin(work)), is_told: false, limit: None, store, reporter }
    }

    /// Polls whether the record is visible. Returns `false` if it took too long, and then the work goes on.
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
            self.reporter.tell(&Progress::Unsaved);
        }
        Poll::Ready(is_saved)
    }

    /// Waits for the record within its limit. Returns whether it is visible.
    pub(crate) async fn wait(mut self) -> bool {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }
}

/// Goes on storing the record in the background.
impl Drop for Saving {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) {
            let (reporter, is_told) = (Arc::clone(&self.reporter), self.is_told);
            runtime.spawn(async move {
                if !work.await && !is_told {
                    reporter.tell(&Progress::Unsaved);
                }
            });
        }
    }
}
