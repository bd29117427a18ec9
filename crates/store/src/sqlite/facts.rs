//! Facts about models, learned from refusals.

use super::{Safety, Sqlite};
use crate::error::StoreError;
use crate::row::{FactMark, FactRow, NewFact};
use rusqlite::{Connection, params};

impl Sqlite {
    /// Stores a fact and replaces an older one with its name. Returns false if its tenant is gone.
    pub(crate) async fn put_fact(&self, new: NewFact) -> Result<bool, StoreError> {
        self.write(Safety::Process, move |connection| put(connection, &new)).await
    }

    /// Deletes a fact if it was learned until this time.
    pub(crate) async fn remove_fact(
        &self,
        tenant: i64,
        name: Vec<u8>,
        until: i64,
    ) -> Result<(), StoreError> {
        self.write(Safety::Process, move |connection| remove(connection, tenant, &name, until))
            .await
    }

    /// The count and the sum of numbers of all facts.
    pub(crate) async fn fact_mark(&self) -> Result<FactMark, StoreError> {
        self.read(|connection| {
            let sql = "SELECT count(*), coalesce(sum(nr), 0) FROM fact";
            connection
                .prepare_cached(sql)?
                .query_row([], |row| Ok(FactMark { count: row.get(0)?, sum: row.get(1)? }))
        })
        .await
    }

    /// Facts that were learned between these times, latest first.
    pub(crate) async fn facts(
        &self,
        after: i64,
        before: i64,
        limit: u32,
    ) -> Result<Vec<FactRow>, StoreError> {
        self.read(move |connection| {
            let sql = "SELECT fact.nr, tenant.name, fact.name, key_id, sealed, since, tenant \
                       FROM fact JOIN tenant ON tenant.nr = fact.tenant \
                       WHERE since > ? AND since < ? ORDER BY since DESC LIMIT ?";
            let mut rows = connection.prepare_cached(sql)?;
            let rows = rows.query_map(params![after, before, limit], |row| {
                Ok(FactRow {
                    nr: row.get(0)?,
                    tenant: row.get(1)?,
                    name: row.get(2)?,
                    key_id: row.get(3)?,
                    sealed: row.get(4)?,
                    since: row.get(5)?,
                    tenant_nr: row.get(6)?,
                })
            })?;
            rows.collect()
        })
        .await
    }

    /// Deletes facts that were not learned between these times.
    pub(crate) async fn prune_facts(&self, after: i64, before: i64) -> Result<(), StoreError> {
        self.write(Safety::Process, move |connection| {
            let sql = "DELETE FROM fact WHERE since <= ? OR since >= ?";
            connection.execute(sql, [after, before]).map(|_| ())
        })
        .await
    }
}

fn put(connection: &Connection, new: &NewFact) -> rusqlite::Result<bool> {
    let NewFact { tenant, name, key_id, sealed, since, most } = new;
    let held = "SELECT 1 FROM data_key WHERE tenant = ? AND id = ?";
    if !connection.prepare_cached(held)?.exists(params![tenant, key_id])? {
        return Ok(false);
    }
    remove(connection, *tenant, name, *since)?;
    let sql = "INSERT INTO fact (tenant, name, key_id, sealed, since) VALUES (?, ?, ?, ?, ?) \
               ON CONFLICT DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![tenant, name, key_id, sealed, since])?;
    let sql = "DELETE FROM fact WHERE tenant = ?1 AND nr NOT IN (\
                   SELECT nr FROM fact WHERE tenant = ?1 ORDER BY since DESC, nr DESC LIMIT ?2)";
    connection.prepare_cached(sql)?.execute(params![tenant, most])?;
    Ok(true)
}

fn remove(connection: &Connection, tenant: i64, name: &[u8], until: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM fact WHERE tenant = ? AND name = ? AND since <= ?";
    connection.prepare_cached(sql)?.execute(params![tenant, name, until]).map(|_| ())
}
