//! The Gemini Interactions API.
//!
//! An interaction is a list of steps: `user_input`, `thought`, `model_output`, `function_call`, `function_result` and
//! server-side calls and results. A thought's signature goes back with its step.
//!
//! Some facts about the original form of a step are kept as notes beside its fields; these are never written to the
//! wire.

mod config;
mod encode;
mod request;
mod resources;
mod response;
mod step;
mod stream;
mod write;
mod write_step;

#[cfg(test)]
mod tests;

use super::headers::Headers;
use super::{Decode, Dialect, Encode, ErrorBody, Framing, RequestError, Wire, Written};
use crate::answer::Answer;
use crate::content::Other;
use crate::event::Sink;
use crate::json::{Val, Writer};
use crate::request::Request;

/// The Gemini Interactions wire.
#[derive(Clone, Copy, Debug)]
pub struct Interactions;

/// The public name, which also marks the extra fields of this wire.
const ID: &str = "interactions";

/// The name under which thoughts come.
const THOUGHT: &str = "thought";

/// Note: the value of this field was a bare value instead of a list.
const BARE: &str = "bare";
/// Note: the request's input was a bare value instead of a list.
const BARE_INPUT: &str = "bare_input";
/// Note: the content was in the input without a step around it.
const LOOSE: &str = "loose";
/// Note: this part continues the step of the part before it.
const MORE: &str = "more";
/// Note: the other fields of the step that this part begins.
const STEP: &str = "step";
/// Note: the message was a turn with a role, as older revisions have it.
const TURN: &str = "turn";

impl Wire for Interactions {
    fn id(&self) -> &'static str {
        ID
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/v1beta/interactions".to_owned()
    }

    fn caps(&self) -> &'static [&'static str] {
        &["generation_config.max_output_tokens"]
    }

    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError> {
        request::read(body)
    }

    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written {
        write::request(request, dialect)
    }

    fn answer_members(&self) -> &'static [&'static str] {
        &["steps", "outputs"]
    }

    /// A response that waits has no output yet.
    fn is_answer(&self, body: Val<'_>) -> bool {
        let waits = || ["id", "status"].iter().all(|member| body.some(member).is_some());
        super::has_any(body, self.answer_members()) || waits()
    }

    fn read_response(&self, body: Val<'_>, _dialect: &Dialect, sink: &mut dyn Sink) {
        response::read(body, sink);
    }

    fn decoder(&self, _dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(stream::Decoder::default())
    }

    fn write_response(&self, answer: &Answer) -> String {
        response::write(answer)
    }

    fn encoder(&self) -> Box<dyn Encode> {
        Box::new(encode::Encoder::default())
    }

    fn is_thought(&self, other: &Other) -> bool {
        other.kind == THOUGHT
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        let mut w = Writer::new();
        w.object(|w| {
            w.key("error").object(|w| {
                w.field_u64("code", u64::from(error.status));
                w.field_str("message", &error.message);
                w.field_str("status", status_word(error.status));
                w.key("details").array(|w| {
                    w.object(|w| {
                        w.field_str("@type", "type.googleapis.com/google.rpc.ErrorInfo");
                        w.field_str("reason", &error.code);
                    });
                });
            });
        });
        w.finish()
    }

    fn resources(&self) -> super::resource::Resources {
        resources::RESOURCES
    }

    fn headers(&self) -> Headers {
        Headers {
            forwarded: &["api-revision", "x-goog-api-client", "x-server-timeout"],
            account: &["x-goog-request-params", "x-goog-user-project"],
        }
    }
}

/// Google's word for an HTTP status.
fn status_word(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}
