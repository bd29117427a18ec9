//! The wires with typed blocks, `messages` and `converse`, over recorded traffic.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail where it stands"
)]

mod reading;
mod recorded;
