//! The wire `chat-completions`: OpenAI's Chat Completions and its variants.
//!
//! Reasoning comes as sibling strings, as structured entries, as parts of the content, or as tags in the text; all
//! forms are read from every server. The wire `mistral-chat` is the same protocol with other places for reasoning, so
//! it uses this module with a [`Form`] of its own.

mod answer;
mod beside;
mod calls;
mod choice;
mod details;
mod encode;
mod fields;
mod form;
mod media;
mod message;
mod parts;
mod problem;
mod request;
mod resources;
mod shape;
mod signature;
mod stream;
mod template;
mod thoughts;
mod usage;
mod write;
mod write_message;

pub(crate) use choice::SIBLINGS;
pub(super) use form::Form;

use crate::answer::Answer;
use crate::content::Other;
use crate::event::Sink;
use crate::json::{Val, Writer};
use crate::request::Request;
use crate::wire::headers::Headers;
use crate::wire::{
    Decode, Dialect, Encode, ErrorBody, Framing, Identity, RequestError, Wire, Written,
};

/// The wire `chat-completions`.
#[derive(Clone, Copy, Debug)]
pub struct ChatCompletions;

impl ChatCompletions {
    /// A decoder that reads every message in full, to compare with the usual one, which knows a message again
    /// that differs from the one before in its text only.
    #[must_use]
    pub fn plain_decoder(&self, dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(stream::Decoder::plain(FORM.id, dialect))
    }
}

static FORM: Form = Form {
    id: "chat-completions",
    path: "/chat/completions",
    caps: &["max_tokens", "max_completion_tokens"],
    thinks_in_content: false,
    required_tool: "required",
    flat_errors: false,
    media_in_results: false,
    short_ids: false,
    answers_results: false,
};

impl Speaks for ChatCompletions {
    fn form(&self) -> &'static Form {
        &FORM
    }
}

/// A wire of this family; the wires differ only in their form.
pub(super) trait Speaks: Sync + std::fmt::Debug {
    fn form(&self) -> &'static Form;
}

impl<T: Speaks> Wire for T {
    fn id(&self) -> &'static str {
        self.form().id
    }

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        self.form().path.to_owned()
    }

    fn caps(&self) -> &'static [&'static str] {
        self.form().caps
    }

    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError> {
        request::read(self.form(), body)
    }

    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written {
        write::write(self.form(), request, dialect)
    }

    fn identity(&self) -> Identity {
        Identity { prefix: "chatcmpl-", time: Some("created") }
    }

    fn answer_members(&self) -> &'static [&'static str] {
        &["choices"]
    }

    fn read_response(&self, body: Val<'_>, dialect: &Dialect, sink: &mut dyn Sink) {
        stream::Decoder::new(self.form().id, dialect).body(body, sink);
    }

    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(stream::Decoder::new(self.form().id, dialect))
    }

    fn write_response(&self, answer: &Answer) -> String {
        answer::write(self.form(), answer)
    }

    fn encoder(&self) -> Box<dyn Encode> {
        Box::new(encode::Encoder::new(self.form()))
    }

    fn shows_order(&self) -> bool {
        false
    }

    fn has_short_ids(&self) -> bool {
        self.form().short_ids
    }

    fn is_thought(&self, other: &Other) -> bool {
        matches!(other.kind.as_str(), details::FIELD | details::BLOCKS)
            || parts::is_thinking(&other.kind)
    }

    fn write_error(&self, error: &ErrorBody) -> String {
        write_error(self.form(), error)
    }

    fn resources(&self) -> super::resource::Resources {
        resources::RESOURCES
    }

    fn headers(&self) -> Headers {
        Headers {
            forwarded: &["openai-beta", "x-openrouter-*"],
            account: &["openai-organization", "openai-project", "x-goog-user-project"],
        }
    }
}

fn write_error(form: &Form, error: &ErrorBody) -> String {
    let kind = match error.status {
        401 => "authentication_error",
        402 => "insufficient_quota",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    let members = |w: &mut Writer| {
        w.field_str("message", &error.message);
        w.field_str("type", kind);
        w.key("param").null();
        w.field_str("code", &error.code);
    };
    let mut w = Writer::new();
    w.object(|w| {
        if form.flat_errors {
            w.field_str("object", "error");
            members(w);
        } else {
            w.key("error").object(members);
        }
    });
    w.finish()
}

/// Whether a field for thoughts is missing in the list of fields that are always read.
fn is_custom(field: &str) -> bool {
    !SIBLINGS.contains(&field)
        && ![details::FIELD, details::BLOCKS, parts::THINKING, "content", thoughts::TAGS]
            .contains(&field)
}
