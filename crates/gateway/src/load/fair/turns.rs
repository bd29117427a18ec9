//! The order in which a pool gives out its places. It is pure: no clock, no lock, no task.
//!
//! Each holder has a queue. The invariants, which `tests.rs` tests with random schedules:
//! - While an item waits and a place that it may take is free, at most one new item of each other tenant starts before it.
//!   Among the items that this allows, the smallest starts first.
//! - No more items hold a place than there are places. A tenant holds fewer than are free for it, so that a place is left
//!   for the next tenant. Long items never hold all places. Tenants never take the operator's.
//! - The waiting items have at most as many bytes as the bound says. The holder with the most waiting bytes loses its
//!   newest item first.

use std::collections::{BTreeMap, VecDeque};

/// The holder of places: a tenant, or the operator of the gateway.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holder {
    /// A caller with an admin key, or a person who came with the operator's link.
    Operator,
    /// A tenant by its name, or an address if callers have no key.
    Tenant(String),
}

/// The bounds of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Places for everybody.
    pub(crate) places: usize,
    /// Further places for the operator alone.
    pub(crate) operator: usize,
    /// Longer items leave one place to shorter ones.
    pub(crate) long: usize,
    /// Bytes of the items that wait.
    pub(crate) bytes: usize,
}

/// An item of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: u64,
    pub(super) bytes: usize,
    /// Since when it waits.
    since: u64,
}

/// The items of one holder.
#[derive(Debug, Default)]
struct Queue {
    /// Items that wait for their first turn.
    new: VecDeque<Item>,
    /// Items that have had a turn and need another one: they are no new items, and are never refused.
    begun: VecDeque<Item>,
    /// Places that it holds.
    held: usize,
    /// Bytes of `new`.
    bytes: usize,
    /// When its last new item started.
    served: u64,
}

impl Queue {
    fn is_idle(&self) -> bool {
        self.held == 0 && self.new.is_empty() && self.begun.is_empty()
    }
}

/// An item that may start now.
struct Candidate {
    holder: Holder,
    item: Item,
    is_new: bool,
    since: u64,
    served: u64,
}

/// Queues and places.
#[derive(Debug)]
pub(super) struct Turns {
    bounds: Bounds,
    queues: BTreeMap<Holder, Queue>,
    /// Places that are held: in all, and by long items.
    held: usize,
    long: usize,
    /// Bytes of new items that wait.
    waiting: usize,
    /// Counts up with each change, in place of a clock.
    now: u64,
}

impl Turns {
    pub(super) fn new(bounds: Bounds) -> Self {
        Turns { bounds, queues: BTreeMap::new(), held: 0, long: 0, waiting: 0, now: 0 }
    }

    /// Places that are held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// An item waits from now on.
    pub(super) fn join(&mut self, holder: &Holder, (id, bytes): (u64, usize), is_new: bool) {
        self.now += 1;
        let item = Item { id, bytes, since: self.now };
        let queue = self.queues.entry(holder.clone()).or_default();
        if !is_new {
            return queue.begun.push_back(item);
        }
        queue.new.push_back(item);
        queue.bytes += bytes;
        self.waiting += bytes;
    }

    /// An item waits no longer; true if it was waiting.
    pub(super) fn cancel(&mut self, holder: &Holder, id: u64) -> bool {
        let Some(queue) = self.queues.get_mut(holder) else { return false };
        let position = |items: &VecDeque<Item>| items.iter().position(|item| item.id == id);
        let found = match (position(&queue.new), position(&queue.begun)) {
            (Some(at), _) => {
                let bytes = queue.new.remove(at).map_or(0, |item| item.bytes);
                queue.bytes -= bytes;
                self.waiting -= bytes;
                true
            }
            (None, Some(at)) => queue.begun.remove(at).is_some(),
            (None, None) => false,
        };
        self.forget();
        found
    }

    /// Starts the next item, if one may start: it holds a place from now on.
    pub(super) fn start_next(&mut self) -> Option<(Holder, Item)> {
        self.now += 1;
        let all = self.candidates();
        let may = |one: &&Candidate| {
            let is_turn =
                |other: &Candidate| other.holder == one.holder || one.served <= other.since;
            !one.is_new || self.has_own_place(&one.holder) || all.iter().all(is_turn)
        };
        let order = |one: &&Candidate| {
            (!self.has_own_place(&one.holder), one.item.bytes, one.since, one.item.id)
        };
        let chosen = all.iter().filter(may).min_by_key(order)?;
        let (holder, item, is_new) = (chosen.holder.clone(), chosen.item, chosen.is_new);
        self.start(&holder, item, is_new);
        Some((holder, item))
    }

    /// A place is free again.
    pub(super) fn leave(&mut self, holder: &Holder, bytes: usize) {
        self.held -= 1;
        self.long -= usize::from(bytes > self.bounds.long);
        if let Some(queue) = self.queues.get_mut(holder) {
            queue.held -= 1;
        }
        self.forget();
    }

    /// Takes the newest item of the longest queue out, if more bytes wait than may.
    pub(super) fn overflow(&mut self) -> Option<u64> {
        if self.waiting <= self.bounds.bytes {
            return None;
        }
        let longest = self.queues.iter().max_by_key(|(_, queue)| queue.bytes);
        let (holder, item) =
            longest.and_then(|(holder, queue)| Some((holder.clone(), *queue.new.back()?)))?;
        self.cancel(&holder, item.id);
        Some(item.id)
    }

    /// The first items of all queues, as far as a place is free for them.
    fn candidates(&self) -> Vec<Candidate> {
        let of = |(holder, queue): (&Holder, &Queue)| {
            let first = |items: &VecDeque<Item>, is_new: bool| {
                let item = *items.front()?;
                let (holder, served) = (holder.clone(), queue.served);
                // It became the first of its queue when the item before it started.
                let since = if is_new { item.since.max(served) } else { item.since };
                self.has_place(&holder, queue.held, item.bytes).then_some(Candidate {
                    holder,
                    item,
                    is_new,
                    since,
                    served,
                })
            };
            [first(&queue.new, true), first(&queue.begun, false)]
        };
        self.queues.iter().flat_map(of).flatten().collect()
    }

    fn has_place(&self, holder: &Holder, held: usize, bytes: usize) -> bool {
        let Bounds { places, operator, long, .. } = self.bounds;
        let of_operator = self.queues.get(&Holder::Operator).map_or(0, |queue| queue.held);
        let free = (places + operator).saturating_sub(self.held);
        match holder {
            Holder::Operator if of_operator < operator => free > 0,
            Holder::Operator => held - operator < free,
            Holder::Tenant(_) => {
                let free = free.saturating_sub(operator.saturating_sub(of_operator));
                held < free && (bytes <= long || self.long + 1 < places)
            }
        }
    }

    /// Whether this is the operator, and a place of its own is free.
    fn has_own_place(&self, holder: &Holder) -> bool {
        let held = |holder| self.queues.get(holder).map_or(0, |queue| queue.held);
        *holder == Holder::Operator && held(holder) < self.bounds.operator
    }

    fn start(&mut self, holder: &Holder, item: Item, is_new: bool) {
        self.held += 1;
        self.long += usize::from(item.bytes > self.bounds.long);
        let Some(queue) = self.queues.get_mut(holder) else { return };
        queue.held += 1;
        if is_new {
            queue.new.pop_front();
            queue.bytes -= item.bytes;
            self.waiting -= item.bytes;
            queue.served = self.now;
        } else {
            queue.begun.pop_front();
        }
    }

    /// Forgets holders without items, but for those whose last turn went before an item that still waits.
    fn forget(&mut self) {
        let first = |queue: &Queue| {
            let new = queue.new.front().map(|item| item.since.max(queue.served));
            [new, queue.begun.front().map(|item| item.since)]
        };
        let oldest = self.queues.values().flat_map(first).flatten().min();
        self.queues.retain(|_, queue| {
            !queue.is_idle() || oldest.is_some_and(|since| queue.served > since)
        });
    }
}
