//! The body of an answer to the caller, and the end of an answer whose caller went away.

pub(crate) mod flow;
pub(crate) mod gathered;
pub(crate) mod leaving;
pub(crate) mod patient;
pub(crate) mod reply;
pub(crate) mod stuck;
pub(crate) mod watched;
pub(crate) mod whole_events;
