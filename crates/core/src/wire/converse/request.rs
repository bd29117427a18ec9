//! Reads requests.
//!
//! If two spellings mean the same, the request's own is kept: a spelling that the writer would not choose is marked
//! in the `Extra` of its block or message (see `block::mark_verbatim`).

use super::block::{is_verbatim, mark_verbatim};
use super::{ID, media, reasoning, response};
use crate::content::{
    Block, Content, Other, Parameters, Speaker, Text, Thinking, ToolCall, ToolResponse, ToolResult,
};
use crate::json::{Extra, Kind, Raw, Val};
use crate::request::{AnswerFormat, Request, Tool, ToolChoice};
use crate::wire::RequestError;

/// Reads a request body. The model is part of the path, but clients that record their calls put it into the body as
/// `modelId`.
pub(super) fn read(body: Val<'_>) -> Result<Request, RequestError> {
    let messages = body
        .get("messages")
        .filter(|messages| messages.is_array())
        .ok_or_else(|| RequestError::new("messages", "must be an array of messages"))?;
    let mut request = Request {
        model: body.string("modelId").unwrap_or_default(),
        reasoning: reasoning::read(body),
        ..Request::default()
    };
    if let Some(system) = body.get("system").filter(|system| system.is_array()) {
        let blocks = system.items().map(read_block).collect();
        request.contents.push(Content::new(Speaker::System, blocks));
    }
    for (index, message) in messages.items().enumerate() {
        read_message(message, index, &mut request.contents)?;
    }
    for (key, value) in body.entries() {
        let rest = match key.as_ref() {
            "messages" => None,
            "system" => (!value.is_array()).then(|| Raw::from(value)),
            reasoning::FIELD => (!value.is_object()).then(|| Raw::from(value)),
            "inferenceConfig" => take_inference(&mut request, value),
            "toolConfig" => take_tools(&mut request, value),
            "outputConfig" => take_output(&mut request, value),
            _ => Some(Raw::from(value)),
        };
        if let Some(rest) = rest {
            request.extra.insert(ID, &key, rest);
        }
    }
    Ok(request)
}

/// Takes the members of `inferenceConfig` that the neutral form has, and returns the others; an empty object if the
/// caller's object was empty.
fn take_inference(request: &mut Request, config: Val<'_>) -> Option<Raw> {
    if !config.is_object() {
        return Some(Raw::from(config));
    }
    let number = |value: Val<'_>| (value.kind() == Kind::Number).then(|| Raw::from(value));
    let mut taken = Vec::new();
    for (key, value) in config.entries() {
        let is_taken = match key.as_ref() {
            "maxTokens" => {
                request.max_tokens = value.as_u64();
                request.max_tokens.is_some()
            }
            "temperature" => {
                request.temperature = number(value);
                request.temperature.is_some()
            }
            "topP" => {
                request.top_p = number(value);
                request.top_p.is_some()
            }
            "stopSequences" => {
                let texts = value.items().map(|text| Some(text.as_str()?.into_owned()));
                request.stop = texts.collect::<Option<_>>().unwrap_or_default();
                !request.stop.is_empty()
            }
            _ => false,
        };
        taken.extend(is_taken.then_some(key));
    }
    rest(config, |key| taken.iter().any(|taken| taken == key))
}

/// The members of an object that were not taken; `None` if the object had members and all were taken.
fn rest(object: Val<'_>, is_taken: impl Fn(&str) -> bool) -> Option<Raw> {
    let left: Vec<_> = object.entries().filter(|(key, _)| !is_taken(key)).collect();
    let is_all_taken = left.is_empty() && object.entries().next().is_some();
    (!is_all_taken).then(|| {
        let write = |w: &mut crate::json::Writer| {
            left.iter().for_each(|(key, value)| w.key(key).raw_str(value.raw()));
        };
        Raw::build(|w| w.object(write))
    })
}

fn take_tools(request: &mut Request, config: Val<'_>) -> Option<Raw> {
    if !config.is_object() {
        return Some(Raw::from(config));
    }
    if let Some(tools) = config.get("tools") {
        request.tools = tools.items().map(read_tool).collect();
    }
    request.tool_choice = config.some("toolChoice").map(read_tool_choice);
    let (has_tools, has_choice) = (!request.tools.is_empty(), request.tool_choice.is_some());
    rest(config, |key| key == "tools" && has_tools || key == "toolChoice" && has_choice)
}

fn read_tool(tool: Val<'_>) -> Tool {
    let spec = tool.get("toolSpec").filter(|_| tool.entries().count() == 1);
    let schema = |spec: Val<'_>| {
        let schema = spec.get("inputSchema")?;
        // An empty schema would be replaced, so such a tool is kept unchanged.
        let json = schema.get("json").filter(|json| json.entries().next().is_some())?;
        (schema.entries().count() == 1).then(|| Raw::from(json))
    };
    match spec.and_then(|spec| Some((spec, spec.string("name")?, schema(spec)?))) {
        Some((spec, name, schema)) => {
            let description = spec.string("description");
            let known: &[&str] = match &description {
                Some(_) => &["name", "description", "inputSchema"],
                None => &["name", "inputSchema"],
            };
            let extra = Extra::collect(ID, spec, known);
            Tool::Function { name, description, parameters: Some(schema), extra }
        }
        None => Tool::Other { wire: ID, raw: Raw::from(tool) },
    }
}

fn read_tool_choice(choice: Val<'_>) -> ToolChoice {
    let other = || ToolChoice::Other { wire: ID, raw: Raw::from(choice) };
    let mut members = choice.entries();
    let (Some((kind, value)), None) = (members.next(), members.next()) else { return other() };
    match (kind.as_ref(), value.entries().count()) {
        ("auto", 0) => ToolChoice::Auto,
        ("any", 0) => ToolChoice::Required,
        ("tool", 1) => value.string("name").map_or_else(other, ToolChoice::Tool),
        _ => other(),
    }
}

/// Takes the form of the answer and leaves the effort, which was read before. The schema is a string on this wire.
fn take_output(request: &mut Request, config: Val<'_>) -> Option<Raw> {
    let is_alone = |object: Val<'_>, count: usize| object.entries().count() == count;
    let plain = |format: Val<'_>| {
        let is_schema = format.text("type").as_deref() == Some("json_schema");
        let structure = format.get("structure").filter(|_| is_schema && is_alone(format, 2))?;
        let schema = structure.get("jsonSchema").filter(|_| is_alone(structure, 1))?;
        let (name, text) = (schema.string("name"), schema.string("schema")?);
        let is_plain = is_alone(schema, 1 + usize::from(name.is_some()));
        let schema = Raw::parse(&text).ok().filter(|raw| is_plain && raw.as_str() == text)?;
        Some(AnswerFormat::Schema { name, schema, strict: None })
    };
    if let Some(format) = config.some("textFormat") {
        let other = || AnswerFormat::Other { wire: ID, raw: Raw::from(format) };
        request.format = Some(plain(format).unwrap_or_else(other));
    }
    let has_format = request.format.is_some();
    let has_effort = config.text("effort").is_some();
    rest(config, |key| key == "textFormat" && has_format || key == "effort" && has_effort)
        .map(|left| if config.is_object() { left } else { Raw::from(config) })
}

/// Reads one message. A user message with tool results becomes several contents, each of results or of other blocks
/// of the user; the writer joins them again, because roles must alternate on this wire.
fn read_message(
    message: Val<'_>,
    index: usize,
    contents: &mut Vec<Content>,
) -> Result<(), RequestError> {
    let at = |member: &str| format!("messages[{index}].{member}");
    let content = message
        .get("content")
        .filter(|content| content.is_array())
        .ok_or_else(|| RequestError::new(at("content"), "must be an array of blocks"))?;
    let blocks: Vec<_> = content.items().map(read_block).collect();
    let first = contents.len();
    match message.text("role").as_deref() {
        Some("assistant") => contents.push(Content::new(Speaker::Ai, blocks)),
        Some("user") => split_user(blocks, contents),
        _ => return Err(RequestError::new(at("role"), "must be `user` or `assistant`")),
    }
    let (before, new) = contents.split_at_mut_checked(first).unwrap_or_default();
    if let Some(new) = new.first_mut() {
        new.extra = Extra::collect(ID, message, &["role", "content"]);
        let before = before.last().filter(|before| before.speaker != Speaker::System);
        if before.is_some_and(|before| joins(before, new)) {
            mark_verbatim(&mut new.extra);
        }
    }
    Ok(())
}

fn split_user(content: Vec<Block>, contents: &mut Vec<Content>) {
    let speaker_of = |block: &Block| match block {
        Block::ToolResponse(_) => Speaker::Tool,
        Block::Media(_)
        | Block::Other(_)
        | Block::Text(_)
        | Block::Thinking(_)
        | Block::ToolCall(_) => Speaker::Human,
    };
    let is_odd = |block: &Block| matches!(block, Block::Other(it) if it.kind == "toolResult");
    let is_result = |block: &Block| speaker_of(block) == Speaker::Tool || is_odd(block);
    let has_results = content.iter().any(is_result);
    let part = |speaker| Content {
        about_tools: has_results && speaker == Speaker::Human,
        ..Content::new(speaker, Vec::new())
    };
    let mut current = part(content.first().map_or(Speaker::Human, speaker_of));
    for block in content {
        let speaker = speaker_of(&block);
        if speaker != current.speaker {
            contents.push(std::mem::replace(&mut current, part(speaker)));
        }
        current.blocks.push(block);
    }
    contents.push(current);
}

/// Whether the writer puts `next` into the message that ends with `before`: the wire has two roles, which must
/// alternate, unless a caller wrote them otherwise.
pub(super) fn joins(before: &Content, next: &Content) -> bool {
    let is_ai = |content: &Content| content.speaker == Speaker::Ai;
    is_ai(before) == is_ai(next) && !is_verbatim(&next.extra)
}

fn read_block(block: Val<'_>) -> Block {
    let mut members = block.entries();
    let first = members.next();
    let is_alone = members.next().is_none();
    let (kind, inner) = match &first {
        Some((kind, inner)) => (kind.as_ref(), *inner),
        None => ("", block),
    };
    let read = match kind {
        "text" if is_alone => inner.as_str().map(|text| {
            let mut text = Text::new(text);
            if text.text.trim().is_empty() {
                // The writer leaves out blank texts of other origin, because the API refuses them.
                mark_verbatim(&mut text.extra);
            }
            Block::Text(text)
        }),
        "reasoningContent" if is_alone => read_thinking(inner),
        "toolUse" if is_alone => read_tool_use(inner),
        "toolResult" if is_alone => read_tool_result(inner),
        "audio" | "document" | "image" | "video" if is_alone => {
            media::read(kind, inner).map(Block::Media)
        }
        _ => None,
    };
    read.unwrap_or_else(|| Block::Other(Other::new(ID, kind, Raw::from(block))))
}

fn read_thinking(content: Val<'_>) -> Option<Block> {
    let (key, value) = content.entries().next().filter(|_| content.entries().count() == 1)?;
    let mut thinking = Thinking::new("", response::SOURCE_FIELD);
    match key.as_ref() {
        "redactedContent" => thinking.redacted_data = Some(value.as_str()?.into_owned()),
        "reasoningText" => {
            thinking.thought = value.string("text")?;
            thinking.signature = value.string("signature").filter(|text| !text.is_empty());
            let known: &[&str] =
                if thinking.signature.is_some() { &["text", "signature"] } else { &["text"] };
            thinking.extra = Extra::collect(ID, value, known);
            if thinking.is_nothing() {
                mark_verbatim(&mut thinking.extra);
            }
        }
        _ => return None,
    }
    Some(Block::Thinking(thinking))
}

fn read_tool_use(tool_use: Val<'_>) -> Option<Block> {
    let id = tool_use.string("toolUseId").filter(|_| !response::is_server_side(tool_use))?;
    let mut extra = Extra::collect(ID, tool_use, &["toolUseId", "name", "input"]);
    mark_odd_id(&id, &mut extra);
    Some(Block::ToolCall(ToolCall {
        id: Some(id),
        name: tool_use.string("name")?,
        parameters: Parameters::Json(Raw::from(tool_use.get("input")?)),
        signature: None,
        extra,
    }))
}

fn read_tool_result(result: Val<'_>) -> Option<Block> {
    let call_id = result.string("toolUseId").filter(|_| result.get("type").is_none())?;
    let content = result.get("content").filter(|content| content.is_array())?;
    let is_error = result.text("status").as_deref() == Some("error");
    let known: &[&str] =
        if is_error { &["toolUseId", "content", "status"] } else { &["toolUseId", "content"] };
    let mut extra = Extra::collect(ID, result, known);
    mark_odd_id(&call_id, &mut extra);
    Some(Block::ToolResponse(ToolResponse {
        call_id: Some(call_id),
        name: None,
        result: read_result(content),
        is_error,
        extra,
    }))
}

/// One text or one object is a value; everything else is a list of blocks.
fn read_result(content: Val<'_>) -> ToolResult {
    let mut items = content.items();
    let alone = match (items.next(), items.next()) {
        (Some(item), None) if item.entries().count() == 1 => Some(item),
        _ => None,
    };
    let is_said = |text: &Val<'_>| text.as_str().is_some_and(|text| !text.trim().is_empty());
    let text = alone.and_then(|item| item.get("text")).filter(is_said);
    let json = alone.and_then(|item| item.get("json")).filter(|json| json.is_object());
    if let Some(value) = text.or(json) {
        return Raw::from(value).into();
    }
    let block = |item: Val<'_>| match item.get("json").filter(|json| json.is_object()) {
        Some(json) if item.entries().count() == 1 => Block::data(Raw::from(json)),
        Some(_) | None => read_block(item),
    };
    ToolResult::Blocks(content.items().map(block).collect())
}

/// The writer changes ids that the API would refuse, but not those of a caller of this wire.
fn mark_odd_id(id: &str, extra: &mut Extra) {
    if !super::write::TOOL_IDS.takes(id) {
        mark_verbatim(extra);
    }
}
