//! Reports every step of a request once ([`bus`]). Metrics, log, spans, traces and live events are made from these
//! reports.

pub(crate) mod alike;
pub(crate) mod audit;
pub(crate) mod bus;
pub(crate) mod collector;
pub(crate) mod events;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod process;
pub(crate) mod progress;
pub(crate) mod spans;
pub(crate) mod summary;
