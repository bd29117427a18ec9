//! Records that can wait.
//!
//! Where nothing was thought, and the model wants nothing back, a record only says where others hang. Those of some
//! milliseconds are written together, by nobody who waits: a commit for each costs a good part of what its answer does.
//! This process finds them at once, others soon; the sudden end of this one loses them.

use crate::error::StoreError;
use crate::row::NewRecord;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use tokio::sync::MutexGuard as Turn;

/// How long they wait for more.
pub(crate) const SOON: Duration = Duration::from_millis(10);
/// How many answers are written at once without waiting for more.
pub(crate) const MANY: usize = 256;
/// How many may wait for a store that is slow; beyond that they are lost.
const LIMIT: usize = 4_096;
/// How long a look-up waits for them; then it finds what is written.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

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

    /// Only one writes at a time.
    pub(crate) async fn turn(&self) -> Turn<'_, ()> {
        self.turn.lock().await
    }

    /// Says how many wait now; gives back what finds no room.
    pub(crate) fn add(&self, answer: Answer) -> Result<usize, Answer> {
        let mut state = self.state();
        if state.answers.len() >= LIMIT {
            return Err(answer);
        }
        state.answers.push(answer);
        Ok(state.answers.len())
    }

    /// All that wait now; they are being written until it is asked again.
    pub(crate) fn take(&self) -> Vec<Answer> {
        let mut state = self.state();
        let answers = std::mem::take(&mut state.answers);
        state.is_writing = !answers.is_empty();
        answers
    }

    /// Nothing waits, and nothing is being written.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state();
        state.answers.is_empty() && !state.is_writing
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("is_idle", &self.is_idle()).finish_non_exhaustive()
    }
}
