//! Stored responses of the simulators that have state.

use std::sync::{Mutex, PoisonError};

use crate::json::Keyed;
use serde_json::Value;

/// How many responses are remembered; the oldest go first.
const LIMIT: usize = 1_000;

/// The memory of one simulator.
#[derive(Debug, Default)]
pub(crate) struct Store {
    responses: Mutex<Vec<Stored>>,
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
        let mut list = self.lock();
        list.retain(|stored| stored.id != id);
        if list.len() >= LIMIT {
            list.remove(0);
        }
        list.push(Stored { id: id.to_owned(), body: body.clone(), items });
    }

    pub(crate) fn get(&self, id: &str) -> Option<Value> {
        self.lock().iter().find(|stored| stored.id == id).map(|stored| stored.body.clone())
    }

    /// The items that a response stands for.
    pub(crate) fn items(&self, id: &str) -> Option<Vec<Value>> {
        self.lock().iter().find(|stored| stored.id == id).map(|stored| stored.items.clone())
    }

    /// A single stored item.
    pub(crate) fn item(&self, id: &str) -> Option<Value> {
        let list = self.lock();
        let mut items = list.iter().flat_map(|stored| &stored.items);
        items.find(|item| item.at("id").as_str() == Some(id)).cloned()
    }

    pub(crate) fn remove(&self, id: &str) -> Option<Value> {
        let mut list = self.lock();
        let place = list.iter().position(|stored| stored.id == id)?;
        Some(list.remove(place).body)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Stored>> {
        self.responses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
