//! Blocks as JSON.

use super::content::ShapeError;
use crate::content::{
    Block, Media, MediaSource, Other, Parameters, Text, Thinking, ToolCall, ToolResponse,
    ToolResult,
};
use crate::json::{Extra, Raw, Val, Writer};
use crate::wire;

/// Writes one block.
pub fn write_block(w: &mut Writer, block: &Block) {
    w.object(|w| match block {
        Block::Text(text) => {
            w.field_str("type", "text");
            w.field_str("text", &text.text);
            w.opt_str("signature", text.signature.as_deref());
            write_extra(w, &text.extra);
        }
        Block::Thinking(thinking) => {
            w.field_str("type", "thinking");
            w.field_str("thought", &thinking.thought);
            w.field_str("sourceField", &thinking.source_field);
            write_opaque(w, thinking);
        }
        Block::ToolCall(call) => {
            w.field_str("type", "tool_call");
            w.str_or_null("id", call.id.as_deref());
            w.field_str("name", &call.name);
            write_parameters(w, &call.parameters);
            w.opt_str("signature", call.signature.as_deref());
            write_extra(w, &call.extra);
        }
        Block::ToolResponse(response) => {
            w.field_str("type", "tool_response");
            w.str_or_null("callId", response.call_id.as_deref());
            w.str_or_null("name", response.name.as_deref());
            write_result(w.key("result"), &response.result);
            if response.is_error {
                w.field_bool("isError", true);
            }
            write_extra(w, &response.extra);
        }
        Block::Media(media) => {
            w.field_str("type", "media");
            w.field_str("mediaType", &media.media_type);
            match &media.source {
                MediaSource::Data(data) => w.field_str("data", data),
                MediaSource::Url(url) => w.field_str("url", url),
            }
            write_extra(w, &media.extra);
        }
        Block::Other(other) => {
            w.field_str("type", &other.kind);
            w.field_raw("raw", &other.raw);
            w.field_str("wire", other.wire);
            write_extra(w, &other.notes);
        }
    });
}

/// Writes the members of a thought that are no text, inside an open object.
pub(super) fn write_opaque(w: &mut Writer, thinking: &Thinking) {
    w.opt_str("signature", thinking.signature.as_deref());
    w.opt_str("redactedData", thinking.redacted_data.as_deref());
    w.opt_str("encryptedContent", thinking.encrypted_content.as_deref());
    w.opt_str("id", thinking.id.as_deref());
    for (key, parts) in [("summary", &thinking.summary), ("content", &thinking.content)] {
        if let Some(parts) = parts {
            w.key(key).array(|w| parts.iter().for_each(|part| w.str(part)));
        }
    }
    w.opt_str("format", thinking.format.as_deref());
    w.opt_str("detailType", thinking.detail_type.as_deref());
    if let Some(index) = thinking.index {
        w.field_u64("index", index);
    }
    if thinking.is_hidden {
        w.field_bool("isHidden", true);
    }
    if thinking.partial {
        w.field_bool("partial", true);
    }
    if let Some(ms) = thinking.duration_ms {
        w.field_u64("durationMs", ms);
    }
    w.opt_str("effort", thinking.effort.as_deref());
    write_extra(w, &thinking.extra);
}

/// Writes `parameters`, and `parametersRaw` if they are not JSON, inside an open object.
pub(super) fn write_parameters(w: &mut Writer, parameters: &Parameters) {
    match parameters {
        Parameters::Json(raw) => w.field_raw("parameters", raw),
        Parameters::Invalid(text) => {
            w.key("parameters").null();
            w.field_str("parametersRaw", text);
        }
        Parameters::Free(text) => {
            w.field_str("parameters", text);
            w.field_bool("freeText", true);
        }
    }
}

/// The member of `extra` for notes; no wire has this name.
const FORM: &str = "form";

/// Writes unknown members as `extra: {wire: {...}}`, so that a history file loses no data. Notes of the wire about
/// the original form, which are not members, are kept apart: `extra: {wire: {...}, form: {...}}`.
pub(super) fn write_extra(w: &mut Writer, extra: &Extra) {
    let Some(wire) = extra.wire.filter(|_| !extra.is_empty()) else { return };
    let all = |w: &mut Writer, entries: &[(String, Raw)]| {
        w.object(|w| entries.iter().for_each(|(key, raw)| w.field_raw(key, raw)));
    };
    w.key("extra").object(|w| {
        all(w.key(wire), &extra.fields);
        if !extra.notes.is_empty() {
            all(w.key(FORM), &extra.notes);
        }
    });
}

/// Reads one block.
///
/// # Errors
/// When a member that the block's type needs is missing or of another kind; `at` names the block.
pub fn read_block(value: Val<'_>, at: &str) -> Result<Block, ShapeError> {
    let kind = need(value, "type", at)?;
    Ok(match kind.as_str() {
        "text" => Block::Text(Text {
            text: need(value, "text", at)?,
            signature: value.string("signature"),
            extra: read_extra(value),
        }),
        "thinking" => Block::Thinking(read_thinking(value, at)?),
        "tool_call" => Block::ToolCall(ToolCall {
            id: value.string("id"),
            name: need(value, "name", at)?,
            parameters: read_parameters(value),
            signature: value.string("signature"),
            extra: read_extra(value),
        }),
        "tool_response" => Block::ToolResponse(ToolResponse {
            call_id: value.string("callId"),
            name: value.string("name"),
            result: value.get("result").map_or_else(|| Raw::null().into(), read_result),
            is_error: value.bool("isError").unwrap_or(false),
            extra: read_extra(value),
        }),
        "media" => Block::Media(Media {
            media_type: value.string("mediaType").unwrap_or_default(),
            source: match (value.string("data"), value.string("url")) {
                (Some(data), _) => MediaSource::Data(data),
                (None, Some(url)) => MediaSource::Url(url),
                (None, None) => return Err(ShapeError::new(at, "needs `data` or `url`")),
            },
            extra: read_extra(value),
        }),
        _ => Block::Other(read_other(value, kind, at)?),
    })
}

/// Writes the result of a tool: a text, structured data, or a list of blocks.
pub fn write_result(w: &mut Writer, result: &ToolResult) {
    match result {
        ToolResult::Blocks(blocks) => {
            w.array(|w| blocks.iter().for_each(|block| write_block(w, block)));
        }
        ToolResult::Value(value) => w.raw(value),
    }
}

/// Reads the result of a tool. A list becomes a list of blocks if blocks can express all of it, else data.
pub fn read_result(value: Val<'_>) -> ToolResult {
    let read = || value.items().map(|item| read_block(item, "result").ok()).collect();
    let blocks: Option<Vec<Block>> = value.is_array().then(read).flatten();
    let value = Raw::from(value);
    match blocks.map(ToolResult::Blocks) {
        Some(blocks) if Raw::build(|w| write_result(w, &blocks)) == value => blocks,
        Some(_) | None => value.into(),
    }
}

fn read_thinking(value: Val<'_>, at: &str) -> Result<Thinking, ShapeError> {
    let parts = |key: &str| {
        value
            .some(key)
            .filter(|list| list.is_array())
            .map(|list| list.items().filter_map(|part| Some(part.as_str()?.into_owned())).collect())
    };
    Ok(Thinking {
        thought: need(value, "thought", at)?,
        source_field: value.string("sourceField").unwrap_or_default(),
        is_hidden: value.bool("isHidden").unwrap_or(false),
        signature: value.string("signature"),
        redacted_data: value.string("redactedData"),
        encrypted_content: value.string("encryptedContent"),
        id: value.string("id"),
        summary: parts("summary"),
        content: parts("content"),
        format: value.string("format"),
        detail_type: value.string("detailType"),
        index: value.u64("index"),
        partial: value.bool("partial").unwrap_or(false),
        duration_ms: value.u64("durationMs"),
        effort: value.string("effort"),
        extra: read_extra(value),
    })
}

fn read_parameters(value: Val<'_>) -> Parameters {
    if let Some(text) = value.string("parametersRaw") {
        return Parameters::Invalid(text);
    }
    match value.get("parameters") {
        Some(free) if value.bool("freeText") == Some(true) => {
            Parameters::Free(free.as_str().unwrap_or_default().into_owned())
        }
        Some(json) => Parameters::Json(Raw::from(json)),
        None => Parameters::default(),
    }
}

fn read_other(value: Val<'_>, kind: String, at: &str) -> Result<Other, ShapeError> {
    let raw = value
        .get("raw")
        .map(Raw::from)
        .ok_or_else(|| ShapeError::new(at, &format!("`{kind}` needs `raw`")))?;
    let wire = value.string("wire").and_then(|id| wire::find(&id)).map_or("", |wire| wire.id());
    Ok(Other { wire, kind, raw, notes: read_extra(value) })
}

pub(super) fn read_extra(value: Val<'_>) -> Extra {
    let Some((id, fields)) = value.get("extra").and_then(|extra| extra.entries().next()) else {
        return Extra::default();
    };
    let Some(wire) = wire::find(&id) else { return Extra::default() };
    let mut extra = Extra::collect(wire.id(), fields, &[]);
    for (key, raw) in value.path(&["extra", FORM]).into_iter().flat_map(Val::entries) {
        extra.note(wire.id(), &key, Raw::from(raw));
    }
    extra
}

pub(super) fn need(value: Val<'_>, key: &str, at: &str) -> Result<String, ShapeError> {
    value.string(key).ok_or_else(|| ShapeError::new(at, &format!("needs the string `{key}`")))
}
