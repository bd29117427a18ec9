//! Stored responses of the simulators that have state.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::json::Keyed;
use serde_json::Value;

/// How many responses are remembered; the oldest go first.
const LIMIT: usize = 1_000;

/// The memory of one simulator.
#[derive(Debug, Default)]
pub(crate) struct Store {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    responses: Vec<Stored>,
    /// Every item of the responses by its id, and how many responses have it.
    items: HashMap<String, (Value, usize)>,
}

#[derive(Debug)]
struct Stored {
    id: String,
    body: Value,
    /// Everything that the response rested on, and its own output.
    items: Vec<Value>,
}

impl Store {
    pub(crate) fn put(&self, id: &str, body: &Value, items: Vec<Value>) {
        let mut kept = self.lock();
        kept.remove(id);
        if kept.responses.len() >= LIMIT {
            kept.take(0);
        }
        for item in &items {
            if let Some(id) = item.at("id").as_str() {
                kept.items.entry(id.to_owned()).or_insert_with(|| (item.clone(), 0)).1 += 1;
            }
        }
        kept.responses.push(Stored { id: id.to_owned(), body: body.clone(), items });
    }

    pub(crate) fn get(&self, id: &str) -> Option<Value> {
        self.lock().find(id).map(|stored| stored.body.clone())
    }

    /// The items that a response stands for.
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

    /// Forgets the response at that place, and its items unless another response has them.
    fn take(&mut self, place: usize) -> Value {
        let Stored { body, items, .. } = self.responses.remove(place);
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
