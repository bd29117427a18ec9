//! The memory of simulators that store responses.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::json::Keyed;
use serde_json::Value;

/// The most responses of a store. The oldest ones are deleted first.
const LIMIT: usize = 1_000;
/// The most bytes of all responses in a store, as JSON.
const BYTES: usize = 32 * 1024 * 1024;

/// The stored responses of one simulator.
#[derive(Debug, Default)]
pub(crate) struct Store {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    responses: Vec<Stored>,
    /// Every item of the responses by its id, and the number of responses that have it.
    items: HashMap<String, (Value, usize)>,
    /// The size of all responses.
    bytes: usize,
}

#[derive(Debug)]
struct Stored {
    id: String,
    body: Value,
    /// The input of the response, the items before it, and its output.
    items: Vec<Value>,
    bytes: usize,
}

impl Store {
    pub(crate) fn put(&self, id: &str, body: &Value, items: Vec<Value>) {
        let mut kept = self.lock();
        kept.remove(id);
        let bytes = std::iter::once(body).chain(&items).map(|it| it.to_string().len()).sum();
        kept.bytes += bytes;
        // The newest response is stored even if it alone exceeds the limit.
        while !kept.responses.is_empty() && (kept.responses.len() >= LIMIT || kept.bytes > BYTES) {
            kept.take(0);
        }
        for item in &items {
            if let Some(id) = item.at("id").as_str() {
                kept.items.entry(id.to_owned()).or_insert_with(|| (item.clone(), 0)).1 += 1;
            }
        }
        kept.responses.push(Stored { id: id.to_owned(), body: body.clone(), items, bytes });
    }

    pub(crate) fn get(&self, id: &str) -> Option<Value> {
        self.lock().find(id).map(|stored| stored.body.clone())
    }

    /// The items of the conversation up to this response.
    pub(crate) fn items(&self, id: &str) -> Option<Vec<Value>> {
        self.lock().find(id).map(|stored| stored.items.clone())
    }

    /// A single stored item.
    pub(crate) fn item(&self, id: &str) -> Option<Value> {
        self.lock().items.get(id).map(|(item, _)| item.clone())
    }

    pub(crate) fn has_item(&self, id: &str) -> bool {
        self.lock().items.contains_key(id)
    }

    pub(crate) fn remove(&self, id: &str) -> Option<Value> {
        self.lock().remove(id)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn find(&self, id: &str) -> Option<&Stored> {
        self.responses.iter().find(|stored| stored.id == id)
    }

    fn remove(&mut self, id: &str) -> Option<Value> {
        let place = self.responses.iter().position(|stored| stored.id == id)?;
        Some(self.take(place))
    }

    /// Deletes the response at this index, and its items unless another response has them.
    fn take(&mut self, place: usize) -> Value {
        let Stored { body, items, bytes, .. } = self.responses.remove(place);
        self.bytes -= bytes;
        for id in items.iter().filter_map(|item| item.at("id").as_str()) {
            if let Some((_, count)) = self.items.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    self.items.remove(id);
                }
            }
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_remembered_has_an_end_in_bytes_and_the_newest_stays() {
        let store = Store::default();
        let put = |id: &str, size: usize| {
            let item = json!({"id": format!("item of {id}"), "text": "a".repeat(size)});
            store.put(id, &json!({"id": id}), vec![item]);
        };
        (0..5).for_each(|at| put(&at.to_string(), BYTES / 4));
        let there: Vec<bool> = (0..5).map(|at| store.get(&at.to_string()).is_some()).collect();
        assert_eq!(there, [false, false, true, true, true]);
        assert!(!store.has_item("item of 1") && store.has_item("item of 4"));
        put("large", BYTES * 2);
        assert!(store.get("large").is_some() && store.get("4").is_none());
        store.remove("large");
        assert_eq!(store.lock().bytes, 0);
    }
}
