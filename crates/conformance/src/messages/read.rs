//! Reads a request and validates its structure.

use std::collections::HashMap;

use serde_json::Value;

use super::thinking::{Thinking, thinking};
use super::{Generation, MessagesDialect, blocks, refusal};
use crate::json::Keyed;
use crate::mind::{Choice, Said, Scene, Tool};
use crate::reply::{Refusal, Visit};
use crate::shape::{self, Kind};

/// A request with a valid structure.
pub(super) struct Request {
    pub(super) body: Value,
    pub(super) model: String,
    pub(super) thinking: Thinking,
    pub(super) messages: Vec<Message>,
    pub(super) scene: Scene,
}

pub(super) struct Message {
    pub(super) assistant: bool,
    /// The content blocks. A plain string is one text block.
    pub(super) blocks: Vec<Value>,
}

impl Message {
    pub(super) fn has(&self, kind: &str) -> bool {
        self.blocks.iter().any(|block| block.at("type") == kind)
    }
}

const SHAPE: &[(&str, Kind)] = &[
    ("model", Kind::Text),
    ("max_tokens", Kind::Number),
    ("system", Kind::TextOrList),
    ("messages", Kind::List),
    ("messages.*", Kind::Map),
    ("messages.*.role", Kind::Text),
    ("messages.*.content", Kind::TextOrList),
    ("messages.*.content.*", Kind::Map),
    ("messages.*.content.*.type", Kind::Text),
    ("messages.*.content.*.text", Kind::Text),
    ("messages.*.content.*.thinking", Kind::Text),
    ("messages.*.content.*.data", Kind::Text),
    ("messages.*.content.*.id", Kind::Text),
    ("messages.*.content.*.name", Kind::Text),
    ("messages.*.content.*.tool_use_id", Kind::Text),
    ("messages.*.content.*.content", Kind::TextOrList),
    ("messages.*.content.*.is_error", Kind::Flag),
    ("tools", Kind::List),
    ("tools.*", Kind::Map),
    ("tools.*.name", Kind::Text),
    ("tools.*.description", Kind::Text),
    ("tools.*.input_schema", Kind::Map),
    ("tool_choice", Kind::Map),
    ("tool_choice.type", Kind::Text),
    ("thinking", Kind::Map),
    ("thinking.budget_tokens", Kind::Number),
    ("output_config", Kind::Map),
    ("temperature", Kind::Number),
    ("stream", Kind::Flag),
    ("stop_sequences", Kind::List),
    ("metadata", Kind::Map),
];

const KNOWN: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "system",
    "metadata",
    "stop_sequences",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "tools",
    "tool_choice",
    "thinking",
    "service_tier",
    "container",
    "output_config",
    "cache_control",
    "inference_geo",
];

/// Reads and validates the body. `capped` demands `max_tokens`, which a count of tokens does not
/// need.
pub(super) fn request(
    visit: &mut Visit<'_>,
    dialect: &MessagesDialect,
    capped: bool,
) -> Result<Request, Refusal> {
    let bad = |text: &str| refusal(dialect, 400, text);
    let body: Value = serde_json::from_slice(&visit.request.body)
        .map_err(|error| bad(&format!("The request body is not valid JSON: {error}")))?;
    if !body.is_object() {
        return Err(bad("Input should be an object"));
    }
    if let Some(wrong) = shape::wrong(&body, SHAPE) {
        let (at, kind) = (wrong.dotted(), wrong.kind.python());
        return Err(bad(&format!("{at}: Input should be a valid {kind}")));
    }
    let model = body
        .at("model")
        .as_str()
        .filter(|model| !model.is_empty())
        .ok_or_else(|| bad("model: Field required"))?;
    let model = model.to_owned();
    visit.log.model = Some(model.clone());
    if dialect.generation != Generation::DeepSeek {
        top_level(visit, dialect, &body)?;
    }
    if capped && body.at("max_tokens").as_u64().is_none_or(|cap| cap == 0) {
        let text = if body.at("max_tokens").is_null() {
            "Field required"
        } else {
            "Input should be greater than or equal to 1"
        };
        return Err(bad(&format!("max_tokens: {text}")));
    }
    let list = body.at("messages").as_array().ok_or_else(|| bad("messages: Field required"))?;
    if list.is_empty() {
        return Err(bad("messages: at least one message is required"));
    }
    let mut messages = Vec::with_capacity(list.len());
    for (place, raw) in list.iter().enumerate() {
        messages.push(message(dialect, raw, place, place + 1 == list.len())?);
    }
    blocks::pairs(dialect, &messages)?;
    let thinking = thinking(dialect, visit.request, &body)?;
    if dialect.generation != Generation::DeepSeek {
        modern(dialect, &body, &messages)?;
    }
    let scene = scene(visit, dialect, &body, &messages, thinking)?;
    visit.log.stream = *body.at("stream") == true;
    Ok(Request { body, model, thinking, messages, scene })
}

fn top_level(visit: &Visit<'_>, dialect: &MessagesDialect, body: &Value) -> Result<(), Refusal> {
    let beta = visit.request.header("anthropic-beta").unwrap_or_default();
    for key in body.as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
        let allowed = KNOWN.contains(&key)
            || key == "context_management" && beta.contains("context-management-2025-06-27")
            || key == "mcp_servers" && beta.contains("mcp-client-");
        if !allowed {
            return Err(refusal(dialect, 400, &format!("{key}: Extra inputs are not permitted")));
        }
    }
    Ok(())
}

/// Refuses parameters that models with adaptive thinking do not accept.
fn modern(dialect: &MessagesDialect, body: &Value, messages: &[Message]) -> Result<(), Refusal> {
    let bad = |text: &str| Err(refusal(dialect, 400, text));
    match dialect.generation {
        Generation::Manual | Generation::DeepSeek => return Ok(()),
        Generation::Omitted | Generation::Bound => {}
    }
    for key in ["temperature", "top_p", "top_k"] {
        if !body.at(key).is_null() && body.at(key) != 1 && body.at(key) != 1.0 {
            return bad(&format!("`{key}` is deprecated for this model."));
        }
    }
    if messages.last().is_some_and(|message| message.assistant) {
        return bad(
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        );
    }
    if dialect.generation == Generation::Bound
        && matches!(body.at("tool_choice").at("type").as_str(), Some("any" | "tool"))
    {
        return bad("tool_choice: type \"tool\" and \"any\" are not supported for this model.");
    }
    Ok(())
}

fn message(
    dialect: &MessagesDialect,
    raw: &Value,
    place: usize,
    last: bool,
) -> Result<Message, Refusal> {
    let bad = |text: String| refusal(dialect, 400, &text);
    let assistant = match raw.at("role").as_str() {
        Some("user") => false,
        Some("assistant") => true,
        Some("system") => {
            return Err(bad("messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.".to_owned()));
        }
        Some(other) => {
            return Err(bad(format!(
                "messages: Unexpected role \"{other}\". Allowed roles are \"user\" or \"assistant\""
            )));
        }
        None => return Err(bad(format!("messages.{place}.role: Field required"))),
    };
    for key in raw.as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
        if !matches!(key, "role" | "content") && dialect.generation != Generation::DeepSeek {
            return Err(bad(format!("messages.{place}.{key}: Extra inputs are not permitted")));
        }
    }
    let blocks = match raw.at("content") {
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        Value::Null => return Err(bad(format!("messages.{place}.content: Field required"))),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(bad(format!(
                "messages.{place}.content: Input should be a valid string or list"
            )));
        }
    };
    let empty = blocks.is_empty() || raw.at("content") == "";
    if empty && !(assistant && last) {
        return Err(bad(format!(
            "messages.{place}: all messages must have non-empty content except for the optional final assistant message"
        )));
    }
    if raw.at("content").is_array() {
        for (index, block) in blocks.iter().enumerate() {
            blocks::check(dialect, block, &format!("messages.{place}.content.{index}"), assistant)?;
        }
    }
    Ok(Message { assistant, blocks })
}

fn scene(
    visit: &Visit<'_>,
    dialect: &MessagesDialect,
    body: &Value,
    messages: &[Message],
    thinking: Thinking,
) -> Result<Scene, Refusal> {
    let mut said = Vec::new();
    let mut names: HashMap<&str, &str> = HashMap::new();
    for message in messages {
        if message.assistant {
            let calls = blocks::calls(message);
            let uses = message.blocks.iter().filter(|block| block.at("type") == "tool_use");
            names.extend(uses.map(|block| {
                (
                    block.at("id").as_str().unwrap_or_default(),
                    block.at("name").as_str().unwrap_or_default(),
                )
            }));
            said.push(Said::Ai(calls));
            continue;
        }
        for block in message.blocks.iter().filter(|block| block.at("type") == "tool_result") {
            let id = block.at("tool_use_id").as_str().unwrap_or_default();
            let name = names.get(id).copied().unwrap_or_default();
            said.push(Said::Result {
                name: name.to_owned(),
                text: blocks::result_text(block.at("content")),
                failed: block.at("is_error") == true,
            });
        }
        let text = blocks::text(message);
        if !text.is_empty() || !message.has("tool_result") {
            said.push(Said::User(text));
        }
    }
    let choice = match body.at("tool_choice").at("type").as_str() {
        Some("none") => Choice::None,
        Some("any") => Choice::Any,
        Some("tool") => {
            Choice::Named(body.at("tool_choice").at("name").as_str().unwrap_or_default().to_owned())
        }
        Some(_) | None => Choice::Auto,
    };
    Ok(Scene {
        simulator: visit.id,
        said,
        tools: tools(dialect, body)?,
        choice,
        parallel: body.at("tool_choice").at("disable_parallel_tool_use") != true,
        thinking: thinking.on,
        max_tokens: body.at("max_tokens").as_u64(),
    })
}

fn tools(dialect: &MessagesDialect, body: &Value) -> Result<Vec<Tool>, Refusal> {
    let mut out = Vec::new();
    for (index, tool) in body.at("tools").as_array().into_iter().flatten().enumerate() {
        let bad = |text: String| refusal(dialect, 400, &text);
        if tool.at("type").as_str().is_some_and(|kind| kind != "custom") {
            continue;
        }
        let name = tool
            .at("name")
            .as_str()
            .ok_or_else(|| bad(format!("tools.{index}.custom.name: Field required")))?;
        if name.is_empty() || name.len() > 128 || !name.chars().all(blocks::is_name) {
            return Err(bad(format!(
                "tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )));
        }
        if !tool.at("input_schema").is_object() {
            return Err(bad(format!("tools.{index}.custom.input_schema: Field required")));
        }
        out.push(Tool {
            name: name.to_owned(),
            description: tool.at("description").as_str().unwrap_or_default().to_owned(),
            schema: tool.at("input_schema").clone(),
        });
    }
    Ok(out)
}
