//! An answer that is kept while it comes in.

use super::pieces::Kept;
use super::{Conversations, Opened};
use crate::error::StoreError;
use crate::id::ConversationId;
use crate::row::DraftRow;
use std::mem;
use std::sync::Arc;
use thinkthrough_core::content::{Block, Content, Origin};

/// An answer that is kept while it comes in.
///
/// Call [`Draft::record`] a few times a second with all there is so far: it writes only what is new. If the program
/// ends before [`Draft::finish`], however suddenly, the conversation still has what was recorded last.
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

/// What an answer grew by.
#[derive(Debug)]
pub struct Piece {
    text: String,
    /// What counts as kept once this is.
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

    /// Keeps what is new in `blocks`, which hold all that the answer has so far. Writes nothing if nothing is new.
    ///
    /// # Errors
    /// When the conversation is gone or cannot be written; the next call then keeps everything.
    pub async fn record(&mut self, blocks: &[Block]) -> Result<(), StoreError> {
        match self.piece(blocks) {
            Some(piece) => self.keep(piece).await,
            None => Ok(()),
        }
    }

    /// The first half of [`Draft::record`], for whoever cannot lend the blocks for longer: what is new in them.
    #[must_use]
    pub fn piece(&mut self, blocks: &[Block]) -> Option<Piece> {
        // Until the piece is kept nothing counts as kept, so that the one after a lost one holds everything.
        let mut kept = mem::take(&mut self.kept);
        match kept.grow(blocks, self.origin.as_ref()) {
            Some(text) => Some(Piece { text, kept }),
            None => {
                self.kept = kept;
                None
            }
        }
    }

    /// The second half of [`Draft::record`].
    ///
    /// # Errors
    /// When the conversation is gone or cannot be written; the next piece then holds everything.
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

    /// Appends the contents that the answer came to, in place of the draft. Gives how many contents the conversation
    /// has then.
    ///
    /// # Errors
    /// When the conversation is gone or cannot be written; the draft stays then.
    pub async fn finish(self, contents: &[Content]) -> Result<u32, StoreError> {
        self.conversations.append_in_place_of(&self.id, contents, &[self.number]).await
    }

    /// Throws the draft away.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub async fn discard(self) -> Result<(), StoreError> {
        self.conversations.store().backend().remove_draft(self.opened.nr, self.number).await
    }
}
