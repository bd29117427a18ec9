//! Fair pools: places for which each tenant has a queue of its own, and queues are served in turn.
//!
//! The gateway has five of them ([`Pool`]). [`turns`] decides their order; this module adds tasks that wait, a limit
//! on their time, and metrics. A task that gives up leaves its queue. A [`Place`] that is dropped goes to the next
//! item.

mod gauges;
mod room;
#[cfg(test)]
mod tests;
mod turns;

pub(crate) use gauges::{Denied, Pool, PoolGauges, PoolMetrics};
pub(crate) use room::Room;
pub(crate) use turns::{Bounds, Holder};

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use turns::Turns;

/// A pool. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct FairPool {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    /// The longest wait of an item for its first turn.
    wait: Duration,
    gauges: PoolGauges,
}

struct State {
    turns: Turns,
    /// The tasks that wait, by the ids of their items.
    waiting: HashMap<u64, oneshot::Sender<Place>>,
    ids: u64,
}

/// A place of a pool, until this is dropped.
pub(crate) struct Place {
    inner: Arc<Inner>,
    holder: Holder,
    bytes: usize,
}

impl FairPool {
    pub(crate) fn new(bounds: Bounds, wait: Duration, gauges: PoolGauges) -> Self {
        let state = State { turns: Turns::new(bounds), waiting: HashMap::new(), ids: 0 };
        FairPool { inner: Arc::new(Inner { state: Mutex::new(state), wait, gauges }) }
    }

    /// Waits for a place for a new item of so many bytes.
    pub(crate) async fn enter(&self, holder: &Holder, bytes: usize) -> Result<Place, Denied> {
        let mut ticket = self.join(holder, bytes, true);
        let entered = timeout(self.inner.wait, &mut ticket.place).await;
        let denied = match entered {
            Ok(Ok(place)) => return Ok(place),
            Ok(Err(_)) => Denied::Full,
            Err(_) => Denied::Late,
        };
        self.inner.gauges.denied(denied);
        Err(denied)
    }

    /// Waits for a place for an item that had one before, however long that takes.
    pub(crate) async fn enter_again(&self, holder: &Holder, bytes: usize) -> Option<Place> {
        let mut ticket = self.join(holder, bytes, false);
        (&mut ticket.place).await.ok()
    }

    /// Takes a place, if one is free.
    pub(crate) fn take(&self, holder: &Holder) -> Result<Place, Denied> {
        let mut ticket = self.join(holder, 0, true);
        ticket.place.try_recv().map_err(|_| {
            self.inner.gauges.denied(Denied::Full);
            Denied::Full
        })
    }

    fn join(&self, holder: &Holder, bytes: usize, is_new: bool) -> Ticket {
        let (sender, place) = oneshot::channel();
        let mut state = self.inner.state();
        state.ids += 1;
        let id = state.ids;
        state.turns.join(holder, (id, bytes), is_new);
        state.waiting.insert(id, sender);
        self.inner.advance(state);
        Ticket { pool: self.clone(), holder: holder.clone(), id, place }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives out free places, and refuses the items beyond the bound of bytes.
    fn advance(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let mut unwanted = Vec::new();
        while let Some((holder, item)) = state.turns.start_next() {
            let place = Place { inner: Arc::clone(self), holder, bytes: item.bytes };
            let sender = state.waiting.remove(&item.id);
            unwanted.extend(sender.and_then(|sender| sender.send(place).err()));
        }
        while let Some(id) = state.turns.overflow() {
            state.waiting.remove(&id);
        }
        self.gauges.see(state.waiting.len(), state.turns.held());
        // A place takes the lock when it is dropped.
        drop(state);
        drop(unwanted);
    }
}

/// An item that waits. It leaves its queue when this is dropped.
struct Ticket {
    pool: FairPool,
    holder: Holder,
    id: u64,
    place: oneshot::Receiver<Place>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.pool.inner.state();
        // An item that got its place has left the queue already.
        if state.waiting.remove(&self.id).is_some() {
            state.turns.cancel(&self.holder, self.id);
            self.pool.inner.advance(state);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.inner.state();
        state.turns.leave(&self.holder, self.bytes);
        self.inner.advance(state);
    }
}

impl fmt::Debug for FairPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.inner.state().turns.held();
        f.debug_struct("FairPool").field("held", &held).finish_non_exhaustive()
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place").field("holder", &self.holder).finish_non_exhaustive()
    }
}
