//! Keeps every thought of a reasoning model.
//!
//! Reasoning models think before they answer, and many break or get worse if their thoughts do not come back in the
//! next request; others refuse them. Every provider has its own format. This library reads the thoughts of all of
//! them into one form and writes the request that the next model needs. It does no I/O: it takes bytes and returns
//! bytes, and your own HTTP client sends them.
//!
//! | task | start here |
//! | --- | --- |
//! | a conversation with tools, with any model | [`exchange`] |
//! | read an answer or a stream of any provider | [`read`] |
//! | messages, thoughts and calls, and their JSON form | [`content`] |
//! | a model, its address, and what it demands of thoughts | [`model`] |
//! | effort, budget, and which thoughts go back | [`settings`] |
//! | translate a request, an answer or a stream | [`wire`] |
//! | thoughts between tags, and secrets, in text | [`text`] |
//! | JSON that keeps unknown members byte for byte | [`json`] |
//!
//! # A conversation
//!
//! ```
//! use thinkthrough::content::{Content, Request, Speaker};
//! use thinkthrough::exchange::{Ended, Turn};
//! use thinkthrough::model::Target;
//! use thinkthrough::settings::Resolved;
//!
//! let target = Target::built_in("deepseek", None, "deepseek-v4-pro")?;
//! let mut conversation = vec![Content::text(Speaker::Human, "How much is two and two?")];
//! let request = Request { contents: conversation.clone(), ..Request::default() };
//!
//! // Send `outgoing.body` to `outgoing.url`, with `outgoing.headers` and your key.
//! let mut turn = Turn::begin(&request, &target, &Resolved::default());
//! assert_eq!(turn.outgoing().url, "https://api.deepseek.com/chat/completions");
//!
//! // Push the status and the bytes of the reply as they come; the events are for the screen.
//! let reply = br#"{"choices":[{"message":{"reasoning_content":"Easy.","content":"4"},"finish_reason":"stop"}]}"#;
//! turn.head(200);
//! turn.push(reply, &mut |event: thinkthrough::read::Event<'_>| println!("{event:?}"));
//! match turn.end(None, &mut |_: thinkthrough::read::Event<'_>| {}) {
//!     Ended::Done(finished) => conversation.extend(finished.content),
//!     // The model refused a thought. The repaired turn goes out once more.
//!     Ended::Again(_repaired) => {}
//! }
//! let thought = conversation[1].thoughts().next().map(|it| it.thought.as_str());
//! assert_eq!(thought, Some("Easy."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The next request takes the whole conversation, for the same model or for another one.

pub mod content;
pub mod exchange;
pub mod model;
pub mod read;
pub mod settings;
pub mod text;
pub mod wire;

/// JSON as byte spans: a parser that copies nothing, a writer, and owned texts that stay as they came.
///
/// ```
/// use thinkthrough::json::{Doc, Raw};
///
/// let doc = Doc::parse_str(r#"{"model":"m","x":1e400}"#).unwrap();
/// assert_eq!(doc.root().text("model").unwrap(), "m");
/// println!("{}", Raw::build(|w| w.object(|w| w.field_str("type", "thinking"))).as_str());
/// ```
pub mod json {
    pub use thinkthrough_json::{
        Doc, Entries, Extra, Items, JsonError, JsonErrorKind, Kind, MAX_DEPTH, Raw, Scratch, Val,
        Writer,
    };
}
