//! Access to JSON values by key. It never panics.

use serde_json::Value;

/// Access by key.
pub(crate) trait Keyed {
    /// The value of the key, or `null` if it is absent.
    fn at(&self, key: &str) -> &Value;
    /// Sets the key of an object. Other values stay unchanged.
    fn set(&mut self, key: &str, value: Value);
}

impl Keyed for Value {
    fn at(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&Self::Null)
    }

    fn set(&mut self, key: &str, value: Value) {
        if let Some(map) = self.as_object_mut() {
            map.insert(key.to_owned(), value);
        }
    }
}
