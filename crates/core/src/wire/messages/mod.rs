//! `messages`: the Anthropic Messages API, and servers that speak it.
//!
//! Typed blocks in order: `thinking` with its `signature`, `redacted_thinking`, `text`, `tool_use`, and blocks of
//! the provider's own tools, which are kept raw. Streams are server-sent events with a start, deltas and a stop
//! for each block.

mod block;
mod encode;
mod error;
mod reasoning;
mod request;
mod resources;
mod response;
mod stream;
mod write;

#[cfg(test)]
mod tests;

use super::headers::Headers;
use super::{Decode, Dialect, Encode, ErrorBody, Framing, Identity, RequestError, Wire, Written};
use crate::answer::Answer;
use crate::content::Other;
use crate::event::Sink;
use crate::json::Val;
use crate::request::Request;

/// The wire's name, which its own fields are kept under.
const ID: &str = "messages";

/// Anthropic Messages.
#[derive(Clone, Copy, Debug)]
pub struct Messages;

impl Wire for Messages {
    fn id(&self) -> &'static str {
        ID
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/v1/messages".to_owned()
    }

    fn caps(&self) -> &'static [&'static str] {
        &["max_tokens"]
    }

    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError> {
        request::read(body)
    }

    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written {
        write::write(request, dialect)
    }

    fn identity(&self) -> Identity {
        Identity { prefix: "msg_", time: None }
    }

    fn answer_members(&self) -> &'static [&'static str] {
        &["content", "stop_reason"]
    }

    fn read_response(&self, body: Val<'_>, _dialect: &Dialect, sink: &mut dyn Sink) {
        response::read(body, sink);
    }

    fn decoder(&self, _dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(stream::Decoder::default())
    }

    fn write_response(&self, answer: &Answer) -> String {
        encode::write_response(answer)
    }

    fn encoder(&self) -> Box<dyn Encode> {
        Box::new(encode::Encoder::default())
    }

    fn is_thought(&self, other: &Other) -> bool {
        matches!(other.kind.as_str(), "thinking" | "redacted_thinking")
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        error::write(error)
    }

    fn wants_signatures(&self) -> bool {
        true
    }

    fn joins_results(&self) -> bool {
        true
    }

    fn resources(&self) -> super::resource::Resources {
        resources::RESOURCES
    }

    fn headers(&self) -> Headers {
        Headers {
            forwarded: &[
                "anthropic-beta",
                "anthropic-dangerous-direct-browser-access",
                "anthropic-version",
                "x-claude-code-*",
            ],
            account: &["anthropic-organization-id", "anthropic-workspace-id"],
        }
    }
}
