//! An answer under way, and its record on the way into the store.

pub(crate) mod passage;
pub(crate) mod saving;
