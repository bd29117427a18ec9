//! Steps and contents as parts of an answer.

use super::{ID, THOUGHT};
use crate::content::{Block, Media, MediaSource, Other, Parameters, Text, Thinking, ToolCall};
use crate::json::{Extra, Raw, Val};
use crate::wire::open::{OpenOther, Part};

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    /// Contents of the model, or content without a step around it.
    Output,
    /// A thought.
    Thought,
    /// A function call.
    Call,
    /// Anything else.
    Other,
}

impl StepKind {
    /// The kind of this step or content.
    pub(super) fn of(step: Val<'_>) -> Self {
        match step.text("type").as_deref() {
            Some("model_output" | "text" | "image" | "audio" | "video" | "document") => {
                StepKind::Output
            }
            Some("thought") => StepKind::Thought,
            Some("function_call") => StepKind::Call,
            _ => StepKind::Other,
        }
    }
}

/// The signature of a step; `None` if it is empty.
fn signature(step: Val<'_>) -> Option<String> {
    step.string("signature").filter(|signature| !signature.is_empty())
}

/// A thought step and its text.
pub(super) fn thought(step: Val<'_>) -> (Thinking, String) {
    let summary = step.get("summary");
    let texts: String = summary
        .iter()
        .flat_map(|summary| summary.items())
        .filter_map(|item| item.string("text"))
        .collect();
    let is_plain = summary.is_none_or(|summary| {
        summary.is_array() && summary.items().count() <= 1 && summary.items().all(is_plain_text)
    });
    let known: &[&str] =
        if is_plain { &["type", "signature", "summary"] } else { &["type", "signature"] };
    let thinking = Thinking {
        source_field: THOUGHT.to_owned(),
        signature: signature(step),
        extra: Extra::collect(ID, step, known),
        ..Thinking::default()
    };
    (thinking, texts)
}

/// Whether a content has only a type and a text.
pub(super) fn is_plain_text(content: Val<'_>) -> bool {
    content.text("type").is_some_and(|kind| kind == "text")
        && content.text("text").is_some()
        && content.entries().count() == 2
}

/// A function call with the arguments of its step.
pub(super) fn call(step: Val<'_>) -> ToolCall {
    let parameters = match step.some("arguments") {
        Some(arguments) => match arguments.as_str() {
            Some(text) => Parameters::from_text(&text),
            None => Parameters::Json(Raw::from(arguments)),
        },
        None => Parameters::default(),
    };
    ToolCall {
        id: step.string("id"),
        name: step.string("name").unwrap_or_default(),
        parameters,
        signature: signature(step),
        extra: Extra::collect(ID, step, &["type", "id", "name", "arguments", "signature"]),
    }
}

/// A text without its text.
pub(super) fn text(content: Val<'_>) -> Text {
    Text { extra: Extra::collect(ID, content, &["type", "text"]), ..Text::default() }
}

/// Text that is still to come.
pub(super) fn text_part(text: Text) -> Part {
    Part::Text { text, citations: Vec::new(), wire: ID }
}

/// A step or content with no form of its own.
pub(super) fn other_part(step: Val<'_>) -> Part {
    let kind = step.string("type").unwrap_or_else(|| "step".to_owned());
    Part::Other(OpenOther::new(ID, kind, Raw::from(step)))
}

/// An image, a sound, a video or a document, inline or by address; other contents unchanged.
pub(super) fn media(content: Val<'_>) -> Block {
    let source = match (content.string("data"), content.string("uri")) {
        (Some(data), None) => MediaSource::Data(data),
        (None, Some(uri)) => MediaSource::Url(uri),
        _ => return other(content),
    };
    let is_media = content
        .text("type")
        .is_some_and(|kind| matches!(&*kind, "image" | "audio" | "video" | "document"));
    if !is_media {
        return other(content);
    }
    let mut known = vec!["data", "uri"];
    let media_type = content.string("mime_type");
    if media_type.is_some() {
        known.push("mime_type");
    }
    let media_type = media_type.unwrap_or_default();
    let extra = Extra::collect(ID, content, &known);
    Block::Media(Media { media_type, source, extra })
}

/// A step or content in its original form, under the wire's name for it.
pub(super) fn other(step: Val<'_>) -> Block {
    let kind = step.string("type").unwrap_or_else(|| "step".to_owned());
    Block::Other(Other::new(ID, kind, Raw::from(step)))
}
