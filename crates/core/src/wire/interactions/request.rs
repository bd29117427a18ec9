//! Reads requests.

use super::config::{self, Config, mark};
use super::step::{self, StepKind};
use super::{BARE, BARE_INPUT, ID, LOOSE, MORE, STEP, TURN};
use crate::content::{Block, Content, Speaker, Text, Thinking, ToolCall, ToolResponse, ToolResult};
use crate::json::{Extra, Raw, Val};
use crate::request::{Request, Tool};
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
        let is_taken = match &*key {
            "model" => match value.as_str() {
                Some(model) => {
                    request.model = model.into_owned();
                    true
                }
                None => return Err(RequestError::new("model", "the model must be a string")),
            },
            "input" => {
                request.contents = input(value)?;
                true
            }
            "tools" if value.is_array() => {
                request.tools = value.items().map(tool).collect();
                true
            }
            "stream" => {
                request.stream = value.as_bool().unwrap_or_default();
                request.stream
            }
            // Plain instructions are a message above all others; other instructions stay unchanged.
            "system_instruction" => value.as_str().is_some(),
            _ => false,
        };
        if !is_taken {
            request.extra.insert(ID, &key, Raw::from(value));
        }
    }
    if let Some(text) = body.text("system_instruction") {
        request.contents.insert(0, Content::text(Speaker::System, text));
    }
    if let Some(config) = body.some("generation_config") {
        Config::read(config).apply(&mut request);
    }
    request.format = body.some("response_format").map(config::format);
    Ok(request)
}

/// The input: a text, a content, or a list of steps, contents or turns.
fn input(value: Val<'_>) -> Result<Vec<Content>, RequestError> {
    if let Some(text) = value.as_str() {
        let mut content = Content::text(Speaker::Human, text);
        mark(&mut content.extra, BARE_INPUT);
        return Ok(vec![content]);
    }
    if value.is_object() {
        let mut content = element(value);
        mark(&mut content.extra, BARE_INPUT);
        return Ok(vec![content]);
    }
    if !value.is_array() {
        let message = "the input must be a string, a content or a list of steps";
        return Err(RequestError::new("input", message));
    }
    let mut contents: Vec<Content> = Vec::new();
    for (at, value) in value.items().enumerate() {
        if !value.is_object() {
            return Err(RequestError::new(format!("input[{at}]"), "a step must be an object"));
        }
        let content = element(value);
        match contents.last_mut() {
            Some(last) if joins(last, &content) => last.blocks.extend(content.blocks),
            _ => contents.push(content),
        }
    }
    Ok(contents)
}

/// Steps of the model that follow each other are one message, and so are contents without a step around them.
fn joins(last: &Content, next: &Content) -> bool {
    let is_loose = |content: &Content| content.extra.noted(ID, LOOSE).is_some();
    let is_turn = |content: &Content| content.extra.noted(ID, TURN).is_some();
    if is_turn(last) || is_turn(next) {
        return false;
    }
    match (last.speaker, next.speaker) {
        (Speaker::Ai, Speaker::Ai) => true,
        (Speaker::Human, Speaker::Human) => is_loose(last) && is_loose(next),
        _ => false,
    }
}

fn element(value: Val<'_>) -> Content {
    let kind = value.text("type");
    match kind.as_deref() {
        Some("user_input") => user_input(value),
        Some("model_output") => Content::new(Speaker::Ai, output(value)),
        Some("function_result") => Content::new(Speaker::Tool, vec![result(value)]),
        None if value.get("role").is_some() => turn(value),
        _ => match StepKind::of(value) {
            StepKind::Output => {
                let mut content = Content::new(Speaker::Human, vec![part(value)]);
                mark(&mut content.extra, LOOSE);
                content
            }
            StepKind::Thought | StepKind::Call | StepKind::Other => {
                Content::new(Speaker::Ai, vec![model_step(value)])
            }
        },
    }
}

/// A thought, a call or a step with no form of its own.
fn model_step(value: Val<'_>) -> Block {
    match StepKind::of(value) {
        StepKind::Thought => thought(value),
        StepKind::Call => call(value),
        StepKind::Output | StepKind::Other => step::other(value),
    }
}

/// A thought; the summary is kept unchanged if the text alone would not rebuild it.
fn thought(value: Val<'_>) -> Block {
    let (thinking, thought) = step::thought(value);
    let mut thinking = Thinking { thought, ..thinking };
    keep(&mut thinking.extra, value, "signature", thinking.signature.is_some());
    let is_rebuilt = value.get("summary").is_none_or(|summary| summary.items().count() == 1);
    keep(&mut thinking.extra, value, "summary", is_rebuilt && !thinking.thought.is_empty());
    if thinking.is_nothing() && thinking.extra.is_empty() {
        return step::other(value);
    }
    Block::Thinking(thinking)
}

fn call(value: Val<'_>) -> Block {
    let mut call: ToolCall = step::call(value);
    keep(&mut call.extra, value, "signature", call.signature.is_some());
    let is_object = value.get("arguments").is_some_and(Val::is_object);
    keep(&mut call.extra, value, "arguments", is_object);
    Block::ToolCall(call)
}

/// Keeps a member unchanged unless its neutral form expresses all of it.
fn keep(extra: &mut Extra, value: Val<'_>, key: &str, is_said: bool) {
    if let Some(member) = value.get(key).filter(|_| !is_said) {
        extra.insert(ID, key, Raw::from(member));
    }
}

fn user_input(value: Val<'_>) -> Content {
    let fields = Extra::collect(ID, value, &["type", "content"]);
    let mut content = match value.get("content") {
        Some(inner) => {
            let mut content = Content::new(Speaker::Human, parts(inner));
            if inner.as_str().is_some() {
                mark(&mut content.extra, BARE);
            }
            content
        }
        None => return Content::new(Speaker::Human, vec![step::other(value)]),
    };
    let is_result = |block: &Block| matches!(block, Block::ToolResponse(_));
    if content.blocks.iter().any(is_result) {
        // Results inside a step of the person go back into one.
        mark(&mut content.extra, STEP);
        if content.blocks.iter().all(is_result) {
            content.speaker = Speaker::Tool;
        }
    }
    content.about_tools = has_odd_result(&content);
    for (key, value) in fields.fields {
        content.extra.insert(ID, &key, value);
    }
    content
}

/// Whether a message of the person contains a result that has no neutral form.
fn has_odd_result(content: &Content) -> bool {
    let is_odd = |block: &Block| matches!(block, Block::Other(it) if it.kind == "function_result");
    content.speaker == Speaker::Human && content.blocks.iter().any(is_odd)
}

fn parts(content: Val<'_>) -> Vec<Block> {
    match content.as_str() {
        Some(text) => vec![Block::text(text)],
        None if content.is_object() => vec![part(content)],
        None => content.items().map(part).collect(),
    }
}

fn part(value: Val<'_>) -> Block {
    match value.text("type").as_deref() {
        Some("text") if value.text("text").is_some() => Block::Text(Text {
            text: value.string("text").unwrap_or_default(),
            ..step::text(value)
        }),
        Some("function_result") => result(value),
        Some("thought" | "function_call") => model_step(value),
        _ => step::media(value),
    }
}

/// The contents of the model. Each part but the first has a note that it continues the step.
fn output(value: Val<'_>) -> Vec<Block> {
    let Some(content) = value.get("content") else { return vec![step::other(value)] };
    let is_text = content.as_str().is_some();
    let mut blocks = parts(content);
    let rebuilds = |block: &Block| matches!(block, Block::Text(_) | Block::Media(_));
    if blocks.is_empty() || content.is_object() || !blocks.iter().all(rebuilds) {
        return vec![step::other(value)];
    }
    let fields = Extra::collect(ID, value, &["type", "content"]);
    for (at, block) in blocks.iter_mut().enumerate() {
        let extra = match block {
            Block::Text(text) => &mut text.extra,
            Block::Media(media) => &mut media.extra,
            Block::Other(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::ToolResponse(_) => {
                continue;
            }
        };
        if at > 0 {
            mark(extra, MORE);
        } else {
            if is_text {
                mark(extra, BARE);
            }
            if !fields.is_empty() {
                extra.note(ID, STEP, Raw::build(|w| w.object(|w| w.extra(&fields, ID))));
            }
        }
    }
    blocks
}

fn result(value: Val<'_>) -> Block {
    let is_error = value.bool("is_error") == Some(true);
    let name = value.string("name");
    let mut known = vec!["type", "call_id", "result"];
    if is_error {
        known.push("is_error");
    }
    if name.is_some() {
        known.push("name");
    }
    let Some(call_id) = value.string("call_id") else { return step::other(value) };
    let mut extra = Extra::collect(ID, value, &known);
    // Even without such fields it came on this wire.
    extra.wire = Some(ID);
    Block::ToolResponse(ToolResponse {
        call_id: Some(call_id),
        name,
        result: value.get("result").map_or_else(|| Raw::null().into(), result_of),
        is_error,
        extra,
    })
}

/// A list of contents is a list of blocks; everything else is one value.
fn result_of(value: Val<'_>) -> ToolResult {
    let is_content = |item: Val<'_>| StepKind::of(item) == StepKind::Output;
    match value.is_array() && value.items().all(is_content) {
        true => ToolResult::Blocks(value.items().map(part).collect()),
        false => Raw::from(value).into(),
    }
}

/// A turn with a role, as older revisions have it.
fn turn(value: Val<'_>) -> Content {
    let is_model = value.text("role").is_some_and(|role| role == "model" || role == "assistant");
    let inner = value.get("content");
    let blocks = inner.map(parts).unwrap_or_default();
    let speaker = if is_model { Speaker::Ai } else { Speaker::Human };
    let mut content = Content::new(speaker, blocks);
    content.about_tools = has_odd_result(&content);
    content.extra = Extra::collect(ID, value, &["role", "content"]);
    mark(&mut content.extra, TURN);
    if inner.is_some_and(|inner| inner.as_str().is_some()) {
        mark(&mut content.extra, BARE);
    }
    content
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
    let extra = Extra::collect(ID, value, &known);
    Tool::Function { name, description, parameters, extra }
}
