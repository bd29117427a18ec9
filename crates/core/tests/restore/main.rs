//! Restoration by its public functions: single cases, and worlds of conversations that look alike.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "everything here is a test"
)]

mod agents;
mod cases;
mod own;
mod twins;
mod vault;
