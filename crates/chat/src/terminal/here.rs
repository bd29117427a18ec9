//! The id of the current conversation. The store task sets it, and traces are named by it.

use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_store::ConversationId;

/// The conversation that is being held, once it is in the store.
#[derive(Clone, Debug, Default)]
pub(super) struct Here(Arc<Mutex<Option<String>>>);

impl Here {
    /// Its id.
    pub(super) fn id(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// It is another one from now on.
    pub(super) fn set(&self, id: Option<&ConversationId>) {
        let id = id.map(|id| id.as_str().to_owned());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }
}
