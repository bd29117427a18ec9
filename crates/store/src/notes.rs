//! Messages of a store for the operator, one sentence each.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Pending messages. Clones are handles to the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    texts: Mutex<Vec<String>>,
    noted: Notify,
}

impl Notes {
    /// Adds a message.
    pub(crate) fn add(&self, text: String) {
        self.texts().push(text);
        self.0.noted.notify_one();
    }

    /// Takes all pending messages.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.texts())
    }

    /// Waits for a new message.
    pub(crate) async fn noted(&self) {
        self.0.noted.notified().await;
    }

    fn texts(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
