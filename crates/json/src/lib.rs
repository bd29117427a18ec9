//! JSON as byte spans: a strict parser that copies nothing, and a writer.
//!
//! The wires must hand on what they do not understand byte for byte, survive what general parsers refuse
//! (`1e400`, lone surrogates) and say *where* a value stands so that an edit can replace just that span.
//! Therefore this module keeps spans instead of building a tree of owned values.
//!
//! - [`Doc`] is a parsed text: a flat list of nodes over the borrowed input.
//! - [`Val`] is one value in it; it is `Copy` and cheap to pass around.
//! - [`Raw`] is an owned, valid JSON text.
//! - [`Writer`] appends JSON to a string.

mod gathered;
mod merge;
mod parse;
mod raw;
mod string;
mod value;
mod write;

pub(crate) use gathered::Gathered;
pub use merge::{at_path, fill, merge};
pub use parse::{Doc, JsonError, JsonErrorKind, MAX_DEPTH, Scratch};
pub use raw::{Extra, Raw};
pub(crate) use string::unescape_into;
pub use string::{unescape, write_escaped};
pub use value::{Entries, Items, Kind, Val};
pub use write::Writer;

#[cfg(test)]
mod tests;
