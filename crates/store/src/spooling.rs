//! How traces come into the database.
//!
//! Whoever makes a trace does not wait for its commit: it is [spooled](crate::spool), and the database takes it some
//! milliseconds later, with others. A trace is taken once however often it is met, because of its id.

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

/// How many bytes of traces stand in one entry of the queue, unless one alone has more.
const LARGE: usize = 1 << 20;
/// The pauses between two tries grow from the first of these to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// How long whoever opens a store waits until it has taken what was left behind.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many traces are read for the index of words at once.
pub(crate) const INDEXED: u32 = 256;

/// Traces on their way into the journal.
struct HandedOver {
    store: Store,
    batch: Batch,
}

impl Queued for HandedOver {
    type Row = TraceRow;

    // Nobody is asked for a trace next.
    const IS_LOOKED_UP: bool = false;

    fn rows(&self) -> &[Arc<TraceRow>] {
        &self.batch.rows
    }

    fn queue(self, spot: Spot) {
        self.store.queue_traces(Batch { spot: Some(spot), ..self.batch });
    }
}

impl Store {
    /// Takes traces, as far as there is room; gives back what found none.
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

    /// Traces that a server has not taken yet stand in a journal in this folder from now on, and what it has not heard of
    /// budgets in another one, where the end of this process does not lose them; what a process that ended left there is
    /// taken now. A store in a file has its journals beside it.
    pub async fn spool_in(&self, folder: &Path) {
        if self.spool().journal().is_some() {
            return;
        }
        // Several stores may have theirs in one folder.
        let name = blake3::keyed_hash(self.install_key().bytes(), b"the spool of a store");
        let name = name.as_bytes().first_chunk::<8>().map(|name| hex(name)).unwrap_or_default();
        let at = folder.join(format!("server-{name}"));
        let folder = folder.to_owned();
        // What cannot be made now is said when a trace is to be written there.
        drop(spawn_blocking(move || private_folder(&folder)).await);
        self.spool().keep_in(Journal::new(&at, self.install_key(), Holds::Traces));
        self.slices().keep_in(Journal::new(&at, self.install_key(), Holds::Slices));
        self.take_traces_over().await;
        self.take_slices_over().await;
    }

    /// The database takes them soon.
    fn queue_traces(&self, batch: Batch) {
        if self.spool().add(batch)
            // The end of a runtime leaves it to the next process.
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(see_to_all(self.clone()));
        }
    }

    /// What waits in memory goes into the journal, where that can be written again.
    pub(crate) async fn spool_again(&self) {
        let spool = self.spool();
        let Some(journal) = spool.journal() else { return };
        // Nobody takes what is on its way.
        let _turn = spool.waiting.turn().await;
        let mut in_memory = spool.waiting.take_those(|batch| batch.spot.is_none()).into_iter();
        while let Some(batch) = in_memory.next() {
            // What is written goes behind the others, as the journal has it.
            let handed_over = HandedOver { store: self.clone(), batch };
            if let Err(HandedOver { batch, .. }) = journal.append_beside(handed_over).await {
                let left = std::iter::once(batch).chain(in_memory).collect();
                return spool.waiting.put_back(left);
            }
        }
    }

    /// How many traces stand nowhere but in memory, so that the end of this process loses them.
    #[must_use]
    pub fn traces_in_memory(&self) -> usize {
        self.spool().in_memory()
    }

    /// Writes the traces that wait, and comes back when that is done, or cannot be done now.
    pub(crate) async fn flush_traces(&self) {
        let store = self.clone();
        // Whoever waits may go away, and what was begun comes to its end.
        let all = tokio::spawn(async move { while let Ok(true) = store.take_traces().await {} });
        drop(all.await);
    }

    /// The database takes what comes next. `false`: nothing waits.
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

    /// Indexes the next traces. Not while others are written, nor behind the end.
    async fn index_next(&self) {
        let spool = self.spool();
        let _turn = spool.waiting.turn().await;
        let indexed = match spool.is_closing() {
            true => Ok(0),
            false => self.backend().index_traces(INDEXED).await,
        };
        match &indexed {
            Ok(_) => spool.indexes(),
            // That the store stands still is told where it takes no traces.
            Err(error) if !error.is_everybodys() && spool.fails_to_index() => {
                self.note(format!("new traces are not found by a search, nor summed up: {error}"));
            }
            Err(_) => {}
        }
        // Traces that cannot be indexed now are indexed with the next ones.
        spool.unindexed().take(indexed.unwrap_or_default());
    }

    /// What waits comes into the database here.
    async fn add_traces(&self, rows: Vec<Arc<TraceRow>>) -> Result<(), StoreError> {
        let began = Instant::now();
        let added = self.backend().add_traces(rows).await;
        self.tried(Goods::Traces, began, &added);
        added
    }

    /// They could not be taken together. Where the store takes others, what it does not take by itself is lost; where it
    /// takes nothing, or [is to take nothing](StoreError::stops_all), all of it waits.
    async fn take_each_trace(
        &self,
        batches: &[Batch],
        error: StoreError,
    ) -> Result<(), StoreError> {
        // Whoever does not answer a question either is not asked for each.
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
        // What was refused before the store took one may have been refused for a reason that is gone by now.
        for (row, tell) in self.refused(refused).await? {
            match tell {
                Some(tell) => tell(&row.tenant, &row.id),
                None => self.note(format!("the store does not take the trace `{}`", row.id)),
            }
        }
        Ok(())
    }

    /// Those of these traces that the database does not take.
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

    /// Takes the traces that processes which ended left in their journals. Comes back when the database has them, or does
    /// not take them now.
    pub(crate) async fn take_traces_over(&self) {
        if let Some(journal) = self.spool().journal() {
            self.take_traces_of(journal).await;
        }
    }

    /// Takes those that such processes left in a journal like this.
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
        // Who does not take records now takes no traces. Later that is done beside everything else.
        if is_any && self.waiting().bytes() == 0 {
            drop(timeout(PATIENCE, self.flush_traces()).await);
        }
    }
}

/// A trace, and who is told if it is lost.
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
