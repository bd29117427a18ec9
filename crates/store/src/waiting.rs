//! Records that can wait.
//!
//! Where nothing was thought, and the model wants nothing back, a record only says where others hang. In a commit of its
//! own each would cost more than all else that is done with its answer, so those of some milliseconds are written
//! together, by nobody who waits. This process finds them at once, others soon; the sudden end of this one loses them.

use crate::error::StoreError;
use crate::row::NewRecord;
use crate::store::Store;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use tokio::time::{sleep, timeout};

/// How long they wait for more.
const SOON: Duration = Duration::from_millis(10);
/// How many answers are written at once without waiting for more.
const MANY: usize = 256;
/// How many may wait for a store that is slow; beyond that they are lost.
const LIMIT: usize = 4_096;
/// How long a look-up waits for them; then it finds what is written.
const PATIENCE: Duration = Duration::from_millis(20);

/// Is told if records could not be kept.
pub type Lost = Box<dyn FnOnce(&StoreError) + Send>;

/// The records of one answer.
pub(crate) struct Answer {
    pub(crate) records: Vec<NewRecord>,
    pub(crate) tenant: Tenant,
    pub(crate) lost: Lost,
}

/// What waits to be written.
#[derive(Default)]
pub(crate) struct Waiting {
    state: Mutex<State>,
    /// Whoever writes holds it.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    answers: Vec<Answer>,
    is_writing: bool,
}

impl Waiting {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says how many wait now; gives back what finds no room.
    fn add(&self, answer: Answer) -> Result<usize, Answer> {
        let mut state = self.state();
        if state.answers.len() >= LIMIT {
            return Err(answer);
        }
        state.answers.push(answer);
        Ok(state.answers.len())
    }

    fn take(&self) -> Vec<Answer> {
        let mut state = self.state();
        let answers = std::mem::take(&mut state.answers);
        state.is_writing = !answers.is_empty();
        answers
    }

    fn is_idle(&self) -> bool {
        let state = self.state();
        state.answers.is_empty() && !state.is_writing
    }
}

impl Store {
    /// Writes these soon.
    pub(crate) fn write_soon(&self, answer: Answer) {
        let wait = match self.waiting().add(answer) {
            Ok(1) => SOON,
            Ok(MANY) => Duration::ZERO,
            Ok(_) => return,
            Err(Answer { lost, .. }) => return lost(&StoreError::Busy(self.at().to_owned())),
        };
        let store = self.clone();
        tokio::spawn(async move {
            sleep(wait).await;
            store.flush().await;
        });
    }

    /// Writes what [waits to be written](crate::Vault::append_soon), and comes back when that is done: for the end of a
    /// process.
    pub async fn flush(&self) {
        let _turn = self.waiting().turn.lock().await;
        loop {
            let mut answers = self.waiting().take();
            if answers.is_empty() {
                return;
            }
            let mut records = Vec::new();
            let counts: Vec<usize> = answers.iter().map(|answer| answer.records.len()).collect();
            answers.iter_mut().for_each(|answer| records.append(&mut answer.records));
            let mut kept = match self.backend().add_records(records).await {
                Ok(kept) => kept.into_iter(),
                Err(error) => {
                    answers.into_iter().for_each(|answer| (answer.lost)(&error));
                    continue;
                }
            };
            for (Answer { tenant, lost, .. }, count) in answers.into_iter().zip(counts) {
                // Its tenant was erased meanwhile.
                if kept.by_ref().take(count).filter(|is_kept| !is_kept).count() > 0 {
                    self.forget(&tenant);
                    lost(&StoreError::Erased(tenant));
                }
            }
        }
    }

    /// Whoever reads now finds what waits, unless that takes long.
    pub(crate) async fn settle(&self) {
        if self.waiting().is_idle() {
            return;
        }
        let store = self.clone();
        // What is being written is written, whoever goes away.
        let writing = tokio::spawn(async move { store.flush().await });
        drop(timeout(PATIENCE, writing).await);
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("is_idle", &self.is_idle()).finish_non_exhaustive()
    }
}
