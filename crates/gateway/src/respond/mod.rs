//! The body that the caller reads, and what happens when nobody reads it.

pub(crate) mod flow;
pub(crate) mod gathered;
pub(crate) mod leaving;
pub(crate) mod patient;
pub(crate) mod reply;
pub(crate) mod stuck;
pub(crate) mod watched;
pub(crate) mod whole_events;
