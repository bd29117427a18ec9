//! The built program, run as users run it: what it prints, and how it ends.
//!
//! Recorded traffic of every wire goes through `think parse` and is compared with what the recordings expect, by a
//! judge that knows only the recordings' own description and the public shape.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "everything here is a test, and a test that breaks is a finding"
)]

mod acceptance;
mod ask;
mod commands;
mod corpus;
mod judge;
mod program;
mod sim;
