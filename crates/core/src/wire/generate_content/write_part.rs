//! Blocks as parts, in requests and in answers.

use super::{ARGS, ID, INNER, NO_TEXT, PARTS, THOUGHT};
use crate::content::{
    Block, Media, MediaSource, Parameters, Text, Thinking, ToolCall, ToolResponse, ToolResult,
};
use crate::json::{Extra, Raw, Writer};
use crate::wire::Dialect;
use crate::wire::tool_result::{Parted, heading};

/// Writes parts into an open array. Each block becomes a part of its own, because signed parts must not be merged.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    dialect: Option<&'a Dialect>,
    /// The written calls, by id, for results that do not name their tool.
    calls: Vec<(Option<String>, String)>,
    /// How many results without an id and a name were written; they are paired in order.
    nameless: usize,
    /// Media of results that follow the results.
    behind: Vec<Block>,
    /// Blocks that the wire cannot express.
    pub(super) lost: Vec<String>,
}

impl<'a> Parts<'a> {
    /// For a request.
    pub(super) fn new(dialect: &'a Dialect) -> Self {
        Parts { dialect: Some(dialect), ..Parts::default() }
    }

    /// Writes a block as a part, if the wire can express it.
    pub(super) fn block(&mut self, w: &mut Writer, block: &Block) {
        match block {
            Block::Media(media) => media_part(w, media),
            Block::Other(other) if other.wire == ID => w.raw(&other.raw),
            Block::Other(other) => self.lose(&other.kind),
            // The API refuses empty texts.
            Block::Text(text) if text.text.is_empty() && is_bare(text) => {}
            Block::Text(text) => text_part(w, text),
            Block::Thinking(thinking) => self.thought(w, thinking),
            Block::ToolCall(call) => {
                self.calls.push((call.id.clone(), call.name.clone()));
                call_part(w, call, self.has_ids());
            }
            Block::ToolResponse(result) => self.result(w, result),
        }
    }

    /// Whether the provider takes the ids of calls.
    fn has_ids(&self) -> bool {
        self.dialect.is_none_or(|dialect| !dialect.refuses.contains(&"id"))
    }

    fn lose(&mut self, what: &str) {
        if !self.lost.iter().any(|lost| lost == what) {
            self.lost.push(what.to_owned());
        }
    }

    /// A thought. The wire cannot express a thought with neither text nor signature.
    fn thought(&mut self, w: &mut Writer, thinking: &Thinking) {
        if thinking.thought.is_empty() && thinking.signature.is_none() {
            return self.lose("thinking");
        }
        let parts = parts_of(thinking);
        let last = parts.len().saturating_sub(1);
        for (at, text) in parts.into_iter().enumerate() {
            match at == last {
                true => thought_part(w, &Thinking { thought: text.to_owned(), ..thinking.clone() }),
                // The last part carries all members other than the text.
                false => thought_part(w, &Thinking::new(text, THOUGHT)),
            }
        }
    }

    fn result(&mut self, w: &mut Writer, result: &ToolResponse) {
        let name = match &result.name {
            Some(name) => Some(name.clone()),
            // The API wants a name; a result of this wire that came without one stays so.
            None if result.extra.wire == Some(ID) => None,
            None => self.name_of(result.call_id.as_deref()),
        };
        let has_ids = self.has_ids();
        w.object(|w| {
            w.key("functionResponse").object(|w| {
                w.opt_str("id", result.call_id.as_deref().filter(|_| has_ids));
                w.opt_str("name", name.as_deref());
                let value = self.value(result);
                response(w.key("response"), result, &value);
                self.media(w, result, name.as_deref());
                inner_fields(w, &result.extra);
            });
            own_fields(w, &result.extra);
        });
    }

    /// The text or the data of a result.
    fn value(&mut self, result: &ToolResponse) -> Raw {
        let blocks = match &result.result {
            ToolResult::Value(value) => return value.clone(),
            ToolResult::Blocks(blocks) => blocks,
        };
        let is_foreign = |block: &&Block| !matches!(block, Block::Other(it) if it.wire == ID);
        let said: Vec<Block> = blocks.iter().filter(is_foreign).cloned().collect();
        let parted = Parted::of(&said);
        parted.others.iter().for_each(|kind| self.lose(kind));
        let mut others = said.iter().filter(|block| !matches!(block, Block::Media(_)));
        match (others.next(), others.next()) {
            (Some(Block::Other(other)), None) if other.is_data() => other.raw.clone(),
            _ => Raw::string(&parted.text()),
        }
    }

    /// Writes the media of a result into its parts, and keeps unsupported media for a place behind it.
    fn media(&mut self, w: &mut Writer, result: &ToolResponse, name: Option<&str>) {
        let ToolResult::Blocks(blocks) = &result.result else { return };
        let takes = self.dialect.is_none_or(|dialect| !dialect.media_behind_results);
        let (mut inside, mut behind) = (Vec::new(), Vec::new());
        for block in blocks {
            match block {
                Block::Media(media) if takes && is_part_of_result(media) => inside.push(block),
                Block::Media(_) => behind.push(block.clone()),
                Block::Other(other) if other.wire == ID => inside.push(block),
                _ => {}
            }
        }
        if !inside.is_empty() {
            w.key("parts").array(|w| inside.iter().for_each(|block| self.block(w, block)));
        }
        if !behind.is_empty() {
            self.behind.push(Block::text(heading(result, name)));
            self.behind.append(&mut behind);
        }
    }

    /// Writes the media that follow the results.
    pub(super) fn media_behind(&mut self, w: &mut Writer) {
        for block in std::mem::take(&mut self.behind) {
            self.block(w, &block);
        }
    }

    /// The tool whose call a result answers: by id, or in order.
    fn name_of(&mut self, id: Option<&str>) -> Option<String> {
        let by_id = self.calls.iter().rfind(|(call, _)| id.is_some() && call.as_deref() == id);
        if let Some((_, name)) = by_id {
            return Some(name.clone());
        }
        let mut nameless = self.calls.iter().filter(|(call, _)| call.is_none());
        let found = nameless.nth(self.nameless).map(|(_, name)| name.clone());
        self.nameless += 1;
        found.or_else(|| id.map(str::to_owned))
    }
}

/// The texts of a thought's parts. A thought that was changed is one part.
fn parts_of(thinking: &Thinking) -> Vec<&str> {
    let whole = thinking.thought.as_str();
    let Some(lens) = thinking.extra.noted(ID, PARTS) else { return vec![whole] };
    let (mut rest, mut parts) = (whole, Vec::new());
    for len in lens.doc().root().items() {
        let len = len.as_u64().and_then(|len| usize::try_from(len).ok());
        match len.and_then(|len| rest.split_at_checked(len)) {
            Some((part, after)) => {
                parts.push(part);
                rest = after;
            }
            None => return vec![whole],
        }
    }
    if rest.is_empty() && !parts.is_empty() { parts } else { vec![whole] }
}

/// A result is an object here; another value gets the name that the API gives it.
fn response(w: &mut Writer, result: &ToolResponse, value: &Raw) {
    let doc = value.doc();
    let is_own = result.extra.wire == Some(ID);
    let has_error = doc.root().get("error").is_some();
    if doc.root().is_object() && (is_own || !result.is_error || has_error) {
        return w.raw(value);
    }
    let key = if result.is_error { "error" } else { "output" };
    w.object(|w| w.field_raw(key, value));
}

/// The kinds of media that the parts of a result may be.
const IN_RESULTS: [&str; 5] =
    ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

fn is_part_of_result(media: &Media) -> bool {
    let is_inline = matches!(media.source, MediaSource::Data(_));
    media.extra.wire == Some(ID) || is_inline && IN_RESULTS.contains(&media.media_type.as_str())
}

/// Writes the fields that came on this wire, without our own marks.
pub(super) fn own_fields(w: &mut Writer, extra: &Extra) {
    w.extra(extra, ID);
}

/// Writes the fields of the object inside the part.
fn inner_fields(w: &mut Writer, extra: &Extra) {
    if let Some(inner) = extra.noted(ID, INNER) {
        let doc = inner.doc();
        doc.root().entries().for_each(|(key, value)| w.key(&key).raw_str(value.raw()));
    }
}

/// The text of a part. A part that came without text is written without text.
fn text_field(w: &mut Writer, text: &str, extra: &Extra) {
    match extra.noted(ID, NO_TEXT) {
        Some(was) if text.is_empty() && was.as_str() == "null" => w.key("text").null(),
        Some(_) if text.is_empty() => {}
        Some(_) | None => w.field_str("text", text),
    }
}

/// Whether a text came on another wire, and without a signature.
fn is_bare(text: &Text) -> bool {
    text.signature.is_none() && text.extra.wire != Some(ID)
}

/// Writes a text part.
pub(super) fn text_part(w: &mut Writer, text: &Text) {
    w.object(|w| {
        text_field(w, &text.text, &text.extra);
        w.opt_str("thoughtSignature", text.signature.as_deref());
        own_fields(w, &text.extra);
    });
}

/// Writes a thought part.
pub(super) fn thought_part(w: &mut Writer, thinking: &Thinking) {
    w.object(|w| {
        text_field(w, &thinking.thought, &thinking.extra);
        w.field_bool("thought", true);
        w.opt_str("thoughtSignature", thinking.signature.as_deref());
        own_fields(w, &thinking.extra);
    });
}

/// Writes a function call; its signature is a member beside it, not inside it.
pub(super) fn call_part(w: &mut Writer, call: &ToolCall, has_id: bool) {
    w.object(|w| {
        w.key("functionCall").object(|w| {
            w.opt_str("id", call.id.as_deref().filter(|_| has_id));
            w.field_str("name", &call.name);
            let was = call.extra.noted(ID, ARGS).map(Raw::as_str);
            match &call.parameters {
                _ if was == Some("true") => {}
                Parameters::Json(_) if was == Some("null") => w.key("args").null(),
                Parameters::Json(raw) => w.field_raw("args", raw),
                // Arguments are objects here; a text is named as the schema of a free tool names it.
                Parameters::Free(text) | Parameters::Invalid(text) => {
                    w.key("args").object(|w| w.field_str("input", text));
                }
            }
            inner_fields(w, &call.extra);
        });
        w.opt_str("thoughtSignature", call.signature.as_deref());
        own_fields(w, &call.extra);
    });
}

fn media_part(w: &mut Writer, media: &Media) {
    let (name, key, value) = match &media.source {
        MediaSource::Data(data) => ("inlineData", "data", data),
        MediaSource::Url(uri) => ("fileData", "fileUri", uri),
    };
    w.object(|w| {
        w.key(name).object(|w| {
            if !media.media_type.is_empty() {
                w.field_str("mimeType", &media.media_type);
            }
            w.field_str(key, value);
            inner_fields(w, &media.extra);
        });
        own_fields(w, &media.extra);
    });
}
