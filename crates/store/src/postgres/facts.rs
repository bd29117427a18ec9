//! Facts about models, learned from refusals.

use super::{Postgres, get, number};
use crate::error::StoreError;
use crate::row::{FactMark, FactRow, NewFact};
use tokio_postgres::types::Type;

impl Postgres {
    /// Stores a fact and replaces an older one with its name. Returns false if its tenant is gone.
    pub(crate) async fn put_fact(&self, new: NewFact) -> Result<bool, StoreError> {
        // A replaced fact gets a new number, so that readers of the old one notice the change.
        let sql = "WITH held AS MATERIALIZED (SELECT tenant FROM data_key \
                       WHERE tenant = $1 AND id = $3 FOR KEY SHARE), \
                   old AS (DELETE FROM fact WHERE nr IN (SELECT nr FROM fact \
                       WHERE tenant = $1 AND name <> $2 ORDER BY since DESC, nr DESC OFFSET $6)), \
                   kept AS (INSERT INTO fact (tenant, name, key_id, sealed, since) \
                       SELECT tenant, $2, $3, $4, $5 FROM held \
                       ON CONFLICT (tenant, name) DO UPDATE SET nr = DEFAULT, \
                           key_id = excluded.key_id, sealed = excluded.sealed, \
                           since = excluded.since \
                       WHERE fact.since <= excluded.since) \
                   SELECT 1 FROM held";
        let values = [
            (&new.tenant as _, Type::INT8),
            (&new.name as _, Type::BYTEA),
            (&i64::from(new.key_id) as _, Type::INT8),
            (&new.sealed as _, Type::BYTEA),
            (&new.since as _, Type::INT8),
            (&i64::from(new.most.saturating_sub(1)) as _, Type::INT8),
        ];
        Ok(!self.query_on(&self.inner.writing, sql, &values).await?.is_empty())
    }

    /// Deletes a fact if it was learned until this time.
    pub(crate) async fn remove_fact(
        &self,
        tenant: i64,
        name: Vec<u8>,
        until: i64,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM fact WHERE tenant = $1 AND name = $2 AND since <= $3";
        let values =
            [(&tenant as _, Type::INT8), (&name as _, Type::BYTEA), (&until as _, Type::INT8)];
        self.query_on(&self.inner.writing, sql, &values).await.map(|_| ())
    }

    /// The count and the sum of numbers of all facts.
    pub(crate) async fn fact_mark(&self) -> Result<FactMark, StoreError> {
        let sql = "SELECT count(*), coalesce(sum(nr), 0)::int8 FROM fact";
        let (row, at) = (self.first(sql, &[]).await?, &self.inner.at);
        row.map_or(Ok(FactMark { count: 0, sum: 0 }), |row| {
            Ok(FactMark { count: get(&row, 0, at)?, sum: get(&row, 1, at)? })
        })
    }

    /// Facts that were learned between these times, latest first.
    pub(crate) async fn facts(
        &self,
        after: i64,
        before: i64,
        limit: u32,
    ) -> Result<Vec<FactRow>, StoreError> {
        let sql = "SELECT fact.nr, tenant.name, fact.name, key_id, sealed, since, tenant \
                   FROM fact JOIN tenant ON tenant.nr = fact.tenant \
                   WHERE since > $1 AND since < $2 ORDER BY since DESC LIMIT $3";
        let limit = i64::from(limit);
        let values =
            [(&after as _, Type::INT8), (&before as _, Type::INT8), (&limit as _, Type::INT8)];
        let (rows, at) = (self.query(sql, &values).await?, &self.inner.at);
        let facts = rows.iter().map(|row| {
            Ok(FactRow {
                nr: get(row, 0, at)?,
                tenant: get(row, 1, at)?,
                name: get(row, 2, at)?,
                key_id: number(row, 3, at)?,
                sealed: get(row, 4, at)?,
                since: get(row, 5, at)?,
                tenant_nr: get(row, 6, at)?,
            })
        });
        facts.collect()
    }

    /// Deletes facts that were not learned between these times.
    pub(crate) async fn prune_facts(&self, after: i64, before: i64) -> Result<(), StoreError> {
        let sql = "DELETE FROM fact WHERE since <= $1 OR since >= $2";
        let values = [(&after as _, Type::INT8), (&before as _, Type::INT8)];
        self.query_on(&self.inner.writing, sql, &values).await.map(|_| ())
    }
}
