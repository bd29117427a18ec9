//! Recorded conversations, told again: wherever a recorded client sent reasoning back and the API took it, the request
//! that we build from our own reading of the earlier answers carries the same reasoning in the same place.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail where it stands"
)]

mod conversation;
mod exceptions;
mod judge;
mod marks;
mod own_hosts;
#[path = "../recordings/mod.rs"]
mod recordings;
