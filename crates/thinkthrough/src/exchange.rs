//! One request to a model and its answer.
//!
//! # A conversation of your own
//!
//! [`Turn::begin`] writes the request: it decides about every thought of the conversation. [`Turn::push`] reads the
//! reply, and [`Turn::end`] gives the new message or, if the model refused a thought, a repaired turn to send. The
//! models may change in the middle of the conversation; a thought goes only to a model that can read it.
//!
//! ```
//! use thinkthrough::content::{Block, Content, Request, Speaker, Thinking};
//! use thinkthrough::exchange::{Action, build};
//! use thinkthrough::model::Target;
//! use thinkthrough::settings::Resolved;
//!
//! let target = Target::built_in("deepseek", Some("chat-completions"), "deepseek-r1").unwrap();
//! let thought = Thinking::new("The user greets me.", "reasoning_content");
//! let contents = vec![
//!     Content::text(Speaker::Human, "Hello"),
//!     Content::new(Speaker::Ai, vec![Block::Thinking(thought), Block::text("Hi!")]),
//!     Content::text(Speaker::Human, "How are you?"),
//! ];
//! let outgoing = build(&Request { contents, ..Request::default() }, &target, &Resolved::default());
//! for decision in &outgoing.decisions {
//!     println!("{}: {}", decision.action.as_str(), decision.reason);
//!     assert!(matches!(decision.action, Action::Drop(_)), "R1 refuses its own thoughts");
//! }
//! ```
//!
//! # The request of somebody else's client
//!
//! Clients drop most thoughts. [`RequestContext::read`] reads a client's bytes, [`RequestContext::need`] names the
//! keys of kept answers to look up, and [`RequestContext::prepare`] writes the request with the thoughts put back.
//! [`Exchange::push`] reads the reply and gives the client its bytes; [`Exchange::end`] gives the records to keep, each
//! a readable [`RecordHead`] and a [`Sealed`] [`RecordContent`]. Storing them is your part: implement [`Seal`] and [`Open`].

pub use thinkthrough_core::decision::{
    Action, Counts, Decision, Evidence, Lasting, Why, Without as Substitutes,
};
pub use thinkthrough_core::exchange::{
    Difference, Differences, Done as ExchangeResult, Ended, Ending, Exchange, Finished, Handling,
    Mending, Name, Named as NamedThoughts, Need, Own as OwnConversation, Owner, Prepared, PutBack,
    RefusalCause, Repair, RequestContext, Restore, Sent as SentRequest, Side, Thoughts, Turn, View,
    build, error_event, may_be_repaired,
};
pub use thinkthrough_core::outgoing::Outgoing;
pub use thinkthrough_core::pipeline::Failure;
pub use thinkthrough_core::plane::{
    Exact, Open, Place, Seal, SealError, Sealed, Tenant, TenantError,
};
pub use thinkthrough_core::restore::{
    Ancestor as RecordAncestor, CallMark, Delivery, Found as FoundRecord, Head as RecordHead,
    Kept as RecordContent, Key as LookupKey, Keys as LookupKeys, Link as RecordLink,
    Run as LastingRun, Secret, Seen as RecordVisible, Thought as ThoughtDigest,
    Version as KeyVersion,
};
