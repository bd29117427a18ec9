//! A thread that does all writes and joins pending ones into one commit.

use super::log::Log;
use crate::error::StoreError;
use rusqlite::{Connection, ErrorCode};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// The most pending writes. Further callers wait for a place.
const QUEUE: usize = 256;
/// The most writes in one commit.
const BATCH: usize = 128;

/// The longest time that a write waits for its turn. Another process may hold the lock as long as a connection waits.
const PATIENCE: Duration = Duration::from_secs(6);

/// The guarantee that a write needs before it counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Safety {
    /// It survives a crash of the process.
    Process,
    /// It also survives a power cut.
    Power,
}

/// Sends work to the thread. Clones share the thread, which ends with the last one.
#[derive(Clone)]
pub(super) struct Writer {
    jobs: mpsc::Sender<Box<dyn Job>>,
    at: String,
}

/// A write and its waiting caller.
trait Job: Send {
    fn safety(&self) -> Safety;
    /// Writes inside a transaction that it shares with other jobs. If the transaction is rolled back, it is called
    /// again.
    fn write(&mut self, connection: &Connection) -> Result<(), rusqlite::Error>;
    /// Sends the final outcome to the caller.
    fn end(self: Box<Self>, outcome: Result<(), StoreError>);
}

struct Task<T, F> {
    safety: Safety,
    /// The caller stops waiting at this time, so later the work is skipped.
    deadline: Instant,
    work: F,
    written: Option<T>,
    at: String,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: Fn(&Connection) -> rusqlite::Result<T> + Send,
{
    fn safety(&self) -> Safety {
        self.safety
    }

    fn write(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        let is_late = Instant::now() >= self.deadline;
        self.written = if is_late { None } else { Some((self.work)(connection)?) };
        Ok(())
    }

    fn end(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Task { written, reply, at, .. } = *self;
        // The caller may have stopped waiting.
        drop(reply.send(outcome.and_then(|()| written.ok_or(StoreError::Busy(at)))));
    }
}

impl Writer {
    /// Starts the thread. It locks the connection while it writes.
    pub(super) fn start(
        connection: Arc<Mutex<Connection>>,
        log: Log,
        at: String,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let own = at.clone();
        thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || write_all(&connection, queue, &log, &own))?;
        Ok(Writer { jobs, at })
    }

    /// Runs `work` and waits until it is committed.
    pub(super) async fn write<T, F>(&self, safety: Safety, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (reply, written) = oneshot::channel();
        let (deadline, at) = (Instant::now() + PATIENCE, self.at.clone());
        let task = Task { safety, deadline, work, written: None, at, reply };
        let done = async {
            self.jobs.send(Box::new(task)).await.map_err(|_| StoreError::Closed)?;
            written.await.map_err(|_| StoreError::Closed)?
        };
        // A write that has begun at the deadline may still finish.
        let done = tokio::time::timeout(PATIENCE + PATIENCE, done).await;
        done.unwrap_or_else(|_| Err(StoreError::Busy(self.at.clone())))
    }
}

fn write_all(
    connection: &Mutex<Connection>,
    mut queue: mpsc::Receiver<Box<dyn Job>>,
    log: &Log,
    at: &str,
) {
    let mut safety = None;
    while let Some(first) = queue.blocking_recv() {
        let mut batch = vec![first];
        // The caller may be about to send more and need this core. Joined writes cost one commit.
        thread::yield_now();
        while batch.len() < BATCH
            && let Ok(job) = queue.try_recv()
        {
            batch.push(job);
        }
        let wanted = batch.iter().map(|job| job.safety()).max();
        if wanted != safety {
            let level = if wanted == Some(Safety::Power) { "full" } else { "normal" };
            // If this fails, the level stays, and the next batch tries again.
            let set = hold(connection).pragma_update(None, "synchronous", level);
            safety = set.is_ok().then_some(wanted).flatten();
        }
        commit(connection, batch, at);
        log.tell();
    }
}

fn hold(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Commits all jobs together. If one job fails, each is committed by itself, so that only the bad one fails.
///
/// A savepoint for each job would make SQLite keep a copy of every page that the jobs write to.
fn commit(connection: &Mutex<Connection>, mut batch: Vec<Box<dyn Job>>, at: &str) {
    // The lock is released before the callers are notified, because they may read with this connection at once.
    let done = transact(&hold(connection), &mut batch, at);
    match done {
        Ok(()) => batch.into_iter().for_each(|job| job.end(Ok(()))),
        Err(Failed::All(error)) => end_all(batch, &error),
        Err(Failed::Job(error)) if batch.len() == 1 => end_all(batch, &error),
        Err(Failed::Job(_)) => batch.into_iter().for_each(|job| commit(connection, vec![job], at)),
    }
}

/// The reason why a transaction failed.
enum Failed {
    /// It would fail with fewer jobs too.
    All(StoreError),
    Job(StoreError),
}

fn transact(connection: &Connection, batch: &mut [Box<dyn Job>], at: &str) -> Result<(), Failed> {
    let run = |sql: &str| connection.prepare_cached(sql)?.execute([]).map(|_| ());
    if !connection.is_autocommit() {
        // The last reader could not end its transaction.
        drop(run("ROLLBACK"));
    }
    run("BEGIN IMMEDIATE").map_err(|error| Failed::All(trouble(at, &error)))?;
    let written = batch.iter_mut().try_for_each(|job| job.write(connection));
    let done = match written {
        Ok(()) => run("COMMIT").map_err(|error| Failed::All(trouble(at, &error))),
        Err(error) => Err(Failed::Job(trouble(at, &error))),
    };
    // A full disk may have ended the transaction already.
    if done.is_err() && !connection.is_autocommit() {
        // If this fails too, the next BEGIN reports it.
        drop(run("ROLLBACK"));
    }
    done
}

fn end_all(jobs: Vec<Box<dyn Job>>, error: &StoreError) {
    jobs.into_iter().for_each(|job| job.end(Err(error.clone())));
}

/// Converts an error of the database for the caller.
pub(super) fn trouble(at: &str, error: &rusqlite::Error) -> StoreError {
    let at = at.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(at),
        Some(ErrorCode::DiskFull) => StoreError::Full(at),
        Some(ErrorCode::ReadOnly) => only_read(&at),
        // SQLite reports an exceeded file size limit as this error too.
        Some(ErrorCode::SystemIoFailure) if is_unwritten(error) => StoreError::Full(at),
        _ if is_damage(error) => StoreError::Damaged { what: format!("the store `{at}`") },
        _ => StoreError::Database { at, message: error.to_string() },
    }
}

/// The error for a file, folder or disk that cannot be written.
pub(super) fn only_read(at: &str) -> StoreError {
    let message = "it can only be read; make its disk, its folder and its files writable";
    StoreError::Database { at: at.to_owned(), message: message.to_owned() }
}

fn is_unwritten(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(rusqlite::ffi::SQLITE_IOERR_WRITE | rusqlite::ffi::SQLITE_IOERR_SHMSIZE))
}

/// Whether the error means that the file is damaged.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_database_are_told_apart() {
        let told = |code: i32| {
            let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            trouble("x.db", &error)
        };
        let full = StoreError::Full("x.db".to_owned());
        assert_eq!(told(rusqlite::ffi::SQLITE_IOERR_WRITE), full);
        assert_eq!(told(rusqlite::ffi::SQLITE_BUSY), StoreError::Busy("x.db".to_owned()));
        assert_eq!(
            told(rusqlite::ffi::SQLITE_FULL).to_string(),
            "the disk of the store `x.db` is full, so nothing was written; make room and try again"
        );
        for code in [rusqlite::ffi::SQLITE_CORRUPT, rusqlite::ffi::SQLITE_NOTADB] {
            assert!(matches!(told(code), StoreError::Damaged { .. }), "{code}");
        }
        assert!(matches!(told(rusqlite::ffi::SQLITE_IOERR), StoreError::Database { .. }));
    }

    #[test]
    fn a_job_that_fails_takes_nobody_with_it() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE it (n INTEGER PRIMARY KEY)").unwrap();
        let connection = Mutex::new(connection);
        let (mut jobs, mut replies) = (Vec::new(), Vec::new());
        for n in [1, 2, 2, 3] {
            let (reply, written) = oneshot::channel();
            // The second step fails, and the first one is rolled back.
            let work = move |connection: &Connection| {
                connection.execute("INSERT INTO it VALUES (?)", [n * 10])?;
                connection.execute("INSERT INTO it VALUES (?)", [n])
            };
            let deadline = Instant::now() + PATIENCE;
            let (safety, at) = (Safety::Process, "x.db".to_owned());
            let task = Task { safety, deadline, work, written: None, at, reply };
            jobs.push(Box::new(task) as Box<dyn Job>);
            replies.push(written);
        }
        // Leave a transaction open, as a failed read could.
        hold(&connection).execute_batch("BEGIN").unwrap();
        commit(&connection, jobs, "x.db");
        let written: Vec<bool> =
            replies.into_iter().map(|mut reply| reply.try_recv().unwrap().is_ok()).collect();
        assert_eq!(written, [true, true, false, true]);
        let sum = "SELECT sum(n) FROM it";
        let sum: i64 = hold(&connection).query_row(sum, [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 66);
    }
}
