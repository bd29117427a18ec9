//! Restoration: finds the thoughts that a client dropped, and says for each answer in a request what happens to its own.
//!
//! The rule is *ticket, then chain, then tail, then the calls of a session, else an honest miss*:
//!
//! 1. [`Question::read`] reads a request as keys ([`Question::keys`]), by which a store finds records.
//! 2. [`Restoration::plan`] picks a path over what was found: a pure function, which never takes a thought by a bare id,
//!    a tool's name, a text alone, or because it was the last.
//! 3. [`weave`] says which blocks go where in the caller's messages.
//! 4. [`capture`] makes the record of the answer, with the keys by which the next request will ask for it.
//!
//! Keys are digests under the tenant's own secret, so that what one tenant asks never finds what another said.

mod candidates;
mod capture;
mod exact;
mod key;
mod normal;
mod plan;
mod question;
mod record;
pub mod ticket;
mod verdict;
mod weave;

pub use candidates::Ask;
pub use capture::{Answered, Hook, capture};
pub use key::{Key, Secret, Version};
pub use plan::Restoration;
pub use question::{About, Question, Step};
pub use record::{CallMark, Delivery, Head, Kept, Keys, Link, Thought};
pub use verdict::{Counts, Found, Outcome, Verdict, Why};
pub use weave::weave;
