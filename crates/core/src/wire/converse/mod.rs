//! `converse`: AWS Bedrock Converse and ConverseStream.
//!
//! A block is an object with one member, whose name is its kind. Streams are AWS event-stream messages; only tool
//! calls and results announce themselves with a start, everything else opens with its first delta.

mod blob;
mod block;
mod encode;
mod error;
mod media;
mod reasoning;
mod request;
mod resources;
mod response;
mod stream;
mod write;

#[cfg(test)]
mod tests;

use super::{Decode, Dialect, Encode, ErrorBody, Framing, RequestError, Wire, Written};
use crate::answer::Answer;
use crate::content::Other;
use crate::event::Sink;
use crate::json::Val;
use crate::request::Request;

/// The wire's name, which its own fields are kept under.
const ID: &str = "converse";

/// AWS Bedrock Converse.
#[derive(Clone, Copy, Debug)]
pub struct Converse;

impl Wire for Converse {
    fn id(&self) -> &'static str {
        ID
    }

    fn joins_results(&self) -> bool {
        true
    }

    fn framing(&self) -> Framing {
        Framing::EventStream
    }

    /// The model is part of the path; names with `:` and `/` (versions, ARNs) are encoded.
    fn path(&self, model: &str, stream: bool) -> String {
        let mut path = String::from("/model/");
        for byte in model.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                path.push(char::from(byte));
            } else {
                path.push_str(&format!("%{byte:02X}"));
            }
        }
        path.push_str(if stream { "/converse-stream" } else { "/converse" });
        path
    }

    fn caps(&self) -> &'static [&'static str] {
        &["inferenceConfig.maxTokens"]
    }

    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError> {
        request::read(body)
    }

    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written {
        write::write(request, dialect)
    }

    fn answer_members(&self) -> &'static [&'static str] {
        &["output", "stopReason"]
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
        other.kind == "reasoningContent"
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        error::write(error)
    }

    fn resources(&self) -> super::resource::Resources {
        resources::RESOURCES
    }
}
