//! Stored answers by id.

use super::{Postgres, Whose, get, number};
use crate::error::StoreError;
use crate::row::{NewResponse, OwnerRow, ResponseRow};
use tokio_postgres::types::Type;

impl Postgres {
    /// Stores an answer and replaces one with its id. Returns false if its tenant is gone.
    pub(crate) async fn put_response(&self, new: NewResponse) -> Result<bool, StoreError> {
        // A replaced answer stays in its conversation.
        let sql = "WITH cheap AS MATERIALIZED (\
                       SELECT set_config('synchronous_commit', 'off', true) AS said), \
                   held AS MATERIALIZED (SELECT tenant, id FROM data_key, cheap \
                       WHERE tenant = $1 AND id = $4 FOR KEY SHARE OF data_key), \
                   named AS MATERIALIZED (SELECT coalesce(\
                       (SELECT thread.name FROM response JOIN thread ON thread.nr = response.thread \
                           WHERE response.tenant = $1 AND response.id = $2), \
                       (SELECT thread.name FROM response JOIN thread ON thread.nr = response.thread \
                           WHERE response.tenant = $1 AND response.id = $3), $2) AS name), \
                   was AS MATERIALIZED (SELECT length(sealed) + $8 AS bytes FROM response \
                       WHERE tenant = $1 AND id = $2), \
                   grown AS (INSERT INTO thread (tenant, name, records, bytes, used_at) \
                       SELECT held.tenant, named.name, 1 - (SELECT count(*) FROM was), \
                           $6 - coalesce((SELECT bytes FROM was), 0), $7 FROM held, named \
                       ON CONFLICT (tenant, name) DO UPDATE \
                       SET records = thread.records + excluded.records, \
                           bytes = thread.bytes + excluded.bytes, \
                           used_at = greatest(thread.used_at, excluded.used_at) \
                       RETURNING nr) \
                   INSERT INTO response (tenant, thread, id, previous, key_id, sealed, resource) \
                   SELECT $1, grown.nr, $2, $3, $4, $5, $9 FROM grown \
                   ON CONFLICT (tenant, id) DO UPDATE SET thread = excluded.thread, \
                       previous = excluded.previous, key_id = excluded.key_id, \
                       sealed = excluded.sealed, resource = excluded.resource RETURNING 1";
        let values = [
            (&new.tenant as _, Type::INT8),
            (&new.id as _, Type::BYTEA),
            (&new.previous as _, Type::BYTEA),
            (&i64::from(new.key_id) as _, Type::INT8),
            (&new.sealed as _, Type::BYTEA),
            (&new.size() as _, Type::INT8),
            (&new.now as _, Type::INT8),
            (&NewResponse::size_of(0) as _, Type::INT8),
            (&new.resource as _, Type::BYTEA),
        ];
        Ok(!self
            .query_of(Whose::Nr(new.tenant), &self.inner.writing, sql, &values)
            .await?
            .is_empty())
    }

    /// The answer with this id and the answers before it, last one first, at most `limit` in all.
    pub(crate) async fn responses(
        &self,
        tenant: i64,
        id: Vec<u8>,
        limit: u32,
    ) -> Result<Vec<ResponseRow>, StoreError> {
        // The limit also ends a cycle of two answers that name each other.
        let sql = "WITH RECURSIVE chain (depth, nr, previous) AS (\
                       SELECT 1::int8, nr, previous FROM response WHERE tenant = $1 AND id = $2 \
                       UNION ALL SELECT depth + 1, it.nr, it.previous FROM chain \
                       JOIN response AS it ON it.tenant = $1 AND it.id = chain.previous \
                       WHERE depth < $3) \
                   SELECT thread, id, key_id, sealed FROM chain JOIN response USING (nr) \
                   ORDER BY depth";
        let values = [
            (&tenant as _, Type::INT8),
            (&id as _, Type::BYTEA),
            (&i64::from(limit) as _, Type::INT8),
        ];
        let rows = self.query_for(Whose::Nr(tenant), sql, &values).await?;
        let at = &self.inner.at;
        let responses = rows.iter().map(|row| {
            Ok(ResponseRow {
                thread: get(row, 0, at)?,
                id: get(row, 1, at)?,
                key_id: number(row, 2, at)?,
                sealed: get(row, 3, at)?,
            })
        });
        responses.collect()
    }

    /// The owners of these resources among all tenants. A tenant must not use a resource of another one.
    pub(crate) async fn resource_owners(
        &self,
        resources: Vec<Vec<u8>>,
    ) -> Result<Vec<OwnerRow>, StoreError> {
        let sql = "SELECT resource, tenant, thread FROM response WHERE resource = ANY($1)";
        let values = [(&resources as _, Type::BYTEA_ARRAY)];
        let rows = self.query_for(Whose::All, sql, &values).await?;
        let at = &self.inner.at;
        let owners = rows.iter().map(|row| {
            Ok(OwnerRow {
                resource: get(row, 0, at)?,
                tenant: get(row, 1, at)?,
                thread: get(row, 2, at)?,
            })
        });
        owners.collect()
    }

    /// Deletes an answer. Returns whether it existed.
    pub(crate) async fn remove_response(
        &self,
        tenant: i64,
        id: Vec<u8>,
    ) -> Result<bool, StoreError> {
        let sql = "WITH gone AS (DELETE FROM response WHERE tenant = $1 AND id = $2 \
                       RETURNING thread, length(sealed) + $3 AS bytes), \
                   shrunk AS (UPDATE thread SET records = records - 1, bytes = thread.bytes - gone.bytes \
                       FROM gone WHERE nr = gone.thread) \
                   SELECT 1 FROM gone";
        let values = [
            (&tenant as _, Type::INT8),
            (&id as _, Type::BYTEA),
            (&NewResponse::size_of(0) as _, Type::INT8),
        ];
        Ok(!self.query_of(Whose::Nr(tenant), &self.inner.writing, sql, &values).await?.is_empty())
    }
}
