//! Contents as JSON, one a line in history files and exports.

use super::answer::write_usage;
use super::block::{need, read_block, read_extra, write_block, write_extra};
use crate::content::{Content, Origin, Speaker};
use crate::json::{Raw, Val, Writer};
use crate::usage::Usage;
use std::borrow::Cow;
use std::fmt;

/// Why a JSON value is not a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError {
    /// The place, like `blocks[2]`.
    pub at: String,
    /// The fault.
    pub message: String,
}

impl ShapeError {
    pub(super) fn new(at: &str, message: &str) -> Self {
        ShapeError { at: at.to_owned(), message: message.to_owned() }
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.at, self.message)
    }
}

impl std::error::Error for ShapeError {}

/// Writes one content.
pub fn write_content(w: &mut Writer, content: &Content) {
    w.object(|w| {
        w.field_str("speaker", speaker(content.speaker));
        w.key("blocks").array(|w| content.blocks.iter().for_each(|block| write_block(w, block)));
        if let Some(origin) = &content.origin {
            w.key("origin").object(|w| {
                w.field_str("provider", &origin.provider);
                w.field_str("endpoint", &origin.endpoint);
                w.field_str("model", &origin.model);
                w.str_or_null("account", origin.account.as_deref());
            });
        }
        if content.partial {
            w.field_bool("partial", true);
        }
        w.opt_str("finishReason", content.finish_reason.as_deref());
        if let Some(usage) = &content.usage {
            w.key("usage");
            write_usage(w, usage);
        }
        w.opt_str("signature", content.signature.as_deref());
        if content.about_tools {
            w.field_bool("aboutTools", true);
        }
        w.opt_str("effort", content.effort.as_deref());
        if !content.refused.is_empty() {
            w.key("refused").array(|w| content.refused.iter().for_each(|mark| w.str(mark)));
        }
        write_extra(w, &content.extra);
    });
}

/// Reads one content.
///
/// # Errors
/// When the value is no content; the error names the place.
pub fn read_content(value: Val<'_>) -> Result<Content, ShapeError> {
    let name = need(value, "speaker", "speaker")?;
    let speaker = SPEAKERS
        .iter()
        .find(|(_, spelling)| *spelling == name)
        .map(|(speaker, _)| *speaker)
        .ok_or_else(|| {
            ShapeError::new("speaker", &format!("`{name}` is none of human, ai, tool, system"))
        })?;
    let list = value
        .get("blocks")
        .filter(|list| list.is_array())
        .ok_or_else(|| ShapeError::new("blocks", "needs an array"))?;
    let blocks = list
        .items()
        .enumerate()
        .map(|(i, block)| read_block(block, &format!("blocks[{i}]")))
        .collect::<Result<_, _>>()?;
    Ok(Content {
        origin: value.some("origin").map(read_origin),
        partial: value.bool("partial").unwrap_or(false),
        finish_reason: value.string("finishReason"),
        usage: value.some("usage").map(read_usage),
        signature: value.string("signature"),
        about_tools: value.bool("aboutTools").unwrap_or(false),
        effort: value.string("effort"),
        refused: texts(value.get("refused")),
        extra: read_extra(value),
        ..Content::new(speaker, blocks)
    })
}

/// Reads the token counts that [`write_usage`] wrote.
#[must_use]
pub fn read_usage(value: Val<'_>) -> Usage {
    Usage {
        input_tokens: value.u64("inputTokens"),
        output_tokens: value.u64("outputTokens"),
        reasoning_tokens: value.u64("reasoningTokens"),
        cache_read_tokens: value.u64("cacheReadTokens"),
        cache_write_tokens: value.u64("cacheWriteTokens"),
        tool_input_tokens: None,
        is_cached_apart: false,
        is_reasoning_apart: false,
        total_tokens: value.u64("totalTokens"),
        is_early: false,
        is_priced_apart: false,
        raw: value.some("raw").map(Raw::from),
    }
}

fn texts(list: Option<Val<'_>>) -> Vec<String> {
    let texts = list.into_iter().flat_map(Val::items).filter_map(Val::as_str);
    texts.map(Cow::into_owned).collect()
}

fn read_origin(value: Val<'_>) -> Origin {
    Origin {
        provider: value.string("provider").unwrap_or_default(),
        endpoint: value.string("endpoint").unwrap_or_default(),
        model: value.string("model").unwrap_or_default(),
        account: value.string("account"),
    }
}

const SPEAKERS: [(Speaker, &str); 4] = [
    (Speaker::Human, "human"),
    (Speaker::Ai, "ai"),
    (Speaker::Tool, "tool"),
    (Speaker::System, "system"),
];

fn speaker(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Ai => "ai",
        Speaker::Human => "human",
        Speaker::System => "system",
        Speaker::Tool => "tool",
    }
}
