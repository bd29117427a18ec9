//! The laws of `crates/core/tests/laws`; each target drives one of them.

#![allow(dead_code, reason = "a target uses one law")]

#[path = "../crates/core/tests/laws/budgets.rs"]
pub(crate) mod budgets;
#[path = "../crates/core/tests/laws/chat.rs"]
pub(crate) mod chat;
#[path = "../crates/core/tests/laws/counts.rs"]
pub(crate) mod counts;
#[path = "../crates/core/tests/laws/documents.rs"]
pub(crate) mod documents;
#[path = "../crates/core/tests/laws/edits.rs"]
pub(crate) mod edits;
#[path = "../crates/core/tests/laws/exchanges.rs"]
pub(crate) mod exchanges;
#[path = "../crates/core/tests/laws/faces.rs"]
pub(crate) mod faces;
#[path = "../crates/core/tests/laws/frames.rs"]
pub(crate) mod frames;
#[path = "../crates/core/tests/laws/json.rs"]
pub(crate) mod json;
#[path = "../crates/core/tests/laws/masks.rs"]
pub(crate) mod masks;
#[path = "../crates/core/tests/laws/random.rs"]
pub(crate) mod random;
#[path = "../crates/core/tests/laws/tags.rs"]
pub(crate) mod tags;
#[path = "../crates/core/tests/laws/typed.rs"]
pub(crate) mod typed;
#[path = "../crates/core/tests/laws/wires.rs"]
pub(crate) mod wires;
