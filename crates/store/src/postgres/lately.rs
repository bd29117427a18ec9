//! Keeps the commits of the last minute, in case the server loses them.
//!
//! A server that fails over to a copy without the last commits does not report that. So each process counts its
//! commits of traces and of records in numbers on the server. Each commit increments its number in the same
//! transaction and reads the number before. If that number is smaller than the process expects, the later commits are
//! lost, and the process writes exactly those again. Rows that were deleted before the time of the copy stay deleted,
//! because their own commits are older too.
//!
//! The numbers are versions of rows in the ledger table. A table of their own would need a new grant for the role of
//! a gateway.

use super::commits::{Again, Commits};
use super::{Postgres, get};
use crate::error::StoreError;
use crate::master::hex;
use crate::row::{NewRecord, TraceRow};
use crate::seal::random;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::MutexGuard as Turn;
use tokio::time::sleep;
use tokio_postgres::Row;

/// The most bytes that are kept of each kind.
const TRACES: usize = 64 << 20;
const RECORDS: usize = 32 << 20;
/// The most traces in one repeated write. Records are repeated commit by commit, because one may continue the commit
/// before.
const BATCH: usize = 256;
/// The pause before the next attempt after the server did not answer.
const AGAIN: Duration = Duration::from_secs(1);
/// The pause between two sweeps of old commits.
const SWEEP: Duration = Duration::from_secs(10);
/// Numbers that their process did not write for this long (in milliseconds) are deleted.
const UNUSED: i64 = 24 * 60 * 60 * 1000;
/// Prefix of the names of these numbers. The names of ledgers are digests.
const NAMES: &str = "committed:";

/// The last commits of this process.
#[derive(Debug)]
pub(super) struct Lately {
    pub(super) traces: Numbered<TraceRow>,
    pub(super) records: Numbered<NewRecord>,
    /// True while a task repeats lost commits.
    is_seen_to: AtomicBool,
    /// True while a task drops old commits.
    is_swept: AtomicBool,
}

/// Commits of one kind, each with its number.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    /// Name of the number on the server.
    name: String,
    /// Admits one commit at a time, so that the numbers are in order.
    turn: tokio::sync::Mutex<()>,
    commits: Mutex<Commits<T>>,
    /// Rows that were written again and not reported yet.
    again: AtomicUsize,
}

/// A commit in progress with its number. Dropping it ends the commit.
pub(super) struct Numbering<'n> {
    name: &'n str,
    number: i64,
    _turn: Turn<'n, ()>,
}

/// Rows with an accounted size.
pub(super) trait Weighs {
    fn bytes(&self) -> usize;
}

impl Weighs for TraceRow {
    fn bytes(&self) -> usize {
        self.size()
    }
}

impl Weighs for NewRecord {
    fn bytes(&self) -> usize {
        usize::try_from(self.size()).unwrap_or(usize::MAX)
    }
}

impl Numbering<'_> {
    /// The parts of a statement that increment the number and return the old one as `before`.
    pub(super) fn sql(&self) -> String {
        let Numbering { name, number, .. } = self;
        // The time changes at most once an hour, so that indexes rarely change.
        format!(
            "before AS MATERIALIZED (SELECT version FROM ledger \
                 WHERE tenant = '' AND name = '{name}'), \
             counted AS (INSERT INTO ledger AS it (tenant, name, version, body, used_at) \
                 VALUES ('', '{name}', {number}, '', \
                     (extract(epoch FROM now()) * 1000)::int8) \
                 ON CONFLICT (tenant, name) DO UPDATE SET version = excluded.version, \
                     used_at = CASE WHEN excluded.used_at > it.used_at + 3600000 \
                         THEN excluded.used_at ELSE it.used_at END)"
        )
    }
}

impl<T: Weighs> Numbered<T> {
    fn new(name: String, limit: usize) -> Self {
        let (turn, commits) = (tokio::sync::Mutex::default(), Mutex::new(Commits::new(limit)));
        Numbered { name, turn, commits, again: AtomicUsize::new(0) }
    }

    fn commits(&self) -> MutexGuard<'_, Commits<T>> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the next commit after the previous one has ended.
    pub(super) async fn begin(&self) -> Numbering<'_> {
        let turn = self.turn.lock().await;
        Numbering { name: &self.name, number: self.commits().begin(), _turn: turn }
    }

    /// Notes these rows as committed. `before` is the number on the server before, if there was one.
    fn done(&self, numbering: &Numbering<'_>, before: Option<i64>, rows: Vec<Arc<T>>) {
        let bytes = rows.iter().map(|row| row.bytes()).sum();
        self.commits().done(numbering.number, before.unwrap_or_default(), rows, bytes);
    }

    /// Takes the next lost rows to write again. Other commits go on meanwhile.
    fn next_lost(&self, most: usize) -> Option<Again<T>> {
        self.commits().next_lost(most)
    }

    /// Forgets deleted rows, so that they are not written again.
    pub(super) fn forget(&self, is_gone: impl Fn(&T) -> bool) {
        self.commits().forget(is_gone);
    }
}

impl Lately {
    pub(super) fn new(at: &str) -> Result<Self, StoreError> {
        let own = hex(&random::<16>().map_err(|_| StoreError::no_random(at))?);
        Ok(Lately {
            traces: Numbered::new(format!("{NAMES}{own}:traces"), TRACES),
            records: Numbered::new(format!("{NAMES}{own}:records"), RECORDS),
            is_seen_to: AtomicBool::new(false),
            is_swept: AtomicBool::new(false),
        })
    }

    fn is_in_need(&self) -> bool {
        self.traces.commits().is_in_need() || self.records.commits().is_in_need()
    }

    /// Drops old commits. Returns true if any are left.
    fn sweep(&self) -> bool {
        let now = Instant::now();
        let (mut traces, mut records) = (self.traces.commits(), self.records.commits());
        traces.drop_old(now);
        records.drop_old(now);
        !traces.is_empty() || !records.is_empty()
    }
}

impl Postgres {
    /// Notes committed rows. `before` is the old number that the statement returned.
    pub(super) fn committed<T: Weighs>(
        &self,
        kind: &Numbered<T>,
        numbering: &Numbering<'_>,
        before: Option<i64>,
        rows: Vec<Arc<T>>,
    ) {
        kind.done(numbering, before, rows);
        self.see_to_it();
        if !self.inner.lately.is_swept.swap(true, Ordering::Relaxed) {
            let inner = Arc::downgrade(&self.inner);
            tokio::spawn(async move {
                loop {
                    sleep(SWEEP).await;
                    let Some(inner) = inner.upgrade() else { return };
                    if !inner.lately.sweep() {
                        // A commit at this moment starts the next sweeper. Its rows may stay a little longer.
                        return inner.lately.is_swept.store(false, Ordering::Relaxed);
                    }
                }
            });
        }
    }

    /// Marks the last commits as doubtful, because the connection was lost and the next server may lack them.
    pub(super) fn doubt(&self) {
        let lately = &self.inner.lately;
        let (traces, records) = (lately.traces.commits().doubt(), lately.records.commits().doubt());
        if traces || records {
            self.see_to_it();
        }
    }

    /// Starts a task that repeats lost commits, unless one runs.
    fn see_to_it(&self) {
        let lately = &self.inner.lately;
        if lately.is_in_need() && !lately.is_seen_to.swap(true, Ordering::AcqRel) {
            tokio::spawn(see_to_it(Arc::downgrade(&self.inner)));
        }
    }

    /// Asks the server for its numbers and writes the lost rows again.
    async fn give_again(&self) -> Result<(), StoreError> {
        let lately = &self.inner.lately;
        self.ask_for_number(&lately.traces).await?;
        self.ask_for_number(&lately.records).await?;
        while let Some(again) = lately.traces.next_lost(BATCH) {
            let given = self.add_traces(again.rows()).await;
            self.given(&lately.traces, again, given)?;
        }
        while let Some(again) = lately.records.next_lost(0) {
            let given = self.write_records(&again.rows()).await;
            self.given(&lately.records, again, given.map(drop))?;
        }
        let [traces, records] = [&lately.traces.again, &lately.records.again];
        let [traces, records] = [traces, records].map(|again| again.swap(0, Ordering::Relaxed));
        if traces + records > 0 {
            self.inner.notes.add(format!(
                "the store `{}` had lost what was committed last, as a copy does that takes over: {traces} traces and \
                 {records} records of the last minute were given to it once more; see what else was lost",
                self.inner.at
            ));
        }
        Ok(())
    }

    /// Handles the result of a repeated write.
    fn given<T: Weighs>(
        &self,
        kind: &Numbered<T>,
        again: Again<T>,
        given: Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let Err(error) = given else {
            kind.again.fetch_add(again.rows().len(), Ordering::Relaxed);
            return Ok(());
        };
        let given_up = kind.commits().put_back(again);
        if given_up > 0 {
            let at = &self.inner.at;
            self.inner.notes.add(format!(
                "the store `{at}` lost {given_up} rows that it does not take once more: {error}"
            ));
        }
        Err(error)
    }

    /// Increments a number without rows, in order to read the number of the server.
    async fn ask_for_number<T: Weighs>(&self, kind: &Numbered<T>) -> Result<(), StoreError> {
        if !kind.commits().is_in_need() {
            return Ok(());
        }
        let numbering = kind.begin().await;
        let sql = format!("WITH {} SELECT version FROM before", numbering.sql());
        let rows = self.query_on(&self.inner.writing, &sql, &[]).await?;
        kind.done(&numbering, self.before(rows.first())?, Vec::new());
        Ok(())
    }

    /// The old number in the result of a statement that returns only that.
    pub(super) fn before(&self, row: Option<&Row>) -> Result<Option<i64>, StoreError> {
        row.map(|row| get(row, 0, &self.inner.at)).transpose()
    }

    /// Deletes the numbers of ended processes.
    pub(super) async fn prune_numbers(&self) -> Result<(), StoreError> {
        let sql = format!(
            "DELETE FROM ledger WHERE tenant = '' AND name LIKE '{NAMES}%' \
             AND used_at < (extract(epoch FROM now()) * 1000)::int8 - {UNUSED}"
        );
        self.query_on(&self.inner.writing, &sql, &[]).await.map(drop)
    }
}

async fn see_to_it(inner: Weak<super::Inner>) {
    loop {
        let Some(inner) = inner.upgrade() else { return };
        let postgres = Postgres { inner };
        let given = postgres.give_again().await;
        let lately = &postgres.inner.lately;
        if given.is_ok() {
            lately.is_seen_to.store(false, Ordering::Release);
            // Commits that became doubtful meanwhile started no task, because this one was running.
            if !lately.is_in_need() || lately.is_seen_to.swap(true, Ordering::AcqRel) {
                return;
            }
        }
        drop(postgres);
        sleep(AGAIN).await;
    }
}
