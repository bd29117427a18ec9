//! What this process committed within the last minute, for a server that loses it.
//!
//! A server that fails over to a copy without the last commits tells nobody. So each commit of traces or records counts up
//! a number of this process's own, in the same transaction, and hears which number stood there before: a smaller one than
//! the last says that the commits behind it are gone, and these only are given once more. What was deleted before the
//! moment of the copy stays deleted, because its own commit was before that too.
//!
//! The numbers are rows of the table of ledgers, whose versions they are: a table of their own would be one that the role
//! of a gateway was not granted before its upgrade.

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

/// How many bytes of each are kept.
const TRACES: usize = 64 << 20;
const RECORDS: usize = 32 << 20;
/// So many traces are given once more at once. Records are given as they came: one may go on from the commit before.
const BATCH: usize = 256;
/// The pause before a server is asked again that did not answer.
const AGAIN: Duration = Duration::from_secs(1);
/// The pause between two looks for what is old.
const SWEEP: Duration = Duration::from_secs(10);
/// A row of a number whose process did not write for so long, in milliseconds, is of no use to anybody.
const UNUSED: i64 = 24 * 60 * 60 * 1000;
/// What the names of numbers begin with. The names of ledgers are digests.
const NAMES: &str = "committed:";

/// What this process committed last.
#[derive(Debug)]
pub(super) struct Lately {
    pub(super) traces: Numbered<TraceRow>,
    pub(super) records: Numbered<NewRecord>,
    /// Somebody sees to it that the server has all of it.
    is_seen_to: AtomicBool,
    /// Somebody takes out what is old.
    is_swept: AtomicBool,
}

/// Commits of one kind, each with its number.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    /// What the number is called on the server.
    name: String,
    /// One commit at a time, so that the numbers stand in their order.
    turn: tokio::sync::Mutex<()>,
    commits: Mutex<Commits<T>>,
    /// So many rows were given once more, which is not said yet.
    again: AtomicUsize,
}

/// A commit with its number. It is over when this goes.
pub(super) struct Numbering<'n> {
    name: &'n str,
    number: i64,
    _turn: Turn<'n, ()>,
}

/// What a row counts as.
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
    /// The parts of a statement that count up the number, and say as `before` which one was there.
    pub(super) fn sql(&self) -> String {
        let Numbering { name, number, .. } = self;
        // The time changes once an hour only, so that no index has to.
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

    /// The next commit, once the one before is over.
    pub(super) async fn begin(&self) -> Numbering<'_> {
        let turn = self.turn.lock().await;
        Numbering { name: &self.name, number: self.commits().begin(), _turn: turn }
    }

    /// These rows are committed; `before` is the number that the server had until then, if it had any.
    fn done(&self, numbering: &Numbering<'_>, before: Option<i64>, rows: Vec<Arc<T>>) {
        let bytes = rows.iter().map(|row| row.bytes()).sum();
        self.commits().done(numbering.number, before.unwrap_or_default(), rows, bytes);
    }

    /// What is to be given once more next, without anybody else held up meanwhile.
    fn next_lost(&self, most: usize) -> Option<Again<T>> {
        self.commits().next_lost(most)
    }

    /// Rows that were deleted do not come back.
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

    /// Takes out what is old; says whether anything is left.
    fn sweep(&self) -> bool {
        let now = Instant::now();
        let (mut traces, mut records) = (self.traces.commits(), self.records.commits());
        traces.drop_old(now);
        records.drop_old(now);
        !traces.is_empty() || !records.is_empty()
    }
}

impl Postgres {
    /// Rows were committed: `before` is the number that stood there, in the statement's own words.
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
                        // Who commits right now begins the next one; a minute of it may stay a little longer.
                        return inner.lately.is_swept.store(false, Ordering::Relaxed);
                    }
                }
            });
        }
    }

    /// The connection was lost, and the next one may lead to a server that lacks what was committed.
    pub(super) fn doubt(&self) {
        let lately = &self.inner.lately;
        let (traces, records) = (lately.traces.commits().doubt(), lately.records.commits().doubt());
        if traces || records {
            self.see_to_it();
        }
    }

    /// Somebody sees to it that the server has what it is to have.
    fn see_to_it(&self) {
        let lately = &self.inner.lately;
        if lately.is_in_need() && !lately.is_seen_to.swap(true, Ordering::AcqRel) {
            tokio::spawn(see_to_it(Arc::downgrade(&self.inner)));
        }
    }

    /// Asks which commits the server has, and gives it once more what it lost.
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

    /// What came of giving rows once more.
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

    /// Counts up a number without any rows, and so hears which one the server has.
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

    /// The number that a statement found, where it gives that one alone.
    pub(super) fn before(&self, row: Option<&Row>) -> Result<Option<i64>, StoreError> {
        row.map(|row| get(row, 0, &self.inner.at)).transpose()
    }

    /// Takes out the numbers of processes that ended.
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
            // What came into doubt meanwhile found somebody seeing to it.
            if !lately.is_in_need() || lately.is_seen_to.swap(true, Ordering::AcqRel) {
                return;
            }
        }
        drop(postgres);
        sleep(AGAIN).await;
    }
}
