//! Converts the contents of one conversation into sealed rows and back.

use super::pieces;
use crate::error::StoreError;
use crate::id::ConversationId;
use crate::meta::Meta;
use crate::row::DraftRow;
use crate::seal::{Broken, Key, Kind, bind};
use std::fmt;
use thinkthrough_core::content::Content;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::shape::{read_content, write_content};
use thinkthrough_json::{Doc, Writer};

/// Seals and opens the rows of one conversation.
pub(crate) struct Log {
    key: Key,
    tenant: Tenant,
    id: ConversationId,
}

/// Locks the key of a conversation with a data key of its tenant.
pub(super) fn wrap(
    key: &Key,
    data_key: &Key,
    tenant: &Tenant,
    id: &ConversationId,
    key_id: u32,
) -> Result<Vec<u8>, Broken> {
    data_key.wrap(key, &key_place(tenant, id, key_id))
}

/// Opens a key that [`wrap`] locked.
pub(super) fn unwrap(
    wrapped: &[u8],
    data_key: &Key,
    tenant: &Tenant,
    id: &ConversationId,
    key_id: u32,
) -> Option<Key> {
    data_key.unwrap(wrapped, &key_place(tenant, id, key_id)).ok()
}

/// The error for a message that cannot be opened.
pub(super) fn damaged(id: &ConversationId, position: u32) -> StoreError {
    StoreError::Damaged { what: format!("message {position} of session `{id}`") }
}

fn key_place(tenant: &Tenant, id: &ConversationId, key_id: u32) -> Vec<u8> {
    bind(Kind::ConversationKey, &[tenant.as_str(), id.as_str()], &[key_id.into()])
}

impl Log {
    pub(super) fn new(key: Key, tenant: &Tenant, id: &ConversationId) -> Self {
        Log { key, tenant: tenant.clone(), id: id.clone() }
    }

    /// Seals contents for the positions from `at` on.
    pub(super) fn seal(&self, at: u32, contents: &[Content]) -> Result<Vec<Vec<u8>>, Broken> {
        let seal = |(position, content): (u32, &Content)| {
            let mut w = Writer::new();
            write_content(&mut w, content);
            self.key.seal(w.finish(), &self.place(Kind::Message, &[position.into()]))
        };
        (at..).zip(contents).map(seal).collect()
    }

    /// Opens the message at a position.
    pub(super) fn open(&self, position: u32, sealed: &[u8]) -> Option<Content> {
        let plain = self.key.open(sealed, &self.place(Kind::Message, &[position.into()])).ok()?;
        let doc = Doc::parse(&plain).ok()?;
        read_content(doc.root()).ok()
    }

    /// Opens rows from position `from` on. Returns the contents, and the positions of unreadable messages.
    pub(super) fn open_page(&self, from: u32, rows: &[(u32, Vec<u8>)]) -> (Vec<Content>, Vec<u32>) {
        let (mut contents, mut damaged) = (Vec::with_capacity(rows.len()), Vec::new());
        let mut next = from;
        for (position, sealed) in rows {
            // A missing row existed once, so it counts as damaged.
            damaged.extend(next..*position);
            next = position.saturating_add(1);
            match self.open(*position, sealed) {
                Some(content) => contents.push(content),
                None => damaged.push(*position),
            }
        }
        (contents, damaged)
    }

    pub(super) fn seal_meta(&self, meta: &Meta) -> Result<Vec<u8>, Broken> {
        self.key.seal(meta.to_bytes(), &self.place(Kind::Meta, &[]))
    }

    pub(super) fn open_meta(&self, sealed: &[u8]) -> Result<Meta, StoreError> {
        let plain = self.key.open(sealed, &self.place(Kind::Meta, &[])).ok();
        plain.and_then(|plain| Meta::from_bytes(&plain)).ok_or_else(|| StoreError::Damaged {
            what: format!("the title of session `{}`", self.id),
        })
    }

    pub(super) fn seal_piece(
        &self,
        draft: i64,
        part: u32,
        plain: &[u8],
    ) -> Result<Vec<u8>, Broken> {
        self.key.seal(plain, &self.piece_place(draft, part))
    }

    /// Joins the pieces of each draft. An unreadable piece ends its draft; the pieces before it stay.
    pub(super) fn open_drafts(&self, rows: &[DraftRow]) -> Vec<(i64, Content)> {
        let same_draft = |a: &DraftRow, b: &DraftRow| a.draft == b.draft;
        let whole = |rows: &[DraftRow]| {
            let plain = rows.iter().map_while(|row| {
                self.key.open(&row.sealed, &self.piece_place(row.draft, row.part)).ok()
            });
            Some((rows.first()?.draft, pieces::add_up(plain)))
        };
        rows.chunk_by(same_draft).filter_map(whole).collect()
    }

    fn piece_place(&self, draft: i64, part: u32) -> Vec<u8> {
        self.place(Kind::Draft, &[draft.cast_unsigned(), part.into()])
    }

    fn place(&self, kind: Kind, numbers: &[u64]) -> Vec<u8> {
        bind(kind, &[self.tenant.as_str(), self.id.as_str()], numbers)
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Log").field(&self.id).finish()
    }
}
