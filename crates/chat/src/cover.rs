//! Covers secrets and `<REDACTED>` spans in the parts of a conversation that are shown: thoughts, answers, tool calls
//! and tool results.
//!
//! This module does not change stored messages or requests to a provider. It covers only a copy on its way to the
//! screen, to standard output or to an editor. Text that comes in pieces is covered like the whole text, so that no
//! part of a secret is ever shown and taken back.

mod events;
mod watch;

pub use events::CoveredEvents;
pub use watch::Covered;

use crate::agent::Called;
use crate::tools::{FileChange, Question};
use std::borrow::Cow;
use thinkthrough_core::content::{
    Block, Content, Other, Parameters, Text, Thinking, ToolCall, ToolResponse, ToolResult,
};
use thinkthrough_core::plane::Masked;
use thinkthrough_core::tags::redacted_json;
use thinkthrough_json::Raw;
use thinkthrough_mask::{Masker, Opaque, mask_json};

/// Covers secrets in shown text, if the user wants that. Copies share their rules.
#[derive(Clone, Debug, Default)]
pub struct Cover(Option<Masker>);

impl Cover {
    /// Covers the secrets that this masker finds. Without a masker everything is shown unchanged.
    #[must_use]
    pub fn new(masker: Option<Masker>) -> Self {
        Cover(masker)
    }

    /// The masker, unless covering is off.
    pub(crate) fn masker(&self) -> Option<&Masker> {
        self.0.as_ref()
    }

    /// Covers a whole text.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match &self.0 {
            Some(masker) => Cow::Owned(Masked::by(masker, &text.to_owned()).into_inner()),
            None => Cow::Borrowed(text),
        }
    }

    /// Covers the strings of a JSON body, but not the sealed payloads of a provider.
    #[must_use]
    pub fn json<'t>(&self, body: &'t str) -> Cow<'t, str> {
        self.strings(body, Opaque::Kept)
    }

    /// Covers events that come one by one.
    #[must_use]
    pub fn events(&self) -> CoveredEvents {
        CoveredEvents::new(self.clone())
    }

    /// Covers a message.
    #[must_use]
    pub fn content(&self, content: &Content) -> Content {
        let mut content = content.clone();
        if self.0.is_some() {
            content.blocks.iter_mut().for_each(|block| *block = self.block(block));
        }
        content
    }

    /// Covers a call with its arguments.
    #[must_use]
    pub fn call(&self, call: &ToolCall) -> ToolCall {
        let parameters = match &call.parameters {
            Parameters::Json(raw) => Parameters::Json(self.raw(raw)),
            Parameters::Free(text) => Parameters::Free(self.text(text).into_owned()),
            Parameters::Invalid(text) => Parameters::Invalid(self.text(text).into_owned()),
        };
        ToolCall { parameters, ..call.clone() }
    }

    /// Covers a tool result.
    #[must_use]
    pub fn response(&self, response: &ToolResponse) -> ToolResponse {
        let result = match &response.result {
            ToolResult::Blocks(blocks) => {
                ToolResult::Blocks(blocks.iter().map(|block| self.block(block)).collect())
            }
            ToolResult::Value(value) => self.raw(value).into(),
        };
        ToolResponse { result, ..response.clone() }
    }

    /// Covers a finished call.
    #[must_use]
    pub fn called(&self, called: &Called) -> Called {
        Called {
            call: self.call(&called.call),
            response: self.response(&called.response),
            change: called.change.as_ref().map(|change| self.change(change)),
            ..called.clone()
        }
    }

    /// Covers a question before a tool call.
    #[must_use]
    pub fn question(&self, question: &Question) -> Question {
        Question {
            title: self.text(&question.title).into_owned(),
            change: question.change.as_ref().map(|change| self.change(change)),
            grant: self.text(&question.grant).into_owned(),
            ..question.clone()
        }
    }

    fn change(&self, change: &FileChange) -> FileChange {
        FileChange {
            path: change.path.clone(),
            old: change.old.as_deref().map(|old| self.text(old).into_owned()),
            new: self.text(&change.new).into_owned(),
        }
    }

    fn block(&self, block: &Block) -> Block {
        match block {
            Block::Text(text) => {
                Block::Text(Text { text: self.text(&text.text).into_owned(), ..text.clone() })
            }
            Block::Thinking(thinking) => Block::Thinking(self.thinking(thinking)),
            Block::ToolCall(call) => Block::ToolCall(self.call(call)),
            Block::ToolResponse(response) => Block::ToolResponse(self.response(response)),
            Block::Other(other) => {
                let raw = Raw::parse(&self.json(other.raw.as_str()));
                Block::Other(Other { raw: raw.unwrap_or_else(|_| Raw::null()), ..other.clone() })
            }
            Block::Media(_) => block.clone(),
        }
    }

    /// Covers a thought in all the fields that may have its text.
    fn thinking(&self, thinking: &Thinking) -> Thinking {
        let parts = |parts: &Option<Vec<String>>| -> Option<Vec<String>> {
            let parts = parts.as_ref()?.iter();
            Some(parts.map(|part| self.text(part).into_owned()).collect())
        };
        Thinking {
            thought: self.text(&thinking.thought).into_owned(),
            summary: parts(&thinking.summary),
            content: parts(&thinking.content),
            ..thinking.clone()
        }
    }

    /// Covers JSON that is not sent back to a provider, so that opaque payloads in it are covered too.
    fn raw(&self, raw: &Raw) -> Raw {
        match self.strings(raw.as_str(), Opaque::Masked) {
            Cow::Borrowed(_) => raw.clone(),
            Cow::Owned(text) => Raw::parse(&text).unwrap_or_else(|_| Raw::null()),
        }
    }

    fn strings<'t>(&self, body: &'t str, opaque: Opaque) -> Cow<'t, str> {
        let Some(masker) = &self.0 else { return Cow::Borrowed(body) };
        let hidden = redacted_json(body);
        match mask_json(masker, hidden.as_bytes(), opaque) {
            Ok(None) => hidden,
            Ok(Some(masked)) => Cow::Owned(String::from_utf8_lossy(&masked).into_owned()),
            Err(_) => self.text(body),
        }
    }
}

#[cfg(test)]
mod tests;
