//! The neutral form: contents (messages) made of ordered blocks.
//!
//! The order of blocks never changes; absent, `null`, `""` and `" "` are four different values; opaque payloads are
//! kept by kind and never mixed up; unknown data is kept raw.

mod tool;

pub use tool::{Parameters, ToolCall, ToolResponse, ToolResult};

use crate::json::{Extra, Raw};
use crate::usage::Usage;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// The model.
    Ai,
    /// The person, or the program that asks.
    Human,
    /// Instructions above the conversation.
    System,
    /// Results of tools.
    Tool,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Who speaks.
    pub speaker: Speaker,
    /// The blocks, in order.
    pub blocks: Vec<Block>,
    /// The origin of an answer.
    pub origin: Option<Origin>,
    /// The answer was cut off or stopped.
    pub partial: bool,
    /// The provider's word for why the answer ended.
    pub finish_reason: Option<String>,
    /// Token counts of the answer.
    pub usage: Option<Usage>,
    /// An opaque payload on the message as a whole, on wires whose texts cannot carry one.
    pub signature: Option<String>,
    /// It is about tools although no block shows it: it was in one message with their results, or describes calls
    /// or results in words. So it begins no turn, and in its turn tools were called.
    pub about_tools: bool,
    /// The effort that the model was asked for, if the answer shows no thought that has it.
    pub effort: Option<String>,
    /// The marks of earlier thoughts that the model refused in the request for this answer. It is not sent them again.
    pub refused: Vec<String>,
    /// Fields of the message that have no name here.
    pub extra: Extra,
}

impl Content {
    /// A message with only these blocks.
    #[must_use]
    pub fn new(speaker: Speaker, blocks: Vec<Block>) -> Self {
        Content {
            speaker,
            blocks,
            origin: None,
            partial: false,
            finish_reason: None,
            usage: None,
            signature: None,
            about_tools: false,
            effort: None,
            refused: Vec::new(),
            extra: Extra::default(),
        }
    }

    /// A message of plain text.
    #[must_use]
    pub fn text(speaker: Speaker, text: impl Into<String>) -> Self {
        Content::new(speaker, vec![Block::Text(Text::new(text))])
    }

    /// The text blocks, concatenated.
    #[must_use]
    pub fn visible_text(&self) -> String {
        self.blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(text.text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The tool calls in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The thoughts in order, those without text included.
    pub fn thoughts(&self) -> impl Iterator<Item = &Thinking> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Thinking(thinking) => Some(thinking),
            _ => None,
        })
    }
}

/// The origin of an answer. A thought may only go back to a target that can read it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The provider's id.
    pub provider: String,
    /// The normalised base URL.
    pub endpoint: String,
    /// The model's own name.
    pub model: String,
    /// The account boundary, if opaque payloads are bound to an account.
    pub account: Option<String>,
}

impl Origin {
    /// Returns whether both have the same address. The names of providers do not count.
    #[must_use]
    pub fn is_beside(&self, other: &Origin) -> bool {
        plain(&self.endpoint) == plain(&other.endpoint)
    }
}

/// An address in one spelling.
fn plain(address: &str) -> String {
    let address = address.to_ascii_lowercase();
    let (scheme, rest) = address.split_once("://").unwrap_or(("", &address));
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.strip_suffix(if scheme == "http" { ":80" } else { ":443" }).unwrap_or(host);
    let path = path.trim_end_matches('/');
    match host.strip_prefix("localhost").or_else(|| host.strip_prefix("[::1]")) {
        Some(port) if port.is_empty() || port.starts_with(':') => format!("127.0.0.1{port}{path}"),
        _ => format!("{host}{path}"),
    }
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// An image, a sound or a file.
    Media(Media),
    /// Any block without a form of its own here: citations, refusals, server-side tools, compaction items, ...
    Other(Other),
    /// Visible text.
    Text(Text),
    /// Reasoning.
    Thinking(Thinking),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// The result of a tool.
    ToolResponse(ToolResponse),
}

impl Block {
    /// A block of visible text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text(Text::new(text))
    }

    /// A block of structured data in the result of a tool.
    #[must_use]
    pub fn data(value: Raw) -> Self {
        Block::Other(Other::new("", DATA, value))
    }
}

/// The kind of a block of structured data, which belongs to no wire.
const DATA: &str = "json";

/// Visible text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text.
    pub text: String,
    /// An opaque payload on the text (Gemini's `thoughtSignature` on a text part).
    pub signature: Option<String>,
    /// Fields of the block that have no name here: an item's id and phase, a cache marker, citations, ...
    pub extra: Extra,
}

impl Text {
    /// A text without a signature or unknown members.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Text { text: text.into(), signature: None, extra: Extra::default() }
    }
}

/// Reasoning: readable text, opaque payloads, or both. A block with no text but a payload or an id is real.
///
/// This is the `ThinkingBlock` of the public schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thinking {
    /// The readable text; may be empty.
    pub thought: String,
    /// The wire's own key that the thought came in: `reasoning_content`, `thinking`, `think_tags`, ...
    pub source_field: String,
    /// The user asked not to see it.
    pub is_hidden: bool,
    /// An opaque proof that belongs to this block (`signature`, or `thoughtSignature` on a thought part).
    pub signature: Option<String>,
    /// Reasoning that the provider keeps unreadable (`redacted_thinking.data`, `redactedContent`).
    pub redacted_data: Option<String>,
    /// Reasoning that the provider encrypted (`encrypted_content`, `reasoning.encrypted.data`).
    pub encrypted_content: Option<String>,
    /// The item's own id.
    pub id: Option<String>,
    /// Summary parts of a Responses item; authoritative over `thought`, as is `content`.
    pub summary: Option<Vec<String>>,
    /// Content parts of a Responses item.
    pub content: Option<Vec<String>>,
    /// The `format` of a `reasoning_details` entry.
    pub format: Option<String>,
    /// The `type` of a `reasoning_details` entry.
    pub detail_type: Option<String>,
    /// The `index` of a `reasoning_details` entry.
    pub index: Option<u64>,
    /// The block ended before it was complete; a signed one must not be replayed.
    pub partial: bool,
    /// How long the thought took, in milliseconds, as its reader saw it.
    pub duration_ms: Option<u64>,
    /// The effort that the model was asked for, if the user chose one.
    pub effort: Option<String>,
    /// Fields of the block that have no name here.
    pub extra: Extra,
}

/// The name that the founding documents give to [`Thinking`].
pub type ThinkingBlock = Thinking;

impl Thinking {
    /// A thought that came as text in `source_field`.
    #[must_use]
    pub fn new(thought: impl Into<String>, source_field: impl Into<String>) -> Self {
        Thinking { thought: thought.into(), source_field: source_field.into(), ..Self::default() }
    }

    /// Whether some payload makes the block real even without text.
    #[must_use]
    pub fn has_payload(&self) -> bool {
        self.signature.is_some()
            || self.redacted_data.is_some()
            || self.encrypted_content.is_some()
            || self.id.is_some()
    }

    /// Returns whether it has an id or a payload that is not empty.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        let payloads = [&self.signature, &self.redacted_data, &self.encrypted_content, &self.id];
        payloads.into_iter().flatten().any(|payload| !payload.is_empty())
    }

    /// Whether it is an item of its own, whose id must be sent only together with the id of the next item. Source:
    /// the pair rule of the Responses API.
    #[must_use]
    pub fn is_item(&self) -> bool {
        self.id.is_some() && matches!(self.source_field.as_str(), "summary" | "content")
    }

    /// Neither text nor a payload: no block at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.thought.is_empty() && !self.has_payload()
    }

    /// Only an opaque payload came; the provider withheld the text.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        self.thought.is_empty() && self.has_payload()
    }
}

/// An image, a sound or a file, inline or by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The MIME type; empty if the wire has none.
    pub media_type: String,
    /// The source of the bytes.
    pub source: MediaSource,
    /// Fields that have no name here.
    pub extra: Extra,
}

/// The source of the bytes of a media block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediaSource {
    /// Inline, base64 as it was written.
    Data(String),
    /// At an address.
    Url(String),
}

/// A block that has no form of its own here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The wire it came on.
    pub wire: &'static str,
    /// The wire's own name for it.
    pub kind: String,
    /// The block in its wire's form.
    pub raw: Raw,
    /// Notes of the wire about its original place. They are never sent.
    pub notes: Extra,
}

impl Other {
    /// A block in its wire's form.
    #[must_use]
    pub fn new(wire: &'static str, kind: impl Into<String>, raw: Raw) -> Self {
        Other { wire, kind: kind.into(), raw, notes: Extra::default() }
    }

    /// Whether it is structured data.
    #[must_use]
    pub fn is_data(&self) -> bool {
        self.wire.is_empty() && self.kind == DATA
    }

    /// Whether it only names an item that the provider stores, such as a thought (the Responses API's
    /// `item_reference`).
    #[must_use]
    pub fn is_reference(&self) -> bool {
        self.kind == "item_reference"
    }
}

/// Appends a thought to others that share one field: a line feed separates two texts, and an empty text adds no line
/// feed.
pub(crate) fn push_thought(joined: &mut String, thought: &str) {
    if !joined.is_empty() && !thought.is_empty() {
        joined.push('\n');
    }
    joined.push_str(thought);
}

/// Thoughts that share one field, joined as by [`push_thought`].
pub(crate) fn join_thoughts<'a>(thoughts: impl IntoIterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    thoughts.into_iter().for_each(|thought| push_thought(&mut joined, thought));
    joined
}
