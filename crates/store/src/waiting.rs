//! What the database has not taken yet: records, and traces ([`Spool`](crate::spool::Spool)).
//!
//! A commit for each costs a good part of what its answer does, so those of some milliseconds are taken together. In a
//! store in a file they stand in the journal, which the sudden end of this process leaves. Where other gateways may be
//! asked next no record waits, and traces do: nobody is asked for a trace next.

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

/// How long records wait for others before they are committed together.
pub(crate) const SOON: Duration = Duration::from_millis(10);
/// How many answers are taken at once, without waiting for more.
const MANY: usize = 64;
/// How many bytes of records may wait for a store that stands still; what comes then finds no room.
const LIMIT: usize = 32 << 20;

/// Is told if records could not be kept.
pub type Lost = Box<dyn FnOnce(&StoreError) + Send>;

/// The records of one answer.
pub(crate) struct Answer {
    pub(crate) records: Held,
    /// Whose it is; nobody asks where another process wrote it down.
    pub(crate) tenant: Option<Tenant>,
    pub(crate) lost: Lost,
    /// Where it stands in the journal.
    pub(crate) spot: Option<Spot>,
    pub(crate) _room: Room,
}

/// What an answer takes of the memory for those that wait.
pub(crate) struct Room {
    used: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Something that waits to be taken.
pub(crate) trait Waits {
    /// How many rows it becomes, about.
    fn weight(&self) -> usize;
}

impl Waits for Answer {
    fn weight(&self) -> usize {
        1
    }
}

/// What waits to be taken.
pub(crate) struct Waiting<T> {
    state: Mutex<State<T>>,
    /// So many bytes may wait.
    limit: usize,
    /// So much weight is taken at once.
    enough: usize,
    used: Arc<AtomicUsize>,
    /// There are many.
    many: Notify,
    /// Whoever writes holds it.
    turn: tokio::sync::Mutex<()>,
}

struct State<T> {
    all: VecDeque<T>,
    weight: usize,
    /// Somebody takes all that come.
    is_seen_to: bool,
}

impl Waiting<Answer> {
    pub(crate) fn answers() -> Self {
        Waiting::new(LIMIT, MANY)
    }

    /// How many records stand in the journal, so that the end of this process loses none of them.
    pub(crate) fn written(&self) -> usize {
        let state = self.state();
        let written = state.all.iter().filter(|answer| answer.spot.is_some());
        written.map(|answer| answer.records.records.len()).sum()
    }
}

impl<T: Waits> Waiting<T> {
    /// So many bytes may wait, and so much weight is taken at once.
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

    /// Only one writes at a time.
    pub(crate) async fn turn(&self) -> Turn<'_, ()> {
        self.turn.lock().await
    }

    /// How many bytes more may wait.
    pub(crate) fn left(&self) -> usize {
        self.limit.saturating_sub(self.bytes())
    }

    /// How many bytes do.
    pub(crate) fn bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Room for so many bytes, if there is as much.
    pub(crate) fn room(&self, bytes: usize) -> Option<Room> {
        let room = self.take_room(bytes);
        // What does not fit gives back what it took.
        (self.bytes() <= self.limit).then_some(room)
    }

    /// Room for what is written down already.
    pub(crate) fn take_room(&self, bytes: usize) -> Room {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Room { used: Arc::clone(&self.used), bytes }
    }

    /// Says whether somebody has to see to it who has not been told so yet.
    pub(crate) fn add(&self, it: T) -> bool {
        let mut state = self.state();
        state.weight += it.weight();
        state.all.push_back(it);
        if state.weight >= self.enough {
            self.many.notify_one();
        }
        !std::mem::replace(&mut state.is_seen_to, true)
    }

    /// Those that are to be taken next.
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

    /// Takes out those that are like this, wherever they stand.
    pub(crate) fn take_those(&self, is_it: impl Fn(&T) -> bool) -> Vec<T> {
        let mut state = self.state();
        let (those, others) = std::mem::take(&mut state.all).into_iter().partition(is_it);
        state.all = others;
        let those: VecDeque<T> = those;
        state.weight -= those.iter().map(Waits::weight).sum::<usize>();
        those.into()
    }

    /// These could not be taken; they come first.
    pub(crate) fn put_back(&self, all: Vec<T>) {
        let mut state = self.state();
        state.weight += all.iter().map(Waits::weight).sum::<usize>();
        all.into_iter().rev().for_each(|it| state.all.push_front(it));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state().all.is_empty()
    }

    /// Whoever sees to them may go where this is true.
    pub(crate) fn is_done(&self) -> bool {
        let mut state = self.state();
        state.is_seen_to = !state.all.is_empty();
        !state.is_seen_to
    }

    /// Whether so many wait as one commit takes.
    pub(crate) fn has_enough(&self) -> bool {
        self.state().weight >= self.enough
    }

    /// Returns when enough wait for a commit, or after this pause.
    pub(crate) async fn gathered(&self, pause: Duration) {
        if !self.has_enough() {
            // Nobody minds which of the two it was.
            drop(tokio::time::timeout(pause, self.many.notified()).await);
        }
    }
}

impl<T> fmt::Debug for Waiting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("limit", &self.limit).finish_non_exhaustive()
    }
}
