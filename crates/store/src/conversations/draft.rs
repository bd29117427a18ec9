//! Drafts: answers that are stored while they arrive.

use super::pieces::Kept;
use super::{Conversations, Opened};
use crate::error::StoreError;
use crate::id::ConversationId;
use crate::row::DraftRow;
use std::mem;
use std::sync::Arc;
use thinkthrough_core::content::{Block, Content, Origin};

/// An answer that is stored while it arrives.
///
/// Call [`Draft::record`] a few times a second with the complete answer so far: it writes only the new part. If the
/// program ends before [`Draft::finish`], even by a crash, the conversation keeps the last recorded state.
#[derive(Debug)]
pub struct Draft {
    conversations: Conversations,
    id: ConversationId,
    opened: Arc<Opened>,
    number: i64,
    origin: Option<Origin>,
    part: u32,
    kept: Kept,
}

/// The new part of an answer.
#[derive(Debug)]
pub struct Piece {
    text: String,
    /// The stored state after this piece.
    kept: Kept,
}

impl Draft {
    pub(super) fn new(
        conversations: Conversations,
        id: ConversationId,
        opened: Arc<Opened>,
        number: i64,
        origin: Option<Origin>,
    ) -> Self {
        Draft { conversations, id, opened, number, origin, part: 0, kept: Kept::default() }
    }

    /// Stores the new part of `blocks`, which must be the complete answer so far. Writes only if there is a new part.
    ///
    /// # Errors
    /// When the conversation is gone or cannot be written. The next call then stores everything.
    pub async fn record(&mut self, blocks: &[Block]) -> Result<(), StoreError> {
        match self.piece(blocks) {
            Some(piece) => self.keep(piece).await,
            None => Ok(()),
        }
    }

    /// The first half of [`Draft::record`]: determines the new part. For callers that cannot lend the blocks for
    /// longer.
    #[must_use]
    pub fn piece(&mut self, blocks: &[Block]) -> Option<Piece> {
        // Until the piece is stored, the stored state is empty, so that the piece after a lost one contains
        // everything.
        let mut kept = mem::take(&mut self.kept);
        match kept.grow(blocks, self.origin.as_ref()) {
            Some(text) => Some(Piece { text, kept }),
            None => {
                self.kept = kept;
                None
            }
        }
    }

    /// The second half of [`Draft::record`]: stores the new part.
    ///
    /// # Errors
    /// When the conversation is gone or cannot be written. The next piece then contains everything.
    pub async fn keep(&mut self, piece: Piece) -> Result<(), StoreError> {
        let part = self.part;
        self.part = part.saturating_add(1);
        let sealed = self.opened.log.seal_piece(self.number, part, piece.text.as_bytes());
        let sealed = sealed.map_err(|_| self.conversations.store().no_random())?;
        let row = DraftRow { conversation: self.opened.nr, draft: self.number, part, sealed };
        if !self.conversations.store().backend().add_draft(row).await? {
            return Err(self.conversations.gone(&self.id));
        }
        self.kept = piece.kept;
        Ok(())
    }

    /// Replaces the draft by the final contents. Returns the new number of contents.
    ///
    /// # Errors
    /// When the conversation is gone or cannot be written; the draft stays then.
    pub async fn finish(self, contents: &[Content]) -> Result<u32, StoreError> {
        self.conversations.append_in_place_of(&self.id, contents, &[self.number]).await
    }

    /// Deletes the draft.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn discard(self) -> Result<(), StoreError> {
        self.conversations.store().backend().remove_draft(self.opened.nr, self.number).await
    }
}
