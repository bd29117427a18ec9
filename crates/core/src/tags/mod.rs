//! Reasoning tags inside visible text: a streaming scanner, and `split` for whole texts.
//!
//! Many models write their thoughts into the text itself, between markers. A family describes the form of one group
//! of models as data; [`TagScanner`] is the one engine that reads all of them, piece by piece; [`split()`] gives the
//! two halves of a finished text; and [`TagFilter`] is placed between a decoder and its sink.
//!
//! ```
//! use thinkthrough_core::tags::{End, Options, Piece, TagScanner, TagSpec};
//! let spec = TagSpec::named("qwen3").expect("a known family");
//! let mut scanner = TagScanner::new(&spec, Options::default());
//! let (mut thought, mut text) = (String::new(), String::new());
//! let mut take = |piece: Piece<'_>| match piece {
//!     Piece::Thinking(more) => thought.push_str(more),
//!     Piece::Text(more) => text.push_str(more),
//!     Piece::ThinkingStart | Piece::ThinkingEnd => {}
//! };
//! scanner.push("so</thi", &mut take);
//! scanner.push("nk>Yes.", &mut take);
//! scanner.end(End::Clean, &mut take);
//! assert_eq!((thought.as_str(), text.as_str()), ("so", "Yes."));
//! ```
//!
//! Uncertain text is held back, so that no output is taken back: a possible marker is held until it is complete or
//! refuted; a `<REASONING>` block, which is visible text if its end is missing, is held until its end; and if a text
//! may turn out to be a thought because its family sends only end markers ([`Start`]), the text before the first
//! marker is held. A caller that knows the end of the prompt's template passes it, and then this text is not held.

mod code;
mod families;
mod family;
mod filter;
mod leap;
mod lexer;
mod parts;
mod piece;
mod plain;
mod recognise;
mod redacted;
mod scanner;
mod side;
mod spec;
mod split;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use filter::SOURCE_FIELD;
pub use filter::TagFilter;
pub use parts::{Part, Parts};
pub use piece::{End, Ending, Piece};
pub use plain::TextReader;
pub use recognise::recognised;
pub use redacted::{Redactor, redacted, redacted_json};
pub use scanner::{Options, Start, TagScanner};
pub use spec::{BadTag, TagSpec};
pub use split::{Reasoning, Split, SplitOptions, Thought, split};
