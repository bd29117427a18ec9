//! The differences between the wires that resemble Chat Completions.

use crate::wire::tool_ids::IdRule;
use std::borrow::Cow;

/// A wire of this family, as data.
#[derive(Debug)]
pub(in crate::wire) struct Form {
    /// The wire's public name.
    pub(in crate::wire) id: &'static str,
    /// The path of the API.
    pub(in crate::wire) path: &'static str,
    /// The members that cap an answer.
    pub(in crate::wire) caps: &'static [&'static str],
    /// Thoughts are parts of their own in the content, before the text.
    pub(in crate::wire) thinks_in_content: bool,
    /// The word for "some tool must be called".
    pub(in crate::wire) required_tool: &'static str,
    /// Errors are at the top of the body instead of under `error`.
    pub(in crate::wire) flat_errors: bool,
    /// The results of tools are lists of parts, media included; documents have a part of their own.
    pub(in crate::wire) media_in_results: bool,
    /// Ids of calls are nine letters and digits.
    pub(in crate::wire) short_ids: bool,
    /// The API refuses a user message right behind a result. Source: its error, code 3230, in public threads of 2025 and
    /// 2026.
    pub(in crate::wire) answers_results: bool,
}

/// Nine letters and digits.
const SHORT_IDS: IdRule = IdRule { marks: "", longest: 9, is_exact: true };

impl Form {
    /// A call's id in a form that the API takes. An id that came on this wire stays, and so such a one is marked when it
    /// is read.
    pub(super) fn id_of<'i>(&self, id: &'i str, is_own: bool) -> Cow<'i, str> {
        if self.short_ids && !is_own { SHORT_IDS.plain(id) } else { Cow::Borrowed(id) }
    }
}

/// The original form of a message's content, if its blocks do not show it; kept under this name with the message's
/// unknown fields: `null`, a list (`[]`), or not at all (`{}`, which no content can be).
pub(super) const CONTENT: &str = "content";
/// The mark of content that was a list.
pub(super) const LIST: &str = "[]";
/// The mark of content that was absent.
pub(super) const ABSENT: &str = "{}";
/// The mark of a field that repeated the thoughts beside it.
pub(super) const REPEATS: &str = "true";

/// Request fields that steer reasoning, in all dialects; they go back as they came.
pub(super) const REASONING: [&str; 24] = [
    "reasoning_effort",
    "reasoning",
    "thinking",
    "enable_thinking",
    "thinking_budget",
    "include_reasoning",
    "reasoning_format",
    "reasoning_split",
    "separate_reasoning",
    "stream_reasoning",
    "chat_template_kwargs",
    "chat_template_args",
    "prompt_mode",
    "reasoning_history",
    "reasoning_budget",
    "reasoning_in_content",
    "clear_thinking",
    "preserve_thinking",
    "disable_reasoning",
    "thinking_token_budget",
    "thinking_budget_tokens",
    "reasoning_summary",
    "force_nonempty_content",
    "extra_body",
];
