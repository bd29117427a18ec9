//! Records that can wait.
//!
//! Where nothing was thought, and the model wants nothing back, a record only says where others hang. Those of some
//! milliseconds are written together, by nobody who waits: a commit for each costs a good part of what its answer does.
//! This process finds them at once (`unwritten.rs`), others soon; the sudden end of this one loses them.

use crate::error::StoreError;
use crate::unwritten::Held;
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

/// Is told if records could not be kept.
pub type Lost = Box<dyn FnOnce(&StoreError) + Send>;

/// The records of one answer.
pub(crate) struct Answer {
    pub(crate) records: Held,
    pub(crate) tenant: Tenant,
    pub(crate) lost: Lost,
}

/// What waits to be written.
#[derive(Default)]
pub(crate) struct Waiting {
    answers: Mutex<Vec<Answer>>,
    /// Whoever writes holds it.
    turn: tokio::sync::Mutex<()>,
}

impl Waiting {
    fn answers(&self) -> MutexGuard<'_, Vec<Answer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only one writes at a time.
    pub(crate) async fn turn(&self) -> Turn<'_, ()> {
        self.turn.lock().await
    }

    /// Says how many wait now; gives back what finds no room.
    pub(crate) fn add(&self, answer: Answer) -> Result<usize, Answer> {
        let mut answers = self.answers();
        if answers.len() >= LIMIT {
            return Err(answer);
        }
        answers.push(answer);
        Ok(answers.len())
    }

    /// All that wait now.
    pub(crate) fn take(&self) -> Vec<Answer> {
        std::mem::take(&mut self.answers())
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("answers", &self.answers().len()).finish_non_exhaustive()
    }
}
