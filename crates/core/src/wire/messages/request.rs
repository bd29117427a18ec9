//! Reads requests.
//!
//! If two spellings mean the same, the request's own is kept: a spelling that the writer would not choose is marked
//! in the `Extra` of its block or message (see `block::mark_verbatim` and [`mark_own_message`]).

use super::block::{STRING, mark_verbatim};
use super::{ID, reasoning, response};
use crate::content::{
    Block, Content, Media, MediaSource, Other, Parameters, Speaker, Text, Thinking, ToolCall,
    ToolResponse, ToolResult,
};
use crate::json::{Extra, Kind, Raw, Val};
use crate::request::{Request, Tool, ToolChoice};
use crate::wire::RequestError;

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
    (request.reasoning, request.format) = reasoning::read(body);
    if let Some(system) = body.some("system") {
        let blocks = blocks(system)
            .ok_or_else(|| RequestError::new("system", "must be a string or an array of blocks"))?;
        request.contents.push(Content::new(Speaker::System, blocks));
    }
    for (index, message) in messages.items().enumerate() {
        read_message(message, index, &mut request.contents)?;
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
        "system" => !value.is_null(),
        "thinking" | "output_config" => value.is_object(),
        "stream" => {
            request.stream = value.as_bool() == Some(true);
            request.stream
        }
        "max_tokens" => {
            request.max_tokens = value.as_u64();
            request.max_tokens.is_some()
        }
        "temperature" => number(&mut request.temperature, value),
        "top_p" => number(&mut request.top_p, value),
        "stop_sequences" => {
            let texts: Option<Vec<_>> =
                value.items().map(|text| Some(text.as_str()?.into_owned())).collect();
            request.stop = texts.unwrap_or_default();
            !request.stop.is_empty()
        }
        "tools" => {
            request.tools = value.items().map(read_tool).collect();
            !request.tools.is_empty()
        }
        "tool_choice" => {
            request.tool_choice = read_tool_choice(value, &mut request.parallel_tool_calls);
            request.tool_choice.is_some()
        }
        _ => false,
    }
}

fn number(slot: &mut Option<Raw>, value: Val<'_>) -> bool {
    let is_number = value.kind() == Kind::Number;
    *slot = is_number.then(|| Raw::from(value));
    is_number
}

fn read_tool(tool: Val<'_>) -> Tool {
    let kind = tool.text("type");
    let is_function = tool.get("type").is_none() || kind.as_deref() == Some("custom");
    // An empty schema would be replaced, so such a tool is kept unchanged.
    let schema = tool.some("input_schema").filter(|schema| schema.entries().next().is_some());
    match (tool.string("name"), schema) {
        (Some(name), Some(schema)) if is_function => {
            let description = tool.string("description");
            let known: &[&str] = match &description {
                Some(_) => &["name", "description", "input_schema"],
                None => &["name", "input_schema"],
            };
            Tool::Function {
                name,
                description,
                parameters: Some(Raw::from(schema)),
                extra: Extra::collect(ID, tool, known),
            }
        }
        _ => Tool::Other { wire: ID, raw: Raw::from(tool) },
    }
}

fn read_tool_choice(choice: Val<'_>, parallel: &mut Option<bool>) -> Option<ToolChoice> {
    let kind = choice.text("type")?;
    let name = choice.string("name");
    let known: &[&str] = match kind.as_ref() {
        "auto" | "any" => &["type", "disable_parallel_tool_use"],
        "tool" => &["type", "name", "disable_parallel_tool_use"],
        _ => &["type"],
    };
    let disabled = choice.get("disable_parallel_tool_use");
    let is_plain = choice.entries().all(|(key, _)| known.contains(&key.as_ref()))
        && disabled.is_none_or(|value| value.as_bool().is_some());
    let read = match (kind.as_ref(), name) {
        ("auto", None) if is_plain => ToolChoice::Auto,
        ("any", None) if is_plain => ToolChoice::Required,
        ("none", None) if is_plain => ToolChoice::None,
        ("tool", Some(name)) if is_plain => ToolChoice::Tool(name),
        _ => return Some(ToolChoice::Other { wire: ID, raw: Raw::from(choice) }),
    };
    *parallel = disabled.and_then(Val::as_bool).map(|disabled| !disabled);
    Some(read)
}

/// Reads one message. A user message with tool results becomes several contents, each of results or of other blocks
/// of the user; the writer joins them again.
fn read_message(
    message: Val<'_>,
    index: usize,
    contents: &mut Vec<Content>,
) -> Result<(), RequestError> {
    let content = message.get("content").and_then(blocks).ok_or_else(|| {
        let at = format!("messages[{index}].content");
        RequestError::new(at, "must be a string or an array of blocks")
    })?;
    let extra = Extra::collect(ID, message, &["role", "content"]);
    let first = contents.len();
    match message.text("role").as_deref() {
        Some("assistant") => contents.push(Content::new(Speaker::Ai, content)),
        Some("user") => split_user(content, contents),
        Some("system") => {
            contents.push(Content::new(Speaker::System, content));
            if let Some(content) = contents.get_mut(first) {
                mark_own_message(content);
            }
        }
        _ => {
            let at = format!("messages[{index}].role");
            return Err(RequestError::new(at, "must be `user`, `assistant` or `system`"));
        }
    }
    let (before, new) = contents.split_at_mut_checked(first).unwrap_or_default();
    if let Some(new) = new.first_mut() {
        let is_marked = !new.extra.is_empty();
        extra.fields.into_iter().for_each(|(key, value)| new.extra.insert(ID, &key, value));
        if !is_marked && before.last().is_some_and(|before| joins(before, new)) {
            mark_own_message(new);
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
    let has_results = content.iter().any(|block| speaker_of(block) == Speaker::Tool);
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

/// Whether the writer would put `next` into the message that ends with `before`: results of tools and other blocks of
/// the user are one message on this wire.
pub(super) fn joins(before: &Content, next: &Content) -> bool {
    let is_user = |speaker| matches!(speaker, Speaker::Human | Speaker::Tool);
    is_user(before.speaker)
        && is_user(next.speaker)
        && (before.speaker == Speaker::Tool || next.speaker == Speaker::Tool)
}

/// The key of the mark for a message of its own, or for a system message among the others. A message's `role` is
/// never an unknown member, so this key cannot clash.
const OWN_MESSAGE: &str = "role";

fn mark_own_message(content: &mut Content) {
    content.extra.insert(ID, OWN_MESSAGE, Raw::string("own"));
}

/// Whether [`mark_own_message`] marked this.
pub(super) fn is_own_message(content: &Content) -> bool {
    content.extra.get(ID, OWN_MESSAGE).is_some()
}

/// The members of a message that have no name here, without the mark.
pub(super) fn message_extra(content: &Content) -> impl Iterator<Item = &(String, Raw)> {
    content.extra.of(ID).iter().filter(|(key, _)| key != OWN_MESSAGE)
}

/// A content: a string, or an array of blocks.
fn blocks(content: Val<'_>) -> Option<Vec<Block>> {
    if let Some(text) = content.as_str() {
        let mut text = Text::new(text);
        if text.text.trim().is_empty() {
            mark_verbatim(&mut text.extra, STRING);
        }
        return Some(vec![Block::Text(text)]);
    }
    if !content.is_array() {
        return None;
    }
    let mut blocks: Vec<_> = content.items().map(read_block).collect();
    // One plain text would be written as a string.
    if let [Block::Text(text)] = blocks.as_mut_slice()
        && text.extra.is_empty()
    {
        mark_verbatim(&mut text.extra, "text");
    }
    Some(blocks)
}

fn read_block(block: Val<'_>) -> Block {
    let kind = block.text("type").unwrap_or_default();
    let read = match kind.as_ref() {
        "text" => read_text(block),
        "thinking" => read_thinking(block),
        "redacted_thinking" => block
            .get("data")
            .and_then(Val::as_str)
            .map(|_| Block::Thinking(response::redacted(block))),
        "tool_use" => read_tool_use(block),
        "tool_result" => Some(read_tool_result(block)),
        "image" | "document" => read_media(block, &kind),
        _ => None,
    };
    read.unwrap_or_else(|| Block::Other(Other::new(ID, kind.into_owned(), Raw::from(block))))
}

fn read_text(block: Val<'_>) -> Option<Block> {
    let text = block.string("text")?;
    let mut extra = Extra::collect(ID, block, &["type", "text"]);
    if text.trim().is_empty() {
        // The writer leaves out blank texts of other origin, because the API refuses them.
        mark_verbatim(&mut extra, "text");
    }
    Some(Block::Text(Text { text, signature: None, extra }))
}

fn read_thinking(block: Val<'_>) -> Option<Block> {
    let thought = block.string("thinking")?;
    let signature = block.text("signature");
    // The writer gives an empty signature to a thought without a signature, and leaves out an empty thought.
    let is_plain = signature.as_deref().is_some_and(|text| !text.is_empty() || !thought.is_empty());
    let known: &[&str] =
        if is_plain { &["type", "thinking", "signature"] } else { &["type", "thinking"] };
    let mut extra = Extra::collect(ID, block, known);
    if !is_plain {
        mark_verbatim(&mut extra, "thinking");
    }
    Some(Block::Thinking(Thinking {
        signature: response::name(block, "signature"),
        extra,
        ..Thinking::new(thought, response::SOURCE_FIELD)
    }))
}

fn read_tool_use(block: Val<'_>) -> Option<Block> {
    let (id, name) = (block.string("id")?, block.string("name")?);
    let mut extra = Extra::collect(ID, block, &["type", "id", "name", "input"]);
    mark_odd_id(&id, "tool_use", &mut extra);
    Some(Block::ToolCall(ToolCall {
        id: Some(id),
        name,
        parameters: Parameters::Json(Raw::from(block.get("input")?)),
        signature: None,
        extra,
    }))
}

fn read_tool_result(block: Val<'_>) -> Block {
    let call_id = block.string("tool_use_id");
    let is_error = block.bool("is_error") == Some(true);
    let content = block.some("content");
    let mut known = vec!["type"];
    known.extend(call_id.is_some().then_some("tool_use_id"));
    known.extend(is_error.then_some("is_error"));
    known.extend(content.is_some().then_some("content"));
    let mut extra = Extra::collect(ID, block, &known);
    let is_odd = |content: Val<'_>| match content.as_str() {
        // The writer leaves out blank results of other origin.
        Some(text) => text.trim().is_empty(),
        None => !content.is_array(),
    };
    if content.is_some_and(is_odd) {
        mark_verbatim(&mut extra, "tool_result");
    }
    mark_odd_id(call_id.as_deref().unwrap_or_default(), "tool_result", &mut extra);
    Block::ToolResponse(ToolResponse {
        call_id,
        name: None,
        result: content.map_or_else(|| Raw::null().into(), read_result),
        is_error,
        extra,
    })
}

fn read_result(content: Val<'_>) -> ToolResult {
    match content.is_array() && content.items().all(Val::is_object) {
        true => ToolResult::Blocks(content.items().map(read_block).collect()),
        false => Raw::from(content).into(),
    }
}

/// The writer changes ids that the API would refuse, but not those of a caller of this wire.
fn mark_odd_id(id: &str, kind: &str, extra: &mut Extra) {
    if !super::write::TOOL_IDS.takes(id) {
        mark_verbatim(extra, kind);
    }
}

/// Images and documents with their bytes inline or at an address. Everything else about them stays raw.
fn read_media(block: Val<'_>, kind: &str) -> Option<Block> {
    let source = block.get("source")?;
    let (media_type, known, source) = match source.text("type")?.as_ref() {
        "base64" => {
            let data = MediaSource::Data(source.string("data")?);
            (source.string("media_type")?, 3, data)
        }
        "url" => {
            let media_type = if kind == "image" { "image/*" } else { "application/pdf" };
            (media_type.to_owned(), 2, MediaSource::Url(source.string("url")?))
        }
        _ => return None,
    };
    let is_plain = block.get("source")?.entries().count() == known;
    let extra = Extra::collect(ID, block, &["type", "source"]);
    let media = Media { media_type, source, extra };
    (is_plain && super::write::media_kind(&media) == Some(kind)).then_some(Block::Media(media))
}
