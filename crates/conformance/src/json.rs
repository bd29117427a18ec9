//! Reading and writing JSON values by key, without ever panicking.

use serde_json::Value;

/// Access by key.
pub(crate) trait Keyed {
    /// The value at the key, `null` when there is none.
    fn at(&self, key: &str) -> &Value;
    /// Sets the key of an object; anything else stays as it is.
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
