//! Work on large bodies, on a few threads beside the async workers.
//!
//! An async worker that parses 25 MiB answers nobody else meanwhile. So each step of such work runs on a blocking
//! thread, and no more than a few run at a time. Between its steps, while it waits for a store, it holds no thread.

use super::gauges::Gauges;
use std::future::{Future, pending};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::available_parallelism;
use tokio::sync::{Notify, Semaphore};
use tokio::task::spawn_blocking;

/// Bodies up to this size are handled where they come in, for that takes less time than handing them over.
pub(crate) const LARGE: usize = 256 * 1024;

/// The threads beside the async workers.
#[derive(Debug)]
pub(crate) struct Offload {
    places: Arc<Semaphore>,
    gauges: Gauges,
}

impl Offload {
    /// Half of the cores, so that the other half goes on answering.
    pub(crate) fn new(gauges: Gauges) -> Self {
        Offload::with(available_parallelism().map_or(1, NonZero::get) / 2, gauges)
    }

    /// So many pieces of work run at a time, at least one.
    fn with(threads: usize, gauges: Gauges) -> Self {
        Offload { places: Arc::new(Semaphore::new(threads.max(1))), gauges }
    }

    /// Does work on a body of `size` bytes. Work that panics panics here.
    pub(crate) async fn run<F>(&self, size: usize, work: Pin<Box<F>>) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        if size <= LARGE {
            return work.await;
        }
        let mut work = work;
        loop {
            let waiting = self.gauges.waiting();
            // Nobody closes the semaphore.
            let place = Arc::clone(&self.places).acquire_owned().await.ok();
            drop(waiting);
            let running = self.gauges.running();
            let woken = Arc::new(Woken::default());
            let waker = Waker::from(Arc::clone(&woken));
            let step = spawn_blocking(move || {
                let polled = work.as_mut().poll(&mut Context::from_waker(&waker));
                drop((place, running));
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
                    // The runtime ends, and with it whoever waits here.
                    Err(_) => return pending().await,
                },
            }
            woken.0.notified().await;
        }
    }
}

/// What one step of the work came to.
enum Step<F: Future> {
    Done(F::Output),
    Waits(Pin<Box<F>>),
}

/// Whoever the work waits for wakes the task that has it.
#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    #[tokio::test]
    async fn work_on_a_small_body_stays_and_on_a_large_one_goes_to_another_thread() {
        let offload = Offload::with(1, Gauges::default());
        let here = thread::current().id();
        let there = |size| offload.run(size, Box::pin(async { thread::current().id() }));
        assert_eq!(there(LARGE).await, here);
        assert_ne!(there(LARGE + 1).await, here);
    }

    #[tokio::test]
    async fn no_more_work_runs_at_a_time_than_there_are_places() {
        let offload = Arc::new(Offload::with(2, Gauges::default()));
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
            let (offload, work) = (Arc::clone(&offload), work());
            tokio::spawn(async move { offload.run(usize::MAX, work).await })
        });
        for one in all.collect::<Vec<_>>() {
            one.await.unwrap();
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn work_that_waits_holds_no_place() {
        let offload = Arc::new(Offload::with(1, Gauges::default()));
        let gate = Arc::new(Notify::new());
        let (waiting, passing) = (Arc::clone(&offload), Arc::clone(&gate));
        let first = tokio::spawn(async move {
            waiting.run(usize::MAX, Box::pin(async move { passing.notified().await })).await;
        });
        // Without a place of its own, this would wait for the first for ever.
        offload.run(usize::MAX, Box::pin(tokio::time::sleep(Duration::from_millis(20)))).await;
        assert!(!first.is_finished());
        gate.notify_one();
        first.await.unwrap();
    }

    #[tokio::test]
    async fn work_that_panics_panics_in_whoever_waits_for_it() {
        let offload = Arc::new(Offload::with(1, Gauges::default()));
        let work = Box::pin(async { assert_eq!(1, 2, "as it was told") });
        let failed = tokio::spawn({
            let offload = Arc::clone(&offload);
            async move { offload.run(usize::MAX, work).await }
        });
        assert!(failed.await.unwrap_err().is_panic());
        assert_eq!(offload.run(usize::MAX, Box::pin(async { 7 })).await, 7, "its place is free");
    }
}
