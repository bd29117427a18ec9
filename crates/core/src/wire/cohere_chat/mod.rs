//! `cohere-chat`: Cohere's Chat API, version 2.
//!
//! The content is a list of blocks (`thinking`, `text`) in order; calls, the plan before them and the citations are
//! separate members. Streams are server-sent events with a start, deltas and an end for each block.

mod encode;
mod request;
mod response;
mod stream;
mod write;

use super::{Decode, Dialect, Encode, ErrorBody, Framing, RequestError, Wire, Written};
use crate::answer::Answer;
use crate::content::Other;
use crate::event::Sink;
use crate::json::{Val, Writer};
use crate::request::Request;

/// The wire's name, which its own fields are kept under.
const ID: &str = "cohere-chat";

/// Cohere Chat, version 2.
#[derive(Clone, Copy, Debug)]
pub struct CohereChat;

impl Wire for CohereChat {
    fn id(&self) -> &'static str {
        ID
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/v2/chat".to_owned()
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

    fn answer_members(&self) -> &'static [&'static str] {
        &["message", "finish_reason"]
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
        other.kind == "thinking"
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        let mut w = Writer::new();
        w.object(|w| w.field_str("message", &error.message));
        w.finish()
    }
}
