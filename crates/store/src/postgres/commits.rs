//! The numbered commits of the last minute. They show which commits a server lacks after a failover.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time that a commit is kept. Commits are kept longer while it is unknown if the server has them.
const AGE: Duration = Duration::from_secs(60);
/// The most attempts to write rows again that the server rejects while it accepts others.
const TRIES: usize = 5;

/// The last commits of this process, in order.
#[derive(Debug)]
pub(super) struct Commits<T> {
    /// The most bytes to keep.
    limit: usize,
    /// The number of the last commit that was started.
    begun: i64,
    /// The number of the last commit that the server certainly had.
    done: i64,
    kept: VecDeque<Commit<T>>,
    /// Commits that the server lost. They are written again in this order.
    lost: VecDeque<Commit<T>>,
    /// Bytes in `kept` and `lost`.
    bytes: usize,
    /// True after a lost connection, because the next one may lead to another server.
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

/// Lost commits to write again.
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

    /// Starts the next commit and returns its number. The previous commit must have ended, successfully or not.
    pub(super) fn begin(&mut self) -> i64 {
        self.begun += 1;
        self.begun
    }

    /// Notes a successful commit. `before` is the number on the server until then. If it is smaller than a number
    /// that the server already had, the server lost the commits after it.
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

    /// Marks the state of the server as unknown. Returns true if the server should have any commits.
    pub(super) fn doubt(&mut self) -> bool {
        self.is_in_doubt |= !self.kept.is_empty();
        self.is_in_doubt
    }

    /// True if the server must be asked for its number, or lacks commits.
    pub(super) fn is_in_need(&self) -> bool {
        self.is_in_doubt || !self.lost.is_empty()
    }

    /// True if no commits are kept.
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.lost.is_empty()
    }

    /// Takes the next lost rows: one commit, or several with at most `most` rows together.
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

    /// Puts commits back to the front after a failure. Returns the number of rows that are given up after too many
    /// attempts.
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

    /// Forgets deleted rows, so that they are not written again.
    pub(super) fn forget(&mut self, is_gone: impl Fn(&T) -> bool) {
        for commit in self.kept.iter_mut().chain(&mut self.lost) {
            commit.rows.retain(|row| !is_gone(row));
        }
    }

    /// Drops old commits, and the oldest ones beyond the limit.
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

    /// Commits of one row each, which the server accepted one after the other.
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
        // Commits beyond the limit are dropped.
        for row in 6..200 {
            let number = doubted.begin();
            doubted.done(number, number - 1, vec![Arc::new(row)], 10);
            doubted.doubt();
        }
        assert_eq!((doubted.kept.len(), doubted.bytes), (100, 1_000));
    }
}
