//! The store in a SQLite file.
//!
//! The file has a write-ahead log, so that readers and the writer do not wait for each other, and so that commits
//! survive any end of the process.

mod aside;
mod conversations;
mod facts;
mod gateway_keys;
mod ledgers;
mod log;
mod records;
mod responses;
mod schema;
mod sums;
mod tenants;
mod threads;
mod trace_items;
mod traces;
mod version;
mod wal;
mod words;
mod writer;

use crate::error::StoreError;
use crate::master::keep_private;
use rusqlite::Connection;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use writer::{Safety, Writer, is_damage, trouble};

/// A store file. Clones share its writer and its readers.
#[derive(Clone)]
pub(crate) struct Sqlite {
    writer: Writer,
    /// The writer's connection, locked during a write.
    writing: Arc<Mutex<Connection>>,
    readers: Arc<Readers>,
}

/// The identity of a file, independent of its name: device and inode number.
type FileId = (u64, u64);

#[cfg(unix)]
fn file_id(path: &Path) -> io::Result<FileId> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).map(|file| (file.dev(), file.ino()))
}

/// On these systems an open file stays at its path.
#[cfg(not(unix))]
fn file_id(path: &Path) -> io::Result<FileId> {
    std::fs::metadata(path).map(|_| (0, 0))
}

/// How long a read may take. After that, the disk counts as not responding.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many idle connections are kept for later reads. More connections of a burst are closed after use.
const IDLE: usize = 8;

struct Readers {
    path: PathBuf,
    /// The identity of the file when it was opened. `None` if it is not known.
    file: Option<FileId>,
    at: String,
    idle: Mutex<Vec<Connection>>,
}

impl Sqlite {
    /// Opens or creates a file, and returns messages about it, one sentence each. Blocks.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<String>), StoreError> {
        Self::open_with(path, rusqlite::version_number())
    }

    /// Like [`Sqlite::open`], with this release number of SQLite.
    fn open_with(path: &Path, release: i32) -> Result<(Self, Vec<String>), StoreError> {
        version::check(release)?;
        let at = path.display().to_string();
        let exposed = keep_private(path);
        let broken = aside::put_aside(path)?;
        let connection = schema::open(path)?;
        let broken = broken.map(|said| schema::begin_log_anew(&connection, said));
        let writing = Arc::new(Mutex::new(connection));
        let writer = log::Log::start(path, Arc::clone(&writing))
            .and_then(|log| Writer::start(Arc::clone(&writing), log, at.clone()))
            .map_err(|error| StoreError::Database { at: at.clone(), message: error.to_string() })?;
        let said = exposed.into_iter().chain(broken);
        let (path, idle) = (path.to_owned(), Mutex::new(Vec::new()));
        let readers = Readers { file: file_id(&path).ok(), path, at, idle };
        Ok((Sqlite { writer, writing, readers: Arc::new(readers) }, said.collect()))
    }

    async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let readers = Arc::clone(&self.readers);
        self.wait_for(move || readers.read(work)).await
    }

    /// Reads on the writer's connection while no write is in progress, because its page cache stays valid. Other
    /// connections have to read all pages again after each write. During a write, this is like [`Sqlite::read`].
    async fn read_at_hand<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (readers, writing) = (Arc::clone(&self.readers), Arc::clone(&self.writing));
        self.wait_for(move || match writing.try_lock() {
            Ok(connection) => work(&connection).map_err(|error| trouble(&readers.at, &error)),
            Err(_) => readers.read(work),
        })
        .await
    }

    /// Runs `first` like [`Sqlite::read_at_hand`], and `second` with its result on a reader, because `second` reads
    /// too much for the page cache.
    async fn read_in_two<A, T, F, G>(&self, first: F, second: G) -> Result<T, StoreError>
    where
        A: Send + 'static,
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<A> + Send + 'static,
        G: FnOnce(&Connection, A) -> rusqlite::Result<T> + Send + 'static,
    {
        let (readers, writing) = (Arc::clone(&self.readers), Arc::clone(&self.writing));
        self.wait_for(move || {
            let found = match writing.try_lock() {
                Ok(connection) => {
                    first(&connection).map_err(|error| trouble(&readers.at, &error))?
                }
                Err(_) => readers.read(first)?,
            };
            readers.read(|connection| second(connection, found))
        })
        .await
    }

    async fn wait_for<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T, StoreError> + Send + 'static,
    {
        let read = tokio::task::spawn_blocking(read);
        match tokio::time::timeout(PATIENCE, read).await {
            Ok(read) => read.map_err(|_| StoreError::Closed)?,
            Err(_) => Err(StoreError::Busy(self.readers.at.clone())),
        }
    }

    pub(crate) async fn is_in_place(&self) -> Result<bool, StoreError> {
        let readers = Arc::clone(&self.readers);
        self.wait_for(move || {
            Ok(match (file_id(&readers.path), readers.file) {
                (Ok(now), Some(opened)) => now == opened,
                (Ok(_), None) => true,
                (Err(error), _) => error.kind() != io::ErrorKind::NotFound,
            })
        })
        .await
    }

    async fn write<T, F>(&self, safety: Safety, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.writer.write(safety, work).await
    }
}

impl Readers {
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: rusqlite::Error| trouble(&self.at, &error);
        let reader = idle().pop();
        let reader = match reader {
            Some(reader) => reader,
            None => schema::connect(&self.path).map_err(failed)?,
        };
        let read = work(&reader).map_err(failed);
        let mut idle = idle();
        if idle.len() < IDLE {
            idle.push(reader);
        }
        read
    }
}
