//! The wire `mistral-chat`: Chat Completions with thoughts as parts of the content.
//!
//! `content` is a string, or a list with parts `{"type":"thinking","thinking":[...]}` before the text. Thoughts go
//! back the same way; a sibling string would be refused. Ids of calls are nine letters and digits.

use super::chat_completions::{Form, Speaks};

/// The wire `mistral-chat`.
#[derive(Clone, Copy, Debug)]
pub struct MistralChat;

static FORM: Form = Form {
    id: "mistral-chat",
    path: "/v1/chat/completions",
    caps: &["max_tokens"],
    thinks_in_content: true,
    required_tool: "any",
    flat_errors: true,
    media_in_results: true,
    short_ids: true,
    answers_results: true,
};

impl Speaks for MistralChat {
    fn form(&self) -> &'static Form {
        &FORM
    }
}
