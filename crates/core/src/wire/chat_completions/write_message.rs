//! Writes one message of a request.

use super::form::{ABSENT, CONTENT, Form, LIST, REPEATS};
use super::thoughts::{self, Inline, Places};
use super::write::Target;
use super::{details, media, parts, signature};
use crate::content::{
    Block, Content, Parameters, Speaker, Text, ToolCall, ToolResponse, ToolResult,
};
use crate::json::{Raw, Writer};
use crate::wire::tool_result::{Parted, heading};

/// Message fields that only describe an answer.
const ABOUT_ANSWERS: [&str; 1] = ["annotations"];

/// The answer between results and a user message, for APIs that demand one.
const BRIDGE: &str = "OK.";

pub(super) fn write(w: &mut Writer, content: &Content, target: &mut Target<'_>) {
    let mut has_results = false;
    for block in &content.blocks {
        if let Block::ToolResponse(response) = block {
            has_results = true;
            target.is_behind_results = true;
            write_result(w, response, content, target);
        }
    }
    let is_left = content.blocks.iter().any(|block| !matches!(block, Block::ToolResponse(_)));
    if has_results && !is_left {
        return;
    }
    let places = thoughts::place(content, target);
    if is_husk(content, &places, target) {
        return;
    }
    media_behind(w, target);
    if std::mem::take(&mut target.is_behind_results)
        && content.speaker == Speaker::Human
        && target.form.answers_results
    {
        w.object(|w| {
            w.field_str("role", "assistant");
            w.field_str(CONTENT, BRIDGE);
        });
    }
    w.object(|w| write_fields(w, content, &places, has_results, target));
}

/// Writes a tool result as a message of its own.
fn write_result(
    w: &mut Writer,
    response: &ToolResponse,
    content: &Content,
    target: &mut Target<'_>,
) {
    let form = target.form;
    w.object(|w| {
        let role = content.extra.get(form.id, "role");
        w.field_raw("role", role.unwrap_or(&Raw::string("tool")));
        match (&response.call_id, response.extra.get(form.id, "tool_call_id")) {
            (Some(id), _) => {
                let is_own = response.extra.get(form.id, "tool_call_id").is_some();
                w.field_str("tool_call_id", &form.id_of(id, is_own));
            }
            (None, Some(_)) => {}
            (None, None) => {
                let id = target.nameless.result(response.name.as_deref());
                w.field_str("tool_call_id", &form.id_of(&id, false));
            }
        }
        if !target.refuses("name") {
            w.opt_str("name", response.name.as_deref());
        }
        match response.extra.get(form.id, CONTENT).map(Raw::as_str) {
            Some(ABSENT) => {}
            Some(_) => w.field_raw(CONTENT, &own_result(&response.result, form)),
            None => w.field_raw(CONTENT, &foreign_result(response, target)),
        }
        if response.is_error {
            target.lose("isError");
        }
        if content.speaker == Speaker::Tool {
            write_unknown(w, content, &[], target);
        }
    });
}

/// A result of this wire: a value, or the list of parts that it was.
fn own_result(result: &ToolResult, form: &Form) -> Raw {
    let blocks = match result {
        ToolResult::Blocks(blocks) => blocks,
        ToolResult::Value(value) => return value.clone(),
    };
    let part = |block: &Block| match block {
        Block::Text(text) => Some(text_part(text, form.id)),
        Block::Media(media) => media::part(media, form),
        Block::Other(other) => Some(other.raw.clone()),
        Block::Thinking(thinking) => Some(parts::write_thinking(thinking, form.id)),
        Block::ToolCall(_) | Block::ToolResponse(_) => None,
    };
    Raw::build(|w| w.array(|w| blocks.iter().filter_map(part).for_each(|part| w.raw(&part))))
}

/// A result of another wire: its text, and its media beside it if this wire has room for them, else behind it.
fn foreign_result(response: &ToolResponse, target: &mut Target<'_>) -> Raw {
    let blocks = response.result.blocks();
    let parted = Parted::of(&blocks);
    parted.others.iter().for_each(|kind| target.lose(kind));
    let media: Vec<Option<Raw>> =
        parted.media.iter().map(|media| media::part(media, target.form)).collect();
    if media.iter().any(Option::is_none) {
        target.lose("media");
    }
    let media: Vec<Raw> = media.into_iter().flatten().collect();
    if media.is_empty() {
        return Raw::string(&parted.text());
    }
    let id = target.form.id;
    if target.form.media_in_results {
        let text = parted.text();
        let text = (!text.is_empty()).then(|| text_part(&Text::new(text), id));
        return Raw::build(|w| w.array(|w| text.iter().chain(&media).for_each(|part| w.raw(part))));
    }
    let name = response.call_id.as_deref().and_then(|id| target.names.get(id));
    let heading = Text::new(heading(response, name.map(String::as_str)));
    target.behind.push(text_part(&heading, id));
    target.behind.extend(media);
    Raw::string(&parted.text_before_media())
}

/// Writes the media of earlier results as a user message, so that no message separates results.
pub(super) fn media_behind(w: &mut Writer, target: &mut Target<'_>) {
    let behind = std::mem::take(&mut target.behind);
    if !behind.is_empty() {
        w.object(|w| {
            w.field_str("role", "user");
            w.key(CONTENT).array(|w| behind.iter().for_each(|part| w.raw(part)));
        });
    }
}

/// Whether this wire can express no part of a message of another wire; the lost parts are noted.
fn is_husk(content: &Content, places: &Places, target: &mut Target<'_>) -> bool {
    let form = target.form;
    let is_said = |block: &Block| match block {
        Block::Text(_) | Block::ToolCall(_) => true,
        Block::Media(media) => media::part(media, form).is_some(),
        Block::Other(other) => other.wire == form.id,
        Block::Thinking(_) | Block::ToolResponse(_) => false,
    };
    let is_own = content.extra.wire == Some(form.id);
    if is_own || content.blocks.iter().any(is_said) || !places.is_empty() {
        return false;
    }
    for block in &content.blocks {
        match block {
            Block::Media(_) => target.lose("media"),
            Block::Other(other) => target.lose(&other.kind),
            Block::Thinking(thinking) if !thinking.is_nothing() => target.lose("thinking"),
            Block::Text(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => {}
        }
    }
    !content.blocks.is_empty()
}

fn write_fields(
    w: &mut Writer,
    content: &Content,
    places: &Places,
    has_results: bool,
    target: &mut Target<'_>,
) {
    let form = target.form;
    let role = match content.speaker {
        Speaker::Ai => "assistant",
        Speaker::Human | Speaker::Tool => "user",
        Speaker::System => "system",
    };
    match content.extra.get(form.id, "role").filter(|_| !has_results) {
        Some(role) => w.field_raw("role", role),
        None => w.field_str("role", role),
    }
    write_content(w, content, places, target);
    let mut written = vec!["role", CONTENT];
    for (field, text) in &places.fields {
        if !target.refuses(field) {
            w.field_str(field, text);
            written.push(field);
        }
    }
    if !places.details.is_empty() {
        w.key(details::FIELD).array(|w| places.details.iter().for_each(|entry| w.raw(entry)));
        written.push(details::FIELD);
    }
    if !places.blocks.is_empty() {
        w.key(details::BLOCKS).array(|w| places.blocks.iter().for_each(|entry| w.raw(entry)));
        written.push(details::BLOCKS);
    }
    write_calls(w, content, target);
    write_beside(w, content, target);
    if !has_results {
        write_repeats(w, content, places, &mut written, target);
        write_unknown(w, content, &written, target);
    }
}

/// Fields that repeated the thoughts of the same message, and do so again.
fn write_repeats<'a>(
    w: &mut Writer,
    content: &'a Content,
    places: &Places,
    written: &mut Vec<&'a str>,
    target: &Target<'_>,
) {
    for (field, mark) in content.extra.of(target.form.id) {
        if mark.as_str() != REPEATS || !super::choice::SIBLINGS.contains(&field.as_str()) {
            continue;
        }
        let is_free = !written.contains(&field.as_str()) && target.dialect.field.is_none();
        if is_free && !places.repeated.is_empty() && !target.refuses(field) {
            w.field_str(field, &places.repeated);
        }
        written.push(field);
    }
}

/// Writes unknown fields, and the payload of the message in its place among them.
fn write_unknown(w: &mut Writer, content: &Content, written: &[&str], target: &Target<'_>) {
    let form = target.form.id;
    let mut extra = content.extra.clone();
    extra.fields.retain(|(key, _)| {
        let key = key.as_str();
        !matches!(key, "role" | CONTENT) && !written.contains(&key) && !target.refuses(key)
    });
    signature::write(w, &extra, form, content.signature.as_deref());
}

/// The content: a string if possible, since not every server takes a list.
fn write_content(w: &mut Writer, content: &Content, places: &Places, target: &mut Target<'_>) {
    let form = target.form;
    let kept = content.extra.get(form.id, CONTENT).map(Raw::as_str);
    let mut list: Vec<Raw> = Vec::new();
    let mut needs_list = kept == Some(LIST);
    let mut said: Option<String> = None;
    for (at, block) in content.blocks.iter().enumerate() {
        match block {
            Block::Thinking(_) => match places.inline(at) {
                Some(Inline::Part(part)) => {
                    needs_list = true;
                    list.push(part.clone());
                }
                Some(Inline::Tagged(tagged)) => {
                    said.get_or_insert_default().push_str(tagged);
                    list.push(text_part(&Text::new(tagged), form.id));
                }
                None => {}
            },
            Block::Text(text) => {
                needs_list |= text
                    .extra
                    .of(form.id)
                    .iter()
                    .any(|(key, _)| !ABOUT_ANSWERS.contains(&key.as_str()));
                said.get_or_insert_default().push_str(&text.text);
                list.push(text_part(text, form.id));
            }
            Block::Media(media) => {
                let part = media::part(media, form);
                needs_list |= part.is_some();
                if part.is_none() {
                    target.lose("media");
                }
                list.extend(part);
            }
            Block::Other(other) if other.wire == form.id => {
                if parts::is_part(other) {
                    needs_list = true;
                    list.push(other.raw.clone());
                }
            }
            Block::Other(other) => target.lose(&other.kind),
            Block::ToolCall(_) | Block::ToolResponse(_) => {}
        }
    }
    if needs_list {
        return w.key(CONTENT).array(|w| list.iter().for_each(|part| w.raw(part)));
    }
    let has_calls = content.tool_calls().next().is_some();
    match (said, kept) {
        (Some(said), _) => {
            // The blank line after a thought in tags is for the text that follows.
            let is_thought_only =
                !content.blocks.iter().any(|block| matches!(block, Block::Text(_)));
            w.field_str(CONTENT, if is_thought_only { said.trim_end_matches('\n') } else { &said });
        }
        (None, Some(ABSENT)) => {}
        (None, Some(_)) => w.key(CONTENT).null(),
        (None, None) if has_calls => w.key(CONTENT).null(),
        (None, None) => w.field_str(CONTENT, ""),
    }
}

pub(super) fn text_part(text: &Text, wire: &str) -> Raw {
    Raw::build(|w| {
        w.object(|w| {
            w.field_str("type", "text");
            w.field_str("text", &text.text);
            for (key, value) in
                text.extra.of(wire).iter().filter(|(key, _)| !ABOUT_ANSWERS.contains(&key.as_str()))
            {
                w.field_raw(key, value);
            }
        });
    })
}

/// Writes blocks of this wire that are members beside the content.
fn write_beside(w: &mut Writer, content: &Content, target: &Target<'_>) {
    for block in &content.blocks {
        let Block::Other(other) = block else { continue };
        let is_ours = other.wire == target.form.id && !parts::is_part(other);
        if !is_ours
            || other.kind == details::FIELD
            || other.kind == details::BLOCKS
            || target.refuses(&other.kind)
        {
            continue;
        }
        let id = other.raw.doc().root().string("id").filter(|_| other.kind == "audio");
        match id {
            // A sound of an earlier answer is sent back by its id.
            Some(id) => w.key("audio").object(|w| w.field_str("id", &id)),
            None => w.field_raw(&other.kind, &other.raw),
        }
    }
}

fn write_calls(w: &mut Writer, content: &Content, target: &mut Target<'_>) {
    let wire = target.form.id;
    if let Some(old) = content.tool_calls().find(|call| is_old(call, wire)) {
        write_old_call(w, old, wire);
    }
    if !content.tool_calls().any(|call| !is_old(call, wire)) {
        return;
    }
    w.key("tool_calls").array(|w| {
        for call in content.tool_calls().filter(|call| !is_old(call, wire)) {
            // A call that came without an id on another wire needs one here.
            let needs_id = call.id.is_none() && call.extra.get(wire, "id").is_none();
            let made = needs_id.then(|| target.nameless.call(&call.name));
            let is_own = call.extra.get(wire, "id").is_some();
            let id = made.as_deref().or(call.id.as_deref());
            let id = id.map(|id| target.form.id_of(id, is_own));
            w.object(|w| write_call(w, call, id.as_deref(), wire));
        }
    });
}

/// Whether a call came in the form that was there before lists of calls.
pub(super) fn is_old(call: &ToolCall, wire: &str) -> bool {
    call.extra.get(wire, "function_call").is_some()
}

/// Writes a call in its old form.
pub(super) fn write_old_call(w: &mut Writer, call: &ToolCall, wire: &str) {
    w.key("function_call").object(|w| write_function(w, call, "arguments", wire));
}

/// Writes the members of a call.
pub(super) fn write_call(w: &mut Writer, call: &ToolCall, id: Option<&str>, wire: &str) {
    let is_free = matches!(call.parameters, Parameters::Free(_));
    let kind = if is_free { "custom" } else { "function" };
    match (id, call.extra.get(wire, "id")) {
        (Some(id), _) => w.field_str("id", id),
        (None, Some(kept)) if kept.as_str() != ABSENT => w.field_raw("id", kept),
        (None, _) => {}
    }
    let kept = call.extra.get(wire, "type").map(Raw::as_str);
    match kept {
        Some(ABSENT) => {}
        Some(other) => w.key("type").raw_str(other),
        None => w.field_str("type", kind),
    }
    w.key(kind)
        .object(|w| write_function(w, call, if is_free { "input" } else { "arguments" }, wire));
    let mut extra = call.extra.clone();
    extra
        .fields
        .retain(|(key, _)| !matches!(key.as_str(), "function" | "function_call" | "id" | "type"));
    signature::write(w, &extra, wire, call.signature.as_deref());
}

/// Writes name and arguments, these in their original form if their meaning is unchanged.
fn write_function(w: &mut Writer, call: &ToolCall, key: &str, wire: &str) {
    w.field_str("name", &call.name);
    let kept = call.extra.get(wire, "function");
    let doc = kept.map(Raw::doc);
    let stood = doc.as_ref().and_then(|doc| doc.root().get(key));
    let meaning = stood.map(|stood| {
        let text = stood.as_str().unwrap_or_else(|| stood.raw().into());
        Parameters::from_text(if matches!(text.as_ref(), "null" | ABSENT) { "" } else { &text })
    });
    match stood {
        Some(stood) if meaning.as_ref() == Some(&call.parameters) => {
            if stood.raw() != ABSENT {
                w.key(key).raw_str(stood.raw());
            }
        }
        _ => w.field_str(key, call.parameters.as_text()),
    }
    for (name, value) in
        doc.iter().flat_map(|doc| doc.root().entries()).filter(|(name, _)| name != key)
    {
        w.key(&name).raw_str(value.raw());
    }
}
