//! `ollama-chat`: Ollama's own chat API.
//!
//! A message has its thoughts, its text and its calls in one field each. Streams are lines of JSON, each with the new
//! pieces; the last one has `done: true`. Answers in the form of `/api/generate` are read as well.

mod encode;
mod generate;
mod request;
mod response;
mod stream;
mod write;

pub use generate::Generate;

use super::{Decode, Dialect, Encode, ErrorBody, Framing, RequestError, Wire, Written};
use crate::answer::Answer;
use crate::content::Other;
use crate::event::Sink;
use crate::json::{Val, Writer};
use crate::request::Request;

/// The wire's name, which its own fields are kept under.
const ID: &str = "ollama-chat";

/// Ollama's own chat.
#[derive(Clone, Copy, Debug)]
pub struct OllamaChat;

impl Wire for OllamaChat {
    fn id(&self) -> &'static str {
        ID
    }

    fn framing(&self) -> Framing {
        Framing::Ndjson
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/api/chat".to_owned()
    }

    fn caps(&self) -> &'static [&'static str] {
        &["options.num_predict"]
    }

    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError> {
        request::read(body)
    }

    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written {
        write::write(request, dialect)
    }

    fn answer_members(&self) -> &'static [&'static str] {
        &["message", "response", "done"]
    }

    fn read_response(&self, body: Val<'_>, _dialect: &Dialect, sink: &mut dyn Sink) {
        response::read(body, sink);
    }

    fn decoder(&self, _dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(stream::Decoder::default())
    }

    fn write_response(&self, answer: &Answer) -> String {
        encode::write_response(answer, encode::Place::Message)
    }

    fn encoder(&self) -> Box<dyn Encode> {
        Box::new(encode::Encoder::new(encode::Place::Message))
    }

    fn is_thought(&self, other: &Other) -> bool {
        let _ = other;
        false
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        let mut w = Writer::new();
        w.object(|w| w.field_str("error", &error.message));
        w.finish()
    }
}
