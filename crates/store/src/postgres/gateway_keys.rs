//! Gateway keys.

use super::{Postgres, get};
use crate::error::StoreError;
use crate::row::KeyRow;
use tokio_postgres::types::Type;

impl Postgres {
    /// Adds a key, unless its name has one.
    pub(crate) async fn add_key(
        &self,
        name: String,
        hash: Vec<u8>,
        now: i64,
    ) -> Result<bool, StoreError> {
        // The statement locks the count first, so that changes become visible in the order of their counts.
        let sql = "WITH counted AS (UPDATE install SET key_changes = key_changes + 1 RETURNING one) \
                   INSERT INTO gateway_key (name, hash, created_at) \
                   SELECT $1, $2, $3 FROM counted ON CONFLICT DO NOTHING RETURNING 1";
        let values = [(&name as _, Type::TEXT), (&hash as _, Type::BYTEA), (&now as _, Type::INT8)];
        Ok(self.first(sql, &values).await?.is_some())
    }

    /// Revokes the key of a name. Returns whether there was a valid one.
    pub(crate) async fn revoke_key(&self, name: String, now: i64) -> Result<bool, StoreError> {
        let sql = "WITH counted AS (UPDATE install SET key_changes = key_changes + 1 RETURNING one) \
                   UPDATE gateway_key SET revoked_at = $2 FROM counted \
                   WHERE name = $1 AND revoked_at IS NULL RETURNING 1";
        let values = [(&name as _, Type::TEXT), (&now as _, Type::INT8)];
        Ok(self.first(sql, &values).await?.is_some())
    }

    /// All keys in the order of their creation.
    pub(crate) async fn keys(&self) -> Result<Vec<KeyRow>, StoreError> {
        let sql = "SELECT name, hash, created_at, revoked_at IS NOT NULL \
                   FROM gateway_key ORDER BY nr";
        let rows = self.query(sql, &[]).await?;
        let at = &self.inner.at;
        let keys = rows.iter().map(|row| {
            Ok(KeyRow {
                name: get(row, 0, at)?,
                hash: get(row, 1, at)?,
                created_at: get(row, 2, at)?,
                is_revoked: get(row, 3, at)?,
            })
        });
        keys.collect()
    }

    /// A server keeps its own files.
    pub(crate) async fn is_in_place(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// The number of times that keys were added or revoked.
    pub(crate) async fn key_changes(&self) -> Result<i64, StoreError> {
        let row = self.first("SELECT key_changes FROM install", &[]).await?;
        row.map_or(Ok(0), |row| get(&row, 0, &self.inner.at))
    }
}
