//! Opening a file: its settings, and bringing its tables up to date.

use super::writer::trouble;
use crate::error::StoreError;
use crate::master;
use rusqlite::{Connection, OpenFlags};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Each brings the tables from the version before to its own, counted from 1. They never change once shipped.
const MIGRATIONS: [&str; 2] = [include_str!("001.sql"), include_str!("002.sql")];

/// "think" in a way that SQLite's header has room for; `file` and we know our files by it.
const APPLICATION: i32 = 0x7468_6E6B;

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
    Ok(connection)
}

/// A connection to a file that is a store already.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    // What is deleted is overwritten: a key that was erased is not in the file any more.
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(connection)
}

/// Refuses what is no store of ours before anything is written to it.
fn check(connection: &Connection, at: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| trouble(at, &error);
    // The tables first: another process that makes them says in the same transaction whose they are, and may do so now.
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0));
    let tables: i64 = tables.map_err(failed)?;
    let application =
        connection.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0));
    let application = application.map_err(failed)?;
    let is_new = application == 0 && tables == 0;
    if is_new || application == i64::from(APPLICATION) {
        return Ok(());
    }
    Err(StoreError::Database {
        at: at.to_owned(),
        message: "it is a database of another program; name another file".to_owned(),
    })
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    // Takes effect in a new file only.
    connection.pragma_update(None, "page_size", 8192)?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -16_384)?;
    // The log shrinks again after a burst.
    connection.pragma_update_and_check(None, "journal_size_limit", 16 << 20, |_| Ok(()))
}

fn migrate(connection: &mut Connection, at: &str) -> Result<(), StoreError> {
    let failed = |error: rusqlite::Error| trouble(at, &error);
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let version = |connection: &Connection| {
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))
    };
    let found = version(connection).map_err(failed)?;
    if found == known {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(failed)?;
    // Another process may have been first while this one waited.
    let found = version(&transaction).map_err(failed)?;
    if found > known {
        return Err(StoreError::Newer { at: at.to_owned(), found, known });
    }
    let behind = usize::try_from(found).unwrap_or(usize::MAX);
    for migration in MIGRATIONS.iter().skip(behind) {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    transaction.pragma_update(None, "user_version", known).map_err(failed)?;
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    transaction.commit().map_err(failed)
}
