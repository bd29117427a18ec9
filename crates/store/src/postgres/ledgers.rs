//! Ledgers of budgets and rate limits.

use super::{Postgres, Whose, get};
use crate::error::StoreError;
use crate::ledger_row::LedgerRow;
use tokio_postgres::types::Type;

impl Postgres {
    /// The server's time in Unix milliseconds, and a ledger with its version.
    pub(crate) async fn ledger(
        &self,
        tenant: String,
        name: String,
    ) -> Result<(i64, Option<(i64, String)>), StoreError> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8, version, body \
                   FROM (SELECT 1) one LEFT JOIN ledger ON tenant = $1 AND name = $2";
        let values = [(&tenant as _, Type::TEXT), (&name as _, Type::TEXT)];
        let row = self.query_for(Whose::Name(&tenant), sql, &values).await?.into_iter().next();
        let at = &self.inner.at;
        let Some(row) = row else { return Err(StoreError::Silent(at.clone())) };
        let (version, body): (Option<i64>, Option<String>) = (get(&row, 1, at)?, get(&row, 2, at)?);
        Ok((get(&row, 0, at)?, version.zip(body)))
    }

    /// Writes a ledger if its version did not change since it was read. Returns whether it was written.
    pub(crate) async fn swap_ledger(&self, row: LedgerRow) -> Result<bool, StoreError> {
        let LedgerRow { tenant, name, version, body, now } = &row;
        // A statement that waits here for another one sees its result.
        let sql = "INSERT INTO ledger (tenant, name, version, body, used_at) \
                   VALUES ($1, $2, $3 + 1, $4, $5) ON CONFLICT (tenant, name) DO UPDATE SET \
                       version = excluded.version, body = excluded.body, \
                       used_at = excluded.used_at \
                   WHERE ledger.version = $3 RETURNING 1";
        let values = [
            (tenant as _, Type::TEXT),
            (name as _, Type::TEXT),
            (version as _, Type::INT8),
            (body as _, Type::TEXT),
            (now as _, Type::INT8),
        ];
        Ok(!self.query_for(Whose::Name(tenant), sql, &values).await?.is_empty())
    }

    /// Deletes ledgers that were last used before this time.
    pub(crate) async fn prune_ledgers(&self, before: i64) -> Result<(), StoreError> {
        let sql = "DELETE FROM ledger WHERE used_at < $1";
        let values = [(&before as _, Type::INT8)];
        self.query_on(&self.inner.writing, sql, &values).await?;
        self.prune_numbers().await
    }

    /// Deletes the longest unused ledgers of tenants with more than `most`, if they were last used before this time.
    pub(crate) async fn prune_many_ledgers(
        &self,
        most: i64,
        before: i64,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM ledger USING (\
                       SELECT tenant, name, row_number() OVER (PARTITION BY tenant ORDER BY used_at DESC) AS place \
                       FROM ledger WHERE tenant IN \
                           (SELECT tenant FROM ledger GROUP BY tenant HAVING count(*) > $1)) AS its \
                   WHERE ledger.tenant = its.tenant AND ledger.name = its.name \
                   AND place > $1 AND used_at < $2";
        let values = [(&most as _, Type::INT8), (&before as _, Type::INT8)];
        self.query_on(&self.inner.writing, sql, &values).await.map(|_| ())
    }

    /// Deletes the ledgers of a tenant.
    pub(crate) async fn erase_ledgers(&self, tenant: String) -> Result<(), StoreError> {
        let sql = "DELETE FROM ledger WHERE tenant = $1";
        let values = [(&tenant as _, Type::TEXT)];
        self.query_on(&self.inner.writing, sql, &values).await.map(|_| ())
    }
}
