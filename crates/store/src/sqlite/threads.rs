//! The last use and the deletion of conversations in the vault.

use super::{Safety, Sqlite};
use crate::error::StoreError;
use crate::row::{ThreadRow, Usage};
use rusqlite::{Connection, OptionalExtension as _, params};

impl Sqlite {
    /// The stored amount of each tenant, and the part that was not used since `before`.
    pub(crate) async fn usage(&self, before: i64) -> Result<Vec<Usage>, StoreError> {
        self.read(move |connection| {
            let sql = "SELECT tenant, EXISTS (SELECT 1 FROM tenant AS it WHERE it.nr = tenant), \
                           sum(records), sum(bytes), sum(iif(used_at < ?, records, 0)) \
                       FROM thread GROUP BY tenant";
            let mut rows = connection.prepare_cached(sql)?;
            let rows = rows.query_map([before], |row| {
                Ok(Usage {
                    tenant: row.get(0)?,
                    has_keys: row.get(1)?,
                    records: row.get(2)?,
                    bytes: row.get(3)?,
                    stale: row.get(4)?,
                })
            })?;
            rows.collect()
        })
        .await
    }

    /// The longest unused conversations of a tenant.
    pub(crate) async fn oldest(
        &self,
        tenant: i64,
        limit: u32,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        self.read(move |connection| {
            let sql = "SELECT nr, used_at, records, bytes FROM thread \
                       WHERE tenant = ? ORDER BY used_at, nr LIMIT ?";
            let mut rows = connection.prepare_cached(sql)?;
            let rows = rows.query_map(params![tenant, limit], |row| {
                Ok(ThreadRow {
                    nr: row.get(0)?,
                    used_at: row.get(1)?,
                    records: row.get(2)?,
                    bytes: row.get(3)?,
                })
            })?;
            rows.collect()
        })
        .await
    }

    /// Deletes conversations, unless they were used since they were read. Returns their number.
    pub(crate) async fn remove_threads(&self, threads: Vec<ThreadRow>) -> Result<u64, StoreError> {
        self.write(Safety::Process, move |connection| {
            let mut removed = 0;
            for thread in &threads {
                removed += u64::from(remove(connection, thread)?);
            }
            Ok(removed)
        })
        .await
    }

    /// Sets the last use of conversations to now.
    pub(crate) async fn touch(&self, threads: Vec<i64>, now: i64) -> Result<(), StoreError> {
        self.write(Safety::Process, move |connection| {
            let sql = "UPDATE thread SET used_at = ?2 WHERE nr = ?1 AND used_at < ?2";
            let mut update = connection.prepare_cached(sql)?;
            threads.iter().try_for_each(|thread| update.execute([*thread, now]).map(|_| ()))
        })
        .await
    }
}

fn remove(connection: &Connection, thread: &ThreadRow) -> rusqlite::Result<bool> {
    let sql = "SELECT tenant FROM thread WHERE nr = ? AND used_at = ?";
    let tenant: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row([thread.nr, thread.used_at], |row| row.get(0))
        .optional()?;
    let Some(tenant) = tenant else { return Ok(false) };
    let mut records = connection.prepare_cached("SELECT nr, keys FROM record WHERE thread = ?")?;
    let mut rows = records.query([thread.nr])?;
    let sql = "DELETE FROM record_key WHERE tenant = ? AND key = ? AND record = ?";
    let mut delete = connection.prepare_cached(sql)?;
    while let Some(row) = rows.next()? {
        let (record, keys): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        for key in keys.as_chunks().0 {
            delete.execute([tenant, i64::from_le_bytes(*key), record])?;
        }
    }
    for sql in [
        "DELETE FROM record WHERE thread = ?",
        "DELETE FROM response WHERE thread = ?",
        "DELETE FROM thread WHERE nr = ?",
    ] {
        connection.prepare_cached(sql)?.execute([thread.nr])?;
    }
    Ok(true)
}
