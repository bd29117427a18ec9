//! Which conversations of the vault were used today, so that each is written down once a day.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// How many are remembered; beyond that some are written down again.
const REMEMBERED: usize = 100_000;

/// Which conversations were used today.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    day: i64,
    known: HashSet<i64>,
    /// Not written down yet.
    new: Vec<i64>,
}

impl Touched {
    /// These were used. Says whether somebody has to write that down soon who has not been told so yet.
    pub(crate) fn add(&self, threads: impl Iterator<Item = i64>, now: i64) -> bool {
        let mut state = self.state();
        if state.day != now / DAY || state.known.len() > REMEMBERED {
            state.day = now / DAY;
            state.known.clear();
        }
        let was_empty = state.new.is_empty();
        for thread in threads {
            if state.known.insert(thread) {
                state.new.push(thread);
            }
        }
        was_empty && !state.new.is_empty()
    }

    /// What is to be written down now.
    pub(crate) fn take(&self) -> Vec<i64> {
        std::mem::take(&mut self.state().new)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_written_down_once_a_day() {
        let touched = Touched::default();
        assert!(touched.add([1, 2, 1].into_iter(), DAY));
        assert!(!touched.add([3].into_iter(), DAY + 5), "somebody was told already");
        assert_eq!(touched.take(), [1, 2, 3]);
        assert!(!touched.add([1, 2, 3].into_iter(), 2 * DAY - 1));
        assert_eq!(touched.take(), []);
        assert!(touched.add([2].into_iter(), 2 * DAY), "the next day");
        assert_eq!(touched.take(), [2]);
    }
}
