//! The wires `responses`, `interactions` and `generate-content` over recorded traffic and over fixtures.

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail where it stands"
)]

mod corpus;
mod fixtures;
mod laws;
mod reading;
mod replay;
