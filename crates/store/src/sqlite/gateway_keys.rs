//! Gateway keys.

use super::{Safety, Sqlite};
use crate::error::StoreError;
use crate::row::KeyRow;
use rusqlite::params;

impl Sqlite {
    /// Adds a key, unless its name has one.
    pub(crate) async fn add_key(
        &self,
        name: String,
        hash: Vec<u8>,
        now: i64,
    ) -> Result<bool, StoreError> {
        self.write(Safety::Power, move |connection| {
            connection.execute("UPDATE install SET key_changes = key_changes + 1", [])?;
            let sql = "INSERT INTO gateway_key (name, hash, created_at) VALUES (?, ?, ?) \
                       ON CONFLICT DO NOTHING";
            Ok(connection.execute(sql, params![name, hash, now])? == 1)
        })
        .await
    }

    /// Revokes the key of a name. Returns whether there was a valid one.
    pub(crate) async fn revoke_key(&self, name: String, now: i64) -> Result<bool, StoreError> {
        self.write(Safety::Power, move |connection| {
            connection.execute("UPDATE install SET key_changes = key_changes + 1", [])?;
            let sql = "UPDATE gateway_key SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL";
            Ok(connection.execute(sql, params![now, name])? > 0)
        })
        .await
    }

    /// All keys in the order of their creation.
    pub(crate) async fn keys(&self) -> Result<Vec<KeyRow>, StoreError> {
        self.read(|connection| {
            let sql = "SELECT name, hash, created_at, revoked_at IS NOT NULL \
                       FROM gateway_key ORDER BY nr";
            let mut rows = connection.prepare_cached(sql)?;
            let rows = rows.query_map([], |row| {
                Ok(KeyRow {
                    name: row.get(0)?,
                    hash: row.get(1)?,
                    created_at: row.get(2)?,
                    is_revoked: row.get(3)?,
                })
            })?;
            rows.collect()
        })
        .await
    }

    /// The number of times that keys were added or revoked.
    pub(crate) async fn key_changes(&self) -> Result<i64, StoreError> {
        self.read(|connection| {
            connection.query_row("SELECT key_changes FROM install", [], |row| row.get(0))
        })
        .await
    }
}
