//! Reads requests.

use super::item::{self, ItemKind};
use super::message::{flag, input_blocks};
use super::{BARE_INPUT, ID, INSTRUCTIONS, LIST, NOT_SAID};
use crate::content::{Block, Content, Speaker, ToolResponse, ToolResult};
use crate::json::{Extra, Raw, Val};
use crate::request::{AnswerFormat, ReasoningAsk, Request, Tool, ToolChoice};
use crate::settings::Effort;
use crate::wire::RequestError;

/// Reads a request body.
pub(super) fn read(body: Val<'_>) -> Result<Request, RequestError> {
    if !body.is_object() {
        return Err(RequestError::new("body", "the body must be a JSON object"));
    }
    let mut request = Request::default();
    // It came on this wire even if it has no field that is only known here.
    request.extra.wire = Some(ID);
    for (key, value) in body.entries() {
        if !take(&mut request, &key, value)? {
            request.extra.insert(ID, &key, Raw::from(value));
        }
    }
    // The instructions are above all messages, at any place of the field in the body.
    if let Some(text) = body.text("instructions") {
        let mut content = Content::text(Speaker::System, text);
        content.extra.note(ID, INSTRUCTIONS, flag());
        request.contents.insert(0, content);
    }
    Ok(request)
}

/// Takes a field of the request. Returns false for a value of another type, which stays as it is.
fn take(request: &mut Request, key: &str, value: Val<'_>) -> Result<bool, RequestError> {
    if value.is_null() && key != "input" {
        return Ok(false);
    }
    match key {
        "model" => match value.as_str() {
            Some(model) => request.model = model.into_owned(),
            None => return Err(RequestError::new("model", "the model must be a string")),
        },
        "input" => request.contents = input(value)?,
        "instructions" => return Ok(value.as_str().is_some()),
        "tools" => match value.is_array() {
            true => request.tools = value.items().map(tool).collect(),
            false => return Err(RequestError::new("tools", "the tools must be a list")),
        },
        "tool_choice" => request.tool_choice = Some(tool_choice(value)),
        "parallel_tool_calls" => request.parallel_tool_calls = value.as_bool(),
        "stream" => request.stream = value.as_bool().unwrap_or_default(),
        "max_output_tokens" => request.max_tokens = value.as_u64(),
        "temperature" => request.temperature = Some(Raw::from(value)),
        "top_p" => request.top_p = Some(Raw::from(value)),
        "reasoning" => request.reasoning = reasoning(value),
        "text" => request.format = value.some("format").and_then(format),
        _ => return Ok(false),
    }
    Ok(match key {
        "parallel_tool_calls" => request.parallel_tool_calls.is_some(),
        "stream" => request.stream,
        "max_output_tokens" => request.max_tokens.is_some(),
        // The whole object is kept: its members beside the format go back out.
        "text" => false,
        _ => true,
    })
}

/// The input: a text, or a list of items. Consecutive items of the model are one message.
fn input(value: Val<'_>) -> Result<Vec<Content>, RequestError> {
    if let Some(text) = value.as_str() {
        let mut content = Content::text(Speaker::Human, text);
        content.extra.note(ID, BARE_INPUT, flag());
        return Ok(vec![content]);
    }
    if !value.is_array() {
        return Err(RequestError::new("input", "the input must be a string or a list of items"));
    }
    let mut contents: Vec<Content> = Vec::new();
    for (at, item) in value.items().enumerate() {
        if !item.is_object() {
            return Err(RequestError::new(format!("input[{at}]"), "an item must be an object"));
        }
        let content = content(item);
        match contents.last_mut() {
            Some(last) if last.speaker == Speaker::Ai && content.speaker == Speaker::Ai => {
                last.blocks.extend(content.blocks);
            }
            _ => contents.push(content),
        }
    }
    Ok(contents)
}

fn content(item: Val<'_>) -> Content {
    let kind = item.text("type");
    let kind = kind.as_deref().unwrap_or_default();
    match ItemKind::of_item(item) {
        ItemKind::Message => message(item),
        ItemKind::Reasoning => Content::new(Speaker::Ai, thinking_or_raw(item)),
        ItemKind::Function | ItemKind::Custom => Content::new(Speaker::Ai, item::blocks(item)),
        ItemKind::Other if is_tool_result(kind) && item.get("output").is_some() => {
            Content::new(Speaker::Tool, vec![Block::ToolResponse(tool_result(item))])
        }
        ItemKind::Other => {
            let by_tool = kind.ends_with("_call_output") || kind == "mcp_approval_response";
            let by_server = item.text("execution").is_some_and(|who| who == "server");
            let speaker = if by_tool && !by_server { Speaker::Tool } else { Speaker::Ai };
            Content::new(speaker, vec![Block::Other(item::other(item))])
        }
    }
}

/// A reasoning item; an empty item is kept as it came.
fn thinking_or_raw(item: Val<'_>) -> Vec<Block> {
    let block = match item::thinking(item) {
        Some(thinking) => Block::Thinking(thinking),
        None => Block::Other(item::other(item)),
    };
    vec![block]
}

fn message(item: Val<'_>) -> Content {
    let role = item.text("role").unwrap_or_default();
    let speaker = match &*role {
        "assistant" => Speaker::Ai,
        "system" | "developer" => Speaker::System,
        _ => Speaker::Human,
    };
    if speaker == Speaker::Ai {
        return Content::new(speaker, item::blocks(item));
    }
    let content = item.get("content").filter(|content| !content.is_null());
    let Some(content) = content else {
        return Content::new(speaker, vec![Block::Other(item::other(item))]);
    };
    let (blocks, is_bare) = input_blocks(content);
    // The role of a system message is always kept: without one it would go into `instructions`.
    let known: &[&str] = if role == "user" { &["role", "content"] } else { &["content"] };
    let mut content = Content::new(speaker, blocks);
    content.extra = Extra::collect(ID, item, known);
    if !is_bare {
        content.extra.note(ID, LIST, flag());
    }
    content
}

/// A request for the conversation in a compacted form, which only this API knows.
pub(super) fn compaction(request: &Request) -> Option<RequestError> {
    let mut blocks = request.contents.iter().flat_map(|content| &content.blocks);
    let is_asked = |block: &Block| matches!(block, Block::Other(it) if it.kind == TRIGGER);
    blocks.any(is_asked).then(|| {
        let message = format!(
            "the API of this model compacts no conversations; leave `{TRIGGER}` out, or ask a model of the Responses API"
        );
        RequestError::new("input", message)
    })
}

/// The item that asks for a compacted form of the conversation.
const TRIGGER: &str = "compaction_trigger";

fn is_tool_result(kind: &str) -> bool {
    matches!(kind, "function_call_output" | "custom_tool_call_output")
}

fn tool_result(item: Val<'_>) -> ToolResponse {
    let is_function = item.text("type").is_some_and(|kind| kind == "function_call_output");
    let known: &[&str] =
        if is_function { &["type", "call_id", "output"] } else { &["call_id", "output"] };
    let mut extra = Extra::collect(ID, item, known);
    let output = item.get("output");
    let is_parts = |output: &Val<'_>| output.is_array() && output.items().all(Val::is_object);
    let result = match output.filter(is_parts) {
        Some(parts) => {
            extra.note(ID, LIST, flag());
            ToolResult::Blocks(input_blocks(parts).0)
        }
        None => output.map_or_else(Raw::null, Raw::from).into(),
    };
    ToolResponse { call_id: item.string("call_id"), name: None, result, is_error: false, extra }
}

fn tool(value: Val<'_>) -> Tool {
    let is_function = value.text("type").is_some_and(|kind| kind == "function");
    let Some(name) = value.string("name").filter(|_| is_function) else {
        return Tool::Other { wire: ID, raw: Raw::from(value) };
    };
    let description = value.string("description");
    let parameters = value.some("parameters").map(Raw::from);
    let mut known = vec!["type", "name"];
    if description.is_some() {
        known.push("description");
    }
    if parameters.is_some() {
        known.push("parameters");
    }
    let mut extra = Extra::collect(ID, value, &known);
    if value.get("strict").is_none() {
        extra.note(ID, NOT_SAID, flag());
    }
    Tool::Function { name, description, parameters, extra }
}

fn tool_choice(value: Val<'_>) -> ToolChoice {
    let is_function = value.text("type").is_some_and(|kind| kind == "function");
    match (value.as_str().as_deref(), value.string("name")) {
        (Some("auto"), _) => ToolChoice::Auto,
        (Some("none"), _) => ToolChoice::None,
        (Some("required"), _) => ToolChoice::Required,
        (None, Some(name)) if is_function && value.entries().count() == 2 => ToolChoice::Tool(name),
        _ => ToolChoice::Other { wire: ID, raw: Raw::from(value) },
    }
}

/// The form of the answer; `None` for plain text.
pub(super) fn format(value: Val<'_>) -> Option<AnswerFormat> {
    match value.text("type").as_deref() {
        Some("text") => None,
        Some("json_object") => Some(AnswerFormat::Json),
        Some("json_schema") => match value.get("schema") {
            Some(schema) => Some(AnswerFormat::Schema {
                name: value.string("name"),
                schema: Raw::from(schema),
                strict: value.bool("strict"),
            }),
            None => Some(AnswerFormat::Other { wire: ID, raw: Raw::from(value) }),
        },
        _ => Some(AnswerFormat::Other { wire: ID, raw: Raw::from(value) }),
    }
}

/// The meaning of `reasoning` in the neutral form; the object itself is kept with it.
pub(super) fn reasoning(value: Val<'_>) -> ReasoningAsk {
    let mut ask = ReasoningAsk::default();
    ask.fields.insert(ID, "reasoning", Raw::from(value));
    ask.effort = value.text("effort").and_then(|effort| Effort::parse(&effort));
    ask.enabled = value.bool("enabled").or(match ask.effort {
        Some(Effort::None) => Some(false),
        Some(_) => Some(true),
        None => None,
    });
    ask.max_tokens = value.u64("max_tokens");
    let summary = value.some("summary").or(value.some("generate_summary"));
    ask.show = match value.bool("exclude") {
        Some(exclude) => Some(!exclude),
        None => summary.map(|_| true),
    };
    ask
}
