//! Joins concurrent appends of records into one write.

use super::Postgres;
use crate::error::StoreError;
use crate::row::NewRecord;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// The most records in one commit. Only a single larger append exceeds it.
const BATCH: usize = 256;

/// The pending appends. The first append starts a task that writes for all.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_writing: bool,
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    records: Vec<Arc<NewRecord>>,
    reply: oneshot::Sender<Result<Vec<bool>, StoreError>>,
}

impl Queue {
    /// Writes records. Returns for each whether it is stored.
    pub(super) async fn add(
        &self,
        postgres: &Postgres,
        records: Vec<Arc<NewRecord>>,
    ) -> Result<Vec<bool>, StoreError> {
        let (reply, written) = oneshot::channel();
        let is_first = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.waiting.push(Waiting { records, reply });
            !mem::replace(&mut state.is_writing, true)
        };
        if is_first {
            // A task of its own, because a caller may be cancelled while others rely on the write.
            tokio::spawn(write_all(postgres.clone()));
        }
        written.await.map_err(|_| StoreError::Closed)?
    }

    /// Takes the next appends. Without any, the writer ends.
    fn next(&self) -> Option<Vec<Waiting>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut records = 0;
        let batch = state.waiting.iter().take_while(|waiting| {
            let is_first = records == 0;
            records += waiting.records.len();
            is_first || records <= BATCH
        });
        let count = batch.count();
        state.is_writing = count > 0;
        (count > 0).then(|| state.waiting.drain(..count).collect())
    }
}

async fn write_all(postgres: Postgres) {
    while let Some(batch) = postgres.inner.appends.next() {
        let lengths: Vec<usize> = batch.iter().map(|waiting| waiting.records.len()).collect();
        let (records, replies): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|waiting| (waiting.records, waiting.reply)).unzip();
        let written = postgres.write_records(&records.concat()).await;
        let mut rest = written.as_deref().unwrap_or_default();
        for (length, reply) in lengths.into_iter().zip(replies) {
            let (own, others) = rest.split_at_checked(length).unwrap_or_default();
            rest = others;
            // The caller may have stopped waiting.
            drop(reply.send(written.as_ref().map(|_| own.to_vec()).map_err(Clone::clone)));
        }
    }
}
