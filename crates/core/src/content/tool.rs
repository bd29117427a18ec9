//! Calls of tools and their results.

use super::{Block, Media, MediaSource};
use crate::json::{Extra, Raw};
use std::borrow::Cow;

/// The model asks for a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The provider's id; some give none.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub parameters: Parameters,
    /// An opaque payload on the call (Gemini's `thoughtSignature`).
    pub signature: Option<String>,
    /// Fields of the call that have no name here: an item's own id, a namespace, ...
    pub extra: Extra,
}

impl ToolCall {
    /// A call without arguments, payloads and unknown members.
    #[must_use]
    pub fn new(id: Option<&str>, name: &str) -> Self {
        ToolCall {
            id: id.map(str::to_owned),
            name: name.to_owned(),
            parameters: Parameters::default(),
            signature: None,
            extra: Extra::default(),
        }
    }
}

/// The arguments of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// Free text, for tools that take any text instead of JSON.
    Free(String),
    /// Arguments that are not JSON, kept as they came.
    Invalid(String),
    /// A JSON value, exactly as it was written; absent arguments are `{}`.
    Json(Raw),
}

impl Parameters {
    /// Arguments from the text that a wire carries them in. An empty or blank text is `{}`.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::default();
        }
        Raw::parse(text).map_or_else(|_| Parameters::Invalid(text.to_owned()), Parameters::Json)
    }

    /// The arguments as text, as wires carry them.
    #[must_use]
    pub fn as_text(&self) -> &str {
        match self {
            Parameters::Json(raw) => raw.as_str(),
            Parameters::Free(text) | Parameters::Invalid(text) => text,
        }
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters::Json(Raw::build(|w| w.object(|_| {})))
    }
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResponse {
    /// The id of the call it answers.
    pub call_id: Option<String>,
    /// The tool's name, if the wire has it.
    pub name: Option<String>,
    /// The result.
    pub result: ToolResult,
    /// The tool failed.
    pub is_error: bool,
    /// Fields that have no name here.
    pub extra: Extra,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolResult {
    /// Texts, media, structured data and blocks without a form here, in order.
    Blocks(Vec<Block>),
    /// One text as a JSON string, or structured data; `null` if absent.
    Value(Raw),
}

impl ToolResponse {
    /// The result of a call.
    ///
    /// ```
    /// use thinkthrough_core::content::{ToolCall, ToolResponse};
    ///
    /// let call = ToolCall::new(Some("call_1"), "read");
    /// let result = ToolResponse::of(&call, "two lines");
    /// assert_eq!((result.call_id.as_deref(), result.result.text()), (Some("call_1"), "two lines".into()));
    /// ```
    #[must_use]
    pub fn of(call: &ToolCall, result: impl Into<ToolResult>) -> Self {
        ToolResponse {
            call_id: call.id.clone(),
            name: Some(call.name.clone()),
            result: result.into(),
            is_error: false,
            extra: Extra::default(),
        }
    }

    /// The error of a call that failed.
    #[must_use]
    pub fn error(call: &ToolCall, message: &str) -> Self {
        ToolResponse { is_error: true, ..Self::of(call, message) }
    }
}

impl From<&str> for ToolResult {
    fn from(text: &str) -> Self {
        ToolResult::Value(Raw::string(text))
    }
}

impl From<Vec<Block>> for ToolResult {
    fn from(blocks: Vec<Block>) -> Self {
        ToolResult::Blocks(blocks)
    }
}

impl From<Raw> for ToolResult {
    fn from(value: Raw) -> Self {
        ToolResult::Value(value)
    }
}

impl ToolResult {
    /// The result as blocks.
    #[must_use]
    pub fn blocks(&self) -> Cow<'_, [Block]> {
        let value = match self {
            ToolResult::Blocks(blocks) => return Cow::Borrowed(blocks),
            ToolResult::Value(value) => value,
        };
        let doc = value.doc();
        Cow::Owned(match doc.root().as_str() {
            Some(text) => vec![Block::text(text)],
            None if doc.root().is_null() => Vec::new(),
            None => vec![Block::data(value.clone())],
        })
    }

    /// The text of the result: its texts and data, a line feed between two. Media are named by their type.
    #[must_use]
    pub fn text(&self) -> String {
        let blocks = self.blocks();
        let texts = blocks.iter().filter_map(|block| match block {
            Block::Text(text) => Some(Cow::Borrowed(text.text.as_str())),
            Block::Media(media) => Some(Cow::Owned(format!("[{}]", media.media_type))),
            Block::Other(other) => Some(Cow::Borrowed(other.raw.as_str())),
            Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The number of bytes of its texts, data and media.
    #[must_use]
    pub fn size(&self) -> usize {
        let size = |block: &Block| match block {
            Block::Text(text) => text.text.len(),
            Block::Media(Media {
                source: MediaSource::Data(it) | MediaSource::Url(it), ..
            }) => it.len(),
            Block::Other(other) => other.raw.as_str().len(),
            Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => 0,
        };
        match self {
            ToolResult::Blocks(blocks) => blocks.iter().map(size).sum(),
            ToolResult::Value(value) => value.as_str().len(),
        }
    }
}
