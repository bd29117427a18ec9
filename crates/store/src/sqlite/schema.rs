//! Opens a store file: settings, checks and migrations.

use super::log;
use super::writer::{only_read, trouble};
use crate::error::StoreError;
use crate::master;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags, OptionalExtension as _};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Each migrates from the previous version to its own, counted from 1. A released migration never changes.
const MIGRATIONS: [&str; 1] = [include_str!("001.sql")];

/// The oldest version of the program that works on these tables unchanged, so that users can go back to it. A
/// migration that changes or removes data which such a program needs raises this to its own number.
const WORKS_FROM: u32 = 1;

/// The application id in SQLite's header: "think" in four bytes. The command `file` and this program recognise a
/// store by it.
const APPLICATION: i32 = 0x7468_6E6B;

/// How many compiled statements a connection caches: enough for all.
const STATEMENTS: usize = 64;
/// The page cache of the writer's connection in KiB, for the inner pages of all trees and the recent pages. A larger
/// cache would speed up look-ups among a million records. But the process would keep its memory after a load, because
/// the allocator places other data between the pages.
pub(super) const AT_HAND: i64 = 24 << 10;

/// How long a connection waits for another process.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before another try in cases in which SQLite does not wait.
const AGAIN: Duration = Duration::from_millis(5);

pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let at = path.display().to_string();
    if let Some(folder) = path.parent() {
        master::private_folder(folder)?;
    }
    // SQLite would create the file readable for all users. Its log and index files get the mode of the file.
    match master::private_file(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(StoreError::File { path: path.to_owned(), message: error.to_string() });
        }
    }
    // If several processes switch a new file to a log at once, SQLite refuses all but one immediately, despite the
    // busy timeout.
    let deadline = Instant::now() + PATIENCE;
    loop {
        match set_up(path, &at) {
            Err(StoreError::Busy(_)) if Instant::now() < deadline => thread::sleep(AGAIN),
            opened => return opened,
        }
    }
}

fn set_up(path: &Path, at: &str) -> Result<Connection, StoreError> {
    let mut connection = connect(path).map_err(|error| trouble(at, &error))?;
    check(&connection, at)?;
    prepare(&connection).map_err(|error| trouble(at, &error))?;
    migrate(&mut connection, at)?;
    may_write(&connection, at)?;
    Ok(connection)
}

/// Refuses a read-only file. SQLite would open it, and would not notice that its disk becomes writable again. So a
/// caller has to open it again later.
fn may_write(connection: &Connection, at: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| trouble(at, &error);
    if connection.is_readonly(MAIN_DB).map_err(failed)? {
        return Err(only_read(at));
    }
    // The log or its index may be read-only, too. A store that another process writes passes the test.
    connection.busy_timeout(Duration::ZERO).map_err(failed)?;
    let written = connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    match written.map_err(failed) {
        Err(StoreError::Busy(_)) | Ok(()) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Connects to a file that is already a store.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    // A statement is compiled once, and not again for other values.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    // Deleted data is overwritten, so that an erased key does not remain in the file.
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(connection)
}

/// Moves the intact part of a broken log into the file and empties the log, so that the broken part is not met again.
/// Adds the result of a check of the file to the message `said`.
pub(super) fn begin_log_anew(connection: &Connection, said: String) -> String {
    let ask = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0));
    // The checkpoint fails if another process uses the file. Then that process owns the log.
    drop(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    match ask("PRAGMA quick_check(1)") {
        Ok(whole) if whole == "ok" => said,
        Ok(broken) => format!("{said}; the file itself is damaged: {broken}"),
        Err(error) => format!("{said}; the file itself cannot be read: {error}"),
    }
}

/// Refuses a file of another program before any write.
fn check(connection: &Connection, at: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| trouble(at, &error);
    // Reads the tables first, because a process that creates them sets the application id in the same transaction,
    // perhaps right now.
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0));
    let tables: i64 = tables.map_err(failed)?;
    let application = application(connection).map_err(failed)?;
    if application == i64::from(APPLICATION) {
        return Ok(());
    }
    if application == 0 && tables == 0 {
        return Ok(());
    }
    let mut message = "it is a database of another program; name another file".to_owned();
    if connection.table_exists(None, "reasoning_traces").map_err(failed)? {
        // Writing to a string never fails.
        let _ = write!(message, ", and add its traces to that with `think traces import {at}`");
    }
    Err(StoreError::Database { at: at.to_owned(), message })
}

fn application(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    // Takes effect only in a new file. A write touches many pages, and the log stores each as a whole.
    connection.pragma_update(None, "page_size", 4096)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -AT_HAND)?;
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let longest = log::LONGEST / page.max(1);
    connection.pragma_update_and_check(None, "wal_autocheckpoint", longest, |_| Ok(()))?;
    // The log shrinks after a burst. Up to this size it is overwritten, which is faster than growing it again.
    connection.pragma_update_and_check(None, "journal_size_limit", log::LENGTH, |_| Ok(()))
}

fn migrate(connection: &mut Connection, at: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| trouble(at, &error);
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let found = version(connection).map_err(failed)?;
    if found == known || works_with(connection, found, known).map_err(failed)? {
        return Ok(());
    }
    // A migration may recreate tables that others refer to, which is no change of their rows. The pragma has no
    // effect inside a transaction.
    connection.pragma_update(None, "foreign_keys", false).map_err(failed)?;
    let migrated = migrate_from(connection, at, known);
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    migrated
}

fn migrate_from(connection: &mut Connection, at: &str, known: u32) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| trouble(at, &error);
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(failed)?;
    // Another process may have migrated while this one waited.
    let found = version(&transaction).map_err(failed)?;
    if works_with(&transaction, found, known).map_err(failed)? {
        return Ok(());
    }
    if found > known {
        return Err(StoreError::Newer { at: at.to_owned(), found, known });
    }
    let behind = usize::try_from(found).unwrap_or(usize::MAX);
    for migration in MIGRATIONS.iter().skip(behind) {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    let sql = "INSERT OR REPLACE INTO thinkthrough_schema VALUES (?1, ?2)";
    transaction.execute(sql, [known, WORKS_FROM]).map_err(failed)?;
    transaction.pragma_update(None, "user_version", known).map_err(failed)?;
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// The version of the tables. The version number in a file of another program does not count.
fn version(connection: &Connection) -> rusqlite::Result<u32> {
    if application(connection)? != i64::from(APPLICATION) {
        return Ok(0);
    }
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Whether the tables are newer than this program, but declare that it works on them.
fn works_with(connection: &Connection, found: u32, known: u32) -> rusqlite::Result<bool> {
    if found <= known {
        return Ok(false);
    }
    let sql = "SELECT works_from FROM thinkthrough_schema WHERE version = ?1";
    let from: Option<u32> = connection.query_row(sql, [found], |row| row.get(0)).optional()?;
    Ok(from.is_some_and(|from| from <= known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_can_only_be_read_is_refused_and_one_that_is_held_is_not() {
        let folder = std::env::temp_dir().join(format!("think-read-{}", std::process::id()));
        let path = folder.join("read.db");
        let writes = open(&path).unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let reads = Connection::open_with_flags(&path, flags).unwrap();
        assert_eq!(may_write(&reads, "read.db"), Err(only_read("read.db")));
        writes.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(may_write(&connect(&path).unwrap(), "read.db"), Ok(()));
        writes.execute_batch("ROLLBACK").unwrap();
        let refused = reads.execute_batch("CREATE TABLE it (n)").unwrap_err();
        assert_eq!(trouble("read.db", &refused), only_read("read.db"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
