//! Edits over byte spans: only differing bytes are replaced, and every other byte stays the caller's own.
//!
//! - A [`Plan`] is a list of edits over one input. The empty plan gives the input back without a copy.
//! - [`list`] edits members of JSON objects and elements of JSON arrays, commas included.
//! - [`request::plan`] puts thoughts into a request of the same wire and takes them out.
//! - [`stream`] edits the messages of a response while it passes.

mod change;
mod layout;
pub mod list;
mod plan;
pub mod request;
pub mod stream;

pub use change::{Change, What, changed};
pub use plan::{Draft, Overlap, Plan, Segment};
