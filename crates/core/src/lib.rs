//! Reads reasoning from every provider's wire, keeps it exactly, and rebuilds the next request.
#![doc(test(attr(deny(warnings))))]

pub mod frame;
pub mod json;
pub mod tags;
