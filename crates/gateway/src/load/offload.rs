//! Work on large bodies, on a few threads beside the async workers.
//!
//! An async worker that parses 25 MiB cannot answer others meanwhile. So each step of such work runs on a blocking
//! thread with a place of a [`FairPool`]: callers take turns. Between its steps, while it waits for a store, work
//! holds neither a thread nor a place.

use super::fair::{Denied, FairPool, Holder, Place};
use std::future::{Future, pending};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

/// Bodies up to this size are handled where they come in, for that takes less time than handing them over.
pub(crate) const LARGE: usize = 256 * 1024;

/// The threads beside the async workers, for one caller.
#[derive(Clone, Debug)]
pub(crate) struct Offload {
    pool: FairPool,
    holder: Holder,
}

impl Offload {
    pub(crate) fn new(pool: FairPool, holder: Holder) -> Self {
        Offload { pool, holder }
    }

    /// The same threads, for another caller.
    pub(crate) fn of(&self, holder: Holder) -> Self {
        Offload { pool: self.pool.clone(), holder }
    }

    /// The holder of the places that its work takes.
    pub(crate) fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Waits for the turn of new work on a body of `size` bytes. A small one has no need to wait.
    pub(crate) async fn turn(&self, size: usize) -> Result<Turn, Denied> {
        let is_large = size > LARGE;
        let place = if is_large { Some(self.pool.enter(&self.holder, size).await?) } else { None };
        Ok(Turn { offload: self.clone(), size, place })
    }

    /// Goes on with work that has begun, which is never refused.
    pub(crate) async fn go_on<F>(&self, size: usize, work: Pin<Box<F>>) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Turn { offload: self.clone(), size, place: None }.run(work).await
    }
}

/// The turn of a piece of work.
#[derive(Debug)]
pub(crate) struct Turn {
    offload: Offload,
    size: usize,
    place: Option<Place>,
}

impl Turn {
    /// Does the work. Work that panics panics here.
    pub(crate) async fn run<F>(self, work: Pin<Box<F>>) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let Turn { offload: Offload { pool, holder }, size, mut place } = self;
        if size <= LARGE {
            return work.await;
        }
        let mut work = work;
        loop {
            let place = match place.take() {
                Some(place) => Some(place),
                None => pool.enter_again(&holder, size).await,
            };
            let woken = Arc::new(Woken::default());
            let waker = Waker::from(Arc::clone(&woken));
            let step = spawn_blocking(move || {
                let polled = work.as_mut().poll(&mut Context::from_waker(&waker));
                drop(place);
                match polled {
                    Poll::Ready(output) => Step::Done(output),
                    Poll::Pending => Step::Waits(work),
                }
            });
            match step.await {
                Ok(Step::Done(output)) => return output,
                Ok(Step::Waits(rest)) => work = rest,
                Err(failed) => match failed.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    // The runtime ends, and with it the tasks that wait here.
                    Err(_) => return pending().await,
                },
            }
            woken.0.notified().await;
        }
    }
}

/// The result of one step of the work.
enum Step<F: Future> {
    Done(F::Output),
    Waits(Pin<Box<F>>),
}

/// Wakes the task that owns the work.
#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::super::fair::{Bounds, PoolGauges};
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    fn offload(places: usize) -> Offload {
        let bounds = Bounds { places, operator: 0, long: usize::MAX, bytes: usize::MAX };
        let pool = FairPool::new(bounds, Duration::from_secs(60), PoolGauges::default());
        Offload::new(pool, Holder::Tenant("a".to_owned()))
    }

    #[tokio::test]
    async fn work_on_a_small_body_stays_and_on_a_large_one_goes_to_another_thread() {
        let offload = offload(1);
        let here = thread::current().id();
        let there = |size| offload.go_on(size, Box::pin(async { thread::current().id() }));
        assert_eq!(there(LARGE).await, here);
        assert_ne!(there(LARGE + 1).await, here);
        let turn = offload.turn(LARGE + 1).await.unwrap();
        assert_ne!(turn.run(Box::pin(async { thread::current().id() })).await, here);
    }

    #[tokio::test]
    async fn no_more_work_runs_at_a_time_than_there_are_places() {
        let offload = offload(4);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let work = || {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            Box::pin(async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(5));
                now.fetch_sub(1, Ordering::SeqCst);
            })
        };
        let all = (0..16).map(|_| {
            let (offload, work) = (offload.clone(), work());
            tokio::spawn(async move { offload.turn(LARGE + 1).await.unwrap().run(work).await })
        });
        for one in all.collect::<Vec<_>>() {
            one.await.unwrap();
        }
        assert_eq!(most.load(Ordering::SeqCst), 2, "one caller leaves half of them to others");
    }

    #[tokio::test]
    async fn work_that_waits_holds_no_place() {
        let offload = offload(1);
        let gate = Arc::new(Notify::new());
        let (waiting, passing) = (offload.clone(), Arc::clone(&gate));
        let first = tokio::spawn(async move {
            waiting.go_on(LARGE + 1, Box::pin(async move { passing.notified().await })).await;
        });
        // Without a place of its own, this would wait forever for the first one.
        offload.go_on(LARGE + 1, Box::pin(tokio::time::sleep(Duration::from_millis(20)))).await;
        assert!(!first.is_finished());
        gate.notify_one();
        first.await.unwrap();
    }

    #[tokio::test]
    async fn work_that_panics_panics_in_whoever_waits_for_it() {
        let offload = offload(1);
        let work = Box::pin(async { assert_eq!(1, 2, "as it was told") });
        let failed = tokio::spawn({
            let offload = offload.clone();
            async move { offload.go_on(LARGE + 1, work).await }
        });
        assert!(failed.await.unwrap_err().is_panic());
        assert_eq!(offload.go_on(LARGE + 1, Box::pin(async { 7 })).await, 7, "its place is free");
    }
}
