//! The OpenAI Responses API and its relatives.
//!
//! An answer is a list of output items: `reasoning`, `message`, `function_call` and many kinds of server-side items.
//! Their order is sacred. Ids, status and phase of items go into the blocks' extra fields, so that an item goes out
//! unchanged.
//!
//! Some facts about the original form of an item have no field of their own. They are kept as notes beside its
//! fields; these are never written to the wire.

mod encode;
mod item;
mod message;
mod request;
mod resources;
mod response;
mod slot;
mod stream;
mod terminal;
mod write;
mod write_item;

#[cfg(test)]
mod tests;

use super::headers::Headers;
use super::{Decode, Dialect, Encode, ErrorBody, Framing, Identity, RequestError, Wire, Written};
use crate::answer::Answer;
use crate::content::{Other, Thinking};
use crate::event::Sink;
use crate::json::{Val, Writer};
use crate::request::Request;

/// The OpenAI Responses wire.
#[derive(Clone, Copy, Debug)]
pub struct Responses;

/// The public name, which also marks the extra fields of this wire.
pub(crate) const ID: &str = "responses";

/// The place of a plain thought in a reasoning item.
const CONTENT: &str = "content";

/// Note: the content of the model's message was a bare string, not a list of parts.
const BARE: &str = "bare";
/// Note: the content of the message was a list although a bare string could express it.
const LIST: &str = "list";
/// Note: the request's input was a bare string.
const BARE_INPUT: &str = "bare_input";
/// Note: this system message was in `instructions`.
const INSTRUCTIONS: &str = "instructions";
/// Note: this part continues the message of the part before it.
const MORE: &str = "more";
/// Note: fields of the part that would be taken for fields of its message.
const PART: &str = "part";
/// Note on a part that has no form of its own: the fields of its message, or `null` when it continues one.
const MESSAGE: &str = "message";
/// Note: the tool did not set `strict`, which means strict on this wire.
const NOT_SAID: &str = "not_said";

/// Returns whether this wire made up an item's id for a caller: a word, a number and the id of the answer. The API's own ids
/// are a word and one random part.
pub(crate) fn is_made_id(id: &str) -> bool {
    let mut parts = id.splitn(3, '_');
    let (kind, place, rest) = (parts.next(), parts.next(), parts.next());
    let is_word =
        kind.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_lowercase()));
    let is_place = place
        .is_some_and(|it| (1..=4).contains(&it.len()) && it.bytes().all(|b| b.is_ascii_digit()));
    is_word && is_place && rest.is_some_and(|it| !it.is_empty())
}

/// Whether models of this dialect read their plain thoughts as content of a reasoning item, not as its summary.
pub(crate) fn reads_content(dialect: &Dialect) -> bool {
    dialect.field.as_deref().unwrap_or(CONTENT) == CONTENT
}

/// Whether a plain thought is the summary of its item.
pub(crate) fn is_summary(thinking: &Thinking) -> bool {
    thinking.source_field == "summary"
        && thinking.encrypted_content.is_none()
        && !thinking.thought.is_empty()
}

/// Makes a summary the content of its item.
pub(crate) fn to_content(thinking: &mut Thinking) {
    thinking.summary = Some(Vec::new());
    thinking.content = Some(vec![thinking.thought.clone()]);
    CONTENT.clone_into(&mut thinking.source_field);
    thinking.extra.fields.retain(|(key, _)| !matches!(key.as_str(), "summary" | "content"));
}

impl Wire for Responses {
    fn id(&self) -> &'static str {
        ID
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/responses".to_owned()
    }

    fn caps(&self) -> &'static [&'static str] {
        &["max_output_tokens"]
    }

    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError> {
        request::read(body)
    }

    fn asks_in_vain(&self, request: &Request) -> Option<RequestError> {
        request::compaction(request)
    }

    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written {
        write::request(request, dialect)
    }

    fn identity(&self) -> Identity {
        Identity { prefix: "resp_", time: Some("created_at") }
    }

    fn answer_members(&self) -> &'static [&'static str] {
        &["output", "response"]
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
        other.kind == "reasoning"
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        let mut w = Writer::new();
        w.object(|w| {
            w.key("error").object(|w| {
                w.field_str("message", &error.message);
                w.field_str("type", error_type(error.status));
                w.key("param").null();
                w.field_str("code", &error.code);
            });
        });
        w.finish()
    }

    fn resources(&self) -> super::resource::Resources {
        resources::RESOURCES
    }

    fn headers(&self) -> Headers {
        Headers {
            forwarded: &["openai-beta", "version", "x-codex-*", "x-openai-subagent"],
            account: &["chatgpt-account-id", "openai-organization", "openai-project"],
        }
    }
}

/// The `type` of an error body, which follows from the status alone.
fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}
