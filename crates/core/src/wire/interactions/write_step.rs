//! Blocks as steps, in requests and in answers.

use super::{BARE, ID, LOOSE, MORE, STEP, TURN};
use crate::content::{
    Block, Content, Media, MediaSource, Parameters, Speaker, Text, Thinking, ToolCall,
    ToolResponse, ToolResult,
};
use crate::json::{Extra, Raw, Val, Writer};
use crate::wire::tool_result::{Parted, heading, holds_results, spoken};

/// Writes steps into an open array.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The written calls, by id, for results that do not name their tool.
    calls: Vec<(String, String)>,
    /// How many calls and results without an id were written; they are paired in order.
    nameless_calls: usize,
    nameless_results: usize,
    /// Media of results that follow the results.
    behind: Vec<Block>,
    /// Blocks that the wire cannot express.
    pub(super) lost: Vec<String>,
}

impl Steps {
    /// For an answer.
    pub(super) fn answer() -> Self {
        Steps::default()
    }

    /// Writes all steps of a message.
    pub(super) fn content(&mut self, w: &mut Writer, content: &Content) {
        if !holds_results(content) {
            self.media_behind(w);
        }
        if content.extra.noted(ID, TURN).is_some() {
            return self.turn(w, content);
        }
        match content.speaker {
            Speaker::Ai => self.blocks(w, &content.blocks),
            Speaker::Tool | Speaker::Human | Speaker::System => self.input(w, content),
        }
    }

    /// A message of the person, the system or the tools.
    fn input(&mut self, w: &mut Writer, content: &Content) {
        if content.extra.noted(ID, LOOSE).is_some() {
            return content.blocks.iter().for_each(|block| self.part(w, block));
        }
        let is_wrapped = content.extra.noted(ID, STEP).is_some();
        let mut rest = content.blocks.as_slice();
        let mut fields = content.extra.clone();
        while let Some((first, tail)) = rest.split_first() {
            let is_part = |block: &Block| match block {
                Block::Text(_) | Block::Media(_) => true,
                Block::Other(other) => other.wire == ID && content.speaker != Speaker::Tool,
                Block::ToolResponse(_) => is_wrapped,
                Block::Thinking(_) | Block::ToolCall(_) => false,
            };
            if is_part(first) {
                let len = rest.iter().position(|block| !is_part(block)).unwrap_or(rest.len());
                let (parts, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
                self.step(w, "user_input", parts, &std::mem::take(&mut fields));
                rest = tail;
            } else {
                self.block(w, first);
                rest = tail;
            }
        }
    }

    /// A step with contents.
    fn step(&mut self, w: &mut Writer, kind: &str, parts: &[Block], fields: &Extra) {
        let is_bare = fields.noted(ID, BARE).is_some();
        w.object(|w| {
            w.field_str("type", kind);
            match parts {
                [Block::Text(text)] if is_bare => w.field_str("content", &text.text),
                _ => w.key("content").array(|w| parts.iter().for_each(|part| self.part(w, part))),
            }
            own_fields(w, fields);
        });
    }

    /// A message that came as a turn with a role.
    fn turn(&mut self, w: &mut Writer, content: &Content) {
        w.object(|w| {
            w.field_str("role", if content.speaker == Speaker::Ai { "model" } else { "user" });
            let is_bare = content.extra.noted(ID, BARE).is_some();
            match content.blocks.as_slice() {
                [Block::Text(text)] if is_bare => w.field_str("content", &text.text),
                blocks => w.key("content").array(|w| {
                    for block in blocks {
                        match block {
                            Block::Text(_) | Block::Media(_) | Block::ToolResponse(_) => {
                                self.part(w, block);
                            }
                            Block::Other(_) | Block::Thinking(_) | Block::ToolCall(_) => {
                                self.block(w, block);
                            }
                        }
                    }
                }),
            }
            own_fields(w, &content.extra);
        });
    }

    /// Writes the steps of the model.
    pub(super) fn blocks(&mut self, w: &mut Writer, blocks: &[Block]) {
        let mut rest = blocks;
        while let Some((first, tail)) = rest.split_first() {
            let fields = match first {
                Block::Text(text) => Some(&text.extra),
                Block::Media(media) => Some(&media.extra),
                Block::Other(_)
                | Block::Thinking(_)
                | Block::ToolCall(_)
                | Block::ToolResponse(_) => None,
            };
            let Some(fields) = fields else {
                self.block(w, first);
                rest = tail;
                continue;
            };
            if fields.noted(ID, LOOSE).is_some() {
                self.part(w, first);
                rest = tail;
                continue;
            }
            let len = 1 + tail.iter().take_while(|block| continues(block)).count();
            let (parts, tail) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            let mut step = Extra::default();
            if let Some(kept) = fields.noted(ID, STEP) {
                step = Extra::collect(ID, kept.doc().root(), &[]);
            }
            if let Some(mark) = fields.noted(ID, BARE) {
                step.note(ID, BARE, mark.clone());
            }
            self.step(w, "model_output", parts, &step);
            rest = tail;
        }
    }

    /// Writes a block that is a step of its own.
    fn block(&mut self, w: &mut Writer, block: &Block) {
        match block {
            Block::Thinking(thinking) => self.thought(w, thinking),
            Block::ToolCall(call) => self.call(w, call),
            Block::ToolResponse(result) => self.result(w, result),
            Block::Other(other) if other.wire == ID => w.raw(&other.raw),
            Block::Other(other) => self.lose(&other.kind),
            Block::Text(_) | Block::Media(_) => self.part(w, block),
        }
    }

    fn lose(&mut self, what: &str) {
        if !self.lost.iter().any(|lost| lost == what) {
            self.lost.push(what.to_owned());
        }
    }

    /// A thought step. The wire cannot express a thought with neither text nor signature.
    fn thought(&mut self, w: &mut Writer, thinking: &Thinking) {
        let has_fields = !thinking.extra.of(ID).is_empty();
        if thinking.thought.is_empty() && thinking.signature.is_none() && !has_fields {
            return self.lose("thinking");
        }
        w.object(|w| {
            w.field_str("type", "thought");
            w.opt_str("signature", thinking.signature.as_deref());
            if thinking.extra.get(ID, "summary").is_none() && !thinking.thought.is_empty() {
                w.key("summary").array(|w| plain_text(w, &thinking.thought));
            }
            own_fields(w, &thinking.extra);
        });
    }

    fn call(&mut self, w: &mut Writer, call: &ToolCall) {
        let id = call.id.clone().unwrap_or_else(|| {
            self.nameless_calls += 1;
            format!("call_{}", self.nameless_calls - 1)
        });
        self.calls.push((id.clone(), call.name.clone()));
        w.object(|w| {
            w.field_str("type", "function_call");
            w.field_str("id", &id);
            w.field_str("name", &call.name);
            if call.extra.get(ID, "arguments").is_none() {
                match &call.parameters {
                    Parameters::Json(raw) => w.field_raw("arguments", raw),
                    // Arguments are objects here; a text is named as the schema of a free tool names it.
                    Parameters::Free(text) | Parameters::Invalid(text) => {
                        w.key("arguments").object(|w| w.field_str("input", text));
                    }
                }
            }
            w.opt_str("signature", call.signature.as_deref());
            own_fields(w, &call.extra);
        });
    }

    fn result(&mut self, w: &mut Writer, result: &ToolResponse) {
        let id = result.call_id.clone().unwrap_or_else(|| {
            self.nameless_results += 1;
            format!("call_{}", self.nameless_results - 1)
        });
        let is_foreign = result.extra.wire != Some(ID);
        let known = || self.calls.iter().rfind(|(call, _)| *call == id);
        let name = result.name.clone().or_else(|| {
            // A result of this wire keeps its own name; a result from another wire gets the name of its call.
            if is_foreign { known().map(|(_, name)| name.clone()) } else { None }
        });
        w.object(|w| {
            w.field_str("type", "function_result");
            w.field_str("call_id", &id);
            w.opt_str("name", name.as_deref());
            self.result_value(w.key("result"), result);
            if result.is_error {
                w.field_bool("is_error", true);
            }
            own_fields(w, &result.extra);
        });
    }

    /// The value of a result: as it came, or texts and images. Other media go into a step behind.
    fn result_value(&mut self, w: &mut Writer, result: &ToolResponse) {
        if let ToolResult::Value(value) = &result.result {
            return w.raw(value);
        }
        let blocks = spoken(&result.result);
        if result.extra.wire == Some(ID) {
            return w.array(|w| blocks.iter().for_each(|block| self.part(w, block)));
        }
        let parted = Parted::of(&blocks);
        parted.others.iter().for_each(|kind| self.lose(kind));
        let is_image = |media: &&Media| media.media_type.starts_with("image/");
        let (images, others): (Vec<&Media>, Vec<&Media>) =
            parted.media.iter().copied().partition(is_image);
        if !others.is_empty() {
            self.behind.push(Block::text(heading(result, None)));
            self.behind.extend(others.iter().map(|media| Block::Media((*media).clone())));
        }
        let text = if others.is_empty() { parted.text() } else { parted.text_before_media() };
        if images.is_empty() {
            return w.str(&text);
        }
        w.array(|w| {
            if !text.is_empty() {
                plain_text(w, &text);
            }
            images.iter().for_each(|image| media_content(w, image));
        });
    }

    /// Writes the media that found no place in the results before.
    pub(super) fn media_behind(&mut self, w: &mut Writer) {
        let behind = std::mem::take(&mut self.behind);
        if !behind.is_empty() {
            self.step(w, "user_input", &behind, &Extra::default());
        }
    }

    /// A content inside a step.
    fn part(&mut self, w: &mut Writer, block: &Block) {
        match block {
            Block::Text(text) => text_content(w, text),
            Block::Media(media) => media_content(w, media),
            Block::ToolResponse(result) => self.result(w, result),
            Block::Other(other) if other.wire == ID => w.raw(&other.raw),
            Block::Other(other) => self.lose(&other.kind),
            Block::Thinking(_) | Block::ToolCall(_) => self.block(w, block),
        }
    }
}

/// Whether a part goes on with the step before it.
fn continues(block: &Block) -> bool {
    let extra = match block {
        Block::Text(text) => &text.extra,
        Block::Media(media) => &media.extra,
        Block::Other(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => {
            return false;
        }
    };
    extra.noted(ID, MORE).is_some()
}

/// Writes the fields that came on this wire, without our own marks.
fn own_fields(w: &mut Writer, extra: &Extra) {
    for (key, value) in extra.of(ID) {
        w.field_raw(key, value);
    }
}

fn plain_text(w: &mut Writer, text: &str) {
    w.object(|w| {
        w.field_str("type", "text");
        w.field_str("text", text);
    });
}

pub(super) fn text_content(w: &mut Writer, text: &Text) {
    w.object(|w| {
        w.field_str("type", "text");
        w.field_str("text", &text.text);
        own_fields(w, &text.extra);
    });
}

pub(super) fn media_content(w: &mut Writer, media: &Media) {
    let kind = match media.media_type.split_once('/') {
        Some(("image", _)) | None => "image",
        Some(("audio", _)) => "audio",
        Some(("video", _)) => "video",
        Some(_) => "document",
    };
    w.object(|w| {
        if media.extra.get(ID, "type").is_none() {
            w.field_str("type", kind);
        }
        if !media.media_type.is_empty() {
            w.field_str("mime_type", &media.media_type);
        }
        match &media.source {
            MediaSource::Data(data) => w.field_str("data", data),
            MediaSource::Url(uri) => w.field_str("uri", uri),
        }
        own_fields(w, &media.extra);
    });
}

/// A mark among extra fields.
pub(super) fn flag() -> Raw {
    Raw::build(|w| w.bool(true))
}

/// The members of an object as extra fields.
pub(super) fn members(object: Option<Val<'_>>) -> Extra {
    object.map(|object| Extra::collect(ID, object, &[])).unwrap_or_default()
}
