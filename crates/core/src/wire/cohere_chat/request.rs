//! Reads requests.

use super::ID;
use super::response::SOURCE_FIELD;
use crate::content::{
    Block, Content, Media, MediaSource, Other, Speaker, Text, Thinking, ToolResponse, ToolResult,
};
use crate::json::{Extra, Kind, Raw, Val};
use crate::request::{AnswerFormat, ReasoningAsk, Request, ToolChoice};
use crate::wire::RequestError;
use crate::wire::function::{read_call, read_tool, with_text};

/// The key of the mark for a text that was alone in a list. A text's `type` is never an unknown member, so this key
/// cannot clash.
pub(super) const IN_LIST: &str = "type";

/// Reads a request body.
pub(super) fn read(body: Val<'_>) -> Result<Request, RequestError> {
    if !body.is_object() {
        return Err(RequestError::new("$", "the body must be an object"));
    }
    let model = body
        .string("model")
        .ok_or_else(|| RequestError::new("model", "must be a string that names a model"))?;
    let messages = body
        .get("messages")
        .filter(|messages| messages.is_array())
        .ok_or_else(|| RequestError::new("messages", "must be an array of messages"))?;
    let mut request = Request { model, ..Request::default() };
    for (index, message) in messages.items().enumerate() {
        request.contents.push(read_message(message, index)?);
    }
    for (key, value) in body.entries() {
        if !take(&mut request, &key, value) {
            request.extra.insert(ID, &key, Raw::from(value));
        }
    }
    Ok(request)
}

/// Takes a member of the request that the neutral form has; returns false for a value of another type.
fn take(request: &mut Request, key: &str, value: Val<'_>) -> bool {
    match key {
        "model" | "messages" => true,
        "stream" => {
            request.stream = value.as_bool() == Some(true);
            request.stream
        }
        "max_tokens" => {
            request.max_tokens = value.as_u64();
            request.max_tokens.is_some()
        }
        "temperature" => number(&mut request.temperature, value),
        "p" => number(&mut request.top_p, value),
        "stop_sequences" => {
            let texts: Option<Vec<_>> =
                value.items().map(|text| Some(text.as_str()?.into_owned())).collect();
            request.stop = texts.unwrap_or_default();
            !request.stop.is_empty()
        }
        "tools" => {
            request.tools = value.items().map(|tool| read_tool(ID, tool)).collect();
            !request.tools.is_empty()
        }
        "tool_choice" => {
            request.tool_choice = match value.as_str().as_deref() {
                Some("REQUIRED") => Some(ToolChoice::Required),
                Some("NONE") => Some(ToolChoice::None),
                _ if value.is_null() => None,
                _ => Some(ToolChoice::Other { wire: ID, raw: Raw::from(value) }),
            };
            request.tool_choice.is_some()
        }
        "response_format" => {
            request.format = value.is_object().then(|| format(value));
            request.format.is_some()
        }
        "thinking" if value.is_object() => {
            request.reasoning = meaning(value);
            request.reasoning.fields.insert(ID, key, Raw::from(value));
            true
        }
        _ => false,
    }
}

fn number(slot: &mut Option<Raw>, value: Val<'_>) -> bool {
    let is_number = value.kind() == Kind::Number;
    *slot = is_number.then(|| Raw::from(value));
    is_number
}

/// The meaning of the object `thinking`, without the field.
pub(super) fn meaning(thinking: Val<'_>) -> ReasoningAsk {
    ReasoningAsk {
        enabled: match thinking.text("type").as_deref() {
            Some("enabled") => Some(true),
            Some("disabled") => Some(false),
            _ => None,
        },
        max_tokens: thinking.u64("token_budget"),
        ..ReasoningAsk::default()
    }
}

fn format(format: Val<'_>) -> AnswerFormat {
    let is_json = format.text("type").as_deref() == Some("json_object");
    let schema = format.get("json_schema").filter(|schema| schema.is_object());
    match (format.entries().count(), schema) {
        (1, None) if is_json => AnswerFormat::Json,
        (2, Some(schema)) if is_json => {
            AnswerFormat::Schema { name: None, schema: Raw::from(schema), strict: None }
        }
        _ => AnswerFormat::Other { wire: ID, raw: Raw::from(format) },
    }
}

fn read_message(message: Val<'_>, index: usize) -> Result<Content, RequestError> {
    let speaker = match message.text("role").as_deref() {
        Some("assistant") => Speaker::Ai,
        Some("user") => Speaker::Human,
        Some("system" | "developer") => Speaker::System,
        Some("tool") => return Ok(read_result(message)),
        _ => {
            let at = format!("messages[{index}].role");
            let words = "must be `user`, `assistant`, `system` or `tool`";
            return Err(RequestError::new(at, words));
        }
    };
    let content = message.get("content");
    let is_developer = message.text("role").as_deref() == Some("developer");
    // The other word for the same speaker is kept as a member.
    let mut known = if is_developer { Vec::new() } else { vec!["role"] };
    let mut blocks = Vec::new();
    match content {
        Some(value) if value.as_str().is_some() => {
            known.push("content");
            blocks.extend(value.as_str().map(Block::text));
        }
        Some(value) if value.items().next().is_some() => {
            known.push("content");
            blocks = list(value);
        }
        // A null or an empty list is written back as it came.
        Some(value) if value.is_null() || value.is_array() => {}
        None if speaker == Speaker::Ai => {}
        Some(_) | None => {
            let at = format!("messages[{index}].content");
            return Err(RequestError::new(at, "must be a string or an array of blocks"));
        }
    }
    let calls = message.get("tool_calls").filter(|calls| {
        speaker == Speaker::Ai
            && calls.items().next().is_some()
            && calls.items().all(Val::is_object)
    });
    if let Some(calls) = calls {
        known.push("tool_calls");
        blocks.extend(calls.items().map(|call| {
            let is_function = call.text("type").as_deref() == Some("function");
            let known: &[&str] = if is_function { &["type"] } else { &[] };
            Block::ToolCall(with_text(read_call(ID, call, known)))
        }));
    }
    let mut content = Content::new(speaker, blocks);
    content.extra = Extra::collect(ID, message, &known);
    Ok(content)
}

fn list(content: Val<'_>) -> Vec<Block> {
    let mut blocks: Vec<_> = content.items().map(read_block).collect();
    // One plain text would be written as a string.
    if let [Block::Text(text)] = blocks.as_mut_slice()
        && text.extra.is_empty()
    {
        text.extra.insert(ID, IN_LIST, Raw::string("text"));
    }
    blocks
}

fn read_block(block: Val<'_>) -> Block {
    let kind = block.text("type").unwrap_or_default();
    let read = match kind.as_ref() {
        "text" => block.string("text").map(|text| {
            let extra = Extra::collect(ID, block, &["type", "text"]);
            Block::Text(Text { text, signature: None, extra })
        }),
        "thinking" => {
            block.string("thinking").filter(|thought| !thought.is_empty()).map(|thought| {
                let extra = Extra::collect(ID, block, &["type", "thinking"]);
                Block::Thinking(Thinking { extra, ..Thinking::new(thought, SOURCE_FIELD) })
            })
        }
        "image_url" => read_image(block),
        _ => None,
    };
    read.unwrap_or_else(|| Block::Other(Other::new(ID, kind.into_owned(), Raw::from(block))))
}

/// An image inline or at an address; the members beside the address are kept.
fn read_image(block: Val<'_>) -> Option<Block> {
    let image = block.get("image_url")?;
    let url = image.string("url")?;
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (media_type, source) = match inline {
        Some((kind, data)) if !kind.is_empty() => (kind, MediaSource::Data(data.to_owned())),
        _ => ("image/*", MediaSource::Url(url.clone())),
    };
    let mut extra = Extra::collect(ID, block, &["type", "image_url"]);
    let beside = Extra::collect(ID, image, &["url"]);
    if !beside.is_empty() {
        extra.insert(ID, "image_url", Raw::build(|w| w.object(|w| w.extra(&beside, ID))));
    }
    let media_type = media_type.to_owned();
    let is_image = media_type.starts_with("image/");
    is_image.then_some(Block::Media(Media { media_type, source, extra }))
}

fn read_result(message: Val<'_>) -> Content {
    let call_id = message.string("tool_call_id");
    let content = message.some("content");
    let mut known = vec!["role"];
    known.extend(call_id.is_some().then_some("tool_call_id"));
    known.extend(content.is_some().then_some("content"));
    let mut extra = Extra::collect(ID, message, &known);
    let is_list = |content: &Val<'_>| content.is_array() && content.items().all(Val::is_object);
    let result = match content.filter(is_list) {
        Some(list) => {
            extra.note(ID, IN_LIST, Raw::null());
            ToolResult::Blocks(list.items().map(read_block).collect())
        }
        None => content.map_or_else(Raw::null, Raw::from).into(),
    };
    let response = ToolResponse { call_id, name: None, result, is_error: false, extra };
    Content::new(Speaker::Tool, vec![Block::ToolResponse(response)])
}
