//! Conversations, their messages, and drafts.

use super::{Safety, Sqlite, is_damage};
use crate::error::StoreError;
use crate::row::{Append, Appended, ConversationRow, DraftRow, NewConversation};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

const CONVERSATION: &str =
    "SELECT nr, id, key_id, wrapped_key, meta, messages, updated_at FROM conversation";

impl Sqlite {
    /// Adds a conversation. `None` if its tenant or key is gone.
    pub(crate) async fn add_conversation(
        &self,
        new: NewConversation,
    ) -> Result<Option<i64>, StoreError> {
        self.write(Safety::Power, move |connection| {
            let sql = "INSERT INTO conversation \
                       (tenant, id, key_id, wrapped_key, meta, messages, updated_at) \
                       SELECT tenant, ?, id, ?, ?, ?, ? FROM data_key WHERE tenant = ? AND id = ?";
            let added = connection.execute(
                sql,
                params![
                    new.id,
                    new.wrapped_key,
                    new.meta,
                    count(&new.messages),
                    new.now,
                    new.tenant,
                    new.key_id
                ],
            )?;
            if added == 0 {
                return Ok(None);
            }
            let nr = connection.last_insert_rowid();
            insert(connection, nr, 0, &new.messages)?;
            Ok(Some(nr))
        })
        .await
    }

    pub(crate) async fn conversation(
        &self,
        tenant: i64,
        id: String,
    ) -> Result<Option<ConversationRow>, StoreError> {
        self.read(move |connection| {
            let sql = format!("{CONVERSATION} WHERE tenant = ? AND id = ?");
            let mut found = connection.prepare_cached(&sql)?;
            found.query_row(params![tenant, id], conversation).optional()
        })
        .await
    }

    /// All conversations of a tenant, latest first.
    pub(crate) async fn conversations(
        &self,
        tenant: i64,
    ) -> Result<Vec<ConversationRow>, StoreError> {
        self.read(move |connection| {
            let sql = format!("{CONVERSATION} WHERE tenant = ? ORDER BY updated_at DESC, nr DESC");
            let mut found = connection.prepare_cached(&sql)?;
            found.query_map([tenant], conversation)?.collect()
        })
        .await
    }

    /// The first two ids with this prefix.
    pub(crate) async fn ids(
        &self,
        tenant: i64,
        beginning: String,
    ) -> Result<Vec<String>, StoreError> {
        self.read(move |connection| {
            // All letters of an id are at most `z`.
            let sql = "SELECT id FROM conversation \
                       WHERE tenant = ? AND id >= ?2 AND id < ?2 || '{' ORDER BY id LIMIT 2";
            let mut found = connection.prepare_cached(sql)?;
            found.query_map(params![tenant, beginning], |row| row.get(0))?.collect()
        })
        .await
    }

    pub(crate) async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.write(Safety::Power, move |connection| {
            let sql = "UPDATE conversation SET messages = messages + ?, updated_at = max(updated_at, ?) \
                       WHERE nr = ? AND messages = ?";
            let nr = append.conversation;
            let grown = connection.prepare_cached(sql)?.execute(params![
                count(&append.messages),
                append.now,
                nr,
                append.at
            ])?;
            if grown == 0 {
                let sql = "SELECT messages FROM conversation WHERE nr = ?";
                let there = connection.query_row(sql, [nr], |row| row.get(0)).optional()?;
                return Ok(there.map_or(Appended::Gone, Appended::Moved));
            }
            insert(connection, nr, append.at, &append.messages)?;
            let sql = "DELETE FROM draft WHERE conversation = ? AND draft = ?";
            let mut replaced = connection.prepare_cached(sql)?;
            for draft in &append.drafts {
                replaced.execute(params![nr, draft])?;
            }
            Ok(Appended::Done)
        })
        .await
    }

    /// At most `limit` messages from a position on, with their positions.
    pub(crate) async fn messages(
        &self,
        conversation: i64,
        from: u32,
        limit: u32,
    ) -> Result<Vec<(u32, Vec<u8>)>, StoreError> {
        self.read(move |connection| match page(connection, conversation, from, limit) {
            Err(error) if is_damage(&error) => each(connection, conversation, from, limit),
            page => page,
        })
        .await
    }

    /// Returns whether the conversation exists.
    pub(crate) async fn set_meta(
        &self,
        conversation: i64,
        meta: Vec<u8>,
    ) -> Result<bool, StoreError> {
        self.write(Safety::Power, move |connection| {
            let sql = "UPDATE conversation SET meta = ? WHERE nr = ?";
            Ok(connection.execute(sql, params![meta, conversation])? == 1)
        })
        .await
    }

    /// Returns whether the conversation existed.
    pub(crate) async fn remove_conversation(&self, nr: i64) -> Result<bool, StoreError> {
        let removed = self
            .write(Safety::Power, move |connection| {
                let sql = "DELETE FROM conversation WHERE nr = ?";
                Ok(connection.execute(sql, [nr])? == 1)
            })
            .await?;
        self.forget_log().await?;
        Ok(removed)
    }

    /// Returns whether the conversation exists.
    pub(crate) async fn add_draft(&self, row: DraftRow) -> Result<bool, StoreError> {
        self.write(Safety::Process, move |connection| {
            let sql = "INSERT INTO draft (conversation, draft, part, sealed) \
                       SELECT nr, ?, ?, ? FROM conversation WHERE nr = ?";
            let mut add = connection.prepare_cached(sql)?;
            Ok(add.execute(params![row.draft, row.part, row.sealed, row.conversation])? == 1)
        })
        .await
    }

    /// All pieces of all drafts, in order.
    pub(crate) async fn drafts(&self, conversation: i64) -> Result<Vec<DraftRow>, StoreError> {
        self.read(move |connection| {
            let sql = "SELECT draft, part, sealed FROM draft \
                       WHERE conversation = ? ORDER BY draft, part";
            let mut found = connection.prepare_cached(sql)?;
            let rows = found.query_map([conversation], |row| {
                let (draft, part, sealed) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(DraftRow { conversation, draft, part, sealed })
            })?;
            rows.collect()
        })
        .await
    }

    pub(crate) async fn remove_draft(
        &self,
        conversation: i64,
        draft: i64,
    ) -> Result<(), StoreError> {
        self.write(Safety::Process, move |connection| {
            let sql = "DELETE FROM draft WHERE conversation = ? AND draft = ?";
            connection.execute(sql, params![conversation, draft]).map(|_| ())
        })
        .await
    }
}

fn insert(
    connection: &Connection,
    conversation: i64,
    at: u32,
    messages: &[Vec<u8>],
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO message (conversation, position, sealed) VALUES (?, ?, ?)";
    let mut insert = connection.prepare_cached(sql)?;
    for (position, sealed) in (at..).zip(messages) {
        insert.execute(params![conversation, position, sealed])?;
    }
    Ok(())
}

fn count(messages: &[Vec<u8>]) -> i64 {
    i64::try_from(messages.len()).unwrap_or(i64::MAX)
}

fn conversation(row: &Row<'_>) -> rusqlite::Result<ConversationRow> {
    Ok(ConversationRow {
        nr: row.get(0)?,
        id: row.get(1)?,
        key_id: row.get(2)?,
        wrapped_key: row.get(3)?,
        meta: row.get(4)?,
        messages: row.get(5)?,
        updated_at: row.get(6)?,
    })
}

type Messages = Vec<(u32, Vec<u8>)>;

fn page(
    connection: &Connection,
    conversation: i64,
    from: u32,
    limit: u32,
) -> rusqlite::Result<Messages> {
    let sql = "SELECT position, sealed FROM message \
               WHERE conversation = ? AND position >= ? ORDER BY position LIMIT ?";
    let mut found = connection.prepare_cached(sql)?;
    let rows = found
        .query_map(params![conversation, from, limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Reads the messages one by one, because a page of the file is damaged. A message on that page gets empty content,
/// which does not open.
fn each(
    connection: &Connection,
    conversation: i64,
    from: u32,
    limit: u32,
) -> rusqlite::Result<Messages> {
    let sql = "SELECT messages FROM conversation WHERE nr = ?";
    let end: Option<u32> =
        connection.query_row(sql, [conversation], |row| row.get(0)).optional()?;
    let sql = "SELECT sealed FROM message WHERE conversation = ? AND position = ?";
    let mut one = connection.prepare_cached(sql)?;
    let mut messages = Vec::new();
    for position in from..end.unwrap_or(from).min(from.saturating_add(limit)) {
        match one.query_row(params![conversation, position], |row| row.get(0)).optional() {
            Ok(sealed) => messages.extend(sealed.map(|sealed| (position, sealed))),
            Err(error) if is_damage(&error) => messages.push((position, Vec::new())),
            Err(error) => return Err(error),
        }
    }
    Ok(messages)
}
