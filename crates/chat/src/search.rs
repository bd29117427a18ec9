//! Search in stored conversations. A thought that may not be shown is not found either.

use crate::cover::Cover;
use thinkthrough_store::{Conversations, Found, Search, StoreError, Within};

/// Whether a search may look into these parts.
///
/// # Errors
/// Why not, in a sentence for people.
pub fn may_look(within: Within, shows_thoughts: bool) -> Result<(), &'static str> {
    match within {
        Within::Thoughts if !shows_thoughts => Err(
            "`reasoning.includeInResponse` is false, so no thought is shown; set it to true to search thoughts",
        ),
        Within::All | Within::Answers | Within::Thoughts => Ok(()),
    }
}

/// Reports hits as they are found, with secrets covered by `cover`. The search goes on while `found` returns true.
///
/// # Errors
/// When the store cannot be read.
pub async fn search(
    conversations: &Conversations,
    wanted: &Search,
    (shows_thoughts, cover): (bool, &Cover),
    mut found: impl FnMut(Found) -> bool,
) -> Result<(), StoreError> {
    let visible = |it: Found| {
        let is_hidden = !shows_thoughts && matches!(&it, Found::Hit(hit) if hit.is_thought);
        is_hidden || found(it)
    };
    conversations.search_masked(wanted, cover.masker(), visible).await
}
