//! Chooses the places for the thoughts of a message.

use super::choice::SIBLINGS;
use super::write::Target;
use super::{details, parts};
use crate::content::{Block, Content, Speaker, Thinking, push_thought};
use crate::json::Raw;
use std::borrow::Cow;

/// The field for thoughts from other wires.
const USUAL: &str = "reasoning_content";
/// The word for thoughts in tags before the text.
pub(super) const TAGS: &str = "think_tags";

/// The thoughts of one message, each in its place.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Sibling strings.
    pub(super) fields: Vec<(String, String)>,
    /// Entries of `reasoning_details`.
    pub(super) details: Vec<Raw>,
    /// Entries of `thinking_blocks`.
    pub(super) blocks: Vec<Raw>,
    /// Thoughts inside the content, each with the number of its block.
    pub(super) inline: Vec<(usize, Inline)>,
    /// All readable text of structured entries, or of the first string, which a second field may repeat.
    pub(super) repeated: String,
}

impl Places {
    /// Whether no thought has a place.
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
            && self.details.is_empty()
            && self.blocks.is_empty()
            && self.inline.is_empty()
    }
}

/// A thought inside the content.
#[derive(Debug)]
pub(super) enum Inline {
    /// A part of its own.
    Part(Raw),
    /// Text in tags.
    Tagged(String),
}

impl Places {
    /// The part of the content for the thought in block `at`.
    pub(super) fn inline(&self, at: usize) -> Option<&Inline> {
        self.inline.iter().find(|(block, _)| *block == at).map(|(_, inline)| inline)
    }
}

pub(super) fn place(content: &Content, target: &mut Target<'_>) -> Places {
    let mut places = Places::default();
    let mut last: Option<&Thinking> = None;
    let mut is_empty = false;
    for (at, block) in content.blocks.iter().enumerate() {
        match block {
            Block::Thinking(thinking) => {
                // One thought under two names is written once if both would go into one field.
                let repeats = target.dialect.field.is_some()
                    && last.is_some_and(|last| {
                        last.source_field != thinking.source_field
                            && last.thought == thinking.thought
                    });
                if !repeats {
                    is_empty |= thinking.is_nothing();
                    one(&mut places, (at, thinking), target);
                }
                last = Some(thinking);
            }
            Block::Other(other) if other.wire == target.form.id && other.kind == details::FIELD => {
                places.details.push(other.raw.clone());
            }
            Block::Other(other)
                if other.wire == target.form.id && other.kind == details::BLOCKS =>
            {
                places.blocks.push(other.raw.clone());
            }
            Block::Media(_)
            | Block::Other(_)
            | Block::Text(_)
            | Block::ToolCall(_)
            | Block::ToolResponse(_) => {}
        }
    }
    if is_empty
        && content.speaker == Speaker::Ai
        && let Some(empty) = target.dialect.empty.as_deref()
    {
        let field = target.dialect.field.as_deref().unwrap_or(USUAL);
        let is_string = !target.form.thinks_in_content
            && !matches!(field, details::FIELD | details::BLOCKS | parts::THINKING | TAGS);
        if is_string && !places.fields.iter().any(|(name, _)| *name == field) {
            places.fields.push((field.to_owned(), empty.to_owned()));
        }
    }
    if target.refuses(details::FIELD) && !places.details.is_empty() {
        places.details.clear();
        target.lose(details::FIELD);
    }
    places
}

fn one(places: &mut Places, thought: (usize, &Thinking), target: &mut Target<'_>) {
    let (at, thinking) = thought;
    let field = field_of(thinking, target).into_owned();
    let came_in = thinking.source_field.as_str();
    if came_in == details::FIELD || came_in == details::BLOCKS {
        places.repeated.push_str(&thinking.thought);
    } else if places.repeated.is_empty() {
        places.repeated.clone_from(&thinking.thought);
    }
    match field.as_str() {
        details::FIELD => places.details.push(entry(thinking, target.form.id)),
        details::BLOCKS => places.blocks.push(entry(thinking, target.form.id)),
        parts::THINKING => {
            let part = parts::write_thinking(thinking, target.form.id);
            places.inline.push((at, Inline::Part(part)));
        }
        TAGS => {
            let mut text = String::new();
            push_tagged(&mut text, thinking);
            places.inline.push((at, Inline::Tagged(text)));
            lose_payload(thinking, target);
        }
        field => {
            lose_payload(thinking, target);
            if thinking.thought.is_empty() {
                return;
            }
            match places.fields.iter_mut().find(|(name, _)| *name == field) {
                Some((_, text)) => push_thought(text, &thinking.thought),
                None => places.fields.push((field.to_owned(), thinking.thought.clone())),
            }
        }
    }
}

/// Writes a thought in tags. A thought that came in tags still has its white space. Other thoughts get tags on lines
/// of their own, as models and their templates expect.
pub(super) fn push_tagged(text: &mut String, thinking: &Thinking) {
    let thought = thinking.thought.as_str();
    if thought.is_empty() {
        return;
    }
    let around = if thinking.source_field == TAGS {
        ["<think>", "</think>", ""]
    } else {
        ["<think>\n", "\n</think>", "\n\n"]
    };
    let [open, close, after] = around;
    for piece in [open, thought, close, after] {
        text.push_str(piece);
    }
}

/// A string has no room for a payload.
fn lose_payload(thinking: &Thinking, target: &mut Target<'_>) {
    let payloads = [
        ("signature", &thinking.signature),
        ("redactedData", &thinking.redacted_data),
        ("encryptedContent", &thinking.encrypted_content),
    ];
    for (name, payload) in payloads {
        if payload.is_some() {
            target.lose(name);
        }
    }
}

/// The place of a thought: the dialect's field, else its original field, else the usual field.
fn field_of<'a>(thinking: &'a Thinking, target: &Target<'_>) -> Cow<'a, str> {
    let came_in = thinking.source_field.as_str();
    let form = target.form;
    if form.thinks_in_content {
        return Cow::Borrowed(parts::THINKING);
    }
    if let Some(field) = &target.dialect.field {
        return Cow::Owned(field.clone().into_owned());
    }
    let is_part = came_in == parts::THINKING && thinking.extra.wire == Some(form.id);
    let is_own =
        SIBLINGS.contains(&came_in) || matches!(came_in, details::FIELD | details::BLOCKS | TAGS);
    Cow::Borrowed(if is_own || is_part { came_in } else { USUAL })
}

/// An entry of structured reasoning in its original form.
pub(super) fn entry(thinking: &Thinking, wire: &str) -> Raw {
    let is_summary = thinking.detail_type.as_deref() == Some("reasoning.summary");
    let is_block = thinking.source_field == details::BLOCKS;
    let text = match (is_summary, is_block) {
        (true, _) => "summary",
        (false, true) => "thinking",
        (false, false) => "text",
    };
    let kind = thinking
        .detail_type
        .as_deref()
        .map_or_else(|| Cow::Borrowed(kind_of(thinking)), Cow::Borrowed);
    Raw::build(|w| {
        w.object(|w| {
            w.field_str("type", &kind);
            // An empty text that was written is among the unknown fields.
            if !thinking.thought.is_empty() {
                w.field_str(text, &thinking.thought);
            }
            let data = thinking.encrypted_content.as_deref().or(thinking.redacted_data.as_deref());
            w.opt_str("data", data);
            w.opt_str("signature", thinking.signature.as_deref());
            w.opt_str("id", thinking.id.as_deref());
            w.opt_str("format", thinking.format.as_deref());
            if let Some(index) = thinking.index {
                w.field_u64("index", index);
            }
            w.extra(&thinking.extra, wire);
        });
    })
}

fn kind_of(thinking: &Thinking) -> &'static str {
    if thinking.thought.is_empty() && thinking.encrypted_content.is_some() {
        "reasoning.encrypted"
    } else {
        "reasoning.text"
    }
}
