//! Records that are not in the database yet.
//!
//! An answer does not wait for the commit of its record, so the next request may be faster. This process finds such
//! records here by the same keys. Other processes find them after the commit.

use crate::row::NewRecord;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clones are handles to the same ones.
#[derive(Clone, Default)]
pub(crate) struct Unwritten(Arc<Mutex<Index>>);

/// A look-up takes at most as many steps as the query has keys.
#[derive(Default)]
struct Index {
    by_key: HashMap<(i64, i64), Vec<Arc<NewRecord>>>,
    by_id: HashMap<(i64, String), Arc<NewRecord>>,
}

/// Records that can be found here until this is dropped.
pub(crate) struct Held {
    unwritten: Unwritten,
    pub(crate) records: Vec<Arc<NewRecord>>,
}

impl Unwritten {
    /// Adds records, which can be found until the returned value is dropped.
    pub(crate) fn hold(&self, records: Vec<NewRecord>) -> Held {
        let records: Vec<Arc<NewRecord>> = records.into_iter().map(Arc::new).collect();
        let mut index = self.index();
        for record in &records {
            for key in &record.keys {
                let same = index.by_key.entry((record.tenant, *key)).or_default();
                same.push(Arc::clone(record));
            }
            index.by_id.insert((record.tenant, record.id.clone()), Arc::clone(record));
        }
        Held { unwritten: self.clone(), records }
    }

    /// The records of a tenant with any of these keys, each once.
    pub(crate) fn with_keys(&self, tenant: i64, keys: &[i64]) -> Vec<Arc<NewRecord>> {
        let index = self.index();
        if index.by_id.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<Arc<NewRecord>> = Vec::new();
        for record in keys.iter().filter_map(|key| index.by_key.get(&(tenant, *key))).flatten() {
            if !found.iter().any(|it| it.id == record.id) {
                found.push(Arc::clone(record));
            }
        }
        found
    }

    /// The records of a tenant with these ids.
    pub(crate) fn named(&self, tenant: i64, ids: &[String]) -> Vec<Arc<NewRecord>> {
        let index = self.index();
        ids.iter().filter_map(|id| index.by_id.get(&(tenant, id.clone())).cloned()).collect()
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut index = self.unwritten.index();
        for record in &self.records {
            for key in &record.keys {
                let place = (record.tenant, *key);
                if let Some(same) = index.by_key.get_mut(&place) {
                    same.retain(|it| !Arc::ptr_eq(it, record));
                    if same.is_empty() {
                        index.by_key.remove(&place);
                    }
                }
            }
            let name = (record.tenant, record.id.clone());
            if index.by_id.get(&name).is_some_and(|it| Arc::ptr_eq(it, record)) {
                index.by_id.remove(&name);
            }
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("records", &self.records.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unwritten").field("records", &self.index().by_id.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tenant: i64, id: &str, keys: &[i64]) -> NewRecord {
        NewRecord {
            tenant,
            id: id.to_owned(),
            parent: None,
            thread: None,
            key_id: 0,
            keys: keys.to_vec(),
            head: Vec::new(),
            kept: Vec::new(),
            now: 0,
        }
    }

    fn ids(found: &[Arc<NewRecord>]) -> Vec<&str> {
        found.iter().map(|it| it.id.as_str()).collect()
    }

    #[test]
    fn a_record_is_found_by_its_tenant_while_it_is_held_and_leaves_nothing() {
        let unwritten = Unwritten::default();
        let one = unwritten.hold(vec![record(1, "a", &[7, 8]), record(1, "b", &[8])]);
        let two = unwritten.hold(vec![record(2, "a", &[7]), record(2, "c", &[8])]);
        // The same answer twice: the second one stays when the first is committed.
        let again = unwritten.hold(vec![record(1, "a", &[7, 8])]);
        assert_eq!(ids(&unwritten.with_keys(1, &[7, 8, 9])), ["a", "b"]);
        assert_eq!(ids(&unwritten.with_keys(2, &[8])), ["c"]);
        assert_eq!(ids(&unwritten.with_keys(3, &[7, 8])), [""; 0]);
        assert_eq!(ids(&unwritten.named(1, &["b".to_owned(), "c".to_owned()])), ["b"]);
        drop(one);
        assert_eq!(ids(&unwritten.with_keys(1, &[7, 8])), ["a"]);
        drop((two, again));
        assert_eq!(ids(&unwritten.with_keys(2, &[7, 8])), [""; 0]);
        let index = unwritten.index();
        assert!(index.by_key.is_empty() && index.by_id.is_empty());
    }
}
