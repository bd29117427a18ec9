//! Ledgers of budgets and rate limits.

use super::{Safety, Sqlite};
use crate::clock;
use crate::error::StoreError;
use crate::ledger_row::LedgerRow;
use rusqlite::{OptionalExtension as _, params};

impl Sqlite {
    /// The time in Unix milliseconds, and a ledger with its version.
    pub(crate) async fn ledger(
        &self,
        tenant: String,
        name: String,
    ) -> Result<(i64, Option<(i64, String)>), StoreError> {
        self.read_at_hand(move |connection| {
            let sql = "SELECT version, body FROM ledger WHERE tenant = ? AND name = ?";
            let mut row = connection.prepare_cached(sql)?;
            let found = row.query_row(params![tenant, name], |row| Ok((row.get(0)?, row.get(1)?)));
            Ok((clock::now(), found.optional()?))
        })
        .await
    }

    /// Writes a ledger if its version did not change since it was read. Returns whether it was written.
    pub(crate) async fn swap_ledger(&self, row: LedgerRow) -> Result<bool, StoreError> {
        self.write(Safety::Process, move |connection| {
            let LedgerRow { tenant, name, version, body, now } = &row;
            let sql = "INSERT INTO ledger (tenant, name, version, body, used_at) \
                       VALUES (?1, ?2, ?3 + 1, ?4, ?5) ON CONFLICT (tenant, name) DO UPDATE SET \
                           version = excluded.version, body = excluded.body, \
                           used_at = excluded.used_at \
                       WHERE ledger.version = ?3";
            let values = params![tenant, name, version, body, now];
            Ok(connection.prepare_cached(sql)?.execute(values)? > 0)
        })
        .await
    }

    /// Deletes ledgers that were last used before this time.
    pub(crate) async fn prune_ledgers(&self, before: i64) -> Result<(), StoreError> {
        self.write(Safety::Process, move |connection| {
            connection.execute("DELETE FROM ledger WHERE used_at < ?", [before]).map(|_| ())
        })
        .await
    }

    /// Deletes the longest unused ledgers of tenants with more than `most`, if they were last used before this time.
    pub(crate) async fn prune_many_ledgers(
        &self,
        most: i64,
        before: i64,
    ) -> Result<(), StoreError> {
        // Writers do not wait for the count if every tenant is within its limit.
        let sql = "SELECT EXISTS (SELECT 1 FROM ledger GROUP BY tenant HAVING count(*) > ?)";
        if !self.read(move |connection| connection.query_row(sql, [most], |row| row.get(0))).await?
        {
            return Ok(());
        }
        self.write(Safety::Process, move |connection| {
            let sql = "DELETE FROM ledger WHERE used_at < ?2 AND (tenant, name) IN (\
                           SELECT tenant, name FROM (SELECT tenant, name, \
                               row_number() OVER (PARTITION BY tenant ORDER BY used_at DESC) AS place \
                               FROM ledger) WHERE place > ?1)";
            connection.execute(sql, params![most, before]).map(|_| ())
        })
        .await
    }

    /// Deletes the ledgers of a tenant.
    pub(crate) async fn erase_ledgers(&self, tenant: String) -> Result<(), StoreError> {
        self.write(Safety::Process, move |connection| {
            connection.execute("DELETE FROM ledger WHERE tenant = ?", [&tenant]).map(|_| ())
        })
        .await
    }
}
