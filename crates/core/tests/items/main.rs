//! Wires over recorded traffic and over fixtures.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail where it stands"
)]

mod corners;
mod corpus;
mod counts;
mod fixtures;
mod gemini;
mod laws;
mod reading;
