//! The conversations of the vault that were used today, so that each use is stored once a day.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// The most conversations to remember. Beyond that, some uses are stored twice.
const REMEMBERED: usize = 100_000;

/// The conversations that were used today.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    day: i64,
    known: HashSet<i64>,
    /// Uses that are not stored yet.
    new: Vec<i64>,
}

impl Touched {
    /// Notes the use of conversations. Returns true if the caller has to schedule their storing.
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

    /// Takes the uses to store now.
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
