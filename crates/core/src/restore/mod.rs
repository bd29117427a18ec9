//! Restoration: finds the thoughts that a client dropped, and decides their fate for each answer in a request.
//!
//! **An answer is identified by parts that only it has; the rest is evidence among look-alikes.** A thought goes to
//! an answer only if
//!
//! - (a) the answer shows an *anchor* that names its record: a call id that was drawn at random, or a ticket of ours;
//!   or
//! - (b) the record answered the identical *history* with the identical visible answer. The history is all messages
//!   since the last random call id before the answer; without such an id, it is all messages. Such records of one
//!   origin are twins, and the oldest one goes back; or
//! - (c) the next answer of the request, known by (a), (b) or (c), names that record as its parent, and the visible
//!   parts are equal. This does not apply if thoughts are bound to all messages before them. A next answer is
//!   stronger evidence than (b): it was given after that very record, and later look-alikes do not matter. If that
//!   answer has twins that name unequal records, it names no record.
//!
//! No other evidence counts: not the text alone, not the latest record, not the only one left. An answer without a
//! record is a miss; several unequal records that fit are ambiguous.
//!
//! # Invariants
//!
//! Each has a property test in `tests/restore/agents`; a counter-example to any is a defect of the design.
//!
//! - A thought goes only into an answer of the same tenant, readable by the target, whose calls are its record's or
//!   some of them, by id and name, in order.
//! - No number of look-alikes changes the decision about an answer whose anchor names one record.
//! - A client's changes of its own messages do not change the record of an anchored answer.
//! - Taking records away turns `restored` into `missed`, never into another record's thought that is no twin.
//! - The decision is a function of request, records, contract and settings: when the caller's messages grow by
//!   appending, so do ours, but for answers that several models gave alike. If an earlier request described an answer
//!   in words or left out a thought, later requests do so, too, because the records behind it store it (`lasting`).
//! - Thoughts that are bound to the messages before them go back only as one unbroken run of parents, each behind the
//!   same messages as before.
//!
//! # Rooms
//!
//! 1. [`Question::read`] reads a request as keys ([`Question::keys`]), by which a store finds records.
//! 2. `matching` finds the record of each answer; [`decide`](mod@crate::decide) decides the fate of its thought.
//! 3. [`weave()`] places blocks in the caller's messages.
//! 4. [`capture()`] makes the record of the answer, with the keys by which the next request will ask for it.
//!
//! Keys are digests under the tenant's own secret, so that a look-up of one tenant never finds a record of another.

mod capture;
mod clock;
mod exact;
mod ids;
mod key;
mod lasting;
mod maker;
mod matching;
mod normal;
mod order;
mod orphan;
mod question;
mod record;
mod results;
pub mod ticket;
mod weave;

pub use capture::{Answered, Hook, capture};
pub use key::{Key, Secret, Version};
pub use lasting::Run;
pub(crate) use maker::{is_its, shows_copy};
pub use matching::{Ask, more};
pub(crate) use matching::{Match, Matches, OfStep};
pub(crate) use order::ordered;
pub(crate) use orphan::Orphan;
pub use question::{About, Question, Step};
pub use record::{Ancestor, CallMark, Delivery, Found, Head, Kept, Keys, Link, Seen, Thought};
pub use weave::weave;
