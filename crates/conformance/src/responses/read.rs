//! Reads a request and validates its structure.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Flavour, ResponsesDialect, Store, refusal, refusal_with};
use crate::json::Keyed;
use crate::mind::{Call, Choice, Said, Scene, Tool};
use crate::reply::{Refusal, Visit};
use crate::shape::{self, Kind};

/// A request with a valid structure.
pub(super) struct Request {
    pub(super) body: Value,
    pub(super) model: String,
    pub(super) stream: bool,
    pub(super) store: bool,
    /// The answer has encrypted content.
    pub(super) encrypted: bool,
    pub(super) thinking: bool,
    /// Items of the continued response, then those of the request.
    pub(super) items: Vec<Value>,
    /// Number of items from the store.
    pub(super) carried: usize,
    tools: Vec<Tool>,
}

const SHAPE: &[(&str, Kind)] = &[
    ("model", Kind::Text),
    ("instructions", Kind::Text),
    ("input", Kind::TextOrList),
    ("input.*", Kind::Map),
    ("input.*.type", Kind::Text),
    ("input.*.id", Kind::Text),
    ("input.*.role", Kind::Text),
    ("input.*.status", Kind::Text),
    ("input.*.content", Kind::TextOrList),
    ("input.*.content.*", Kind::Map),
    ("input.*.content.*.type", Kind::Text),
    ("input.*.content.*.text", Kind::Text),
    ("input.*.summary", Kind::List),
    ("input.*.summary.*", Kind::Map),
    ("input.*.summary.*.type", Kind::Text),
    ("input.*.summary.*.text", Kind::Text),
    ("input.*.encrypted_content", Kind::Text),
    ("input.*.call_id", Kind::Text),
    ("input.*.name", Kind::Text),
    ("input.*.arguments", Kind::Text),
    ("input.*.output", Kind::TextOrList),
    ("tools", Kind::List),
    ("tools.*", Kind::Map),
    ("tools.*.type", Kind::Text),
    ("tools.*.name", Kind::Text),
    ("tools.*.description", Kind::Text),
    ("tools.*.parameters", Kind::Map),
    ("tool_choice", Kind::TextOrMap),
    ("parallel_tool_calls", Kind::Flag),
    ("stream", Kind::Flag),
    ("store", Kind::Flag),
    ("include", Kind::List),
    ("include.*", Kind::Text),
    ("reasoning", Kind::Map),
    ("reasoning.effort", Kind::Text),
    ("reasoning.summary", Kind::Text),
    ("max_output_tokens", Kind::Number),
    ("previous_response_id", Kind::Text),
    ("temperature", Kind::Number),
    ("metadata", Kind::Map),
    ("text", Kind::Map),
];

const KNOWN: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "store",
    "stream",
    "include",
    "reasoning",
    "previous_response_id",
    "conversation",
    "max_output_tokens",
    "temperature",
    "top_p",
    "text",
    "truncation",
    "metadata",
    "user",
    "service_tier",
    "background",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "max_tool_calls",
    "prompt",
    "stream_options",
    "top_logprobs",
    "context_management",
    "client_metadata",
];

pub(super) fn request(
    visit: &mut Visit<'_>,
    dialect: &ResponsesDialect,
    store: &Store,
) -> Result<Request, Refusal> {
    let bad = |text: &str, param: &str| refusal_with(dialect, 400, text, (Some(param), None));
    let body: Value = serde_json::from_slice(&visit.request.body).map_err(|error| {
        refusal(dialect, 400, &format!("We could not parse the JSON body of your request: {error}"))
    })?;
    for key in body.as_object().into_iter().flatten().map(|(key, _)| key.as_str()) {
        if !KNOWN.contains(&key) && dialect.flavour != Flavour::DeepSeek {
            let text = format!("Unknown parameter: '{key}'.");
            return Err(refusal_with(dialect, 400, &text, (Some(key), Some("unknown_parameter"))));
        }
    }
    if let Some(wrong) = shape::wrong(&body, SHAPE) {
        let (at, kind, found) = (wrong.bracketed(), wrong.kind.name(), wrong.found_name());
        let text = format!("Invalid type for '{at}': expected {kind}, but got {found} instead.");
        return Err(refusal_with(dialect, 400, &text, (Some(&at), Some("invalid_type"))));
    }
    let model = body.at("model").as_str().filter(|model| !model.is_empty());
    let model =
        model.ok_or_else(|| bad("Missing required parameter: 'model'.", "model"))?.to_owned();
    visit.log.model = Some(model.clone());
    let mut items = carried(dialect, &body, store)?;
    let carried = items.len();
    match body.at("input") {
        Value::String(text) => {
            items.push(json!({"type": "message", "role": "user", "content": text}));
        }
        Value::Array(list) => {
            for (place, item) in list.iter().enumerate() {
                items.push(item_of(dialect, item, place, store)?);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(bad("Missing required parameter: 'input'.", "input"));
        }
    }
    let stream = body.at("stream") == true;
    visit.log.stream = stream;
    let effort = effort(dialect, &body)?;
    let includes = body.at("include").as_array().into_iter().flatten();
    let asked = includes.clone().any(|value| value == "reasoning.encrypted_content");
    let request = Request {
        stream,
        store: body.at("store") != false && dialect.flavour.stores(),
        encrypted: dialect.flavour == Flavour::Stateless
            || asked && dialect.flavour != Flavour::DeepSeek,
        thinking: effort != Some("none"),
        tools: tools(dialect, &body)?,
        model,
        items,
        carried,
        body: body.clone(),
    };
    Ok(request)
}

fn effort<'a>(dialect: &ResponsesDialect, body: &'a Value) -> Result<Option<&'a str>, Refusal> {
    let effort = body.at("reasoning").at("effort").as_str();
    let known = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    match effort {
        Some(word) if !known.contains(&word) => {
            let text = format!(
                "Invalid value: '{word}'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'."
            );
            Err(refusal_with(
                dialect,
                400,
                &text,
                (Some("reasoning.effort"), Some("invalid_value")),
            ))
        }
        // Source: the error text of Grok 4.5, which does not accept `none` either. Grok 4.3 accepts
        // `none` to `high`.
        Some(word @ ("minimal" | "xhigh" | "max")) if dialect.flavour == Flavour::Xai => {
            let text = format!("This model does not support 'reasoning_effort' value '{word}'");
            Err(refusal(dialect, 400, &text))
        }
        Some(_) | None => Ok(effort),
    }
}

fn carried(dialect: &ResponsesDialect, body: &Value, store: &Store) -> Result<Vec<Value>, Refusal> {
    let Some(id) = body.at("previous_response_id").as_str() else { return Ok(Vec::new()) };
    let param = Some("previous_response_id");
    match dialect.flavour {
        Flavour::Stateless => {
            let text = "Previous response cannot be used for this organization due to Zero Data Retention.";
            Err(refusal_with(dialect, 400, text, (param, Some("unsupported_parameter"))))
        }
        Flavour::DeepSeek => {
            Err(refusal_with(dialect, 400, "previous_response_id is not supported", (param, None)))
        }
        Flavour::Stateful | Flavour::Xai => store.items(id).ok_or_else(|| {
            let text = format!("Previous response with id '{id}' not found.");
            refusal_with(dialect, 400, &text, (param, Some("previous_response_not_found")))
        }),
    }
}

fn item_of(
    dialect: &ResponsesDialect,
    item: &Value,
    place: usize,
    store: &Store,
) -> Result<Value, Refusal> {
    let param = format!("input[{place}]");
    let bad = |text: String, at: &str| Err(refusal_with(dialect, 400, &text, (Some(at), None)));
    let kind =
        item.at("type").as_str().or_else(|| item.at("role").is_string().then_some("message"));
    match kind {
        Some("message") => message(dialect, item, &param),
        Some("function_call") => {
            for key in ["call_id", "name", "arguments"] {
                if !item.at(key).is_string() {
                    let at = format!("{param}.{key}");
                    return bad(format!("Missing required parameter: '{at}'."), &at);
                }
            }
            long_id(dialect, item, &param)?;
            id_prefix(dialect, item, &param, "fc")
        }
        Some("function_call_output") => {
            for key in ["call_id", "output"] {
                if item.at(key).is_null() {
                    let at = format!("{param}.{key}");
                    return bad(format!("Missing required parameter: '{at}'."), &at);
                }
            }
            Ok(item.clone())
        }
        Some("reasoning") => {
            if !item.at("summary").is_array() {
                return Err(no_summary(dialect, place));
            }
            id_prefix(dialect, item, &param, "rs")
        }
        Some("item_reference") => {
            let id = item.at("id").as_str().unwrap_or_default();
            let found = if dialect.flavour.stores() { store.item(id) } else { None };
            found.ok_or_else(|| not_found(dialect, id))
        }
        Some("compaction" | "configuration_update") => Ok(item.clone()),
        Some(kind)
            if kind.ends_with("_call") || kind.ends_with("_output") || kind.starts_with("mcp_") =>
        {
            Ok(item.clone())
        }
        Some(kind) => {
            let text = format!(
                "Invalid value: '{kind}'. Supported values are: 'compaction', 'function_call', 'function_call_output', 'item_reference', 'message', and 'reasoning'."
            );
            Err(refusal_with(dialect, 400, &text, (Some(&param), Some("invalid_value"))))
        }
        None => bad(format!("Missing required parameter: '{param}.type'."), &param),
    }
}

fn no_summary(dialect: &ResponsesDialect, place: usize) -> Refusal {
    let param = format!("input[{place}].summary");
    match dialect.flavour {
        Flavour::Stateless | Flavour::Stateful => {
            let text = format!("Missing required parameter: '{param}'.");
            refusal_with(dialect, 400, &text, (Some(&param), Some("missing_required_parameter")))
        }
        Flavour::Xai | Flavour::DeepSeek => {
            refusal(dialect, 400, &format!("Input[{place}] missing required field `summary`"))
        }
    }
}

/// The refusal of an item that the server does not have.
pub(super) fn not_found(dialect: &ResponsesDialect, id: &str) -> Refusal {
    let advice = match dialect.flavour {
        Flavour::Stateless => {
            " Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this \
             item from your input."
        }
        Flavour::Stateful | Flavour::Xai | Flavour::DeepSeek => "",
    };
    refusal_with(
        dialect,
        404,
        &format!("Item with id '{id}' not found.{advice}"),
        (Some("input"), None),
    )
}

fn long_id(dialect: &ResponsesDialect, item: &Value, param: &str) -> Result<(), Refusal> {
    let length = item.at("call_id").as_str().map_or(0, str::len);
    if length <= 64 {
        return Ok(());
    }
    let at = format!("{param}.call_id");
    let text = format!(
        "Invalid '{at}': string too long. Expected a string with maximum length 64, but got a string with length {length} instead."
    );
    Err(refusal_with(dialect, 400, &text, (Some(&at), Some("string_above_max_length"))))
}

fn id_prefix(
    dialect: &ResponsesDialect,
    item: &Value,
    param: &str,
    prefix: &str,
) -> Result<Value, Refusal> {
    let id = item.at("id").as_str().unwrap_or_default();
    if id.is_empty() || id.starts_with(prefix) || dialect.flavour == Flavour::DeepSeek {
        return Ok(item.clone());
    }
    let at = format!("{param}.id");
    let text = format!("Invalid '{at}': '{id}'. Expected an ID that begins with '{prefix}'.");
    Err(refusal_with(dialect, 400, &text, (Some(&at), Some("invalid_value"))))
}

fn message(dialect: &ResponsesDialect, item: &Value, param: &str) -> Result<Value, Refusal> {
    let role = item.at("role").as_str().unwrap_or_default();
    let (known, names): (&[&str], &str) = match role {
        "assistant" => (&["output_text", "refusal"], "'output_text' and 'refusal'"),
        "user" | "system" | "developer" => (
            &["input_text", "input_image", "input_file", "input_audio"],
            "'input_text', 'input_image', and 'input_file'",
        ),
        other => {
            let text = format!(
                "Invalid value: '{other}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
            );
            let at = format!("{param}.role");
            return Err(refusal_with(dialect, 400, &text, (Some(&at), Some("invalid_value"))));
        }
    };
    for (index, part) in item.at("content").as_array().into_iter().flatten().enumerate() {
        let kind = part.at("type").as_str().unwrap_or_default();
        if !known.contains(&kind) {
            let at = format!("{param}.content[{index}]");
            let text = format!("Invalid value: '{kind}'. Supported values are: {names}.");
            return Err(refusal_with(dialect, 400, &text, (Some(&at), Some("invalid_value"))));
        }
    }
    if role == "assistant" { id_prefix(dialect, item, param, "msg") } else { Ok(item.clone()) }
}

fn tools(dialect: &ResponsesDialect, body: &Value) -> Result<Vec<Tool>, Refusal> {
    let mut out = Vec::new();
    for (index, tool) in body.at("tools").as_array().into_iter().flatten().enumerate() {
        if tool.at("type") != "function" {
            continue;
        }
        let at = format!("tools[{index}].name");
        let Some(name) = tool.at("name").as_str().filter(|name| !name.is_empty()) else {
            let text = format!("Missing required parameter: '{at}'.");
            return Err(refusal_with(
                dialect,
                400,
                &text,
                (Some(&at), Some("missing_required_parameter")),
            ));
        };
        out.push(Tool {
            name: name.to_owned(),
            description: tool.at("description").as_str().unwrap_or_default().to_owned(),
            schema: tool.at("parameters").clone(),
        });
    }
    Ok(out)
}

/// The visible text of a message item.
pub(super) fn text(item: &Value) -> String {
    match item.at("content") {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.at("text").as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The call of a `function_call` item.
pub(super) fn call(item: &Value) -> Call {
    let arguments = item.at("arguments").as_str().unwrap_or_default();
    Call {
        name: item.at("name").as_str().unwrap_or_default().to_owned(),
        arguments: serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments)),
    }
}

/// The texts of all messages.
pub(super) fn said(items: &[Value]) -> Vec<String> {
    items.iter().filter(|item| item.at("role").is_string()).map(text).collect()
}

/// The type of an item. An item without a type is a message.
pub(super) fn kind(item: &Value) -> &str {
    item.at("type").as_str().unwrap_or("message")
}

impl Request {
    /// The scene for the mind.
    pub(super) fn scene(&self, simulator: &'static str) -> Scene {
        let mut said = Vec::new();
        let mut names: HashMap<&str, &str> = HashMap::new();
        for item in &self.items {
            match (kind(item), item.at("role").as_str()) {
                ("message", Some("user")) => said.push(Said::User(text(item))),
                ("message", Some("assistant")) => said.push(Said::Ai(Vec::new())),
                ("function_call", _) => {
                    names.insert(
                        item.at("call_id").as_str().unwrap_or_default(),
                        item.at("name").as_str().unwrap_or_default(),
                    );
                    said.push(Said::Ai(vec![call(item)]));
                }
                ("function_call_output", _) => {
                    let id = item.at("call_id").as_str().unwrap_or_default();
                    let name = names.get(id).copied().unwrap_or_default();
                    let output = match item.at("output") {
                        Value::String(output) => output.clone(),
                        parts => parts
                            .as_array()
                            .into_iter()
                            .flatten()
                            .filter_map(|part| part.at("text").as_str())
                            .collect(),
                    };
                    said.push(Said::Result { name: name.to_owned(), text: output, failed: false });
                }
                _ => {}
            }
        }
        let choice = match self.body.at("tool_choice") {
            Value::String(word) if word == "none" => Choice::None,
            Value::String(word) if word == "required" => Choice::Any,
            object => object
                .at("name")
                .as_str()
                .map_or(Choice::Auto, |name| Choice::Named(name.to_owned())),
        };
        Scene {
            simulator,
            said,
            tools: self.tools.clone(),
            choice,
            parallel: self.body.at("parallel_tool_calls") != false,
            thinking: self.thinking,
            max_tokens: self.body.at("max_output_tokens").as_u64(),
        }
    }
}
