//! Commits of the last minute with their numbers: which of them a server lacks that was somewhere else before.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a commit is kept. While nobody knows whether the server has it, it is kept longer.
const AGE: Duration = Duration::from_secs(60);
/// How often rows are given once more that the server does not take, though it takes others.
const TRIES: usize = 5;

/// What this process committed last, in order.
#[derive(Debug)]
pub(super) struct Commits<T> {
    /// So many bytes are kept at most.
    limit: usize,
    /// The number of the last commit that was begun.
    begun: i64,
    /// That of the last one that the server is known to have had.
    done: i64,
    kept: VecDeque<Commit<T>>,
    /// What the server lost. It comes back in this order.
    lost: VecDeque<Commit<T>>,
    /// How many bytes both have.
    bytes: usize,
    /// The connection was lost, and the next one may lead to another server.
    is_in_doubt: bool,
}

#[derive(Debug)]
struct Commit<T> {
    number: i64,
    at: Instant,
    rows: Vec<Arc<T>>,
    bytes: usize,
    tries: usize,
}

/// What was lost and is to be given once more.
#[derive(Debug)]
pub(super) struct Again<T>(VecDeque<Commit<T>>);

impl<T> Again<T> {
    pub(super) fn rows(&self) -> Vec<Arc<T>> {
        self.0.iter().flat_map(|commit| &commit.rows).cloned().collect()
    }
}

impl<T> Commits<T> {
    pub(super) fn new(limit: usize) -> Self {
        Commits {
            limit,
            begun: 0,
            done: 0,
            kept: VecDeque::new(),
            lost: VecDeque::new(),
            bytes: 0,
            is_in_doubt: false,
        }
    }

    /// The number of the next commit. The one before is over, whatever came of it.
    pub(super) fn begin(&mut self) -> i64 {
        self.begun += 1;
        self.begun
    }

    /// A commit is done. The server had the number `before` until then: where that is smaller than one that it had
    /// already, it lost what is behind it.
    pub(super) fn done(&mut self, number: i64, before: i64, rows: Vec<Arc<T>>, bytes: usize) {
        if before < self.done {
            let is_there = |commit: &Commit<T>| commit.number <= before;
            let (there, gone) = std::mem::take(&mut self.kept).into_iter().partition(is_there);
            self.kept = there;
            self.lost.extend::<VecDeque<_>>(gone);
        }
        (self.done, self.is_in_doubt) = (number, false);
        let now = Instant::now();
        if !rows.is_empty() {
            self.bytes += bytes;
            self.kept.push_back(Commit { number, at: now, rows, bytes, tries: 0 });
        }
        self.drop_old(now);
    }

    /// Nobody knows any more what the server has. Says whether there is anything that it should have.
    pub(super) fn doubt(&mut self) -> bool {
        self.is_in_doubt |= !self.kept.is_empty();
        self.is_in_doubt
    }

    /// The server is to be asked, or lacks something.
    pub(super) fn is_in_need(&self) -> bool {
        self.is_in_doubt || !self.lost.is_empty()
    }

    /// Nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.lost.is_empty()
    }

    /// What is to be given once more next: the rows of one commit, or those of several that have no more than `most`.
    pub(super) fn next_lost(&mut self, most: usize) -> Option<Again<T>> {
        let mut rows = 0;
        let fits = |commit: &&Commit<T>| {
            let is_first = rows == 0;
            rows += commit.rows.len();
            is_first || rows <= most
        };
        let count = self.lost.iter().take_while(fits).count();
        let next: VecDeque<Commit<T>> = self.lost.drain(..count).collect();
        self.bytes -= next.iter().map(|commit| commit.bytes).sum::<usize>();
        (!next.is_empty()).then_some(Again(next))
    }

    /// It was not taken, and comes first next time. Gives how many rows are given up, because that was tried too often.
    pub(super) fn put_back(&mut self, again: Again<T>) -> usize {
        let mut given_up = 0;
        for mut commit in again.0.into_iter().rev() {
            commit.tries += 1;
            if commit.tries >= TRIES {
                given_up += commit.rows.len();
            } else {
                self.bytes += commit.bytes;
                self.lost.push_front(commit);
            }
        }
        given_up
    }

    /// Rows that were deleted do not come back.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&T) -> bool) {
        for commit in self.kept.iter_mut().chain(&mut self.lost) {
            commit.rows.retain(|row| !is_gone(row));
        }
    }

    /// Drops what is old, and beyond the limit what is oldest.
    pub(super) fn drop_old(&mut self, now: Instant) {
        while let Some(first) = self.kept.front() {
            let is_old = !self.is_in_doubt && now.duration_since(first.at) > AGE;
            if !is_old && self.bytes <= self.limit {
                break;
            }
            self.bytes -= first.bytes;
            self.kept.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commits of one row each, which the server took one after the other.
    fn five() -> Commits<i64> {
        let mut commits = Commits::new(1_000);
        for row in 1..=5 {
            let number = commits.begin();
            commits.done(number, row - 1, vec![Arc::new(row)], 10);
        }
        commits
    }

    fn lost(commits: &mut Commits<i64>) -> Vec<i64> {
        let mut all = Vec::new();
        while let Some(again) = commits.next_lost(256) {
            all.extend(again.rows().iter().map(|row| **row));
        }
        all
    }

    #[test]
    fn what_is_behind_the_number_of_the_server_is_lost_and_nothing_else() {
        assert_eq!(lost(&mut five()), [0; 0]);
        for before in 0..=5 {
            let mut commits = five();
            assert!(commits.doubt() && commits.is_in_need());
            let number = commits.begin();
            commits.done(number, before, Vec::new(), 0);
            assert_eq!(commits.is_in_need(), before < 5, "{before}");
            let expected: Vec<i64> = (before + 1..=5).collect();
            assert_eq!(lost(&mut commits), expected, "{before}");
            assert!(!commits.is_in_need());
        }
    }

    #[test]
    fn a_commit_whose_outcome_nobody_heard_is_no_loss() {
        for before in [5, 6] {
            let mut commits = five();
            commits.begin();
            let number = commits.begin();
            commits.done(number, before, vec![Arc::new(6)], 10);
            assert_eq!(lost(&mut commits), [0; 0], "{before}");
        }
    }

    #[test]
    fn what_came_back_is_kept_like_others_and_may_be_lost_once_more() {
        let mut commits = five();
        let number = commits.begin();
        commits.done(number, 3, vec![Arc::new(6)], 10);
        let again = commits.next_lost(256).unwrap();
        let number = commits.begin();
        commits.done(number, 6, again.rows(), 20);
        let number = commits.begin();
        commits.done(number, 6, Vec::new(), 0);
        assert_eq!(lost(&mut commits), [4, 5]);
    }

    #[test]
    fn what_was_deleted_does_not_come_back() {
        let mut commits = five();
        commits.forget(|row| *row == 4);
        let number = commits.begin();
        commits.done(number, 2, Vec::new(), 0);
        commits.forget(|row| *row == 5);
        assert_eq!(lost(&mut commits), [3]);
    }

    #[test]
    fn what_is_not_taken_is_tried_some_times() {
        let mut commits = five();
        let number = commits.begin();
        commits.done(number, 3, Vec::new(), 0);
        for _ in 1..TRIES {
            let again = commits.next_lost(256).unwrap();
            assert_eq!(commits.put_back(again), 0);
        }
        let again = commits.next_lost(256).unwrap();
        assert_eq!(commits.put_back(again), 2);
        assert!(!commits.is_in_need());
        assert_eq!(commits.bytes, 30);
    }

    #[test]
    fn a_minute_is_kept_and_more_where_nobody_knows_what_the_server_has() {
        let (mut commits, mut doubted) = (five(), five());
        doubted.doubt();
        for commits in [&mut commits, &mut doubted] {
            commits.drop_old(Instant::now() + AGE / 2);
            assert_eq!(commits.kept.len(), 5);
            commits.drop_old(Instant::now() + AGE * 2);
        }
        assert!(commits.is_empty() && commits.bytes == 0);
        assert_eq!(doubted.kept.len(), 5);
        // More than there is room for is kept by nobody.
        for row in 6..200 {
            let number = doubted.begin();
            doubted.done(number, number - 1, vec![Arc::new(row)], 10);
            doubted.doubt();
        }
        assert_eq!((doubted.kept.len(), doubted.bytes), (100, 1_000));
    }
}
