//! Restoration by its public functions: single cases, and worlds of conversations that look alike.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "everything here is a test"
)]

mod cases;
mod judge;
mod own;
mod twins;
mod vault;
mod worlds;
