//! Writes queued traces to the database.
//!
//! The maker of a trace does not wait for its commit. The trace goes to the [queue](crate::spool), and the database
//! receives it some milliseconds later, together with others. Its id makes sure that it is stored only once.

use crate::error::StoreError;
use crate::journal::{Holds, Journal, Queued, Spot};
use crate::master::{hex, private_folder};
use crate::refusals::Goods;
use crate::row::TraceRow;
use crate::spool::{Batch, LostTrace};
use crate::store::Store;
use crate::waiting::Room;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

/// The most bytes of traces in one entry of the queue. Only a single larger trace exceeds it.
const LARGE: usize = 1 << 20;
/// The pause between two attempts grows from the first value to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// The longest time that opening a store waits for the traces of ended processes.
const PATIENCE: Duration = Duration::from_secs(1);
/// The most traces that one step adds to the index of words.
pub(crate) const INDEXED: u32 = 256;

/// Traces to append to the journal.
struct HandedOver {
    store: Store,
    batch: Batch,
}

impl Queued for HandedOver {
    type Row = TraceRow;

    // No request looks up a trace that was just made.
    const IS_LOOKED_UP: bool = false;

    fn rows(&self) -> &[Arc<TraceRow>] {
        &self.batch.rows
    }

    fn queue(self, spot: Spot) {
        self.store.queue_traces(Batch { spot: Some(spot), ..self.batch });
    }
}

impl Store {
    /// Queues traces as far as there is room, and returns the refused ones.
    pub(crate) async fn hand_over_traces(
        &self,
        rows: Vec<TraceRow>,
        lost: Option<&LostTrace>,
    ) -> Vec<TraceRow> {
        let mut refused = Vec::new();
        let mut rows = rows.into_iter().peekable();
        while let Some(first) = rows.next() {
            let mut size = first.size();
            let mut batch = vec![first];
            while let Some(row) = rows.next_if(|row| size + row.size() <= LARGE) {
                size += row.size();
                batch.push(row);
            }
            match self.spool().waiting.room(size) {
                Some(room) => self.hand_over_batch(batch, room, lost).await,
                None => refused.extend(batch),
            }
        }
        refused
    }

    async fn hand_over_batch(&self, rows: Vec<TraceRow>, room: Room, lost: Option<&LostTrace>) {
        let rows = rows.into_iter().map(Arc::new).collect();
        let batch = Batch { rows, lost: lost.cloned(), spot: None, _room: room };
        let Some(journal) = self.spool().journal() else { return self.queue_traces(batch) };
        let handed_over = HandedOver { store: self.clone(), batch };
        if let Err(HandedOver { batch, .. }) = journal.append_beside(handed_over).await {
            journal.said().into_iter().for_each(|said| self.note(said));
            self.queue_traces(batch);
        }
    }

    /// Keeps queued traces and unreported budget amounts of a database server in journals in this folder, so that the
    /// end of this process does not lose them. Sends the entries that ended processes left there to the database. A
    /// store in a file has its journals next to it.
    pub async fn spool_in(&self, folder: &Path) {
        if self.spool().journal().is_some() {
            return;
        }
        // Several stores may share a folder.
        let name = blake3::keyed_hash(self.install_key().bytes(), b"the spool of a store");
        let name = name.as_bytes().first_chunk::<8>().map(|name| hex(name)).unwrap_or_default();
        let at = folder.join(format!("server-{name}"));
        let folder = folder.to_owned();
        // If this fails, the first write to the journal reports the error.
        drop(spawn_blocking(move || private_folder(&folder)).await);
        self.spool().keep_in(Journal::new(&at, self.install_key(), Holds::Traces));
        self.slices().keep_in(Journal::new(&at, self.install_key(), Holds::Slices));
        self.take_traces_over().await;
        self.take_slices_over().await;
    }

    /// Adds traces to the queue and starts its writer if necessary.
    fn queue_traces(&self, batch: Batch) {
        if self.spool().add(batch)
            // Without a runtime the next process writes the traces.
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(see_to_all(self.clone()));
        }
    }

    /// Writes traces that wait in memory into the journal, once it can be written again.
    pub(crate) async fn spool_again(&self) {
        let spool = self.spool();
        let Some(journal) = spool.journal() else { return };
        // The turn keeps the writer from taking these traces meanwhile.
        let _turn = spool.waiting.turn().await;
        let mut in_memory = spool.waiting.take_those(|batch| batch.spot.is_none()).into_iter();
        while let Some(batch) = in_memory.next() {
            // The queue must have the order of the journal, so the batch goes to its end.
            let handed_over = HandedOver { store: self.clone(), batch };
            if let Err(HandedOver { batch, .. }) = journal.append_beside(handed_over).await {
                let left = std::iter::once(batch).chain(in_memory).collect();
                return spool.waiting.put_back(left);
            }
        }
    }

    /// Number of traces that are only in memory. The end of this process loses them.
    #[must_use]
    pub fn traces_in_memory(&self) -> usize {
        self.spool().in_memory()
    }

    /// Writes all pending traces. Returns when they are stored, or when the store fails.
    pub(crate) async fn flush_traces(&self) {
        let store = self.clone();
        // A task of its own, so that a cancelled caller does not interrupt a commit.
        let all = tokio::spawn(async move { while let Ok(true) = store.take_traces().await {} });
        drop(all.await);
    }

    /// Writes the next batches to the database. Returns `false` if the queue is empty.
    async fn take_traces(&self) -> Result<bool, StoreError> {
        let spool = self.spool();
        let _turn = spool.waiting.turn().await;
        let batches = spool.waiting.take();
        if batches.is_empty() {
            return Ok(false);
        }
        let rows: Vec<_> = batches.iter().flat_map(|batch| &batch.rows).cloned().collect();
        let count = rows.len() as u64;
        match self.add_traces(rows).await {
            Ok(()) => {}
            Err(error) => match self.take_each_trace(&batches, error).await {
                Ok(()) => {}
                Err(error) => {
                    spool.waiting.put_back(batches);
                    return Err(error);
                }
            },
        }
        spool.unindexed().add(count);
        spool.end(batches).await;
        Ok(true)
    }

    /// Indexes the next traces. Waits while a batch is written, and does nothing once the queue is closing.
    async fn index_next(&self) {
        let spool = self.spool();
        let _turn = spool.waiting.turn().await;
        let indexed = match spool.is_closing() {
            true => Ok(0),
            false => self.backend().index_traces(INDEXED).await,
        };
        match &indexed {
            Ok(_) => spool.indexes(),
            // If the whole store fails, the writer of traces reports it.
            Err(error) if !error.is_everybodys() && spool.fails_to_index() => {
                self.note(format!("new traces are not found by a search, nor summed up: {error}"));
            }
            Err(_) => {}
        }
        // If indexing failed, the next call indexes these traces too.
        spool.unindexed().take(indexed.unwrap_or_default());
    }

    /// Writes traces to the database.
    async fn add_traces(&self, rows: Vec<Arc<TraceRow>>) -> Result<(), StoreError> {
        let began = Instant::now();
        let added = self.backend().add_traces(rows).await;
        self.tried(Goods::Traces, began, &added);
        added
    }

    /// Writes the traces one by one after a batch failed. If the store rejects one trace but accepts others, that
    /// trace is dropped. If the store accepts none, or [writes must stop](StoreError::stops_all), all traces stay in
    /// the queue.
    async fn take_each_trace(
        &self,
        batches: &[Batch],
        error: StoreError,
    ) -> Result<(), StoreError> {
        // If the store does not answer a read either, single writes are pointless.
        if error.stops_all() || self.backend().install().await.is_err() {
            return Err(error);
        }
        let each = |it: &'_ Batch| {
            let tell = it.lost.clone();
            it.rows.iter().map(|row| (Arc::clone(row), tell.clone())).collect::<Vec<_>>()
        };
        let all: Vec<_> = batches.iter().flat_map(each).collect();
        let count = all.len();
        let refused = self.refused(all).await?;
        if refused.len() == count {
            return Err(error);
        }
        // The cause of a refusal may be gone since the store accepted another trace, so try once more.
        for (row, tell) in self.refused(refused).await? {
            match tell {
                Some(tell) => tell(&row.tenant, &row.id),
                None => self.note(format!("the store does not take the trace `{}`", row.id)),
            }
        }
        Ok(())
    }

    /// Writes each trace by itself and returns the rejected ones.
    async fn refused(&self, rows: Vec<ToTell>) -> Result<Vec<ToTell>, StoreError> {
        let mut refused = Vec::new();
        for (row, tell) in rows {
            match self.add_traces(vec![Arc::clone(&row)]).await {
                Ok(()) => {}
                Err(error) if error.stops_all() => return Err(error),
                Err(_) => refused.push((row, tell)),
            }
        }
        Ok(refused)
    }

    /// Queues the traces that ended processes left in their journals. Returns when the database has them, or refuses
    /// them for now.
    pub(crate) async fn take_traces_over(&self) {
        if let Some(journal) = self.spool().journal() {
            self.take_traces_of(journal).await;
        }
    }

    /// Queues the traces that ended processes left next to this journal.
    pub(crate) async fn take_traces_of(&self, journal: &Journal) {
        let mut is_any = false;
        loop {
            let (journal, room) = (journal.clone(), self.spool().waiting.left() as u64);
            let left = spawn_blocking(move || journal.left_behind::<TraceRow>(room)).await;
            let Some(left) = left.ok().flatten() else { break };
            left.said.into_iter().for_each(|said| self.note(said));
            for (row, spot) in left.rows {
                let room = self.spool().waiting.take_room(row.size());
                let (rows, spot) = (vec![Arc::new(row)], Some(spot));
                self.queue_traces(Batch { rows, lost: None, spot, _room: room });
                is_any = true;
            }
        }
        // If records are still pending, the store takes no traces either. The writer sends them later.
        if is_any && self.waiting().bytes() == 0 {
            drop(timeout(PATIENCE, self.flush_traces()).await);
        }
    }
}

/// A trace, and the callback for its loss.
type ToTell = (Arc<TraceRow>, Option<LostTrace>);

async fn see_to_all(store: Store) {
    let [mut pause, longest] = PAUSES;
    let spool = store.spool();
    loop {
        spool.gathered().await;
        if store.take_traces().await.is_err() {
            store.spool_again().await;
            sleep(pause).await;
            pause = (pause * 2).min(longest);
            continue;
        }
        [pause, _] = PAUSES;
        // A commit that is due goes first, until the index is too far behind.
        while spool.unindexed().is_due() {
            store.index_next().await;
            if spool.waiting.has_enough() && !spool.unindexed().is_late() {
                break;
            }
        }
        if !spool.unindexed().is_any() && spool.waiting.is_done() {
            return;
        }
    }
}
