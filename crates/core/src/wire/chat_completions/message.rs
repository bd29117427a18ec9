//! Reads one message of a request.

use super::choice::SIBLINGS;
use super::details;
use super::form::{ABSENT, CONTENT, Form, LIST, REPEATS};
use super::media;
use super::parts;
use super::request::keep_inner;
use super::signature;
use crate::content::{
    Block, Content, Other, Parameters, Speaker, Text, Thinking, ToolCall, ToolResponse, ToolResult,
};
use crate::json::{Extra, Raw, Val};
use crate::wire::RequestError;

pub(super) fn read(
    form: &'static Form,
    message: Val<'_>,
    at: &str,
) -> Result<Content, RequestError> {
    let Some(role) = message.text("role") else {
        return Err(RequestError::new(format!("{at}.role"), "a message must say its role"));
    };
    let speaker = match role.as_ref() {
        "assistant" => Speaker::Ai,
        "user" => Speaker::Human,
        "system" | "developer" => Speaker::System,
        "tool" | "function" => Speaker::Tool,
        other => {
            let message = format!(
                "`{other}` is no role; the roles are `system`, `developer`, `user`, `assistant` and `tool`"
            );
            return Err(RequestError::new(format!("{at}.role"), message));
        }
    };
    let mut content = Content::new(speaker, Vec::new());
    content.extra = Extra::collect(form.id, message, &["role", CONTENT]);
    if !matches!(role.as_ref(), "assistant" | "user" | "system" | "tool") {
        content.extra.insert(form.id, "role", Raw::string(&role));
    }
    let text = message.get(CONTENT);
    check(text, at)?;
    match speaker {
        Speaker::Tool => read_tool(form, &mut content, message, text),
        Speaker::Ai => {
            content.signature = signature::find(message);
            if content.signature.is_some() {
                signature::take_out(&mut content.extra, form.id);
            }
            read_thoughts(form, &mut content, message);
            read_content(form, &mut content, text);
            read_calls(form, &mut content, message);
        }
        Speaker::Human | Speaker::System => read_content(form, &mut content, text),
    }
    Ok(content)
}

fn check(content: Option<Val<'_>>, at: &str) -> Result<(), RequestError> {
    let fine = |part: Val<'_>| part.as_str().is_some() || part.is_object();
    match content {
        Some(content) if content.is_array() => match content.items().position(|part| !fine(part)) {
            Some(part) => {
                let message = "a part of a message's content must be an object";
                Err(RequestError::new(format!("{at}.content[{part}]"), message))
            }
            None => Ok(()),
        },
        Some(content) if content.as_str().is_none() && !content.is_null() => {
            let message = "the content of a message must be a string or a list of parts";
            Err(RequestError::new(format!("{at}.content"), message))
        }
        _ => Ok(()),
    }
}

fn read_tool(
    form: &'static Form,
    content: &mut Content,
    message: Val<'_>,
    result: Option<Val<'_>>,
) {
    let mut response = ToolResponse {
        call_id: message.string("tool_call_id"),
        name: message.string("name"),
        result: result.map_or_else(|| Raw::null().into(), |result| read_result(form, result)),
        is_error: false,
        extra: Extra::default(),
    };
    let taken = [("tool_call_id", response.call_id.is_some()), ("name", response.name.is_some())];
    let is_taken = |key: &str| taken.iter().any(|(name, is_taken)| *is_taken && *name == key);
    content.extra.fields.retain(|(key, _)| !is_taken(key));
    match response.call_id.as_deref() {
        Some(id) if form.id_of(id, false) == id => {}
        Some(id) => response.extra.insert(form.id, "tool_call_id", Raw::string(id)),
        None => response.extra.insert(form.id, "tool_call_id", mark(ABSENT)),
    }
    if result.is_none() {
        response.extra.insert(form.id, CONTENT, mark(ABSENT));
    } else if result.is_some_and(|result| result.as_str().is_none()) {
        response.extra.insert(form.id, CONTENT, mark(LIST));
    }
    tidy(&mut content.extra);
    content.blocks.push(Block::ToolResponse(response));
}

fn read_result(form: &'static Form, result: Val<'_>) -> ToolResult {
    match result.is_array() && result.items().all(Val::is_object) {
        true => ToolResult::Blocks(result.items().map(|part| read_part(form, part)).collect()),
        false => Raw::from(result).into(),
    }
}

/// Reads the message's fields for thoughts. A string that repeats the structured entries or another string is only
/// marked, so that one thought is one block.
fn read_thoughts(form: &'static Form, content: &mut Content, message: Val<'_>) {
    let mut said: Option<String> = None;
    for field in [details::FIELD, details::BLOCKS] {
        let Some(entries) = message.some(field).filter(|entries| entries.items().next().is_some())
        else {
            continue;
        };
        for entry in entries.items() {
            let block = match details::read_entry(field, entry, form.id) {
                Some(thinking) => Block::Thinking(thinking),
                None => other(form, field, entry),
            };
            if let Block::Thinking(thinking) = &block {
                said.get_or_insert_default().push_str(&thinking.thought);
            }
            content.blocks.push(block);
        }
        content.extra.fields.retain(|(key, _)| key != field);
    }
    for field in SIBLINGS {
        // Some servers know the field as a list of texts, too.
        let thought = message.get(field).map(|value| parts::text_of(value).into_owned());
        let Some(thought) = thought.filter(|text| !text.is_empty()) else { continue };
        if said.as_ref() == Some(&thought) {
            content.extra.insert(form.id, field, mark(REPEATS));
            continue;
        }
        said.get_or_insert_with(|| thought.clone());
        content.blocks.push(Block::Thinking(Thinking::new(thought, field)));
        content.extra.fields.retain(|(key, _)| key != field);
    }
    tidy(&mut content.extra);
}

fn read_content(form: &'static Form, content: &mut Content, said: Option<Val<'_>>) {
    let Some(said) = said else { return content.extra.insert(form.id, CONTENT, mark(ABSENT)) };
    if said.is_null() {
        content.extra.insert(form.id, CONTENT, Raw::null());
    } else if let Some(text) = said.as_str() {
        content.blocks.push(Block::text(text));
    } else {
        content.extra.insert(form.id, CONTENT, mark(LIST));
        content.blocks.extend(said.items().map(|part| read_part(form, part)));
    }
}

fn read_part(form: &'static Form, part: Val<'_>) -> Block {
    let kind = part.text("type");
    match kind.as_deref() {
        Some("text") if part.get("text").is_some_and(|text| text.as_str().is_some()) => {
            Block::Text(Text {
                text: part.string("text").unwrap_or_default(),
                signature: None,
                extra: Extra::collect(form.id, part, &["type", "text"]),
            })
        }
        Some(kind) if parts::is_thinking(kind) => parts::read_thinking(part, form.id)
            .map_or_else(|| other(form, kind, part), Block::Thinking),
        Some(kind) => {
            media::read(form, kind, part).map_or_else(|| other(form, kind, part), Block::Media)
        }
        None => other(form, CONTENT, part),
    }
}

pub(super) fn other(form: &'static Form, kind: &str, raw: Val<'_>) -> Block {
    Block::Other(Other::new(form.id, kind, Raw::from(raw)))
}

fn read_calls(form: &'static Form, content: &mut Content, message: Val<'_>) {
    if let Some(calls) = message.some("tool_calls").filter(|calls| calls.items().next().is_some()) {
        if !calls.items().all(Val::is_object) {
            return;
        }
        content.blocks.extend(calls.items().map(|call| Block::ToolCall(read_call(form, call))));
        content.extra.fields.retain(|(key, _)| key != "tool_calls");
    }
    if let Some(call) = message.some("function_call").filter(|call| call.text("name").is_some()) {
        let mut old = read_inner(form, call, "arguments", Extra::default());
        old.extra.insert(form.id, "function_call", Raw::null());
        content.blocks.push(Block::ToolCall(old));
        content.extra.fields.retain(|(key, _)| key != "function_call");
    }
    tidy(&mut content.extra);
}

fn read_call(form: &'static Form, call: Val<'_>) -> ToolCall {
    let is_free = call.text("type").as_deref() == Some("custom");
    let id = call.string("id");
    let mut known = vec![if is_free { "custom" } else { "function" }];
    known.extend(id.is_some().then_some("id"));
    if call.text("type").is_some_and(|kind| matches!(kind.as_ref(), "function" | "custom")) {
        known.push("type");
    }
    let mut extra = Extra::collect(form.id, call, &known);
    let signature = signature::find(call);
    if signature.is_some() {
        signature::take_out(&mut extra, form.id);
    }
    if id.as_deref().is_none_or(|id| form.id_of(id, false) != id) {
        extra.insert(form.id, "id", call.get("id").map_or_else(|| mark(ABSENT), Raw::from));
    }
    if call.get("type").is_none() {
        extra.insert(form.id, "type", mark(ABSENT));
    }
    let inner = call.get(if is_free { "custom" } else { "function" });
    let mut read = match inner.filter(|inner| inner.is_object()) {
        Some(inner) => read_inner(form, inner, if is_free { "input" } else { "arguments" }, extra),
        None => ToolCall {
            id: None,
            name: String::new(),
            parameters: Parameters::default(),
            signature: None,
            extra,
        },
    };
    if is_free {
        let text = inner.and_then(|inner| inner.string("input")).unwrap_or_default();
        read.parameters = Parameters::Free(text);
    }
    ToolCall { id, signature, ..read }
}

/// Reads name and arguments. If the writer would spell the arguments differently, their original form is kept as
/// well.
fn read_inner(form: &'static Form, inner: Val<'_>, key: &str, mut extra: Extra) -> ToolCall {
    let arguments = inner.get(key);
    let text =
        arguments.map(|arguments| arguments.as_str().unwrap_or_else(|| arguments.raw().into()));
    let parameters =
        Parameters::from_text(text.as_deref().filter(|text| *text != "null").unwrap_or_default());
    let mut rest = Extra::collect(form.id, inner, &["name", key]);
    let is_same = arguments.and_then(Val::as_str).is_some_and(|text| text == parameters.as_text());
    if !is_same {
        rest.insert(form.id, key, arguments.map_or_else(|| mark(ABSENT), Raw::from));
    }
    keep_inner(&mut extra, form, "function", &rest);
    ToolCall {
        id: None,
        name: inner.string("name").unwrap_or_default(),
        parameters,
        signature: None,
        extra,
    }
}

/// One of the marks of [`super::form`]; all of them are JSON.
pub(super) fn mark(text: &str) -> Raw {
    Raw::parse(text).unwrap_or_else(|_| Raw::null())
}

/// An empty set of fields belongs to no wire.
fn tidy(extra: &mut Extra) {
    if extra.is_empty() {
        extra.wire = None;
    }
}
