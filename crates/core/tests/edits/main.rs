//! Edits of requests that stay on their wire.

#![expect(
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "everything here is a test"
)]

mod requests;
