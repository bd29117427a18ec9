//! Moving what was written from the log into the file, beside those who write and read.
//!
//! Whoever commits would otherwise do it now and then, and wait for the disk with all who wait for it.

use super::schema;
use rusqlite::Connection;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The pause between two looks at how long the log is.
const PAUSE: Duration = Duration::from_millis(20);

/// How many bytes are in the log before they are moved. A page that was written often meanwhile is moved once.
pub(super) const LENGTH: i64 = 32 << 20;
/// How many bytes may be left when those who write wait for the rest to be moved.
const LITTLE: i64 = 1 << 20;
/// How often one tries to come that far.
const ROUNDS: usize = 8;
/// How many bytes are in the log before whoever commits moves them after all.
pub(super) const LONGEST: i64 = 56 << 20;

/// How long nobody writes before the pages at hand are given back.
const QUIET: Duration = Duration::from_secs(10);

/// Tells the thread that something was written. The thread ends with this.
pub(super) struct Log(SyncSender<()>);

impl Log {
    /// Starts the thread. Nothing is written while `writing` is held.
    pub(super) fn start(path: &Path, writing: Arc<Mutex<Connection>>) -> std::io::Result<Self> {
        let (written, told) = sync_channel(1);
        let connection = schema::connect(path).map_err(std::io::Error::other)?;
        thread::Builder::new()
            .name("store log".to_owned())
            .spawn(move || move_all(&connection, &told, &writing))?;
        Ok(Log(written))
    }

    /// Something was written.
    pub(super) fn tell(&self) {
        // It is told already, or its thread is gone: then whoever commits does it.
        let _is_told = self.0.try_send(());
    }
}

fn move_all(connection: &Connection, told: &Receiver<()>, writing: &Mutex<Connection>) {
    while told.recv().is_ok() {
        loop {
            // What fails is tried again when more was written.
            drop(move_once(connection, writing));
            thread::sleep(PAUSE);
            if told.recv_timeout(QUIET).is_err() {
                break;
            }
        }
        // Pages are read again when somebody comes; until then the memory is not needed.
        let writing = writing.lock().unwrap_or_else(PoisonError::into_inner);
        drop(writing.execute_batch("PRAGMA shrink_memory"));
    }
}

/// Whether the log has room for more before it is moved, or begins anew with the next commit.
pub(super) fn has_room(connection: &Connection) -> rusqlite::Result<bool> {
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| {
        let (pages, moved) = (row.get::<_, i64>(1)?, row.get::<_, i64>(2)?);
        Ok(pages.saturating_mul(page) < LENGTH || moved >= pages)
    })
}

fn move_once(connection: &Connection, writing: &Mutex<Connection>) -> rusqlite::Result<()> {
    let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pragma = |mode: &str| {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        connection.query_row(&sql, [], |row| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?))
    };
    let left = || pragma("NOOP").map(|pages| pages.saturating_mul(page));
    if left()? < LENGTH {
        return Ok(());
    }
    for _ in 0..ROUNDS {
        pragma("PASSIVE")?;
        if left()? <= LITTLE {
            // Once all is in the file the log begins anew; somebody who always writes would never let it.
            let _nobody_writes = writing.lock().unwrap_or_else(PoisonError::into_inner);
            return pragma("PASSIVE").map(|_| ());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_room_until_it_is_long_and_again_once_it_was_moved() {
        let folder = std::env::temp_dir().join(format!("think-log-{}", std::process::id()));
        let connection = schema::open(&folder.join("room.db")).unwrap();
        assert!(has_room(&connection).unwrap());
        connection.execute_batch("CREATE TABLE it (bytes BLOB)").unwrap();
        let write = || connection.execute("INSERT INTO it VALUES (zeroblob(1000000))", []);
        for _ in 0..30 {
            write().unwrap();
        }
        assert!(has_room(&connection).unwrap());
        for _ in 30..40 {
            write().unwrap();
        }
        assert!(!has_room(&connection).unwrap(), "it is to be moved first");
        let moved = "PRAGMA wal_checkpoint(PASSIVE)";
        connection.query_row(moved, [], |_| Ok(())).unwrap();
        assert!(has_room(&connection).unwrap(), "it begins anew");
        drop(connection);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
