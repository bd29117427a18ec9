//! The envelope `/api/generate` of the same wire: one prompt in, the thought and the text on the response itself.

use super::encode::{Encoder, Place, write_response};
use super::{OllamaChat, request};
use crate::answer::Answer;
use crate::content::{Block, Content, Other, Speaker};
use crate::event::Sink;
use crate::json::Val;
use crate::request::Request;
use crate::wire::{Decode, Dialect, Encode, ErrorBody, Framing, RequestError, Wire, Written};

/// Ollama's chat for callers of `/api/generate`. Upstream requests have the form of `/api/chat`.
#[derive(Clone, Copy, Debug)]
pub struct Generate;

impl Wire for Generate {
    fn id(&self) -> &'static str {
        // It differs from the wire's own id, so that bodies of one form are not passed on as the other.
        "ollama-generate"
    }

    fn framing(&self) -> Framing {
        OllamaChat.framing()
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/api/generate".to_owned()
    }

    fn caps(&self) -> &'static [&'static str] {
        OllamaChat.caps()
    }

    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError> {
        read(body)
    }

    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written {
        OllamaChat.write_request(request, dialect)
    }

    fn answer_members(&self) -> &'static [&'static str] {
        OllamaChat.answer_members()
    }

    fn read_response(&self, body: Val<'_>, dialect: &Dialect, sink: &mut dyn Sink) {
        OllamaChat.read_response(body, dialect, sink);
    }

    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode> {
        OllamaChat.decoder(dialect)
    }

    fn write_response(&self, answer: &Answer) -> String {
        write_response(answer, Place::Response)
    }

    fn encoder(&self) -> Box<dyn Encode> {
        Box::new(Encoder::new(Place::Response))
    }

    fn is_thought(&self, other: &Other) -> bool {
        OllamaChat.is_thought(other)
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        OllamaChat.write_error(error)
    }
}

/// Reads a request: `system` and `prompt` become messages. A context of token numbers, and a prompt that must bypass
/// the model's template, cannot become messages.
fn read(body: Val<'_>) -> Result<Request, RequestError> {
    let context = body.some("context").filter(|context| context.items().next().is_some());
    if context.is_some() {
        return Err(RequestError::new("context", "is not supported; send messages to `/api/chat`"));
    }
    if body.bool("raw") == Some(true) {
        return Err(RequestError::new("raw", "is not supported; leave it out"));
    }
    let mut request = request::head(body)?;
    for (key, speaker) in [("system", Speaker::System), ("prompt", Speaker::Human)] {
        match body.some(key).map(Val::as_str) {
            Some(Some(text)) if speaker == Speaker::System && text.is_empty() => {}
            Some(Some(text)) => request.contents.push(Content::text(speaker, text)),
            Some(None) => return Err(RequestError::new(key, "must be a string")),
            None if speaker == Speaker::Human => {
                return Err(RequestError::new("prompt", "must be a string"));
            }
            None => {}
        }
    }
    let images = super::response::images(body).unwrap_or_default();
    if let Some(prompt) = request.contents.last_mut() {
        let images = images.iter().map(|data| Block::Media(super::response::image(data)));
        prompt.blocks.extend(images);
    }
    request::rest(&mut request, body, &["system", "prompt", "images", "context", "raw"]);
    Ok(request)
}
