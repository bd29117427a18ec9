//! Appends that wait for the database together are written together.

use super::Postgres;
use crate::error::StoreError;
use crate::row::NewRecord;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// How many records one commit takes, unless one append alone has more.
const BATCH: usize = 256;

/// What waits to be written. Whoever finds nobody writing writes for all.
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
    /// Writes records; says of each whether it is there now.
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
            // A task of its own: whoever waits may go away, and the others still count on it.
            tokio::spawn(write_all(postgres.clone()));
        }
        written.await.map_err(|_| StoreError::Closed)?
    }

    /// What is to be written next; when nothing waits, nobody writes any more.
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
            // Whoever does not wait any more does not want to know.
            drop(reply.send(written.as_ref().map(|_| own.to_vec()).map_err(Clone::clone)));
        }
    }
}
