//! Reads requests.

use super::ID;
use super::response::{SOURCE_FIELD, image, images};
use crate::content::{Block, Content, Speaker, Thinking, ToolResponse, ToolResult};
use crate::json::{Extra, Kind, Raw, Val};
use crate::request::{AnswerFormat, ReasoningAsk, Request};
use crate::settings::Effort;
use crate::wire::RequestError;
use crate::wire::function::{read_call, read_tool, with_text};

/// The mark of a message without `content`. This is never an unknown member, so this key cannot clash.
pub(super) const NO_CONTENT: &str = "false";

/// Note on a result: its images were in its own message.
pub(super) const IMAGES: &str = "images";

/// Reads a request body.
pub(super) fn read(body: Val<'_>) -> Result<Request, RequestError> {
    let mut request = head(body)?;
    let messages = body
        .get("messages")
        .filter(|messages| messages.is_array())
        .ok_or_else(|| RequestError::new("messages", "must be an array of messages"))?;
    for (index, message) in messages.items().enumerate() {
        request.contents.push(read_message(message, index)?);
    }
    rest(&mut request, body, &["messages"]);
    Ok(request)
}

/// A request to the model that the body names. On this wire a request streams by default.
pub(super) fn head(body: Val<'_>) -> Result<Request, RequestError> {
    if !body.is_object() {
        return Err(RequestError::new("$", "the body must be an object"));
    }
    let model = body
        .string("model")
        .ok_or_else(|| RequestError::new("model", "must be a string that names a model"))?;
    Ok(Request { model, stream: true, ..Request::default() })
}

/// Takes the members of a request that are not in `taken`.
pub(super) fn rest(request: &mut Request, body: Val<'_>, taken: &[&str]) {
    for (key, value) in body.entries() {
        if !taken.contains(&key.as_ref()) && !take(request, &key, value) {
            request.extra.insert(ID, &key, Raw::from(value));
        }
    }
    if body.get("stream").is_none() {
        request.extra.insert(ID, "stream", Raw::null());
    }
}

/// Takes a member of the request that the neutral form has; returns false for a value of another type.
fn take(request: &mut Request, key: &str, value: Val<'_>) -> bool {
    match key {
        "model" => true,
        "stream" => {
            request.stream = value.as_bool() != Some(false);
            value.as_bool().is_some()
        }
        "options" if value.is_object() => {
            let rest = options(request, value);
            request.extra.insert(ID, key, rest);
            true
        }
        "tools" => {
            request.tools = value.items().map(|tool| read_tool(ID, tool)).collect();
            !request.tools.is_empty()
        }
        "format" => {
            request.format = match value.as_str().as_deref() {
                Some("json") => Some(AnswerFormat::Json),
                Some(_) => Some(AnswerFormat::Other { wire: ID, raw: Raw::from(value) }),
                None if value.is_object() => Some(AnswerFormat::Schema {
                    name: None,
                    schema: Raw::from(value),
                    strict: None,
                }),
                None => None,
            };
            request.format.is_some()
        }
        "think" if !value.is_null() => {
            request.reasoning = meaning(value);
            request.reasoning.fields.insert(ID, key, Raw::from(value));
            true
        }
        _ => false,
    }
}

/// Takes the options that have a place of their own and gives the others.
fn options(request: &mut Request, options: Val<'_>) -> Raw {
    let mut rest = Extra::default();
    for (key, value) in options.entries() {
        let is_number = value.kind() == Kind::Number;
        let texts: Option<Vec<_>> =
            value.items().map(|text| Some(text.as_str()?.into_owned())).collect();
        match (key.as_ref(), value.as_u64(), texts) {
            ("num_predict", Some(tokens), _) => request.max_tokens = Some(tokens),
            ("temperature", ..) if is_number => request.temperature = Some(Raw::from(value)),
            ("top_p", ..) if is_number => request.top_p = Some(Raw::from(value)),
            ("stop", _, Some(texts)) if !texts.is_empty() => request.stop = texts,
            _ => rest.insert(ID, &key, Raw::from(value)),
        }
    }
    Raw::build(|w| w.object(|w| w.extra(&rest, ID)))
}

/// The meaning of `think`, without the field.
pub(super) fn meaning(think: Val<'_>) -> ReasoningAsk {
    ReasoningAsk {
        enabled: think.as_bool(),
        effort: think.as_str().and_then(|word| Effort::parse(&word)),
        ..ReasoningAsk::default()
    }
}

fn read_message(message: Val<'_>, index: usize) -> Result<Content, RequestError> {
    let at = |member: &str| format!("messages[{index}].{member}");
    let content = message.get("content");
    if content.is_some_and(|content| !content.is_null() && content.as_str().is_none()) {
        return Err(RequestError::new(at("content"), "must be a string"));
    }
    let speaker = match message.text("role").as_deref() {
        Some("assistant") => Speaker::Ai,
        Some("user") => Speaker::Human,
        Some("system") => Speaker::System,
        Some("tool") => return Ok(read_result(message)),
        _ => {
            let words = "must be `user`, `assistant`, `system` or `tool`";
            return Err(RequestError::new(at("role"), words));
        }
    };
    let mut known = vec!["role", "content"];
    let mut blocks = Vec::new();
    if let Some(thought) = message.string("thinking").filter(|thought| !thought.is_empty()) {
        known.push("thinking");
        blocks.push(Block::Thinking(Thinking::new(thought, SOURCE_FIELD)));
    }
    let text = content.and_then(Val::as_str).filter(|text| !text.is_empty());
    blocks.extend(text.map(Block::text));
    if let Some(images) = images(message).filter(|images| !images.is_empty()) {
        known.push("images");
        blocks.extend(images.iter().map(|data| Block::Media(image(data))));
    }
    let calls = message
        .get("tool_calls")
        .filter(|calls| calls.items().next().is_some() && calls.items().all(Val::is_object));
    if let Some(calls) = calls {
        known.push("tool_calls");
        let calls = calls.items().map(|call| with_text(read_call(ID, call, &[])));
        blocks.extend(calls.map(Block::ToolCall));
    }
    let mut said = Content::new(speaker, blocks);
    said.extra = Extra::collect(ID, message, &known);
    match content {
        Some(value) if value.is_null() => said.extra.insert(ID, "content", Raw::null()),
        Some(_) => {}
        None => said.extra.insert(ID, "content", Raw::build(|w| w.bool(false))),
    }
    Ok(said)
}

fn read_result(message: Val<'_>) -> Content {
    let (call_id, name) = (message.string("tool_call_id"), message.string("tool_name"));
    let mut known = vec!["role", "content"];
    known.extend(call_id.is_some().then_some("tool_call_id"));
    known.extend(name.is_some().then_some("tool_name"));
    let images = images(message).filter(|images| !images.is_empty());
    known.extend(images.is_some().then_some("images"));
    let mut extra = Extra::collect(ID, message, &known);
    let content = message.some("content");
    let result = match images {
        Some(images) => {
            extra.note(ID, IMAGES, Raw::null());
            let text = content.and_then(Val::as_str).map(Block::text);
            let images = images.iter().map(|data| Block::Media(image(data)));
            ToolResult::Blocks(text.into_iter().chain(images).collect())
        }
        None => content.map_or_else(Raw::null, Raw::from).into(),
    };
    let response = ToolResponse { call_id, name, result, is_error: false, extra };
    Content::new(Speaker::Tool, vec![Block::ToolResponse(response)])
}
