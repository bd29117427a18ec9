//! A conversation: messages made of blocks, and the request that asks a model to go on.
//!
//! A [`Content`] is one message: who speaks, and [`Block`]s in the order of the wire. A thought is a [`Thinking`]
//! block: text, an opaque payload such as a signature, or both. The public JSON form is that of
//! [`write_content`] and [`read_content`]: a history is one message a line.
//!
//! ```
//! use thinkthrough::content::{Block, Content, Speaker, Thinking, read_content, write_content};
//! use thinkthrough::json::{Doc, Raw};
//!
//! let thought = Thinking { signature: Some("EqQB...".into()), ..Thinking::new("", "thinking") };
//! let message = Content::new(Speaker::Ai, vec![Block::Thinking(thought), Block::text("Done.")]);
//! let line = Raw::build(|w| write_content(w, &message));
//! println!("{}", line.as_str());
//! assert_eq!(read_content(Doc::parse_str(line.as_str()).unwrap().root()).unwrap(), message);
//! ```
//!
//! Tools are named in the [`Request`], and their results are messages:
//!
//! ```
//! use thinkthrough::content::{Block, Content, Request, Speaker, Tool, ToolCall, ToolResponse};
//! use thinkthrough::json::Raw;
//!
//! let schema = Raw::parse(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#).unwrap();
//! let tools = vec![Tool::function("read", "Reads a file.", schema)];
//! let request = Request { tools, contents: vec![Content::text(Speaker::Human, "Read a.txt")], ..Request::default() };
//!
//! // The model answers with calls; each gets its result.
//! let call = ToolCall::new(Some("call_1"), "read");
//! let result = Content::new(Speaker::Tool, vec![Block::ToolResponse(ToolResponse::of(&call, "two lines"))]);
//! # drop((request, result));
//! ```

pub use thinkthrough_core::content::{
    Block, Content, Media, MediaSource, Origin, Other, Parameters, Speaker, Text, Thinking,
    ThinkingBlock, ToolCall, ToolResponse, ToolResult,
};
pub use thinkthrough_core::reasoning::{
    estimate_thinking_tokens, extract_thinking_blocks, filter_thinking_for_context,
    thinking_to_reasoning_field,
};
pub use thinkthrough_core::request::{AnswerFormat, ReasoningAsk, Request, Tool, ToolChoice};
pub use thinkthrough_core::shape::{
    ShapeError, read_block, read_content, write_answer, write_block, write_content, write_event,
    write_usage,
};
