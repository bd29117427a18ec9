//! What every built-in provider must be: found, well formed, and following the rules that its models are known for.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail where it stands"
)]

mod adapted;
mod addresses;
mod assumed;
mod contracts;
mod counts;
mod formats;
mod forms;
mod generations;
mod imaginary;
mod lasting;
mod priced;
mod stripped;
mod thinking;
