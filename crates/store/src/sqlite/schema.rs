//! Opening a file: its settings, and bringing its tables up to date.

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

/// Each brings the tables from the version before to its own, counted from 1. They never change once shipped.
const MIGRATIONS: [&str; 1] = [include_str!("001.sql")];

/// The oldest version whose program works on these tables as they are, so that one may go back to it. A migration that
/// changes or takes away what such a program reads or writes raises it to its own.
const WORKS_FROM: u32 = 1;

/// "think" in a way that SQLite's header has room for; `file` and we know our files by it.
const APPLICATION: i32 = 0x7468_6E6B;

/// How many compiled statements a connection keeps: all that there are.
const STATEMENTS: usize = 64;
/// How many KiB of pages the connection that writes has at hand: the inner pages of all trees, and what was used last.
/// More of them would make look-ups among a million records quicker, but the process would not give their memory back
/// after a load: the allocator has other things between them.
pub(super) const AT_HAND: i64 = 24 << 10;

/// How long one waits for another process.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause before the next try where SQLite does not wait by itself.
const AGAIN: Duration = Duration::from_millis(5);

/// Opens the file, and makes it where there is none.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let at = path.display().to_string();
    if let Some(folder) = path.parent() {
        master::private_folder(folder)?;
    }
    // SQLite would make the file for everybody; its companions get the mode that the file has.
    match master::private_file(path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(StoreError::File { path: path.to_owned(), message: error.to_string() });
        }
    }
    // Of several that turn a new file into a log at once, SQLite sends all but one away without waiting, whatever the
    // connection's patience.
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

/// Refuses a file that can only be read. SQLite opens it all the same, and would not notice that its disk is well again:
/// whoever comes back later opens it anew.
fn may_write(connection: &Connection, at: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| trouble(at, &error);
    if connection.is_readonly(MAIN_DB).map_err(failed)? {
        return Err(only_read(at));
    }
    // The log, or its index, may be what cannot be written. Another process that writes proves nothing of the kind.
    connection.busy_timeout(Duration::ZERO).map_err(failed)?;
    let written = connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    match written.map_err(failed) {
        Err(StoreError::Busy(_)) | Ok(()) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A connection to a file that is a store already.
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
    // What is deleted is overwritten: a key that was erased is not in the file any more.
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(connection)
}

/// Moves what is whole of a log that was broken into the file, so that the rest is not met again; adds to what is said
/// about it whether the file itself bears that.
pub(super) fn begin_log_anew(connection: &Connection, said: String) -> String {
    let ask = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0));
    // Where another process has the file open, the log is its business.
    drop(connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    match ask("PRAGMA quick_check(1)") {
        Ok(whole) if whole == "ok" => said,
        Ok(broken) => format!("{said}; the file itself is damaged: {broken}"),
        Err(error) => format!("{said}; the file itself cannot be read: {error}"),
    }
}

/// Refuses what is no store of ours before anything is written to it.
fn check(connection: &Connection, at: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| trouble(at, &error);
    // The tables first: another process that makes them says in the same transaction whose they are, and may do so now.
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

/// Whose the file is.
fn application(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    // Takes effect in a new file only. A write touches many pages, and each is written to the log as a whole.
    connection.pragma_update(None, "page_size", 4096)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -AT_HAND)?;
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let longest = log::LONGEST / page.max(1);
    connection.pragma_update_and_check(None, "wal_autocheckpoint", longest, |_| Ok(()))?;
    // The log shrinks again after a burst; what it has anyway is written over, which is quicker than making it grow.
    connection.pragma_update_and_check(None, "journal_size_limit", log::LENGTH, |_| Ok(()))
}

fn migrate(connection: &mut Connection, at: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| trouble(at, &error);
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let found = version(connection).map_err(failed)?;
    if found == known || works_with(connection, found, known).map_err(failed)? {
        return Ok(());
    }
    // Tables that others refer to are made anew, which says nothing about their rows. Inside a transaction it would have
    // no effect.
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
    // Another process may have been first while this one waited.
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

/// How far the tables are. The number that another program gave its file says nothing.
fn version(connection: &Connection) -> rusqlite::Result<u32> {
    if application(connection)? != i64::from(APPLICATION) {
        return Ok(0);
    }
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// The tables are newer than what this program knows, and say that it works on them all the same.
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
