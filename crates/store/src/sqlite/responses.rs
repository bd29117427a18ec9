//! Stored answers by id.

use super::{Safety, Sqlite};
use crate::error::StoreError;
use crate::row::{NewResponse, OwnerRow, ResponseRow};
use rusqlite::{Connection, OptionalExtension as _, params};

impl Sqlite {
    /// Stores an answer and replaces one with its id. Returns false if its tenant is gone.
    pub(crate) async fn put_response(&self, new: NewResponse) -> Result<bool, StoreError> {
        self.write(Safety::Process, move |connection| put(connection, &new)).await
    }

    /// The answer with this id and the answers before it, last one first, at most `limit` in all.
    pub(crate) async fn responses(
        &self,
        tenant: i64,
        id: Vec<u8>,
        limit: u32,
    ) -> Result<Vec<ResponseRow>, StoreError> {
        self.read(move |connection| {
            // The limit also ends a cycle of two answers that name each other.
            let sql = "WITH RECURSIVE chain (depth, nr, previous) AS (\
                           SELECT 1, nr, previous FROM response WHERE tenant = ?1 AND id = ?2 \
                           UNION ALL SELECT depth + 1, it.nr, it.previous \
                           FROM chain JOIN response AS it \
                               ON it.tenant = ?1 AND it.id = chain.previous \
                           WHERE depth < ?3) \
                       SELECT thread, id, key_id, sealed \
                       FROM chain JOIN response USING (nr) ORDER BY depth";
            let mut rows = connection.prepare_cached(sql)?;
            let rows = rows.query_map(params![tenant, id, limit], |row| {
                Ok(ResponseRow {
                    thread: row.get(0)?,
                    id: row.get(1)?,
                    key_id: row.get(2)?,
                    sealed: row.get(3)?,
                })
            })?;
            rows.collect()
        })
        .await
    }

    /// The owners of these resources.
    pub(crate) async fn resource_owners(
        &self,
        resources: Vec<Vec<u8>>,
    ) -> Result<Vec<OwnerRow>, StoreError> {
        self.read(move |connection| {
            let sql = "SELECT tenant, thread FROM response WHERE resource = ?";
            let mut rows = connection.prepare_cached(sql)?;
            let mut owners = Vec::new();
            for resource in &resources {
                let found = rows.query_map([resource], |row| {
                    let resource = resource.clone();
                    Ok(OwnerRow { resource, tenant: row.get(0)?, thread: row.get(1)? })
                })?;
                for owner in found {
                    owners.push(owner?);
                }
            }
            Ok(owners)
        })
        .await
    }

    /// Deletes an answer. Returns whether it existed.
    pub(crate) async fn remove_response(
        &self,
        tenant: i64,
        id: Vec<u8>,
    ) -> Result<bool, StoreError> {
        self.write(Safety::Process, move |connection| remove(connection, tenant, &id)).await
    }
}

fn put(connection: &Connection, new: &NewResponse) -> rusqlite::Result<bool> {
    let NewResponse { tenant, id, previous, resource, key_id, sealed, now } = new;
    let held = "SELECT 1 FROM data_key WHERE tenant = ? AND id = ?";
    if !connection.prepare_cached(held)?.exists(params![tenant, key_id])? {
        return Ok(false);
    }
    remove(connection, *tenant, id)?;
    let sql = "SELECT name FROM response JOIN thread ON thread.nr = response.thread \
               WHERE response.tenant = ? AND response.id = ?";
    let name: Option<Vec<u8>> = connection
        .prepare_cached(sql)?
        .query_row(params![tenant, previous], |row| row.get(0))
        .optional()?;
    let sql = "INSERT INTO thread (tenant, name, records, bytes, used_at) VALUES (?, ?, 1, ?, ?) \
               ON CONFLICT (tenant, name) WHERE name IS NOT NULL DO UPDATE SET records = records + 1, \
                   bytes = bytes + excluded.bytes, used_at = max(used_at, excluded.used_at) \
               RETURNING nr";
    let values = params![tenant, name.as_ref().unwrap_or(id), new.size(), now];
    let thread: i64 = connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))?;
    let sql = "INSERT INTO response (tenant, thread, id, previous, key_id, sealed, resource) \
               VALUES (?, ?, ?, ?, ?, ?, ?)";
    let values = params![tenant, thread, id, previous, key_id, sealed, resource];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(true)
}

fn remove(connection: &Connection, tenant: i64, id: &[u8]) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM response WHERE tenant = ? AND id = ? RETURNING thread, length(sealed)";
    let removed: Option<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_row(params![tenant, id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((thread, len)) = removed else { return Ok(false) };
    let sql = "UPDATE thread SET records = records - 1, bytes = bytes - ? WHERE nr = ?";
    connection.prepare_cached(sql)?.execute([NewResponse::size_of(len), thread])?;
    let sql = "DELETE FROM thread WHERE nr = ? AND records <= 0";
    connection.prepare_cached(sql)?.execute([thread])?;
    Ok(true)
}
