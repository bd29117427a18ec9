//! Migrations of the tables on a server.

use super::trouble;
use crate::error::StoreError;
use tokio_postgres::{Client, GenericClient};

/// Each migrates from the previous version to its own, counted from 1. A released migration never changes.
const MIGRATIONS: [&str; 1] = [include_str!("001.sql")];

/// The oldest version of the program that works on these tables unchanged, so that users can go back to it. A
/// migration that changes or removes data which such a program needs raises this to its own number.
const WORKS_FROM: u32 = 1;

/// The advisory lock that serialises migrations of several processes: the letters "think".
const LOCK: i64 = 0x74_6869_6E6B;

const VERSION: &str = "SELECT coalesce(max(version), 0) FROM thinkthrough_schema";

/// The version that a program needs for the newest tables; by default it equals theirs.
const FROM: &str = "SELECT coalesce(works_from, version) FROM thinkthrough_schema \
                    ORDER BY version DESC LIMIT 1";

pub(super) async fn migrate(client: &mut Client, at: &str) -> Result<(), StoreError> {
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let failed = |error: tokio_postgres::Error| trouble(at, &error);
    // A role that may only use the tables cannot create any.
    let sql = "SELECT to_regclass('thinkthrough_schema') IS NOT NULL";
    let row = client.query_typed(sql, &[]).await.map_err(failed)?;
    let is_there = match row.first() {
        Some(row) => super::get(row, 0, at)?,
        None => false,
    };
    if is_there {
        let found = said(&*client, VERSION, at).await?;
        if found == known || (found > known && said(&*client, FROM, at).await? <= known) {
            return Ok(());
        }
    }
    let transaction = client.transaction().await.map_err(failed)?;
    let lock = format!("SELECT pg_advisory_xact_lock({LOCK})");
    transaction.batch_execute(&lock).await.map_err(failed)?;
    let table = "CREATE TABLE IF NOT EXISTS thinkthrough_schema \
                 (version INT8 NOT NULL, works_from INT8)";
    transaction.batch_execute(table).await.map_err(failed)?;
    let found = said(&transaction, VERSION, at).await?;
    // Another process may have been first while this one waited.
    if found > known && said(&transaction, FROM, at).await? <= known {
        return Ok(());
    }
    if found > known {
        return Err(StoreError::Newer { at: at.to_owned(), found, known });
    }
    if found == 0 {
        let sql = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() \
                   AND tablename = 'reasoning_traces'";
        if said(&transaction, sql, at).await? > 0 {
            let message = "it has a table `reasoning_traces` of another program; name another \
                           database, or give the table another name";
            return Err(StoreError::Database { at: at.to_owned(), message: message.to_owned() });
        }
    }
    let behind = usize::try_from(found).unwrap_or(usize::MAX);
    for (version, migration) in (1_i64..).zip(MIGRATIONS).skip(behind) {
        transaction.batch_execute(migration).await.map_err(failed)?;
        let sql = format!("INSERT INTO thinkthrough_schema VALUES ({version})");
        transaction.batch_execute(&sql).await.map_err(failed)?;
    }
    let sql =
        format!("UPDATE thinkthrough_schema SET works_from = {WORKS_FROM} WHERE version = {known}");
    transaction.batch_execute(&sql).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// Runs a statement that returns a number. Without a row the number is 0.
async fn said(client: &impl GenericClient, sql: &str, at: &str) -> Result<u32, StoreError> {
    let rows = client.query_typed(sql, &[]).await.map_err(|error| trouble(at, &error))?;
    rows.first().map_or(Ok(0), |row| super::number(row, 0, at))
}
