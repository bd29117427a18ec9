//! The last use and the deletion of conversations in the vault.

use super::{Postgres, get};
use crate::error::StoreError;
use crate::row::{ThreadRow, Usage};
use tokio_postgres::types::Type;

impl Postgres {
    /// The stored amount of each tenant, and the part that was not used since `before`.
    pub(crate) async fn usage(&self, before: i64) -> Result<Vec<Usage>, StoreError> {
        let sql = "SELECT tenant, EXISTS (SELECT 1 FROM tenant AS it WHERE it.nr = thread.tenant), \
                       sum(records)::int8, sum(bytes)::int8, \
                       coalesce(sum(records) FILTER (WHERE used_at < $1), 0)::int8 \
                   FROM thread GROUP BY tenant";
        let rows = self.query_on(&self.inner.writing, sql, &[(&before, Type::INT8)]).await?;
        let at = &self.inner.at;
        let usage = rows.iter().map(|row| {
            Ok(Usage {
                tenant: get(row, 0, at)?,
                has_keys: get(row, 1, at)?,
                records: get(row, 2, at)?,
                bytes: get(row, 3, at)?,
                stale: get(row, 4, at)?,
            })
        });
        usage.collect()
    }

    /// The longest unused conversations of a tenant.
    pub(crate) async fn oldest(
        &self,
        tenant: i64,
        limit: u32,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        let sql = "SELECT nr, used_at, records, bytes FROM thread \
                   WHERE tenant = $1 ORDER BY used_at, nr LIMIT $2";
        let values = [(&tenant as _, Type::INT8), (&i64::from(limit) as _, Type::INT8)];
        let rows = self.query_on(&self.inner.writing, sql, &values).await?;
        let at = &self.inner.at;
        let threads = rows.iter().map(|row| {
            Ok(ThreadRow {
                nr: get(row, 0, at)?,
                used_at: get(row, 1, at)?,
                records: get(row, 2, at)?,
                bytes: get(row, 3, at)?,
            })
        });
        threads.collect()
    }

    /// Deletes conversations, unless they were used since they were read, or are being written. Returns their number.
    pub(crate) async fn remove_threads(&self, threads: Vec<ThreadRow>) -> Result<u64, StoreError> {
        let sql = "WITH old AS MATERIALIZED (SELECT thread.nr \
                       FROM unnest($1, $2) AS given (nr, used_at) \
                       JOIN thread ON thread.nr = given.nr AND thread.used_at = given.used_at \
                       FOR UPDATE OF thread SKIP LOCKED), \
                   gone AS (DELETE FROM record USING old WHERE record.thread = old.nr \
                       RETURNING record.nr, record.tenant, record.keys), \
                   unlisted AS (DELETE FROM record_key USING (\
                           SELECT tenant, unnest(keys) AS key, nr FROM gone) AS listed \
                       WHERE record_key.tenant = listed.tenant AND record_key.key = listed.key \
                           AND record_key.record = listed.nr), \
                   unsaid AS (DELETE FROM response USING old WHERE response.thread = old.nr), \
                   ended AS (DELETE FROM thread USING old WHERE thread.nr = old.nr) \
                   SELECT count(*) FROM old";
        let numbers: Vec<i64> = threads.iter().map(|thread| thread.nr).collect();
        let used: Vec<i64> = threads.iter().map(|thread| thread.used_at).collect();
        let values = [(&numbers as _, Type::INT8_ARRAY), (&used as _, Type::INT8_ARRAY)];
        let rows = self.query_on(&self.inner.writing, sql, &values).await?;
        let removed: i64 = match rows.first() {
            Some(row) => get(row, 0, &self.inner.at)?,
            None => 0,
        };
        Ok(u64::try_from(removed).unwrap_or_default())
    }

    /// Sets the last use of conversations to now.
    pub(crate) async fn touch(&self, threads: Vec<i64>, now: i64) -> Result<(), StoreError> {
        // One order for all processes, so that they cannot deadlock.
        let sql = "UPDATE thread SET used_at = $2 FROM (SELECT nr FROM thread \
                       WHERE nr = ANY ($1) AND used_at < $2 ORDER BY tenant, name FOR UPDATE) AS it \
                   WHERE thread.nr = it.nr";
        let values = [(&threads as _, Type::INT8_ARRAY), (&now as _, Type::INT8)];
        self.query_on(&self.inner.writing, sql, &values).await.map(|_| ())
    }
}
