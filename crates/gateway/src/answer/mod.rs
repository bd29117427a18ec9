//! An answer under way, and its record on the way into the store.

pub(crate) mod live;
pub(crate) mod saving;
