//! A cache of recently read records with opened heads.
//!
//! The numbers of matching records are read from the database each time: other processes write, refuse and erase
//! records, and one more similar record may change the choice. The content of a record never changes, so that the
//! next request of a conversation reads and opens only new records.

use lru::LruCache;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thinkthrough_core::exchange::Found;

/// The approximate size of the cache in bytes. The process keeps this much after a load.
const ROOM: usize = 4 << 20;
/// Larger records are not cached, because one would displace a whole conversation.
const LARGE: usize = ROOM / 16;
/// The approximate memory of a head in addition to its stored bytes.
const HEAD: usize = 1 << 10;

/// A record that was read.
pub(crate) struct Read {
    pub(crate) tenant: i64,
    /// Its number in the database.
    pub(crate) number: i64,
    /// The conversation of the record.
    pub(crate) thread: i64,
    /// The distinct keys of the record in the index.
    pub(crate) keys: Vec<i64>,
    pub(crate) found: Found,
}

/// Names a cached record. By number and id, because a server that fails over to a copy may use a number again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) number: i64,
    pub(crate) id: String,
}

/// The cached records of all tenants. The longest unused are dropped first.
pub(crate) struct Recent(Mutex<Index>);

struct Index {
    /// By tenant and number.
    records: LruCache<(i64, i64), Arc<Read>>,
    /// The numbers of the records for each key of a tenant.
    by_key: HashMap<(i64, i64), Vec<i64>>,
    bytes: usize,
}

impl Read {
    pub(crate) fn known(&self) -> Known {
        Known { number: self.number, id: self.found.head.id.clone() }
    }

    fn size(&self) -> usize {
        HEAD + self.found.kept.bytes().len()
    }
}

impl Default for Recent {
    fn default() -> Self {
        let (records, by_key) = (LruCache::unbounded(), HashMap::new());
        Recent(Mutex::new(Index { records, by_key, bytes: 0 }))
    }
}

impl Recent {
    /// The cached records of a tenant with any of these keys, each once, in the order of their numbers.
    pub(crate) fn with_keys(&self, tenant: i64, keys: &[i64]) -> Vec<Arc<Read>> {
        let mut index = self.index();
        let of_key = keys.iter().filter_map(|key| index.by_key.get(&(tenant, *key)));
        let mut numbers: Vec<i64> = of_key.flatten().copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        let records = &mut index.records;
        numbers.iter().filter_map(|number| records.get(&(tenant, *number)).cloned()).collect()
    }

    /// Adds a record, unless it is large.
    pub(crate) fn keep(&self, read: &Arc<Read>) {
        if read.size() > LARGE {
            return;
        }
        let mut index = self.index();
        let place = (read.tenant, read.number);
        if let Some(before) = index.records.pop(&place) {
            index.leave(&before);
        }
        index.bytes += read.size();
        for key in &read.keys {
            index.by_key.entry((read.tenant, *key)).or_default().push(read.number);
        }
        index.records.put(place, Arc::clone(read));
        while index.bytes > ROOM {
            let Some((_, oldest)) = index.records.pop_lru() else { break };
            index.leave(&oldest);
        }
    }

    /// Drops all records.
    pub(crate) fn clear(&self) {
        let mut index = self.index();
        index.records.clear();
        index.by_key.clear();
        index.bytes = 0;
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    /// Drops the keys and the size of a removed record.
    fn leave(&mut self, read: &Read) {
        self.bytes -= read.size();
        for key in &read.keys {
            let place = (read.tenant, *key);
            let Some(numbers) = self.by_key.get_mut(&place) else { continue };
            numbers.retain(|number| *number != read.number);
            if numbers.is_empty() {
                self.by_key.remove(&place);
            }
        }
    }
}

impl fmt::Debug for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").field("records", &self.index().records.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::content::Origin;
    use thinkthrough_core::plane::Sealed;
    use thinkthrough_core::restore::{Delivery, Head, Key, Keys, Link, Seen, Version};

    fn read(number: i64, of: u8, size: usize) -> Arc<Read> {
        let key = Key::stored([of; 32]);
        let head = Head {
            id: number.to_string(),
            version: Version::CURRENT,
            origin: Origin {
                provider: "p".into(),
                endpoint: "https://p.example".into(),
                model: "m".into(),
                account: None,
            },
            hint: None,
            root: key,
            keys: Keys { answered: key, anchors: vec![key], thought: None },
            seen: Seen { text: None, copy: None, calls: Vec::new(), content: key },
            prefix: key,
            parent: Link::Root,
            follows: Link::Root,
            ancestors: Vec::new(),
            earlier: None,
            thought: None,
            words: None,
            seals: Vec::new(),
            delivery: Delivery::Full,
            at: 0,
        };
        let found = Found { head: head.into(), kept: Sealed::stored(1, vec![0; size]).into() };
        Arc::new(Read { tenant: 1, number, thread: 1, keys: vec![of.into()], found })
    }

    fn numbers(recent: &Recent, tenant: i64, key: u8) -> Vec<i64> {
        let key = i64::from(key);
        recent.with_keys(tenant, &[key, key]).iter().map(|it| it.number).collect()
    }

    #[test]
    fn those_of_a_key_are_found_by_their_tenant() {
        let recent = Recent::default();
        for (number, key) in [(1, 7), (2, 7), (3, 8), (2, 7)] {
            recent.keep(&read(number, key, 10));
        }
        assert_eq!(numbers(&recent, 1, 7), [1, 2]);
        assert_eq!(numbers(&recent, 1, 8), [3]);
        assert!(numbers(&recent, 2, 7).is_empty() && numbers(&recent, 1, 9).is_empty());
        recent.clear();
        assert!(numbers(&recent, 1, 7).is_empty());
    }

    #[test]
    fn the_one_that_was_not_asked_for_the_longest_makes_room() {
        let recent = Recent::default();
        let (size, room) = (LARGE - HEAD, i64::try_from(ROOM / LARGE).unwrap_or_default());
        for number in 0..room {
            recent.keep(&read(number, 1, size));
        }
        assert_eq!(numbers(&recent, 1, 1).len(), 16);
        recent.keep(&read(100, 2, size));
        assert_eq!(numbers(&recent, 1, 1), (1..room).collect::<Vec<_>>());
        // The other records were used since, so this one is dropped.
        recent.keep(&read(101, 3, size));
        assert_eq!((numbers(&recent, 1, 2), numbers(&recent, 1, 3)), (vec![], vec![101]));
        let index = recent.index();
        assert_eq!(index.bytes, index.records.iter().map(|(_, it)| it.size()).sum::<usize>());
    }

    #[test]
    fn large_ones_are_read_again() {
        let recent = Recent::default();
        recent.keep(&read(1, 1, LARGE));
        assert!(numbers(&recent, 1, 1).is_empty());
    }
}
