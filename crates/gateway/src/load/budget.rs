//! Bytes in flight: the memory of requests and unread answers, in all, for each key and for each address.
//!
//! Bytes are counted as they come, not as a head announces them: a caller that sends no bytes holds no memory.

use super::gauges::Gauges;
use super::queue::{Age, Queue};
use super::room::{AnswerRoom, BASE, Expected, limit_of, reserve};
use super::scope::Scope;
use crate::rejection::{Rejection, rejection};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The limits of bytes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// In all.
    pub all: usize,
    /// For the callers with one key.
    pub per_key: usize,
    /// For the callers at one address. `None`: the limit of a key, but no limit for callers on this machine, because
    /// all of them may come through one proxy.
    pub per_address: Option<usize>,
}

impl InFlight {
    /// Limits for `all` bytes. One key gets half of them, but enough for the largest request.
    #[must_use]
    pub fn of(all: usize, body_limit: usize) -> Self {
        let largest = body_limit.saturating_mul(READ).min(all);
        InFlight { all, per_key: largest.max(all / 2), per_address: None }
    }

    /// The limit of one address.
    fn for_address(self, is_here: bool) -> usize {
        self.per_address.unwrap_or(if is_here { usize::MAX } else { self.per_key })
    }
}

/// The memory of a request that is read, looked up, edited and written, as a multiple of its own bytes: the received
/// bytes, the sent bytes, and the texts of both in between. An estimate with one copy for each of these, not a
/// measurement.
pub(crate) const READ: usize = 4;
/// The multiple for a request that is passed on unchanged.
pub(crate) const PASSED: usize = 1;
/// The additional bytes for each value of a request. Also an estimate, for bodies of many small blocks: some nodes of
/// the parser and a value of the neutral form.
pub(crate) const VALUE: usize = 160;

/// The bytes that one key, one address, or all callers hold.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    bytes: AtomicUsize,
    /// The peak of `bytes` since the last reading.
    most: AtomicUsize,
    connections: AtomicUsize,
    /// The answers that wait for room in it.
    queue: Queue,
}

impl Tally {
    /// Takes bytes if no more than `limit` are held then.
    fn take(&self, bytes: usize, limit: usize) -> bool {
        let taken = |held: usize| held.checked_add(bytes).filter(|held| *held <= limit);
        let before = self.bytes.fetch_update(Ordering::SeqCst, Ordering::SeqCst, taken);
        before.is_ok_and(|before| {
            self.most.fetch_max(before + bytes, Ordering::Relaxed);
            true
        })
    }

    fn give(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::SeqCst);
        self.queue.wake();
    }

    /// Takes bytes for an answer of this age. Older answers that wait come first.
    fn take_for(&self, age: Age, bytes: usize, limit: usize) -> bool {
        self.queue.grow(age, |part| self.take(bytes, limit_of(part, limit)))
    }
}

/// The tallies of all holders.
#[derive(Debug)]
struct Tallies<K> {
    all: HashMap<K, Weak<Tally>>,
    /// The size at which unused tallies are removed.
    crowd: usize,
}

impl<K: Hash + Eq> Tallies<K> {
    fn of(&mut self, key: K) -> Arc<Tally> {
        if let Some(tally) = self.all.get(&key).and_then(Weak::upgrade) {
            return tally;
        }
        if self.all.len() >= self.crowd {
            self.all.retain(|_, tally| tally.strong_count() > 0);
            self.crowd = (self.all.len() * 2).max(CROWD);
        }
        let tally = Arc::new(Tally::default());
        self.all.insert(key, Arc::downgrade(&tally));
        tally
    }
}

const CROWD: usize = 256;

impl<K> Default for Tallies<K> {
    fn default() -> Self {
        Tallies { all: HashMap::new(), crowd: CROWD }
    }
}

/// Counts the bytes of all holders.
#[derive(Debug)]
pub(crate) struct Budget {
    all: Tally,
    keys: Mutex<Tallies<String>>,
    addresses: Mutex<Tallies<IpAddr>>,
    gauges: Gauges,
    /// The number of admitted answers: the age of the next one.
    answers: AtomicU64,
    expected: Expected,
    /// Bytes of records that wait for a late store.
    late: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(gauges: Gauges) -> Self {
        Budget {
            all: Tally::default(),
            keys: Mutex::default(),
            addresses: Mutex::default(),
            gauges,
            answers: AtomicU64::new(0),
            expected: Expected::new(),
            late: AtomicUsize::new(0),
        }
    }

    /// The bytes that are held now, and their peak since the last call.
    pub(crate) fn held_and_most(&self) -> (usize, usize) {
        let held = self.all.bytes.load(Ordering::SeqCst);
        (held, self.all.most.swap(held, Ordering::Relaxed).max(held))
    }

    /// The bytes that are held in all.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.all.bytes.load(Ordering::SeqCst)
    }

    /// The share of callers at this address.
    pub(crate) fn caller(self: &Arc<Self>, address: IpAddr) -> Share {
        let place = place(address);
        let tally = self.addresses.lock().unwrap_or_else(PoisonError::into_inner).of(place);
        let is_here = place.is_loopback();
        let limits = InFlight { all: usize::MAX, per_key: usize::MAX, per_address: None };
        Share { budget: Arc::clone(self), limits, key: None, address: tally, is_here }
    }
}

/// Reduces an address to its unit of counting: an IPv6 network of 64 bits counts as one address, because each user
/// has a whole one.
pub(crate) fn place(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(long) if !long.is_loopback() => {
            let [a, b, c, d, ..] = long.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        other => other,
    }
}

/// A caller's share of the budget.
#[derive(Clone)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    limits: InFlight,
    key: Option<Arc<Tally>>,
    address: Arc<Tally>,
    /// The caller is on this machine.
    is_here: bool,
}

impl Share {
    /// The same caller, known by its key.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        let mut keys = self.budget.keys.lock().unwrap_or_else(PoisonError::into_inner);
        Share { key: Some(keys.of(key.to_owned())), ..self.clone() }
    }

    /// The same caller, with the current limits of the configuration.
    pub(crate) fn within(&self, limits: InFlight) -> Self {
        Share { limits, ..self.clone() }
    }

    /// Counts a connection if there are fewer than `limit` from this address. `None` is no limit for callers on this
    /// machine, and `usual` for others.
    pub(crate) fn connect(&self, limit: Option<usize>, usual: usize) -> Option<Connected> {
        let limit = limit.unwrap_or(if self.is_here { usize::MAX } else { usual });
        let one_more = |count: usize| Some(count + 1).filter(|count| *count <= limit);
        let order = Ordering::Relaxed;
        let counted = self.address.connections.fetch_update(order, order, one_more);
        counted.is_ok().then(|| Connected(Arc::clone(&self.address)))
    }

    /// A reservation of 0 bytes.
    pub(crate) fn reserve(&self) -> Reservation {
        Reservation { share: self.clone(), bytes: 0 }
    }

    /// Reserves the usual memory of an answer that is read and stored.
    pub(crate) fn answer(&self) -> Result<AnswerRoom, Rejection> {
        let least = self.tallies().map(|(_, _, limit)| limit).min().unwrap_or(usize::MAX);
        AnswerRoom::admit(self, self.budget.expected.of(least, self.limits.all))
    }

    /// Reserves the memory of an answer whose bytes only pass.
    pub(crate) fn passing(&self) -> Result<AnswerRoom, Rejection> {
        let least = self.tallies().map(|(_, _, limit)| limit).min().unwrap_or(usize::MAX);
        AnswerRoom::admit(self, BASE.min(least / 8))
    }

    /// Lets a record wait for a late store. All such records have half of the limit, so that a store that does not
    /// answer stops no traffic.
    pub(crate) fn late(&self, bytes: usize) -> Option<Late> {
        let most = self.limits.all / 2;
        let taken = |late: usize| late.checked_add(bytes).filter(|late| *late <= most);
        let order = Ordering::Relaxed;
        let is_taken = self.budget.late.fetch_update(order, order, taken).is_ok();
        is_taken.then(|| Late { budget: Arc::clone(&self.budget), bytes })
    }

    pub(super) fn next_age(&self) -> Age {
        self.budget.answers.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn expected(&self) -> &Expected {
        &self.budget.expected
    }

    pub(super) fn queue(&self, scope: Scope) -> Option<&Queue> {
        self.tallies().find(|(one, _, _)| *one == scope).map(|(_, tally, _)| &tally.queue)
    }

    /// Every tally with its limit.
    fn tallies(&self) -> impl Iterator<Item = (Scope, &Tally, usize)> {
        let InFlight { all, per_key, .. } = self.limits;
        let per_address = self.limits.for_address(self.is_here);
        let key = self.key.as_deref().map(|key| (Scope::Key, key, per_key));
        let address = (Scope::Address, &*self.address, per_address);
        [(Scope::All, &self.budget.all, all), address].into_iter().chain(key)
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Share")
    }
}

/// A record that waits for a late store.
#[derive(Debug)]
pub(crate) struct Late {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Drop for Late {
    fn drop(&mut self) {
        self.budget.late.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// One connection of an address.
#[derive(Debug)]
pub(crate) struct Connected(Arc<Tally>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The bytes of a request or an answer, given back on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    share: Share,
    bytes: usize,
}

impl Reservation {
    /// Checks whether so many bytes could be held now, without taking them.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), Rejection> {
        for (scope, tally, limit) in self.share.tallies() {
            let others = tally.bytes.load(Ordering::Relaxed).saturating_sub(self.bytes);
            if others.saturating_add(bytes) > limit {
                return Err(self.refused(scope, bytes, limit));
            }
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn share(&self) -> &Share {
        &self.share
    }

    /// Grows to so many bytes of a request. While an answer waits for room, no request gets any.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Rejection> {
        let grown = self
            .grow(bytes, |tally, more, limit| tally.queue.is_empty() && tally.take(more, limit));
        grown.map_err(|(scope, limit)| self.refused(scope, bytes, limit))
    }

    /// Grows to so many bytes for an answer that is to come.
    pub(super) fn admit(&mut self, bytes: usize) -> Result<(), Rejection> {
        let grown = self.grow(bytes, |tally, more, limit| {
            tally.queue.is_empty() && tally.take(more, limit - reserve(limit))
        });
        grown.map_err(|(scope, limit)| self.refused(scope, bytes, limit))
    }

    /// Grows to so many bytes for an answer of this age. Otherwise returns the scope that has no room.
    pub(super) fn grow_for(&mut self, age: Age, bytes: usize) -> Result<(), Scope> {
        self.grow(bytes, |tally, more, limit| tally.take_for(age, more, limit))
            .map_err(|(scope, _)| scope)
    }

    /// Grows to so many bytes for a copy, if there is room. Copies are given up before all else.
    pub(crate) fn grow_copy(&mut self, bytes: usize) -> bool {
        let grown = self.grow(bytes, |tally, more, limit| {
            tally.queue.is_empty() && tally.take(more, limit - 2 * reserve(limit))
        });
        grown.is_ok()
    }

    /// Takes from every tally or from none. Otherwise returns the tally without room, and its limit.
    fn grow(
        &mut self,
        bytes: usize,
        take: impl Fn(&Tally, usize, usize) -> bool,
    ) -> Result<(), (Scope, usize)> {
        let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) else {
            return Ok(());
        };
        let mut taken: Vec<&Tally> = Vec::with_capacity(3);
        for (scope, tally, limit) in self.share.tallies() {
            if !take(tally, more, limit) {
                taken.iter().for_each(|tally| tally.give(more));
                return Err((scope, limit));
            }
            taken.push(tally);
        }
        self.share.budget.gauges.held(more);
        self.bytes = bytes;
        Ok(())
    }

    /// Shrinks to so many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let Some(less) = self.bytes.checked_sub(bytes).filter(|less| *less > 0) else { return };
        for (_, tally, _) in self.share.tallies() {
            tally.give(less);
        }
        self.share.budget.gauges.freed(less);
        self.bytes = bytes;
    }

    /// The refusal for lack of room. A request that can never fit gets a 413.
    fn refused(&self, scope: Scope, bytes: usize, limit: usize) -> Rejection {
        self.share.budget.gauges.refused(scope);
        let setting = scope.setting();
        if bytes > limit {
            let message = format!(
                "the request needs {bytes} bytes of memory, and `[server] {setting}` grants {limit}; send a smaller one"
            );
            return rejection(413, "request_too_large", message);
        }
        let message = format!("{} has too many bytes in flight; ask again", scope.whose());
        rejection(503, "overloaded", message)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> Arc<Budget> {
        Arc::new(Budget::new(Gauges::default()))
    }

    fn at(address: &str, budget: &Arc<Budget>) -> Share {
        budget.caller(address.parse().unwrap()).within(LIMITS)
    }

    const LIMITS: InFlight = InFlight { all: 100, per_key: 60, per_address: Some(80) };

    #[test]
    fn t_28_what_is_held_has_an_end_in_all_for_a_key_and_for_an_address() {
        let budget = budget();
        let ana = at("192.0.2.1", &budget).with_key("ana");
        let (mut first, mut second) = (ana.reserve(), ana.reserve());
        first.grow_to(40).unwrap();
        assert_eq!(second.grow_to(21).unwrap_err().status, 503, "her key has 60");
        assert_eq!(budget.held(), 40, "what was not granted is not held");
        second.grow_to(20).unwrap();
        let ben = at("192.0.2.1", &budget).with_key("ben");
        assert!(ben.reserve().grow_to(21).unwrap_err().message.contains("this address"));
        let mut elsewhere = at("192.0.2.2", &budget).reserve();
        assert!(elsewhere.grow_to(41).unwrap_err().message.contains("the gateway"));
        elsewhere.grow_to(40).unwrap();
        assert_eq!(budget.held(), 100);
        drop((first, second));
        assert_eq!(budget.held(), 40);
        elsewhere.shrink_to(10);
        drop(elsewhere);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn t_28_what_never_fits_is_told_so() {
        let budget = budget();
        let ana = at("192.0.2.1", &budget).with_key("ana");
        let rejection = ana.reserve().check(61).unwrap_err();
        assert_eq!(rejection.status, 413);
        assert!(rejection.message.contains("max_bytes_in_flight_per_key"), "{}", rejection.message);
        assert_eq!(ana.reserve().check(60), Ok(()));
    }

    #[test]
    fn t_28_callers_on_this_machine_are_one_address_only_where_the_configuration_says_so() {
        let budget = budget();
        let usual = InFlight { per_address: None, ..LIMITS };
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let here = at(address, &budget).within(usual);
            assert_eq!(here.reserve().check(100), Ok(()), "{address}");
            assert!(at(address, &budget).reserve().check(81).is_err(), "{address}");
            let some: Vec<_> = (0..10).filter_map(|_| here.connect(None, 2)).collect();
            assert_eq!(some.len(), 10);
            assert!(here.connect(Some(10), 2).is_none());
        }
        assert!(at("192.0.2.1", &budget).within(usual).reserve().check(61).is_err());
        let there = at("192.0.2.1", &budget);
        let some: Vec<_> = (0..10).filter_map(|_| there.connect(None, 2)).collect();
        assert_eq!(some.len(), 2);
        drop(some);
        assert!(there.connect(None, 2).is_some());
    }

    #[test]
    fn t_28_records_that_wait_for_a_late_store_have_half_of_the_memory() {
        let budget = budget();
        let share = at("192.0.2.1", &budget);
        let first = share.late(40);
        assert!(first.is_some() && share.late(11).is_none() && share.late(10).is_some());
        drop(first);
        assert!(share.late(50).is_some());
    }

    #[test]
    fn t_28_one_key_holds_half_of_all_and_at_least_one_request() {
        const MIB: usize = 1024 * 1024;
        for (all, body, per_key) in [(256, 32, 128), (128, 32, 128), (1024, 32, 512), (64, 32, 64)]
        {
            assert_eq!(InFlight::of(all * MIB, body * MIB).per_key, per_key * MIB, "{all} {body}");
        }
    }

    #[test]
    fn t_28_a_network_of_ipv6_is_one_address() {
        let budget = budget();
        let mut held = at("2001:db8::1", &budget).reserve();
        held.grow_to(80).unwrap();
        assert!(at("2001:db8::2", &budget).reserve().check(1).is_err());
        assert!(at("2001:db8:1::2", &budget).reserve().check(1).is_ok());
    }

    #[test]
    fn addresses_that_hold_nothing_are_forgotten() {
        let budget = budget();
        for number in 0..100_000_u32 {
            budget.caller(IpAddr::from(number.to_be_bytes()));
        }
        assert!(budget.addresses.lock().unwrap().all.len() <= CROWD);
    }
}
