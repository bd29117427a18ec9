//! Counts the committed traces that are not indexed and summed yet.
//!
//! Indexing one trace costs almost as much as indexing a hundred, because each step changes the same pages. So traces
//! wait for others, for some seconds at most.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The number of traces that is indexed without waiting for more.
const MANY: u64 = 256;
/// The time that the first trace waits for others.
const WAITS: Duration = Duration::from_secs(2);
/// The delay of the index after which commits wait for it.
const LATE: Duration = Duration::from_secs(20);

/// The traces that this process committed and did not index yet, each commit with its time.
#[derive(Debug, Default)]
pub(crate) struct Unindexed {
    commits: VecDeque<(Instant, u64)>,
}

impl Unindexed {
    /// Adds traces that were committed now.
    pub(crate) fn add(&mut self, count: u64) {
        self.commits.push_back((Instant::now(), count));
    }

    /// Subtracts indexed traces. 0 clears the count, because no more can be indexed now.
    pub(crate) fn take(&mut self, mut count: u64) {
        if count == 0 {
            self.commits.clear();
        }
        while let Some((_, first)) = self.commits.front_mut() {
            if *first > count {
                *first -= count;
                return;
            }
            count -= *first;
            self.commits.pop_front();
        }
    }

    pub(crate) fn is_any(&self) -> bool {
        !self.commits.is_empty()
    }

    /// Whether it is time to index the next traces.
    pub(crate) fn is_due(&self) -> bool {
        self.is_older(WAITS) || self.commits.iter().map(|(_, count)| count).sum::<u64>() >= MANY
    }

    /// Whether the index is too far behind.
    pub(crate) fn is_late(&self) -> bool {
        self.is_older(LATE)
    }

    fn is_older(&self, than: Duration) -> bool {
        self.commits.front().is_some_and(|(at, _)| at.elapsed() >= than)
    }
}
