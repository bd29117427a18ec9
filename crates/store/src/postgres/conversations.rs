//! Conversations, their messages, and drafts.

use super::{Postgres, Value, Whose, get, number};
use crate::error::StoreError;
use crate::row::{Append, Appended, ConversationRow, DraftRow, NewConversation};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

const CONVERSATION: &str =
    "SELECT nr, id, key_id, wrapped_key, meta, messages, updated_at FROM conversation";

impl Postgres {
    /// Adds a conversation. `None` if its tenant or key is gone.
    pub(crate) async fn add_conversation(
        &self,
        new: NewConversation,
    ) -> Result<Option<i64>, StoreError> {
        // The key is locked until the commit, so that the tenant cannot be erased in between.
        let sql = "WITH held AS (SELECT tenant, id FROM data_key \
                       WHERE tenant = $1 AND id = $2 FOR SHARE), \
                   new AS (INSERT INTO conversation \
                       (tenant, id, key_id, wrapped_key, meta, messages, updated_at) \
                       SELECT tenant, $3, id, $4, $5, cardinality($6), $7 FROM held RETURNING nr), \
                   said AS (INSERT INTO message (conversation, position, sealed) \
                       SELECT nr, place - 1, sealed \
                       FROM new, unnest($6) WITH ORDINALITY AS said (sealed, place)) \
                   SELECT nr FROM new";
        let values = [
            (&new.tenant as _, Type::INT8),
            (&i64::from(new.key_id) as _, Type::INT8),
            (&new.id as _, Type::TEXT),
            (&new.wrapped_key as _, Type::BYTEA),
            (&new.meta as _, Type::BYTEA),
            (&new.messages as _, Type::BYTEA_ARRAY),
            (&new.now as _, Type::INT8),
        ];
        let row = self.first(sql, &values).await?;
        row.map(|row| get(&row, 0, &self.inner.at)).transpose()
    }

    pub(crate) async fn conversation(
        &self,
        tenant: i64,
        id: String,
    ) -> Result<Option<ConversationRow>, StoreError> {
        let sql = format!("{CONVERSATION} WHERE tenant = $1 AND id = $2");
        let values: [Value<'_>; 2] = [(&tenant, Type::INT8), (&id, Type::TEXT)];
        let row = self.query_for(Whose::Nr(tenant), &sql, &values).await?.into_iter().next();
        row.map(|row| self.conversation_of(&row)).transpose()
    }

    /// All conversations of a tenant, latest first.
    pub(crate) async fn conversations(
        &self,
        tenant: i64,
    ) -> Result<Vec<ConversationRow>, StoreError> {
        let sql = format!("{CONVERSATION} WHERE tenant = $1 ORDER BY updated_at DESC, nr DESC");
        let values: [Value<'_>; 1] = [(&tenant, Type::INT8)];
        let rows = self.query_for(Whose::Nr(tenant), &sql, &values).await?;
        rows.iter().map(|row| self.conversation_of(row)).collect()
    }

    /// The first two ids with this prefix.
    pub(crate) async fn ids(
        &self,
        tenant: i64,
        beginning: String,
    ) -> Result<Vec<String>, StoreError> {
        // All letters of an id are at most `z`.
        let sql = "SELECT id FROM conversation \
                   WHERE tenant = $1 AND id >= $2 AND id < $2 || '{' ORDER BY id LIMIT 2";
        let values: [Value<'_>; 2] = [(&tenant, Type::INT8), (&beginning, Type::TEXT)];
        let rows = self.query_for(Whose::Nr(tenant), sql, &values).await?;
        rows.iter().map(|row| get(row, 0, &self.inner.at)).collect()
    }

    pub(crate) async fn append(&self, append: Append) -> Result<Appended, StoreError> {
        let sql = "WITH grown AS (UPDATE conversation \
                       SET messages = messages + cardinality($3), \
                           updated_at = greatest(updated_at, $4) \
                       WHERE nr = $1 AND messages = $2 RETURNING nr), \
                   said AS (INSERT INTO message (conversation, position, sealed) \
                       SELECT nr, $2 + place - 1, sealed \
                       FROM grown, unnest($3) WITH ORDINALITY AS said (sealed, place)), \
                   replaced AS (DELETE FROM draft USING grown \
                       WHERE conversation = nr AND draft = ANY ($5)) \
                   SELECT (SELECT count(*) FROM grown), \
                          (SELECT messages FROM conversation WHERE nr = $1)";
        let values = [
            (&append.conversation as _, Type::INT8),
            (&i64::from(append.at) as _, Type::INT8),
            (&append.messages as _, Type::BYTEA_ARRAY),
            (&append.now as _, Type::INT8),
            (&append.drafts as _, Type::INT8_ARRAY),
        ];
        let Some(row) = self.first(sql, &values).await? else { return Ok(Appended::Gone) };
        let at = &self.inner.at;
        if number(&row, 0, at)? == 1 {
            return Ok(Appended::Done);
        }
        // The count is from before the statement. If another process appends at this moment, the next attempt reads a
        // later count.
        let there: Option<i64> = get(&row, 1, at)?;
        let there = there.map(|there| u32::try_from(there).unwrap_or(u32::MAX));
        Ok(there.map_or(Appended::Gone, Appended::Moved))
    }

    /// At most `limit` messages from a position on, with their positions.
    pub(crate) async fn messages(
        &self,
        conversation: i64,
        from: u32,
        limit: u32,
    ) -> Result<Vec<(u32, Vec<u8>)>, StoreError> {
        let sql = "SELECT position, sealed FROM message \
                   WHERE conversation = $1 AND position >= $2 ORDER BY position LIMIT $3";
        let values = [
            (&conversation as _, Type::INT8),
            (&i64::from(from) as _, Type::INT8),
            (&i64::from(limit) as _, Type::INT8),
        ];
        let rows = self.query(sql, &values).await?;
        let at = &self.inner.at;
        rows.iter().map(|row| Ok((number(row, 0, at)?, get(row, 1, at)?))).collect()
    }

    /// Returns whether the conversation exists.
    pub(crate) async fn set_meta(
        &self,
        conversation: i64,
        meta: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE conversation SET meta = $2 WHERE nr = $1 RETURNING 1";
        let values = [(&conversation as _, Type::INT8), (&meta as _, Type::BYTEA)];
        Ok(self.first(sql, &values).await?.is_some())
    }

    /// Returns whether the conversation existed.
    pub(crate) async fn remove_conversation(&self, nr: i64) -> Result<bool, StoreError> {
        let sql = "DELETE FROM conversation WHERE nr = $1 RETURNING 1";
        Ok(self.first(sql, &[(&nr, Type::INT8)]).await?.is_some())
    }

    /// Returns whether the conversation exists.
    pub(crate) async fn add_draft(&self, row: DraftRow) -> Result<bool, StoreError> {
        let sql = "INSERT INTO draft (conversation, draft, part, sealed) \
                   SELECT nr, $2, $3, $4 FROM conversation WHERE nr = $1 RETURNING 1";
        let values = [
            (&row.conversation as _, Type::INT8),
            (&row.draft as _, Type::INT8),
            (&i64::from(row.part) as _, Type::INT8),
            (&row.sealed as _, Type::BYTEA),
        ];
        Ok(self.first(sql, &values).await?.is_some())
    }

    /// All pieces of all drafts, in order.
    pub(crate) async fn drafts(&self, conversation: i64) -> Result<Vec<DraftRow>, StoreError> {
        let sql = "SELECT draft, part, sealed FROM draft \
                   WHERE conversation = $1 ORDER BY draft, part";
        let rows = self.query(sql, &[(&conversation, Type::INT8)]).await?;
        let at = &self.inner.at;
        let read = |row: &Row| {
            Ok(DraftRow {
                conversation,
                draft: get(row, 0, at)?,
                part: number(row, 1, at)?,
                sealed: get(row, 2, at)?,
            })
        };
        rows.iter().map(read).collect()
    }

    pub(crate) async fn remove_draft(
        &self,
        conversation: i64,
        draft: i64,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM draft WHERE conversation = $1 AND draft = $2";
        self.query(sql, &[(&conversation, Type::INT8), (&draft, Type::INT8)]).await.map(|_| ())
    }

    fn conversation_of(&self, row: &Row) -> Result<ConversationRow, StoreError> {
        let at = &self.inner.at;
        Ok(ConversationRow {
            nr: get(row, 0, at)?,
            id: get(row, 1, at)?,
            key_id: number(row, 2, at)?,
            wrapped_key: get(row, 3, at)?,
            meta: get(row, 4, at)?,
            messages: number(row, 5, at)?,
            updated_at: get(row, 6, at)?,
        })
    }
}
