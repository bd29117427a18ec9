//! The records of the vault.

use super::{Postgres, Whose, get, number};
use crate::error::StoreError;
use crate::recent::Known;
use crate::row::{Hit, NewRecord, PER_KEY, RecordRow};
use std::sync::Arc;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

impl Postgres {
    /// The records of a tenant with any of these keys. Records in `known` are returned as numbers only. A server that
    /// cannot read one record returns an error for all.
    pub(crate) async fn records(
        &self,
        tenant: i64,
        keys: Vec<i64>,
        known: Vec<Known>,
    ) -> Result<(Vec<Hit>, usize), StoreError> {
        // The query leaves the planner no choice: each key uses the index, whatever the server believes about table
        // sizes. An erased tenant has no records, even if some rows are not deleted yet.
        let sql = "WITH hit AS MATERIALIZED (SELECT DISTINCT of_key.record \
                       FROM unnest($2) AS asked (key) CROSS JOIN LATERAL (\
                           SELECT record FROM record_key \
                           WHERE tenant = $1 AND record_key.key = asked.key \
                           ORDER BY record LIMIT $3) AS of_key), \
                   known AS MATERIALIZED (SELECT * FROM unnest($4, $5) AS known (nr, id)) \
                   SELECT nr, thread, id, key_id, \
                       CASE WHEN is_known THEN NULL ELSE head END, \
                       CASE WHEN is_known THEN NULL ELSE kept END \
                   FROM hit CROSS JOIN LATERAL (\
                       SELECT nr, thread, id, key_id, head, kept, \
                           EXISTS (SELECT 1 FROM known \
                               WHERE known.nr = record.nr AND known.id = record.id) AS is_known \
                       FROM record WHERE nr = hit.record AND tenant = $1 LIMIT 1) AS it \
                   WHERE EXISTS (SELECT 1 FROM data_key WHERE tenant = $1)";
        let (numbers, ids): (Vec<i64>, Vec<String>) =
            known.into_iter().map(|Known { number, id }| (number, id)).unzip();
        let values = [
            (&tenant as _, Type::INT8),
            (&keys as _, Type::INT8_ARRAY),
            (&PER_KEY as _, Type::INT8),
            (&numbers as _, Type::INT8_ARRAY),
            (&ids as _, Type::TEXT_ARRAY),
        ];
        let rows = self.query_for(Whose::Nr(tenant), sql, &values).await?;
        let hits = rows.iter().map(|row| {
            let head: Option<&[u8]> = get(row, 4, &self.inner.at)?;
            match head {
                Some(_) => self.record_of(row).map(Hit::Read),
                None => Ok(Hit::Known(get(row, 0, &self.inner.at)?)),
            }
        });
        Ok((hits.collect::<Result<_, _>>()?, 0))
    }

    /// The records of a tenant with these ids that no provider refused.
    pub(crate) async fn records_named(
        &self,
        tenant: i64,
        ids: Vec<String>,
    ) -> Result<(Vec<RecordRow>, usize), StoreError> {
        let sql = "SELECT nr, thread, id, key_id, head, kept FROM record \
                   WHERE tenant = $1 AND id = ANY($2) AND cardinality(keys) > 0 \
                   AND EXISTS (SELECT 1 FROM data_key WHERE tenant = $1)";
        let values = [(&tenant as _, Type::INT8), (&ids as _, Type::TEXT_ARRAY)];
        let rows = self.query_for(Whose::Nr(tenant), sql, &values).await?;
        let records = rows.iter().map(|row| self.record_of(row));
        Ok((records.collect::<Result<_, _>>()?, 0))
    }

    /// Stores records, each with its conversation. Ids that are already stored keep their record. Returns for each
    /// record whether it is stored; it is not if its tenant was erased.
    pub(crate) async fn add_records(
        &self,
        records: Vec<Arc<NewRecord>>,
    ) -> Result<Vec<bool>, StoreError> {
        self.inner.appends.add(self, records).await
    }

    /// Writes records of several appends in one statement.
    pub(super) async fn write_records(
        &self,
        records: &[Arc<NewRecord>],
    ) -> Result<Vec<bool>, StoreError> {
        let new = Columns::of(records);
        let numbered = &self.inner.lately.records;
        let numbering = numbered.begin().await;
        let sql = insert(&numbering.sql());
        let values = [
            (&new.tenant as _, Type::INT8_ARRAY),
            (&new.id as _, Type::TEXT_ARRAY),
            (&new.parent as _, Type::TEXT_ARRAY),
            (&new.thread as _, Type::BYTEA_ARRAY),
            (&new.key_id as _, Type::INT8_ARRAY),
            (&new.keys as _, Type::TEXT_ARRAY),
            (&new.head as _, Type::BYTEA_ARRAY),
            (&new.kept as _, Type::BYTEA_ARRAY),
            (&new.bytes as _, Type::INT8_ARRAY),
            (&new.now as _, Type::INT8_ARRAY),
        ];
        let rows = self.query_on(&self.inner.writing, &sql, &values).await?;
        let before = rows.first().map_or(Ok(None), |row| get(row, 1, &self.inner.at))?;
        self.committed(numbered, &numbering, before, records.to_vec());
        rows.iter().map(|row| get(row, 0, &self.inner.at)).collect()
    }

    /// Deletes records from the index and marks them by removing their keys. Returns the number of records that had
    /// keys.
    pub(crate) async fn poison(&self, tenant: i64, ids: Vec<String>) -> Result<u64, StoreError> {
        let sql = "WITH old AS MATERIALIZED (SELECT nr, tenant, keys FROM record \
                       WHERE tenant = $1 AND id = ANY ($2) AND cardinality(keys) > 0 \
                       ORDER BY nr FOR UPDATE), \
                   unlisted AS (DELETE FROM record_key USING (\
                           SELECT tenant, unnest(keys) AS key, nr FROM old) AS listed \
                       WHERE record_key.tenant = listed.tenant AND record_key.key = listed.key \
                           AND record_key.record = listed.nr), \
                   marked AS (UPDATE record SET keys = '{}' FROM old WHERE record.nr = old.nr) \
                   SELECT count(*) FROM old";
        let values = [(&tenant as _, Type::INT8), (&ids as _, Type::TEXT_ARRAY)];
        let is_one = |record: &NewRecord| record.tenant == tenant && ids.contains(&record.id);
        self.inner.lately.records.forget(is_one);
        let rows = self.query_of(Whose::Nr(tenant), &self.inner.writing, sql, &values).await?;
        let marked: i64 = match rows.first() {
            Some(row) => get(row, 0, &self.inner.at)?,
            None => 0,
        };
        Ok(u64::try_from(marked).unwrap_or_default())
    }

    fn record_of(&self, row: &Row) -> Result<RecordRow, StoreError> {
        let at = &self.inner.at;
        Ok(RecordRow {
            number: get(row, 0, at)?,
            thread: get(row, 1, at)?,
            id: get(row, 2, at)?,
            key_id: number(row, 3, at)?,
            head: get(row, 4, at)?,
            kept: get(row, 5, at)?,
        })
    }
}

/// The statement that stores records with their conversations. It includes `numbered`, which counts the commit.
fn insert(numbered: &str) -> String {
    // The setting lasts until the commit: a crash of this process loses no commit, a crash of the server may lose the
    // last moment. The statement locks the tenant's keys against erasure, and locks conversations in one order, so
    // that two gateways cannot deadlock.
    format!(
        "WITH {numbered}, cheap AS MATERIALIZED (\
             SELECT set_config('synchronous_commit', 'off', true) AS said), \
         held AS MATERIALIZED (SELECT tenant, id FROM data_key WHERE (tenant, id) IN (\
             SELECT * FROM unnest($1, $5)) FOR KEY SHARE), \
         given AS MATERIALIZED (\
             SELECT given.*, (held.id IS NOT NULL) AS has_key, \
                 EXISTS (SELECT 1 FROM record WHERE record.tenant = given.tenant \
                     AND record.id = given.id) AS is_there, \
                 coalesce((SELECT thread.name FROM record \
                     JOIN thread ON thread.nr = record.thread \
                     WHERE record.tenant = given.tenant \
                     AND record.id = given.parent LIMIT 1), given.own) AS name \
             FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) WITH ORDINALITY AS given \
                 (tenant, id, parent, own, key_id, keys, head, kept, bytes, now, place) \
             LEFT JOIN held ON held.tenant = given.tenant AND held.id = given.key_id), \
         grown AS (INSERT INTO thread (tenant, name, records, bytes, used_at) \
             SELECT tenant, name, count(*), sum(bytes), max(now) FROM given, cheap \
             WHERE has_key AND NOT is_there GROUP BY tenant, name ORDER BY tenant, name \
             ON CONFLICT (tenant, name) DO UPDATE \
             SET records = thread.records + excluded.records, \
                 bytes = thread.bytes + excluded.bytes, \
                 used_at = greatest(thread.used_at, excluded.used_at) \
             RETURNING nr, tenant, name), \
         kept AS (INSERT INTO record (tenant, thread, id, key_id, keys, head, kept) \
             SELECT tenant, grown.nr, id, key_id, string_to_array(keys, ',')::int8[], \
                 head, kept \
             FROM given JOIN grown USING (tenant, name) \
             WHERE has_key AND NOT is_there \
             ON CONFLICT (tenant, id) DO NOTHING RETURNING nr, tenant, keys), \
         found_by AS (INSERT INTO record_key (tenant, key, record) \
             SELECT tenant, unnest(keys), nr FROM kept) \
         SELECT has_key, (SELECT version FROM before) FROM given ORDER BY place"
    )
}

/// Records as columns, because the server takes many rows as arrays.
#[derive(Default)]
struct Columns<'r> {
    tenant: Vec<i64>,
    id: Vec<&'r str>,
    parent: Vec<Option<&'r str>>,
    thread: Vec<&'r [u8]>,
    key_id: Vec<i64>,
    /// An array of lists must have lists of equal length, so each list is a text.
    keys: Vec<String>,
    head: Vec<&'r [u8]>,
    kept: Vec<&'r [u8]>,
    bytes: Vec<i64>,
    now: Vec<i64>,
}

impl<'r> Columns<'r> {
    fn of(records: &'r [Arc<NewRecord>]) -> Self {
        let mut columns = Columns::default();
        for record in records {
            let keys: Vec<String> = record.keys.iter().map(i64::to_string).collect();
            columns.tenant.push(record.tenant);
            columns.id.push(&record.id);
            columns.parent.push(record.parent.as_deref());
            columns.thread.push(record.thread.as_deref().unwrap_or(record.id.as_bytes()));
            columns.key_id.push(record.key_id.into());
            columns.keys.push(keys.join(","));
            columns.head.push(&record.head);
            columns.kept.push(&record.kept);
            columns.bytes.push(record.size());
            columns.now.push(record.now);
        }
        columns
    }
}
