//! JSON as byte spans: a strict parser that copies nothing, and a writer.
//!
//! A relay must pass on members that it does not know byte for byte, read input that general parsers refuse
//! (`1e400`, lone surrogates), and replace one value without touching its neighbours.
//! Therefore this crate keeps spans and builds no tree of owned values.
//!
//! - [`Doc`] is a parsed text: a flat list of nodes over the borrowed input.
//! - [`Val`] is one value in it; it is `Copy` and cheap to pass around.
//! - [`Raw`] is an owned, valid JSON text.
//! - [`Writer`] appends JSON to a string.
//!
//! ```
//! use thinkthrough_json::{Doc, Writer};
//!
//! let text = r#"{"model":"small","temperature":1e400,"messages":[{"content":"hi\u0021"}]}"#;
//! let doc = Doc::parse_str(text).unwrap();
//! let message = doc.root().get("messages").unwrap().items().next().unwrap();
//! assert_eq!(message.text("content").unwrap(), "hi!");
//!
//! // An edit replaces one span, and every other byte stays.
//! let span = doc.root().get("model").unwrap().span();
//! let mut edited = text.to_owned();
//! edited.replace_range(span, "\"large\"");
//! assert!(edited.starts_with(r#"{"model":"large","temperature":1e400,"#));
//!
//! let mut w = Writer::new();
//! w.object(|w| w.field_str("type", "thinking"));
//! assert_eq!(w.finish(), r#"{"type":"thinking"}"#);
//! ```
#![doc(test(attr(deny(warnings))))]

mod gathered;
mod merge;
mod parse;
mod raw;
mod string;
mod value;
mod write;

pub use gathered::Gathered;
pub use merge::{at_path, fill, merge};
pub use parse::{Doc, JsonError, JsonErrorKind, MAX_DEPTH, Scratch};
pub use raw::{Extra, Raw};
pub use string::{unescape, unescape_into, write_escaped};
pub use value::{Entries, Items, Kind, Val};
pub use write::Writer;

#[cfg(test)]
mod tests;
