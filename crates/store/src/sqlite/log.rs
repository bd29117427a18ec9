//! Moves pages from the write-ahead log into the file in a thread of its own (checkpoints).
//!
//! Otherwise a committing writer would have to do this now and then, and all pending writers would wait for the disk.

use super::schema;
use rusqlite::Connection;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The pause between two checks of the log's length.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes in the log before a checkpoint. A page that was written several times is moved once.
pub(super) const LENGTH: i64 = 32 << 20;
/// The most bytes left over when a checkpoint blocks writers for the rest.
const LITTLE: i64 = 1 << 20;
/// The most rounds to get below [`LITTLE`].
const ROUNDS: usize = 8;
/// Bytes in the log before a committing writer must do the checkpoint.
pub(super) const LONGEST: i64 = 56 << 20;

/// The time without writes after which cached pages are freed.
const QUIET: Duration = Duration::from_secs(10);

/// Notifies the thread of writes. The thread ends when this is dropped.
pub(super) struct Log(SyncSender<()>);

impl Log {
    /// Starts the thread. It locks `writing` to block writers.
    pub(super) fn start(path: &Path, writing: Arc<Mutex<Connection>>) -> std::io::Result<Self> {
        let (written, told) = sync_channel(1);
        let connection = schema::connect(path).map_err(std::io::Error::other)?;
        thread::Builder::new()
            .name("store log".to_owned())
            .spawn(move || move_all(&connection, &told, &writing))?;
        Ok(Log(written))
    }

    /// Notifies the thread of a write.
    pub(super) fn tell(&self) {
        // If this fails, the thread is notified already or has ended. If it ended, SQLite does checkpoints in
        // commits.
        let _is_told = self.0.try_send(());
    }
}

fn move_all(connection: &Connection, told: &Receiver<()>, writing: &Mutex<Connection>) {
    while told.recv().is_ok() {
        loop {
            // A failed checkpoint is repeated after further writes.
            drop(move_once(connection, writing));
            thread::sleep(PAUSE);
            if told.recv_timeout(QUIET).is_err() {
                break;
            }
        }
        // The memory is not needed until the next request, which reads the pages again.
        let writing = writing.lock().unwrap_or_else(PoisonError::into_inner);
        drop(writing.execute_batch("PRAGMA shrink_memory"));
    }
}

/// Whether the log has room before its next checkpoint, or restarts with the next commit.
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
            // The log restarts only after a complete checkpoint, which constant writes would prevent.
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
