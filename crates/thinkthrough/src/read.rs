//! Reads answers: whole bodies and streams of every provider, in pieces of any size.
//!
//! A [`Reader`] turns bytes into [`Event`]s, and a [`Fold`] turns events into an [`Answer`]. A stream gives the same
//! answer as the whole body, however it is cut. Unreadable parts become a [`Problem`] beside the readable ones.
//!
//! ```
//! use thinkthrough::read::{Event, Fold, Form, Reader, Tee};
//! use thinkthrough::wire::{Dialect, find};
//!
//! let stream = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Two and two are four.\"}}]}\n\n\
//!               data: {\"choices\":[{\"delta\":{\"content\":\"4\"},\"finish_reason\":\"stop\"}]}\n\n\
//!               data: [DONE]\n\n";
//! let mut reader = Reader::new(find("chat-completions").unwrap(), &Dialect::PLAIN, Form::Auto);
//! let mut fold = Fold::new();
//! let mut show = |event: Event<'_>| {
//!     if let Event::ThinkingDelta { delta, .. } = event {
//!         println!("thought: {delta}");
//!     }
//! };
//! for piece in stream.as_bytes().chunks(10) {
//!     reader.push(piece, &mut Tee(&mut fold, &mut show));
//! }
//! reader.end(&mut Tee(&mut fold, &mut show));
//! let answer = fold.finish();
//! assert_eq!(answer.text(), "4");
//! assert_eq!(answer.into_content(None).thoughts().next().unwrap().thought, "Two and two are four.");
//! ```
//!
//! A [`Target`](crate::model::Target) makes a reader that knows the provider's own form. The adapters
//! ([`ReasoningStreamAdapter`], [`ReasoningAccumulator`]) take streams of text apart that somebody else has parsed.

pub use thinkthrough_core::adapter::{
    Finalized, ReasoningAccumulator, ReasoningChunk, ReasoningStreamAdapter,
};
pub use thinkthrough_core::answer::Answer;
pub use thinkthrough_core::event::{Event, Fact, Fold, Sink, Tee, Vacancy};
pub use thinkthrough_core::problem::{Problem, ProblemCode};
pub use thinkthrough_core::provider::ProviderReader;
pub use thinkthrough_core::read::{Form, Reader};
pub use thinkthrough_core::usage::Usage;
