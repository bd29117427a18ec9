//! The records of the vault.

use super::schema::AT_HAND;
use super::{Safety, Sqlite, is_damage};
use crate::error::StoreError;
use crate::recent::Known;
use crate::row::{Hit, NewRecord, PER_KEY, RecordRow};
use rusqlite::blob::ZeroBlob;
use rusqlite::{Connection, MAIN_DB, OptionalExtension as _, Row, ToSql, params};
use std::sync::Arc;

/// Larger values are written in place, because SQLite copies a bound value twice.
const LARGE: usize = 1 << 20;
/// The page cache in KiB while such a value is written.
const PASSING: i64 = 4 << 10;

impl Sqlite {
    /// The records of a tenant with any of these keys, and the number of unreadable ones. Records in `known` (sorted
    /// by number) are not read again: a file never uses a number again.
    pub(crate) async fn records(
        &self,
        tenant: i64,
        keys: Vec<i64>,
        known: Vec<Known>,
    ) -> Result<(Vec<Hit>, usize), StoreError> {
        // There are many records, and each is seldom read twice. They must not displace the index from the cache.
        self.read_in_two(
            move |connection| in_one(connection, || numbers(connection, tenant, &keys)),
            move |connection, (numbers, mut unreadable)| {
                let is_known =
                    |number: &i64| known.binary_search_by_key(number, |it| it.number).is_ok();
                let (known, new): (Vec<i64>, Vec<i64>) = numbers.into_iter().partition(is_known);
                let mut hits: Vec<Hit> = known.into_iter().map(Hit::Known).collect();
                if !new.is_empty() {
                    let read = || records(connection, tenant, &new, &mut unreadable);
                    hits.extend(in_one(connection, read)?.into_iter().map(Hit::Read));
                }
                Ok((hits, unreadable))
            },
        )
        .await
    }

    /// The records of a tenant with these ids that no provider refused, and the number of unreadable ones.
    pub(crate) async fn records_named(
        &self,
        tenant: i64,
        ids: Vec<String>,
    ) -> Result<(Vec<RecordRow>, usize), StoreError> {
        self.read_at_hand(move |connection| {
            let sql = "SELECT nr, thread, id, key_id, head, kept FROM record \
                       WHERE tenant = ?1 AND id = ?2 AND keys <> x'' \
                       AND EXISTS (SELECT 1 FROM data_key WHERE tenant = ?1)";
            let mut by_id = connection.prepare_cached(sql)?;
            let (mut found, mut unreadable) = (Vec::with_capacity(ids.len()), 0);
            for id in &ids {
                match by_id.query_row(params![tenant, id], record).optional() {
                    Ok(row) => found.extend(row),
                    Err(error) if is_damage(&error) => unreadable += 1,
                    Err(error) => return Err(error),
                }
            }
            Ok((found, unreadable))
        })
        .await
    }

    /// Stores records, each with its conversation. Ids that are already stored keep their record. Returns for each
    /// record whether it is stored; it is not if its tenant was erased.
    pub(crate) async fn add_records(
        &self,
        records: Vec<Arc<NewRecord>>,
    ) -> Result<Vec<bool>, StoreError> {
        self.write(Safety::Process, move |connection| add_all(connection, &records)).await
    }

    /// Deletes records from the index and marks them by removing their keys. Returns the number of records that had
    /// keys.
    pub(crate) async fn poison(&self, tenant: i64, ids: Vec<String>) -> Result<u64, StoreError> {
        self.write(Safety::Process, move |connection| {
            let mut marked = 0;
            for id in &ids {
                marked += u64::from(poison(connection, tenant, id)?);
            }
            Ok(marked)
        })
        .await
    }
}

/// Runs `read` in one transaction, so that it sees one state and locks the file once.
fn in_one<T>(
    connection: &Connection,
    read: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let found = read();
    // There is no change to commit, and after a damaged page a commit would fail.
    if !connection.is_autocommit() {
        connection.prepare_cached("ROLLBACK")?.execute([])?;
    }
    found
}

/// The numbers of a tenant's records with these keys, and the number of unreadable keys.
fn numbers(
    connection: &Connection,
    tenant: i64,
    keys: &[i64],
) -> rusqlite::Result<(Vec<i64>, usize)> {
    // An erased tenant has no records, even if some rows are not deleted yet.
    let held = "SELECT 1 FROM data_key WHERE tenant = ?";
    if !connection.prepare_cached(held)?.exists([tenant])? {
        return Ok((Vec::new(), 0));
    }
    let sql = "SELECT record FROM record_key WHERE tenant = ? AND key = ? \
               ORDER BY record LIMIT ?";
    let mut by_key = connection.prepare_cached(sql)?;
    let mut numbers = Vec::with_capacity(keys.len());
    let mut unreadable = 0;
    for key in keys {
        let mut rows = by_key.query(params![tenant, key, PER_KEY])?;
        loop {
            match rows.next() {
                Ok(Some(row)) => numbers.push(row.get::<_, i64>(0)?),
                Ok(None) => break,
                // A damaged page affects only the entries on it.
                Err(error) if is_damage(&error) => {
                    unreadable += 1;
                    break;
                }
                Err(error) => return Err(error),
            };
        }
    }
    // Neighbours are on the same page.
    numbers.sort_unstable();
    numbers.dedup();
    Ok((numbers, unreadable))
}

/// The records of a tenant with these numbers. Records deleted meanwhile are left out. A number is never used again.
fn records(
    connection: &Connection,
    tenant: i64,
    numbers: &[i64],
    unreadable: &mut usize,
) -> rusqlite::Result<Vec<RecordRow>> {
    let sql = "SELECT nr, thread, id, key_id, head, kept FROM record WHERE nr = ? AND tenant = ?";
    let mut by_number = connection.prepare_cached(sql)?;
    let mut found = Vec::with_capacity(numbers.len());
    for number in numbers {
        match by_number.query_row(params![number, tenant], record).optional() {
            Ok(row) => found.extend(row),
            Err(error) if is_damage(&error) => *unreadable += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn record(row: &Row<'_>) -> rusqlite::Result<RecordRow> {
    Ok(RecordRow {
        number: row.get(0)?,
        thread: row.get(1)?,
        id: row.get(2)?,
        key_id: row.get(3)?,
        head: row.get(4)?,
        kept: row.get(5)?,
    })
}

fn add_all(connection: &Connection, records: &[Arc<NewRecord>]) -> rusqlite::Result<Vec<bool>> {
    let mut kept = Vec::with_capacity(records.len());
    // The writer holds the transaction, so keys cannot change in between.
    let same_key = |one: &Arc<NewRecord>, next: &Arc<NewRecord>| {
        (one.tenant, one.key_id) == (next.tenant, next.key_id)
    };
    for records in records.chunk_by(same_key) {
        let has_key = match records.first() {
            Some(first) => is_held(connection, first)?,
            None => false,
        };
        for record in records {
            kept.push(has_key && add(connection, record)?);
        }
    }
    Ok(kept)
}

/// Whether the key of a record is stored. It is not if its tenant was erased.
fn is_held(connection: &Connection, record: &NewRecord) -> rusqlite::Result<bool> {
    let held = "SELECT 1 FROM data_key WHERE tenant = ? AND id = ?";
    connection.prepare_cached(held)?.exists(params![record.tenant, record.key_id])
}

/// Adds a record. Returns true because it is stored then.
fn add(connection: &Connection, record: &NewRecord) -> rusqlite::Result<bool> {
    let there = "SELECT 1 FROM record WHERE tenant = ? AND id = ?";
    if connection.prepare_cached(there)?.exists(params![record.tenant, record.id])? {
        return Ok(true);
    }
    let thread = thread(connection, record)?;
    let sql = "INSERT INTO record (tenant, thread, id, key_id, keys, head, kept) \
               VALUES (?, ?, ?, ?, ?, ?, ?)";
    let keys: Vec<u8> = record.keys.iter().flat_map(|key| key.to_le_bytes()).collect();
    let NewRecord { tenant, id, key_id, head, kept, .. } = record;
    let room = (kept.len() > LARGE).then_some(ZeroBlob(kept.len() as u64));
    let value: &dyn ToSql = match &room {
        Some(room) => room,
        None => kept,
    };
    connection
        .prepare_cached(sql)?
        .execute(params![tenant, thread, id, key_id, keys, head, value])?;
    let number = connection.last_insert_rowid();
    if room.is_some() {
        write_large(connection, number, kept)?;
    }
    let sql = "INSERT INTO record_key (tenant, key, record) VALUES (?, ?, ?)";
    let mut insert = connection.prepare_cached(sql)?;
    for key in &record.keys {
        insert.execute(params![tenant, key, number])?;
    }
    Ok(true)
}

/// Writes a value into its reserved blob. Its pages are not cached: they are not read soon, and would displace pages
/// that all readers need.
fn write_large(connection: &Connection, number: i64, kept: &[u8]) -> rusqlite::Result<()> {
    connection.pragma_update(None, "cache_size", -PASSING)?;
    let written = connection
        .blob_open(MAIN_DB, "record", "kept", number, false)
        .and_then(|mut blob| blob.write_at(kept, 0));
    connection.pragma_update(None, "cache_size", -AT_HAND)?;
    written
}

fn poison(connection: &Connection, tenant: i64, id: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT nr, keys FROM record WHERE tenant = ? AND id = ?";
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![tenant, id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((number, keys)): Option<(i64, Vec<u8>)> = found else { return Ok(false) };
    let sql = "DELETE FROM record_key WHERE tenant = ? AND key = ? AND record = ?";
    let mut delete = connection.prepare_cached(sql)?;
    for key in keys.as_chunks().0 {
        delete.execute([tenant, i64::from_le_bytes(*key), number])?;
    }
    connection.prepare_cached("UPDATE record SET keys = x'' WHERE nr = ?")?.execute([number])?;
    Ok(!keys.is_empty())
}

/// Finds or creates the conversation of a record, and adds the record to its counts.
fn thread(connection: &Connection, record: &NewRecord) -> rusqlite::Result<i64> {
    let find = |sql: &str, values: &[&dyn ToSql]| {
        let mut find = connection.prepare_cached(sql)?;
        find.query_row(values, |row| row.get::<_, i64>(0)).optional()
    };
    let of_parent = "SELECT thread FROM record WHERE tenant = ? AND id = ?";
    let of_name = "SELECT nr FROM thread WHERE tenant = ? AND name = ?";
    let (tenant, size, now) = (record.tenant, record.size(), record.now);
    let mut found = match &record.parent {
        Some(parent) => find(of_parent, &[&tenant, parent])?,
        None => None,
    };
    if let (None, Some(name)) = (found, &record.thread) {
        found = find(of_name, &[&tenant, name])?;
    }
    if let Some(thread) = found {
        let sql = "UPDATE thread SET records = records + 1, bytes = bytes + ?, \
                   used_at = max(used_at, ?) WHERE nr = ?";
        connection.prepare_cached(sql)?.execute([size, now, thread])?;
        return Ok(thread);
    }
    let sql = "INSERT INTO thread (tenant, name, records, bytes, used_at) VALUES (?, ?, 1, ?, ?)";
    connection.prepare_cached(sql)?.execute(params![tenant, record.thread, size, now])?;
    Ok(connection.last_insert_rowid())
}
