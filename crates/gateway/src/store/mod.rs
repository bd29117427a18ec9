//! The gateway's interface to its store, and how long a request waits for it.

pub(crate) mod learned;
pub(crate) mod read_only;
pub(crate) mod spilling;
pub(crate) mod stored;
pub(crate) mod vault;
pub(crate) mod waits;
pub(crate) mod weight;
