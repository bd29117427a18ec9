//! Commits the pending records, and the records that earlier processes left in their journals.

use crate::backend::Backend;
use crate::error::StoreError;
use crate::journal::{Journal, Queued, Spot};
use crate::refusals::Goods;
use crate::row::NewRecord;
use crate::store::Store;
use crate::waiting::{Answer, SOON};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

/// Limits of the pause between two tries, which doubles each time.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// How long the opening of a store waits for the commit of earlier journals. After that the commit goes on in the
/// background.
const PATIENCE: Duration = Duration::from_secs(2);
/// The time in which another gateway commits the records that it accepted before it saw this one.
const COME: Duration = Duration::from_millis(30);

/// The records of an answer on their way into the journal.
pub(crate) struct HandedOver {
    pub(crate) store: Store,
    pub(crate) answer: Answer,
}

struct Records {
    all: Vec<Arc<NewRecord>>,
    counts: Vec<usize>,
}

impl Records {
    fn of(answers: &[Answer]) -> Self {
        let records = answers.iter().map(|answer| &answer.records.records);
        Records {
            counts: records.clone().map(Vec::len).collect(),
            all: records.flatten().cloned().collect(),
        }
    }
}

impl Queued for HandedOver {
    type Row = NewRecord;

    const IS_LOOKED_UP: bool = true;

    fn rows(&self) -> &[Arc<NewRecord>] {
        &self.answer.records.records
    }

    fn queue(self, spot: Spot) {
        self.store.queue(Answer { spot: Some(spot), ..self.answer });
    }
}

/// The records that the database has not committed yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes of pending records in the journal and in memory.
    pub bytes: u64,
    /// Answers that waited for a commit since the process began, because the journal could not be written, was full,
    /// or got too large a record.
    pub fallbacks: u64,
    /// Whether the database has refused all writes for more than a moment: its disk is full, another process locks
    /// it, or a part is damaged. Reads may still work.
    pub is_refused: bool,
}

impl Store {
    /// The records that the database has not committed yet.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            bytes: self.waiting().bytes() as u64,
            fallbacks: self.journal().map_or(0, Journal::fallbacks),
            is_refused: self.refusals().last(),
        }
    }

    pub(crate) fn queue(&self, answer: Answer) {
        if self.waiting().add(answer) {
            tokio::spawn(see_to_all(self.clone()));
        }
    }

    /// Commits the [pending records](crate::Vault::hand_over), as far as that is possible now. Call it at the end of
    /// a process.
    pub async fn flush(&self) {
        let store = self.clone();
        // Spawned, so that the commit completes even if the caller goes away.
        let all = tokio::spawn(async move { while let Ok(true) = store.take().await {} });
        drop(all.await);
    }

    /// Commits pending rows, and moves the log of a file into the file, so that a copy of the file alone is complete.
    /// Call it at the end of a process. While another process reads, the log stays.
    pub async fn close(&self) {
        self.flush().await;
        self.flush_traces().await;
        self.spool_again().await;
        self.spool().ends_indexing().await;
        self.tell_left();
        if let Some(journal) = self.journal() {
            journal.close().await;
        }
        self.spool().close().await;
        self.slices().close().await;
        if let Backend::Sqlite(file) = self.backend() {
            // A failure loses no data: the next process finds the log.
            drop(file.forget_log().await);
        }
    }

    /// Commits the next batch. Returns `false` if no record is pending.
    async fn take(&self) -> Result<bool, StoreError> {
        let _turn = self.waiting().turn().await;
        let batch = self.waiting().take();
        if batch.is_empty() {
            return Ok(false);
        }
        match self.write(Records::of(&batch)).await {
            Ok(kept) => {
                self.took(batch.into_iter().zip(kept.into_iter().map(Ok)).collect()).await;
                Ok(true)
            }
            Err(error) => self.take_each(batch, error).await,
        }
    }

    /// Returns for each answer whether all its records were stored. They are not if its tenant was erased meanwhile.
    async fn write(&self, answers: Records) -> Result<Vec<bool>, StoreError> {
        let mut kept = self.add_records(answers.all).await?.into_iter();
        // Consumes all results of an answer, so that the next answer begins at its own.
        let has_all = |count| kept.by_ref().take(count).filter(|is_kept| !is_kept).count() == 0;
        Ok(answers.counts.into_iter().map(has_all).collect())
    }

    /// The only way for records into the database. Returns for each whether it was stored.
    pub(crate) async fn add_records(
        &self,
        records: Vec<Arc<NewRecord>>,
    ) -> Result<Vec<bool>, StoreError> {
        let began = Instant::now();
        let added = self.backend().add_records(records).await;
        self.tried(Goods::Records, began, &added);
        added
    }

    /// Commits the answers of a failed batch one by one. If the store accepts some, an answer that fails alone is
    /// lost. If it accepts none, or after an error that [stops all writes](StoreError::stops_all), the answers in the
    /// journal stay pending.
    async fn take_each(&self, batch: Vec<Answer>, error: StoreError) -> Result<bool, StoreError> {
        let mut stop = error.stops_all().then(|| error.clone());
        let mut each = Vec::with_capacity(batch.len());
        for answer in batch {
            let outcome = match &stop {
                Some(error) => Err(error.clone()),
                None => self.write(Records::of(std::slice::from_ref(&answer))).await,
            };
            stop = stop.or_else(|| outcome.as_ref().err().filter(|it| it.stops_all()).cloned());
            each.push((answer, outcome.map(|kept| kept.into_iter().all(|is_kept| is_kept))));
        }
        let takes_some = each.iter().any(|(_, outcome)| outcome.is_ok());
        let waits = |error: &StoreError| !takes_some || error.stops_all();
        let (wait, decided): (Vec<_>, Vec<_>) = each.into_iter().partition(|(answer, outcome)| {
            answer.spot.is_some() && outcome.as_ref().is_err_and(waits)
        });
        self.waiting().put_back(wait.into_iter().map(|(answer, _)| answer).collect());
        self.took(decided).await;
        match takes_some {
            true => Ok(true),
            false => Err(stop.unwrap_or(error)),
        }
    }

    async fn took(&self, answers: Vec<(Answer, Result<bool, StoreError>)>) {
        let mut spots = Vec::with_capacity(answers.len());
        for (answer, outcome) in answers {
            let Answer { tenant, lost, spot, .. } = answer;
            spots.extend(spot);
            match (outcome, tenant) {
                (Ok(true), _) | (Ok(false), None) => {}
                (Ok(false), Some(tenant)) => {
                    self.forget(&tenant);
                    lost(&StoreError::Erased(tenant));
                }
                (Err(error), _) => lost(&error),
            }
        }
        if let Some(journal) = self.journal().filter(|_| !spots.is_empty()) {
            journal.taken(spots).await;
        }
    }

    /// Makes this gateway visible to others on the file, and waits until their earlier records are in the database.
    pub(crate) async fn appear(&self) {
        if let Some(journal) = self.journal()
            && !journal.appear().await
        {
            sleep(COME).await;
        }
    }

    /// Takes over the journals of ended processes. Look-ups find their records at once. Returns when they are
    /// committed, or cannot be committed now.
    pub(crate) async fn take_over(&self) {
        while let Some(journal) = self.journal().cloned()
            && self.take_one_over(journal).await
        {}
        self.take_traces_over().await;
        self.take_slices_over().await;
        if let Some(files) = self.spill_files().cloned() {
            drop(spawn_blocking(move || files.sweep()).await);
        }
    }

    /// Takes over one journal. Returns whether there may be more.
    async fn take_one_over(&self, journal: Journal) -> bool {
        let room = self.waiting().left() as u64;
        let left = spawn_blocking(move || journal.left_behind::<NewRecord>(room)).await;
        let Some(left) = left.ok().flatten() else { return false };
        left.said.into_iter().for_each(|said| self.note(said));
        for (record, spot) in left.rows {
            let room = self.waiting().take_room(record.size().try_into().unwrap_or_default());
            let records = self.unwritten().hold(vec![record]);
            let lost = Box::new(|_: &StoreError| {});
            self.queue(Answer { records, tenant: None, lost, spot: Some(spot), _room: room });
        }
        timeout(PATIENCE, self.flush()).await.is_ok() && self.waiting().is_empty()
    }
}

impl Store {
    /// Registers the result of a write that began at this time. A lasting refusal is reported once, until all writes
    /// succeed again.
    pub(crate) fn tried<T>(&self, goods: Goods, began: Instant, outcome: &Result<T, StoreError>) {
        let is_news = self.refusals().see(goods, began, outcome.is_ok());
        let (Err(why), true) = (outcome, is_news) else { return };
        let places = [Goods::Records, Goods::Traces].map(|goods| self.place_of(goods));
        let places = places.into_iter().flatten().collect::<Vec<_>>().join(" and ");
        let waits = match places.is_empty() {
            true => "nothing is committed".to_owned(),
            false => {
                format!("what it does not take waits in {places}, as far as it was acknowledged")
            }
        };
        self.note(format!("{why}; until then {waits}"));
    }

    /// Reports rows that are only in journals at the end of a process. The next process commits them.
    pub(crate) fn tell_left(&self) {
        let traces = self.spool().len().saturating_sub(self.traces_in_memory());
        for (goods, count) in [(Goods::Records, self.waiting().written()), (Goods::Traces, traces)]
        {
            if let Some(place) = self.place_of(goods).filter(|_| count > 0) {
                self.note(format!(
                    "{count} {} wait in {place}, because the store `{}` did not take them; keep these files: they are \
                     taken as soon as it is opened and can be written",
                    goods.as_str(),
                    self.at()
                ));
            }
        }
    }

    /// The file names of the journal for these rows.
    fn place_of(&self, goods: Goods) -> Option<String> {
        let journal = match goods {
            Goods::Records => self.journal(),
            Goods::Traces => self.spool().journal(),
        };
        journal.map(|journal| format!("`{}`", journal.names()))
    }
}

async fn see_to_all(store: Store) {
    let [mut pause, longest] = PAUSES;
    loop {
        store.waiting().gathered(SOON).await;
        if store.take().await.is_err() {
            sleep(pause).await;
            pause = (pause * 2).min(longest);
            continue;
        }
        [pause, _] = PAUSES;
        if store.waiting().is_done() {
            return;
        }
    }
}
