//! The id of the current conversation. The store task sets it, and traces are named by it.

use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_store::ConversationId;

/// The id of the current conversation, once it is stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Here(Arc<Mutex<Option<String>>>);

impl Here {
    /// The id.
    pub(super) fn id(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the current conversation.
    pub(super) fn set(&self, id: Option<&ConversationId>) {
        let id = id.map(|id| id.as_str().to_owned());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }
}
