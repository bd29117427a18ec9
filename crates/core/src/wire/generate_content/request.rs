//! Reads requests.

use super::{ID, ROLE, SCHEMA, TOOL, config, part, schema, snake};
use crate::content::{Block, Content, Speaker};
use crate::json::{Extra, Raw, Val};
use crate::request::{Request, Tool};
use crate::wire::RequestError;

/// Reads a request body. The model and the choice of streaming are part of the path.
pub(super) fn read(body: Val<'_>) -> Result<Request, RequestError> {
    if !body.is_object() {
        return Err(RequestError::new("body", "the body must be a JSON object"));
    }
    let mut request = Request::default();
    // It came on this wire even if it has no field that is only known here.
    request.extra.wire = Some(ID);
    let mut system = None;
    for (key, value) in body.entries() {
        let is_taken = match &*key {
            "contents" => {
                request.contents = contents(value)?;
                true
            }
            "systemInstruction" | "system_instruction" => {
                system = instruction(value)?;
                system.is_some()
            }
            "tools" if value.is_array() => {
                request.tools = value.items().flat_map(tools).collect();
                !request.tools.is_empty()
            }
            "toolConfig" | "tool_config" => {
                request.tool_choice = config::tool_choice(value);
                false
            }
            "generationConfig" | "generation_config" => {
                config::read(value, &mut request);
                false
            }
            _ => false,
        };
        if !is_taken {
            request.extra.insert(ID, canonical(&key), Raw::from(value));
        }
    }
    if let Some(system) = system {
        request.contents.insert(0, system);
    }
    Ok(request)
}

/// The name under which a field that is read here is kept.
fn canonical(key: &str) -> &str {
    ["generationConfig", "toolConfig"].into_iter().find(|name| snake(name) == key).unwrap_or(key)
}

/// The instructions above the conversation; empty ones stay unchanged.
fn instruction(value: Val<'_>) -> Result<Option<Content>, RequestError> {
    if let Some(text) = value.as_str() {
        return Ok(Some(Content::text(Speaker::System, text)));
    }
    if value.is_null() || value.entries().count() == 0 {
        return Ok(None);
    }
    let mut content = content(value, "systemInstruction")?;
    content.speaker = Speaker::System;
    // A role has no meaning here and is often absent, so every role is kept.
    content.extra.notes.retain(|(name, _)| name != ROLE);
    if let Some(role) = value.get("role") {
        content.extra.note(ID, ROLE, Raw::from(role));
    }
    Ok(Some(content))
}

fn contents(value: Val<'_>) -> Result<Vec<Content>, RequestError> {
    if let Some(text) = value.as_str() {
        return Ok(vec![Content::text(Speaker::Human, text)]);
    }
    if value.is_object() {
        return Ok(vec![content(value, "contents")?]);
    }
    if !value.is_array() {
        return Err(RequestError::new("contents", "the contents must be a list of contents"));
    }
    let list = value.items().enumerate();
    list.map(|(at, value)| content(value, &format!("contents[{at}]"))).collect()
}

fn content(value: Val<'_>, at: &str) -> Result<Content, RequestError> {
    if !value.is_object() {
        return Err(RequestError::new(at, "a content must be an object with `parts`"));
    }
    let mut blocks = Vec::new();
    for (index, part) in value.some("parts").into_iter().flat_map(parts).enumerate() {
        if !part.is_object() {
            let at = format!("{at}.parts[{index}]");
            return Err(RequestError::new(at, "a part must be an object"));
        }
        blocks.push(part::block(part));
    }
    let role = value.text("role");
    let is_result = |block: &Block| matches!(block, Block::ToolResponse(_));
    let all_results = !blocks.is_empty() && blocks.iter().all(is_result);
    let speaker = match role.as_deref() {
        Some("model" | "assistant") => Speaker::Ai,
        Some("system") => Speaker::System,
        Some("function" | "tool") => Speaker::Tool,
        _ if all_results => Speaker::Tool,
        _ => Speaker::Human,
    };
    let is_odd_result =
        |block: &Block| matches!(block, Block::Other(it) if RESULTS.contains(&it.kind.as_str()));
    let has_odd_result = blocks.iter().any(is_odd_result);
    let mut content = Content::new(speaker, blocks);
    content.about_tools = speaker == Speaker::Human && has_odd_result;
    content.extra = Extra::collect(ID, value, &["parts", "role"]);
    // The API itself should refuse a content without parts. The note distinguishes it from a content that became
    // empty here.
    if role.as_deref() != Some(usual_role(speaker)) || content.blocks.is_empty() {
        let role = value.get("role").map_or_else(Raw::null, Raw::from);
        content.extra.note(ID, ROLE, role);
    }
    Ok(content)
}

/// The names of a result; a result of an odd form is kept unchanged.
const RESULTS: [&str; 2] = ["functionResponse", "function_response"];

/// The parts of a content: a list, or a single one.
fn parts(value: Val<'_>) -> Vec<Val<'_>> {
    if value.is_object() { vec![value] } else { value.items().collect() }
}

/// The role that messages of this speaker have.
pub(super) fn usual_role(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::Ai => "model",
        Speaker::Human | Speaker::System | Speaker::Tool => "user",
    }
}

/// The tools of one entry: all its functions, or the entry unchanged.
fn tools(entry: Val<'_>) -> Vec<Tool> {
    let names = ["functionDeclarations", "function_declarations"];
    let declared = names.iter().find_map(|name| entry.get(name));
    let declared: Vec<_> = declared.iter().flat_map(|list| list.items()).collect();
    if declared.is_empty() || declared.iter().any(|function| function.text("name").is_none()) {
        return vec![Tool::Other { wire: ID, raw: Raw::from(entry) }];
    }
    let rest = Extra::collect(ID, entry, &names);
    let rest = Raw::build(|w| w.object(|w| w.extra(&rest, ID)));
    let mut rest = Some(rest);
    declared.into_iter().map(|function| declaration(function, rest.take())).collect()
}

/// A function; `entry` are the other fields of the entry that it begins.
fn declaration(value: Val<'_>, entry: Option<Raw>) -> Tool {
    let name = value.string("name").unwrap_or_default();
    let description = value.string("description");
    let mut known = vec!["name"];
    if description.is_some() {
        known.push("description");
    }
    let own = value.some("parameters").filter(|schema| schema.is_object());
    let json = ["parametersJsonSchema", "parameters_json_schema"]
        .into_iter()
        .find_map(|key| Some((key, value.some(key)?)));
    let mut mark = None;
    let parameters = match (own, json) {
        // JSON schema under its own name; with both, the API refuses the request.
        (None, Some((key, schema))) => {
            known.push(key);
            mark = Some(Raw::string(key));
            Some(Raw::from(schema))
        }
        (Some(own), _) => {
            let plain = schema::plain(own);
            // The same wire gets back its own form.
            if plain.as_str() == own.raw() {
                known.push("parameters");
                mark = Some(Raw::string("parameters"));
            }
            Some(plain)
        }
        (None, None) => None,
    };
    let mut extra = Extra::collect(ID, value, &known);
    if let Some(mark) = mark {
        extra.note(ID, SCHEMA, mark);
    }
    if let Some(entry) = entry {
        extra.note(ID, TOOL, entry);
    }
    Tool::Function { name, description, parameters, extra }
}
