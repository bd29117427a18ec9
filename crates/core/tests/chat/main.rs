//! The wires `chat-completions` and `mistral-chat` over recorded traffic and over fixtures.

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail where it stands"
)]

mod beside;
mod corpus;
mod fixtures;
mod laws;
mod reading;
mod rules;
mod writing;
