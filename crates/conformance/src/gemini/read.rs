//! Reads a request and validates its structure.

use serde_json::Value;

use super::{GeminiDialect, refusal};
use crate::json::Keyed;
use crate::mind::{Call, Choice, Said, Scene, Tool};
use crate::reply::{Refusal, Visit};
use crate::shape::{self, Kind};

/// A request with a valid structure.
pub(super) struct Request {
    pub(super) body: Value,
    pub(super) model: String,
    pub(super) contents: Vec<Content>,
    pub(super) shows_thoughts: bool,
    pub(super) scene: Scene,
}

pub(super) struct Content {
    pub(super) model: bool,
    pub(super) parts: Vec<Value>,
}

impl Content {
    /// The visible text.
    pub(super) fn text(&self) -> String {
        let visible = self.parts.iter().filter(|part| *part.at("thought") != true);
        visible.filter_map(|part| part.at("text").as_str()).collect()
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        let calls = self.parts.iter().filter_map(|part| field(part, "functionCall"));
        calls
            .map(|call| Call {
                name: call.at("name").as_str().unwrap_or_default().to_owned(),
                arguments: call.get("args").cloned().unwrap_or_else(|| serde_json::json!({})),
            })
            .collect()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.parts.iter().any(|part| field(part, key).is_some())
    }

    /// Whether the content begins a turn. Tool results alone do not.
    pub(super) fn opens_turn(&self) -> bool {
        !self.model && self.parts.iter().any(|part| field(part, "functionResponse").is_none())
    }
}

/// Looks up a field by its JSON name, else by its name in the protocol definition (snake case). The
/// API accepts both.
pub(super) fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let snake: String = name
        .chars()
        .flat_map(|c| if c.is_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] })
        .collect();
    value.get(name).or_else(|| value.get(&snake)).filter(|value| !value.is_null())
}

const SHAPE: &[(&str, Kind)] = &[
    ("contents", Kind::List),
    ("contents.*", Kind::Map),
    ("contents.*.role", Kind::Text),
    ("contents.*.parts", Kind::List),
    ("contents.*.parts.*", Kind::Map),
    ("contents.*.parts.*.text", Kind::Text),
    ("contents.*.parts.*.thought", Kind::Flag),
    ("contents.*.parts.*.thoughtSignature", Kind::Text),
    ("contents.*.parts.*.functionCall", Kind::Map),
    ("contents.*.parts.*.functionCall.id", Kind::Text),
    ("contents.*.parts.*.functionCall.name", Kind::Text),
    ("contents.*.parts.*.functionCall.args", Kind::Map),
    ("contents.*.parts.*.functionResponse", Kind::Map),
    ("contents.*.parts.*.functionResponse.id", Kind::Text),
    ("contents.*.parts.*.functionResponse.name", Kind::Text),
    ("contents.*.parts.*.functionResponse.response", Kind::Map),
    ("systemInstruction", Kind::Map),
    ("tools", Kind::List),
    ("tools.*", Kind::Map),
    ("tools.*.functionDeclarations", Kind::List),
    ("tools.*.functionDeclarations.*", Kind::Map),
    ("tools.*.functionDeclarations.*.name", Kind::Text),
    ("tools.*.functionDeclarations.*.description", Kind::Text),
    ("tools.*.functionDeclarations.*.parameters", Kind::Map),
    ("toolConfig", Kind::Map),
    ("generationConfig", Kind::Map),
    ("generationConfig.maxOutputTokens", Kind::Number),
    ("generationConfig.temperature", Kind::Number),
    ("generationConfig.thinkingConfig", Kind::Map),
    ("generationConfig.thinkingConfig.includeThoughts", Kind::Flag),
    ("generationConfig.thinkingConfig.thinkingBudget", Kind::Number),
    ("generationConfig.thinkingConfig.thinkingLevel", Kind::Text),
];

const TOP: &[&str] = &[
    "contents",
    "systemInstruction",
    "system_instruction",
    "tools",
    "toolConfig",
    "tool_config",
    "generationConfig",
    "generation_config",
    "safetySettings",
    "safety_settings",
    "cachedContent",
    "cached_content",
    "model",
    "labels",
    "generateContentRequest",
];

const PART: &[&str] = &[
    "text",
    "thought",
    "thoughtSignature",
    "thought_signature",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
    "videoMetadata",
    "video_metadata",
    "partMetadata",
    "mediaResolution",
    "toolCall",
    "toolResponse",
];

pub(super) fn request(
    visit: &mut Visit<'_>,
    dialect: &GeminiDialect,
    model: &str,
    counting: bool,
) -> Result<Request, Refusal> {
    let bad = |text: &str| refusal(dialect, 400, text);
    let body: Value = serde_json::from_slice(&visit.request.body)
        .map_err(|error| bad(&format!("Invalid JSON payload received. {error}")))?;
    let body =
        if counting { body.get("generateContentRequest").cloned().unwrap_or(body) } else { body };
    no_unknown(dialect, &body, TOP, "")?;
    if let Some(wrong) = shape::wrong(&body, SHAPE) {
        let kind = wrong.kind.name().to_uppercase();
        let text =
            format!("Invalid value at '{}' (TYPE_{kind}), {}", wrong.bracketed(), wrong.found);
        return Err(bad(&text));
    }
    let list = body.at("contents").as_array().filter(|list| !list.is_empty());
    let list =
        list.ok_or_else(|| bad("* GenerateContentRequest.contents: contents is not specified\n"))?;
    let mut contents = Vec::with_capacity(list.len());
    for (place, raw) in list.iter().enumerate() {
        contents.push(content(dialect, raw, place)?);
    }
    pairs(dialect, &contents)?;
    let config = field(&body, "generationConfig").cloned().unwrap_or(Value::Null);
    let thinking = field(&config, "thinkingConfig").cloned().unwrap_or(Value::Null);
    levels(dialect, &thinking)?;
    let scene = scene(visit.id, &body, &contents, &config);
    Ok(Request {
        shows_thoughts: field(&thinking, "includeThoughts").is_some_and(|value| *value == true),
        model: model.to_owned(),
        contents,
        scene,
        body,
    })
}

fn no_unknown(
    dialect: &GeminiDialect,
    value: &Value,
    known: &[&str],
    at: &str,
) -> Result<(), Refusal> {
    let mut keys = value.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    match keys.find(|key| !known.contains(key)) {
        Some(key) => {
            let text = format!(
                "Invalid JSON payload received. Unknown name \"{key}\"{at}: Cannot find field."
            );
            Err(refusal(dialect, 400, &text))
        }
        None => Ok(()),
    }
}

fn content(dialect: &GeminiDialect, raw: &Value, place: usize) -> Result<Content, Refusal> {
    let bad = |text: &str| refusal(dialect, 400, text);
    no_unknown(dialect, raw, &["role", "parts"], &format!(" at 'contents[{place}]'"))?;
    let model = match raw.at("role").as_str() {
        Some("user" | "function") | None => false,
        Some("model") => true,
        Some(_) => return Err(bad("Please use a valid role: user, model.")),
    };
    let parts = raw.at("parts").as_array().cloned().unwrap_or_default();
    if parts.is_empty() {
        return Err(bad(&format!(
            "* GenerateContentRequest.contents[{place}].parts: contents.parts must not be empty.\n"
        )));
    }
    for (index, part) in parts.iter().enumerate() {
        no_unknown(dialect, part, PART, &format!(" at 'contents[{place}].parts[{index}]'"))?;
        let call = field(part, "functionCall");
        if let Some(call) = call {
            let at = format!(" at 'contents[{place}].parts[{index}].function_call'");
            no_unknown(dialect, call, &["id", "name", "args", "partialArgs", "willContinue"], &at)?;
        }
        let nameless = |part: &Value| part.at("name").as_str().is_none_or(str::is_empty);
        if call.or_else(|| field(part, "functionResponse")).is_some_and(nameless) {
            let at = format!("contents[{place}].parts[{index}]");
            return Err(bad(&format!(
                "* GenerateContentRequest.{at}.function_response.name: Name cannot be empty.\n"
            )));
        }
        if part.as_object().is_none_or(serde_json::Map::is_empty) {
            let at = format!("contents[{place}].parts[{index}].data");
            return Err(bad(&format!(
                "* GenerateContentRequest.{at}: required oneof field 'data' must have one initialized field\n"
            )));
        }
    }
    Ok(Content { model, parts })
}

/// Demands as many results as calls, right after them.
fn pairs(dialect: &GeminiDialect, contents: &[Content]) -> Result<(), Refusal> {
    let bad = |text: &str| Err(refusal(dialect, 400, text));
    let uneven = "Please ensure that the number of function response parts is equal to the number of function call \
                  parts of the function call turn.";
    let mut open = 0;
    for content in contents {
        let count =
            |key: &str| content.parts.iter().filter(|part| field(part, key).is_some()).count();
        let results = count("functionResponse");
        if content.model {
            open += count("functionCall");
        } else if results > 0 || open > 0 {
            if results > open || results < open && content.opens_turn() {
                return bad(uneven);
            }
            open -= results;
        }
    }
    if open == 0 { Ok(()) } else { bad(uneven) }
}

/// Checks the thinking configuration: the level LOW, MEDIUM or HIGH, or a budget other than 0, but
/// not both.
fn levels(dialect: &GeminiDialect, thinking: &Value) -> Result<(), Refusal> {
    let bad = |text: &str| Err(refusal(dialect, 400, text));
    let level = field(thinking, "thinkingLevel").and_then(Value::as_str).map(str::to_uppercase);
    let budget = field(thinking, "thinkingBudget").and_then(Value::as_i64);
    match (level.as_deref(), budget) {
        (Some(_), Some(_)) => {
            bad("You can only set only one of thinking budget and thinking level.")
        }
        (None, Some(0)) => bad("Budget 0 is invalid. This model only works in thinking mode."),
        (Some("MINIMAL"), None) => bad("Thinking level MINIMAL is not supported for this model."),
        (Some("LOW" | "MEDIUM" | "HIGH" | "THINKING_LEVEL_UNSPECIFIED") | None, _) => Ok(()),
        (Some(word), None) => {
            let at = "generation_config.thinking_config.thinking_level";
            bad(&format!(
                "Invalid value at '{at}' (type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), \"{word}\""
            ))
        }
    }
}

fn scene(id: &'static str, body: &Value, contents: &[Content], config: &Value) -> Scene {
    let mut said = Vec::new();
    for content in contents {
        if content.model {
            said.push(Said::Ai(content.calls()));
            continue;
        }
        for result in content.parts.iter().filter_map(|part| field(part, "functionResponse")) {
            let response = result.at("response");
            let failed = response.get("error").is_some();
            let name = result.at("name").as_str().unwrap_or_default().to_owned();
            said.push(Said::Result { name, text: result_text(response), failed });
        }
        if content.opens_turn() {
            said.push(Said::User(content.text()));
        }
    }
    let calling =
        field(body, "toolConfig").and_then(|config| field(config, "functionCallingConfig"));
    let allowed = calling
        .and_then(|config| field(config, "allowedFunctionNames"))
        .and_then(|names| names.get(0));
    let choice = match (
        calling.and_then(|config| config.at("mode").as_str()),
        allowed.and_then(Value::as_str),
    ) {
        (Some("NONE"), _) => Choice::None,
        (Some("ANY"), Some(name)) => Choice::Named(name.to_owned()),
        (Some("ANY"), None) => Choice::Any,
        (Some(_) | None, _) => Choice::Auto,
    };
    Scene {
        simulator: id,
        said,
        tools: tools(body),
        choice,
        parallel: true,
        thinking: true,
        max_tokens: field(config, "maxOutputTokens").and_then(Value::as_u64),
    }
}

/// The text of a tool result, which is an object of any shape.
fn result_text(response: &Value) -> String {
    let mut values =
        ["output", "result", "content", "error"].iter().filter_map(|key| response.at(key).as_str());
    values.next().map_or_else(|| response.to_string(), str::to_owned)
}

fn tools(body: &Value) -> Vec<Tool> {
    let lists = body.at("tools").as_array().into_iter().flatten();
    let declarations =
        lists.filter_map(|tool| field(tool, "functionDeclarations")?.as_array()).flatten();
    declarations
        .map(|tool| Tool {
            name: tool.at("name").as_str().unwrap_or_default().to_owned(),
            description: tool.at("description").as_str().unwrap_or_default().to_owned(),
            schema: lower(
                field(tool, "parametersJsonSchema")
                    .or_else(|| field(tool, "parameters"))
                    .unwrap_or(&Value::Null),
            ),
        })
        .collect()
}

/// The schema with type names in lower case, as in JSON Schema.
fn lower(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let lowered = map.iter().map(|(key, value)| match value {
                Value::String(word) if key == "type" => {
                    (key.clone(), Value::String(word.to_lowercase()))
                }
                value => (key.clone(), lower(value)),
            });
            Value::Object(lowered.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(lower).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}
