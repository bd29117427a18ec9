//! `generationConfig` and `toolConfig` in neutral words.

use super::{ID, either, schema, snake, thinking};
use crate::json::{Extra, Raw, Val};
use crate::request::{AnswerFormat, Request, ToolChoice};

/// Copies the values of a configuration into a request.
pub(super) fn read(config: Val<'_>, request: &mut Request) {
    request.max_tokens = either(config, "maxOutputTokens").and_then(Val::as_u64);
    request.temperature = config.some("temperature").map(Raw::from);
    request.top_p = either(config, "topP").filter(|value| !value.is_null()).map(Raw::from);
    let stop = either(config, "stopSequences");
    let texts = stop.iter().flat_map(|stop| stop.items());
    request.stop = texts.filter_map(|text| Some(text.as_str()?.into_owned())).collect();
    request.format = format(config);
    request.reasoning = thinking::read(either(config, "thinkingConfig"));
}

/// The form of the answer that a configuration asks for.
fn format(config: Val<'_>) -> Option<AnswerFormat> {
    let json_schema = ["responseJsonSchema", "responseSchema"]
        .iter()
        .find_map(|key| either(config, key).filter(|schema| schema.is_object()));
    if let Some(schema) = json_schema {
        let schema = schema::plain(schema);
        return Some(AnswerFormat::Schema { name: None, schema, strict: None });
    }
    match either(config, "responseMimeType")?.as_str().as_deref() {
        Some("application/json") => Some(AnswerFormat::Json),
        // Plain text is the default.
        Some("text/plain") | None => None,
        Some(other) => Some(AnswerFormat::Other { wire: ID, raw: Raw::string(other) }),
    }
}

/// The configuration that came, with the values that changed since.
pub(super) fn write(request: &Request, came: Option<Val<'_>>, lost: &mut Vec<String>) -> Extra {
    let mut said = Request::default();
    if let Some(came) = came {
        read(came, &mut said);
    }
    let mut out = came.map(|came| Extra::collect(ID, came, &[])).unwrap_or_default();
    let mut set = |key: &str, value: Option<Raw>| {
        out.fields.retain(|(name, _)| name != key && *name != snake(key));
        if let Some(value) = value {
            out.insert(ID, key, value);
        }
    };
    if request.max_tokens != said.max_tokens {
        set("maxOutputTokens", request.max_tokens.map(|tokens| Raw::build(|w| w.u64(tokens))));
    }
    if request.temperature != said.temperature {
        set("temperature", request.temperature.clone());
    }
    if request.top_p != said.top_p {
        set("topP", request.top_p.clone());
    }
    if request.stop != said.stop {
        let texts = || Raw::build(|w| w.array(|w| request.stop.iter().for_each(|t| w.str(t))));
        set("stopSequences", (!request.stop.is_empty()).then(texts));
    }
    if request.format != said.format {
        for key in ["responseMimeType", "responseSchema", "responseJsonSchema"] {
            set(key, None);
        }
        if let Some(format) = &request.format {
            write_format(format, &mut set, lost);
        }
    }
    let thinking_came = came.and_then(|came| either(came, "thinkingConfig"));
    let wanted = thinking::write(request, thinking_came, lost);
    if wanted.as_ref().map(Raw::as_str) != thinking_came.map(Val::raw) {
        set("thinkingConfig", wanted);
    }
    for (key, value) in &mut out.fields {
        if matches!(key.as_str(), "thinkingConfig" | "thinking_config") {
            *value = thinking::camel(value);
            "thinkingConfig".clone_into(key);
        }
    }
    out
}

fn write_format(
    format: &AnswerFormat,
    set: &mut dyn FnMut(&str, Option<Raw>),
    lost: &mut Vec<String>,
) {
    let json = || Some(Raw::string("application/json"));
    match format {
        AnswerFormat::Json => set("responseMimeType", json()),
        AnswerFormat::Schema { schema, .. } => {
            set("responseMimeType", json());
            let is_own = schema::is_own(schema.doc().root());
            let key = if is_own { "responseSchema" } else { "responseJsonSchema" };
            set(key, Some(schema.clone()));
        }
        AnswerFormat::Other { wire, raw } if *wire == ID => {
            set("responseMimeType", Some(raw.clone()));
        }
        AnswerFormat::Other { .. } => lost.push("format".to_owned()),
    }
}

/// The tool that a `toolConfig` demands or allows.
pub(super) fn tool_choice(config: Val<'_>) -> Option<ToolChoice> {
    let calling = either(config, "functionCallingConfig").filter(|value| value.is_object())?;
    let mode = calling.text("mode")?.to_ascii_uppercase();
    let allowed = either(calling, "allowedFunctionNames");
    let names: Vec<_> = allowed.iter().flat_map(|names| names.items()).collect();
    let choice = match (mode.as_str(), names.as_slice()) {
        ("AUTO", []) => Some(ToolChoice::Auto),
        ("NONE", []) => Some(ToolChoice::None),
        ("ANY", []) => Some(ToolChoice::Required),
        ("ANY", [name]) => name.as_str().map(|name| ToolChoice::Tool(name.into_owned())),
        _ => None,
    };
    Some(choice.unwrap_or_else(|| ToolChoice::Other { wire: ID, raw: Raw::from(calling) }))
}

/// The `toolConfig` that came, with the choice that is wanted now.
pub(super) fn write_tools(
    request: &Request,
    came: Option<&Raw>,
    lost: &mut Vec<String>,
) -> Option<Raw> {
    let doc = came.map(Raw::doc);
    let root = doc.as_ref().map(crate::json::Doc::root);
    if root.and_then(tool_choice) == request.tool_choice {
        return came.cloned();
    }
    let mut out = root.map(|root| Extra::collect(ID, root, &[])).unwrap_or_default();
    let old = ["functionCallingConfig", "function_calling_config"];
    out.fields.retain(|(key, _)| !old.contains(&key.as_str()));
    if let Some(calling) = request.tool_choice.as_ref().and_then(|choice| calling(choice, lost)) {
        out.insert(ID, "functionCallingConfig", calling);
    }
    (!out.is_empty()).then(|| Raw::build(|w| w.object(|w| w.extra(&out, ID))))
}

fn calling(choice: &ToolChoice, lost: &mut Vec<String>) -> Option<Raw> {
    let (mode, name) = match choice {
        ToolChoice::Auto => ("AUTO", None),
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Tool(name) => ("ANY", Some(name)),
        ToolChoice::Other { wire, raw } if *wire == ID => return Some(raw.clone()),
        ToolChoice::Other { .. } => {
            lost.push("tool_choice".to_owned());
            return None;
        }
    };
    Some(Raw::build(|w| {
        w.object(|w| {
            w.field_str("mode", mode);
            if let Some(name) = name {
                w.key("allowedFunctionNames").array(|w| w.str(name));
            }
        });
    }))
}
