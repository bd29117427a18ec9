//! Pending records and traces ([`Spool`](crate::spool::Spool)) before their commit.
//!
//! One commit for each answer would be expensive, so the commits of some milliseconds are joined. A store in a file
//! has its pending records in a journal, which survives a crash of this process. If other gateways share the store,
//! records do not wait, because the next request may go to another gateway. Traces do wait, because requests do not
//! read them.

use crate::error::StoreError;
use crate::journal::Spot;
use crate::unwritten::Held;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use tokio::sync::{MutexGuard as Turn, Notify};

/// The time that records wait for others before their common commit.
pub(crate) const SOON: Duration = Duration::from_millis(10);
/// The number of answers that are committed at once, without waiting for more.
const MANY: usize = 64;
/// The most bytes of pending records while a store does not answer. Later records are refused.
const LIMIT: usize = 32 << 20;

/// Called if records could not be stored.
pub type Lost = Box<dyn FnOnce(&StoreError) + Send>;

/// The records of one answer.
pub(crate) struct Answer {
    pub(crate) records: Held,
    /// The tenant. `None` for a record that another process wrote to the journal.
    pub(crate) tenant: Option<Tenant>,
    pub(crate) lost: Lost,
    /// The position in the journal.
    pub(crate) spot: Option<Spot>,
    pub(crate) _room: Room,
}

/// A reservation of memory for pending items.
pub(crate) struct Room {
    used: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// An item that waits for a commit.
pub(crate) trait Waits {
    /// The approximate number of rows.
    fn weight(&self) -> usize;
}

impl Waits for Answer {
    fn weight(&self) -> usize {
        1
    }
}

/// A queue of items that wait for a commit.
pub(crate) struct Waiting<T> {
    state: Mutex<State<T>>,
    /// The most bytes in the queue.
    limit: usize,
    /// The weight of one commit.
    enough: usize,
    used: Arc<AtomicUsize>,
    /// Notified when the queue has enough for a commit.
    many: Notify,
    /// Held by the current writer.
    turn: tokio::sync::Mutex<()>,
}

struct State<T> {
    all: VecDeque<T>,
    weight: usize,
    /// True while a writer task runs.
    is_seen_to: bool,
}

impl Waiting<Answer> {
    pub(crate) fn answers() -> Self {
        Waiting::new(LIMIT, MANY)
    }

    /// Number of pending records in the journal. The end of this process does not lose them.
    pub(crate) fn written(&self) -> usize {
        let state = self.state();
        let written = state.all.iter().filter(|answer| answer.spot.is_some());
        written.map(|answer| answer.records.records.len()).sum()
    }
}

impl<T: Waits> Waiting<T> {
    /// Creates a queue of at most `limit` bytes, with commits of weight `enough`.
    pub(crate) fn new(limit: usize, enough: usize) -> Self {
        let state = State { all: VecDeque::new(), weight: 0, is_seen_to: false };
        Waiting {
            state: Mutex::new(state),
            limit,
            enough,
            used: Arc::default(),
            many: Notify::new(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn to write. Only one task writes at a time.
    pub(crate) async fn turn(&self) -> Turn<'_, ()> {
        self.turn.lock().await
    }

    /// Number of free bytes.
    pub(crate) fn left(&self) -> usize {
        self.limit.saturating_sub(self.bytes())
    }

    /// Number of used bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Reserves this many bytes if they are free.
    pub(crate) fn room(&self, bytes: usize) -> Option<Room> {
        let room = self.take_room(bytes);
        // A room that exceeds the limit is dropped, which frees its bytes.
        (self.bytes() <= self.limit).then_some(room)
    }

    /// Reserves this many bytes even beyond the limit, for items that are in a journal already.
    pub(crate) fn take_room(&self, bytes: usize) -> Room {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Room { used: Arc::clone(&self.used), bytes }
    }

    /// Adds an item. Returns true if the caller has to start a writer task.
    pub(crate) fn add(&self, it: T) -> bool {
        let mut state = self.state();
        state.weight += it.weight();
        state.all.push_back(it);
        if state.weight >= self.enough {
            self.many.notify_one();
        }
        !std::mem::replace(&mut state.is_seen_to, true)
    }

    /// Takes the items of the next commit.
    pub(crate) fn take(&self) -> Vec<T> {
        let mut state = self.state();
        let mut weight = 0;
        let next = state.all.iter().take_while(|it| {
            let is_first = weight == 0;
            weight += it.weight();
            is_first || weight <= self.enough
        });
        let count = next.count();
        let next: Vec<T> = state.all.drain(..count).collect();
        state.weight -= next.iter().map(Waits::weight).sum::<usize>();
        next
    }

    /// Takes all items that match, anywhere in the queue.
    pub(crate) fn take_those(&self, is_it: impl Fn(&T) -> bool) -> Vec<T> {
        let mut state = self.state();
        let (those, others) = std::mem::take(&mut state.all).into_iter().partition(is_it);
        state.all = others;
        let those: VecDeque<T> = those;
        state.weight -= those.iter().map(Waits::weight).sum::<usize>();
        those.into()
    }

    /// Puts items back to the front after a failed commit.
    pub(crate) fn put_back(&self, all: Vec<T>) {
        let mut state = self.state();
        state.weight += all.iter().map(Waits::weight).sum::<usize>();
        all.into_iter().rev().for_each(|it| state.all.push_front(it));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state().all.is_empty()
    }

    /// Returns true if the queue is empty. The writer task must end then.
    pub(crate) fn is_done(&self) -> bool {
        let mut state = self.state();
        state.is_seen_to = !state.all.is_empty();
        !state.is_seen_to
    }

    /// Returns true if there is enough for a commit.
    pub(crate) fn has_enough(&self) -> bool {
        self.state().weight >= self.enough
    }

    /// Waits until there is enough for a commit, at most for this pause.
    pub(crate) async fn gathered(&self, pause: Duration) {
        if !self.has_enough() {
            // Both a notification and a timeout end the wait.
            drop(tokio::time::timeout(pause, self.many.notified()).await);
        }
    }
}

impl<T> fmt::Debug for Waiting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("limit", &self.limit).finish_non_exhaustive()
    }
}
