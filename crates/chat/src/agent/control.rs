//! Controls a running question: stops it, or adds a message while the model works.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_core::content::Content;
use tokio_util::sync::CancellationToken;

/// A handle to a running question. Clones control the same question.
#[derive(Clone, Debug, Default)]
pub struct Control {
    stop: CancellationToken,
    queue: Arc<Mutex<VecDeque<Content>>>,
}

impl Control {
    /// A handle for a question that has yet to be asked.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the answer and the tools at once. The text so far is kept. A second call has no effect.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Whether the question was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// The token behind [`stop`](Self::stop).
    #[must_use]
    pub fn token(&self) -> &CancellationToken {
        &self.stop
    }

    /// Queues a message of the user. The model gets it after the results of the running tools.
    pub fn say(&self, content: Content) {
        self.queue().push_back(content);
    }

    /// Takes the queued messages. Messages left at the end of the question begin the next one.
    #[must_use]
    pub fn take(&self) -> Vec<Content> {
        self.queue().drain(..).collect()
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, VecDeque<Content>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
