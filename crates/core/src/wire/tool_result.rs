//! Results of tools on wires that have no form for some of their blocks.

use crate::content::{Block, Content, Media, ToolResponse, ToolResult};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The text of a result whose media are in the message after the results.
pub(crate) const BEHIND: &str = "The result stands in the next message of the user.";

/// The blocks of a result, structured data as text.
pub(crate) fn spoken(result: &ToolResult) -> Vec<Block> {
    let said = |block: &Block| match block {
        Block::Other(other) if other.is_data() => Block::text(other.raw.as_str()),
        block => block.clone(),
    };
    result.blocks().iter().map(said).collect()
}

/// The blocks of a result by kind.
#[derive(Debug, Default)]
pub(crate) struct Parted<'r> {
    texts: Vec<Cow<'r, str>>,
    /// Images, sounds and files.
    pub(crate) media: Vec<&'r Media>,
    /// The kinds of blocks that are neither text nor data nor media.
    pub(crate) others: Vec<&'r str>,
}

impl<'r> Parted<'r> {
    /// Parts these blocks.
    pub(crate) fn of(blocks: &'r [Block]) -> Self {
        let mut parted = Parted::default();
        for block in blocks {
            match block {
                Block::Text(text) => parted.texts.push(Cow::Borrowed(&text.text)),
                Block::Media(media) => parted.media.push(media),
                Block::Other(other) if other.is_data() => {
                    parted.texts.push(Cow::Borrowed(other.raw.as_str()));
                }
                Block::Other(other) => parted.others.push(&other.kind),
                Block::Thinking(_) => parted.others.push("thinking"),
                Block::ToolCall(_) => parted.others.push("tool_call"),
                Block::ToolResponse(_) => parted.others.push("tool_response"),
            }
        }
        parted
    }

    /// The texts and data, a line feed between two.
    pub(crate) fn text(&self) -> String {
        self.texts.join("\n")
    }

    /// The text of the result if its media are in the message after it.
    pub(crate) fn text_before_media(&self) -> String {
        let text = self.text();
        if text.trim().is_empty() { BEHIND.to_owned() } else { text }
    }
}

/// Whether a message holds the result of a tool.
pub(crate) fn holds_results(content: &Content) -> bool {
    content.blocks.iter().any(|block| matches!(block, Block::ToolResponse(_)))
}

/// The tools of the calls of a conversation, by the ids of the calls.
pub(crate) fn names(contents: &[Content]) -> BTreeMap<String, String> {
    let calls = contents.iter().flat_map(Content::tool_calls);
    calls.filter_map(|call| Some((call.id.clone()?, call.name.clone()))).collect()
}

/// The words before media in the message behind the results: which call gave them.
pub(crate) fn heading(response: &ToolResponse, name: Option<&str>) -> String {
    match (name.or(response.name.as_deref()), response.call_id.as_deref()) {
        (Some(name), Some(id)) => format!("Result of `{name}` ({id}):"),
        (Some(name), None) | (None, Some(name)) => format!("Result of `{name}`:"),
        (None, None) => "Result of the tool:".to_owned(),
    }
}
