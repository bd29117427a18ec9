//! Tenants and their keys.

use super::{Safety, Sqlite};
use crate::error::StoreError;
use crate::relock::{Relock, Relocked, Rows};
use crate::row::{InstallRow, TenantRow};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait for the log.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between attempts if SQLite does not wait by itself.
const AGAIN: Duration = Duration::from_millis(5);

impl Sqlite {
    /// The installation row, if the store was initialised.
    pub(crate) async fn install(&self) -> Result<Option<InstallRow>, StoreError> {
        self.read(stored_install).await
    }

    /// Stores the check and the key unless they exist. Returns the stored row.
    pub(crate) async fn keep_install(
        &self,
        check: Vec<u8>,
        install_key: Vec<u8>,
    ) -> Result<Option<InstallRow>, StoreError> {
        self.write(Safety::Power, move |connection| {
            let sql = "INSERT INTO install (one, key_check, install_key) VALUES (1, ?, ?) \
                       ON CONFLICT DO UPDATE SET install_key = excluded.install_key \
                       WHERE install_key IS NULL";
            connection.execute(sql, [&check, &install_key])?;
            stored_install(connection)
        })
        .await
    }

    pub(crate) async fn tenant(&self, name: String) -> Result<Option<TenantRow>, StoreError> {
        self.read(move |connection| tenant(connection, &name)).await
    }

    /// Adds a tenant with its first data key unless it exists. Returns the stored tenant. The keys are locked with
    /// the master key of this check: if the store has another one, the tenant is not added.
    pub(crate) async fn add_tenant(
        &self,
        name: String,
        lookup_key: Vec<u8>,
        data_key: Vec<u8>,
        check: Vec<u8>,
    ) -> Result<Option<TenantRow>, StoreError> {
        self.write(Safety::Power, move |connection| {
            let sql = "INSERT INTO tenant (name, lookup_key) \
                       SELECT ?1, ?2 FROM install WHERE key_check = ?3 ON CONFLICT DO NOTHING";
            if connection.execute(sql, params![name, lookup_key, check])? == 1 {
                let sql = "INSERT INTO data_key (tenant, id, wrapped) VALUES (?, 1, ?)";
                connection.execute(sql, params![connection.last_insert_rowid(), data_key])?;
            }
            tenant(connection, &name)
        })
        .await
    }

    /// Adds a data key. Does nothing if its number exists, the tenant is gone, or the store has another master key
    /// than the one of this check.
    pub(crate) async fn add_data_key(
        &self,
        tenant: i64,
        id: u32,
        wrapped: Vec<u8>,
        check: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.write(Safety::Power, move |connection| {
            let sql = "INSERT INTO data_key (tenant, id, wrapped) \
                       SELECT nr, ?2, ?3 FROM tenant, install WHERE nr = ?1 AND key_check = ?4 \
                       ON CONFLICT DO NOTHING";
            connection.execute(sql, params![tenant, id, wrapped, check]).map(|_| ())
        })
        .await
    }

    /// Locks all keys with another master key and adds a new data key for each tenant, all or nothing.
    pub(crate) async fn relock(&self, change: Relock) -> Result<Relocked, StoreError> {
        self.write(Safety::Power, move |connection| {
            // Compute all rows before the first write.
            match change.rows(stored_install(connection)?.as_ref(), &tenants(connection)?) {
                Ok(rows) => put_rows(connection, &rows),
                Err(why_not) => Ok(why_not),
            }
        })
        .await
    }

    /// Deletes a tenant with all its data. Returns its number of conversations, or `None` if there was no such
    /// tenant.
    pub(crate) async fn remove_tenant(&self, name: String) -> Result<Option<u64>, StoreError> {
        let removed = self
            .write(Safety::Power, move |connection| {
                let of = "(SELECT nr FROM tenant WHERE name = ?)";
                let delete = |sql: &str| connection.execute(sql, [&name]);
                let removed = delete(&format!("DELETE FROM conversation WHERE tenant = {of}"))?;
                delete(&format!("DELETE FROM fact WHERE tenant = {of}"))?;
                delete(&format!("DELETE FROM data_key WHERE tenant = {of}"))?;
                let was_there = delete("DELETE FROM tenant WHERE name = ?")? == 1;
                Ok(was_there.then(|| u64::try_from(removed).unwrap_or(u64::MAX)))
            })
            .await?;
        self.forget_log().await?;
        Ok(removed)
    }

    /// Empties the write-ahead log, because it may still contain deleted data.
    pub(crate) async fn forget_log(&self) -> Result<(), StoreError> {
        // SQLite waits for readers as usual; pages that are still read then stay in the log. It does not wait for
        // another process that empties the log, so this tries again.
        let was_blocked = self.read(|connection| {
            let deadline = Instant::now() + PATIENCE;
            loop {
                let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
                let is_blocked: bool = connection.query_row(sql, [], |row| row.get(0))?;
                if !is_blocked || Instant::now() >= deadline {
                    return Ok(is_blocked);
                }
                thread::sleep(AGAIN);
            }
        });
        match was_blocked.await? {
            false => Ok(()),
            true => Err(StoreError::Lingers(self.readers.at.clone())),
        }
    }
}

/// All tenants with their keys, by name.
fn tenants(connection: &Connection) -> rusqlite::Result<Vec<(String, TenantRow)>> {
    let mut names = connection.prepare_cached("SELECT name FROM tenant ORDER BY nr")?;
    let names =
        names.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        if let Some(row) = tenant(connection, &name)? {
            found.push((name, row));
        }
    }
    Ok(found)
}

fn put_rows(connection: &Connection, rows: &Rows) -> rusqlite::Result<Relocked> {
    let sql = "UPDATE install SET key_check = ?, install_key = ?";
    connection.execute(sql, params![rows.check, rows.install_key])?;
    let sql = "UPDATE tenant SET lookup_key = ? WHERE nr = ?";
    let mut lookup = connection.prepare_cached(sql)?;
    let sql = "INSERT INTO data_key (tenant, id, wrapped) VALUES (?, ?, ?) \
               ON CONFLICT DO UPDATE SET wrapped = excluded.wrapped";
    let mut data = connection.prepare_cached(sql)?;
    for tenant in &rows.tenants {
        lookup.execute(params![tenant.lookup_key, tenant.nr])?;
        for (id, wrapped) in &tenant.data_keys {
            data.execute(params![tenant.nr, id, wrapped])?;
        }
    }
    Ok(Relocked::Done(rows.tenants.len() as u64))
}

fn stored_install(connection: &Connection) -> rusqlite::Result<Option<InstallRow>> {
    let sql = "SELECT key_check, install_key FROM install";
    let row = connection.query_row(sql, [], |row| {
        Ok(InstallRow { key_check: row.get(0)?, install_key: row.get(1)? })
    });
    row.optional()
}

fn tenant(connection: &Connection, name: &str) -> rusqlite::Result<Option<TenantRow>> {
    let sql = "SELECT nr, lookup_key FROM tenant WHERE name = ?";
    let found = connection.query_row(sql, [name], |row| Ok((row.get(0)?, row.get(1)?)));
    let Some((nr, lookup_key)) = found.optional()? else { return Ok(None) };
    let sql = "SELECT id, wrapped FROM data_key WHERE tenant = ? ORDER BY id";
    let mut keys = connection.prepare_cached(sql)?;
    let keys = keys.query_map([nr], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Some(TenantRow { nr, lookup_key, data_keys: keys.collect::<Result<_, _>>()? }))
}
