//! Reads requests.

use super::form::{Form, REASONING};
use super::message;
use crate::json::{Extra, Kind, Raw, Val};
use crate::request::{AnswerFormat, ReasoningAsk, Request, Tool, ToolChoice};
use crate::settings::Effort;
use crate::wire::RequestError;

/// Fields that are read below; of those whose value could not be taken, the value is kept as it is.
const KNOWN: [&str; 7] =
    ["model", "messages", "tools", "parallel_tool_calls", "stream", "temperature", "top_p"];
/// The cap on generated tokens under its names; the first that is there counts.
pub(super) const CAPS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

pub(super) fn read(form: &'static Form, body: Val<'_>) -> Result<Request, RequestError> {
    if !body.is_object() {
        return Err(RequestError::new("", "a request must be a JSON object"));
    }
    let Some(model) = body.string("model") else {
        return Err(RequestError::new("model", "a request must name its model as a string"));
    };
    let Some(messages) = body.get("messages").filter(|messages| messages.is_array()) else {
        return Err(RequestError::new("messages", "a request must have a list of messages"));
    };
    let mut request = Request { model, ..Request::default() };
    for (at, message) in messages.items().enumerate() {
        request.contents.push(message::read(form, message, &format!("messages[{at}]"))?);
    }
    let unread: Vec<&str> =
        KNOWN.into_iter().filter(|key| !take(form, &mut request, key, body)).collect();
    let known =
        |key: &str| (KNOWN.contains(&key) && !unread.contains(&key)) || REASONING.contains(&key);
    for (key, value) in body.entries().filter(|(key, _)| !known(key)) {
        request.extra.insert(form.id, &key, Raw::from(value));
    }
    spelled(form, &mut request, body);
    request.reasoning = reasoning(form, body);
    Ok(request)
}

/// Takes a field that has one spelling only; `false` when its value is not of the kind that it should be.
fn take(form: &'static Form, request: &mut Request, key: &str, body: Val<'_>) -> bool {
    let Some(value) = body.get(key) else { return true };
    match key {
        "model" | "messages" => return true,
        "tools" if value.is_array() => {
            request.tools = value.items().map(|tool| read_tool(form, tool)).collect();
            return !request.tools.is_empty();
        }
        "parallel_tool_calls" => request.parallel_tool_calls = value.as_bool(),
        "stream" => request.stream = value.as_bool().unwrap_or_default(),
        "temperature" if value.kind() == Kind::Number => {
            request.temperature = Some(Raw::from(value));
        }
        "top_p" if value.kind() == Kind::Number => request.top_p = Some(Raw::from(value)),
        _ => return false,
    }
    // The writer expresses `stream: false` by leaving it out, so an explicit one is kept as it is.
    value.as_bool() == Some(true)
        || (value.as_bool() == Some(false) && key != "stream")
        || value.kind() == Kind::Number
}

/// Fields with several spellings. The original value is kept beside its meaning, and is written again as long as the
/// meaning is the same.
fn spelled(form: &'static Form, request: &mut Request, body: Val<'_>) {
    for cap in CAPS {
        if let Some(value) = body.u64(cap) {
            request.max_tokens = Some(value);
            break;
        }
    }
    if let Some(stop) = body.get("stop") {
        request.stop = read_stop(stop);
    }
    request.tool_choice = body.some("tool_choice").map(|choice| read_choice(form, choice));
    request.format = body.some("response_format").map(|format| read_format(form, format));
}

pub(super) fn read_stop(stop: Val<'_>) -> Vec<String> {
    let one = stop.as_str().map(std::borrow::Cow::into_owned);
    one.into_iter()
        .chain(stop.items().filter_map(|stop| Some(stop.as_str()?.into_owned())))
        .collect()
}

pub(super) fn read_choice(form: &'static Form, choice: Val<'_>) -> ToolChoice {
    match choice.as_str().as_deref() {
        Some("auto") => ToolChoice::Auto,
        Some("none") => ToolChoice::None,
        Some("required" | "any") => ToolChoice::Required,
        Some(_) => ToolChoice::Other { wire: form.id, raw: Raw::from(choice) },
        None => match choice.path(&["function", "name"]).and_then(Val::as_str) {
            Some(name) => ToolChoice::Tool(name.into_owned()),
            None => ToolChoice::Other { wire: form.id, raw: Raw::from(choice) },
        },
    }
}

pub(super) fn read_format(form: &'static Form, format: Val<'_>) -> AnswerFormat {
    let schema = format.some("json_schema");
    match (format.text("type").as_deref(), schema.and_then(|schema| schema.some("schema"))) {
        (Some("json_object"), _) => AnswerFormat::Json,
        (Some("json_schema"), Some(inner)) => AnswerFormat::Schema {
            name: schema.and_then(|schema| schema.string("name")),
            schema: Raw::from(inner),
            strict: schema.and_then(|schema| schema.bool("strict")),
        },
        _ => AnswerFormat::Other { wire: form.id, raw: Raw::from(format) },
    }
}

fn read_tool(form: &'static Form, tool: Val<'_>) -> Tool {
    let function =
        tool.some("function").filter(|_| tool.text("type").as_deref() == Some("function"));
    let Some((function, name)) =
        function.and_then(|function| Some((function, function.string("name")?)))
    else {
        return Tool::Other { wire: form.id, raw: Raw::from(tool) };
    };
    let mut extra = Extra::collect(form.id, tool, &["type", "function"]);
    let description = function.string("description");
    let parameters = function.some("parameters").map(Raw::from);
    let said = [
        "name",
        if description.is_some() { "description" } else { "" },
        if parameters.is_some() { "parameters" } else { "" },
    ];
    keep_inner(&mut extra, form, "function", &Extra::collect(form.id, function, &said));
    Tool::Function { name, description, parameters, extra }
}

/// Keeps the unknown fields of an inner object under its name.
pub(super) fn keep_inner(extra: &mut Extra, form: &'static Form, key: &str, inner: &Extra) {
    if !inner.is_empty() {
        let raw = Raw::build(|w| w.object(|w| w.extra(inner, form.id)));
        extra.insert(form.id, key, raw);
    }
}

/// The meaning of the request's members about reasoning, in any dialect.
fn reasoning(form: &'static Form, body: Val<'_>) -> ReasoningAsk {
    let mut ask = ReasoningAsk::default();
    for key in REASONING {
        if let Some(value) = body.get(key) {
            ask.fields.insert(form.id, key, Raw::from(value));
        }
    }
    let places = [
        Some(body),
        body.some("chat_template_kwargs"),
        body.some("chat_template_args"),
        body.path(&"extra_body.google.thinking_config".split('.').collect::<Vec<_>>()),
    ];
    for place in places.into_iter().flatten() {
        read_flags(&mut ask, place);
    }
    for key in ["reasoning", "thinking"] {
        if let Some(object) = body.some(key).filter(|object| object.is_object()) {
            read_object(&mut ask, object);
        }
    }
    if ask.effort == Some(Effort::None) {
        ask.enabled = ask.enabled.or(Some(false));
    }
    ask
}

fn read_flags(ask: &mut ReasoningAsk, place: Val<'_>) {
    let effort = ["reasoning_effort", "thinking_level"].iter().find_map(|key| place.some(key));
    if let Some(effort) = effort {
        ask.effort = ask.effort.or_else(|| Effort::parse(&effort.as_str()?));
        // A number is a cap, a boolean a switch.
        ask.max_tokens = ask.max_tokens.or_else(|| effort.as_u64());
        ask.enabled = ask.enabled.or_else(|| effort.as_bool());
    }
    let flag = |keys: &[&str]| keys.iter().find_map(|key| place.bool(key));
    ask.enabled = ask.enabled.or_else(|| flag(&["enable_thinking", "thinking"]));
    ask.enabled = ask.enabled.or_else(|| place.bool("disable_reasoning").map(|off| !off));
    let caps =
        ["thinking_budget", "thinking_token_budget", "thinking_budget_tokens", "reasoning_budget"];
    ask.max_tokens = ask.max_tokens.or_else(|| caps.iter().find_map(|key| place.u64(key)));
    ask.show = ask.show.or_else(|| flag(&["include_reasoning", "include_thoughts"]));
    ask.show = ask.show.or_else(|| Some(place.text("reasoning_format")? != "hidden"));
}

fn read_object(ask: &mut ReasoningAsk, object: Val<'_>) {
    ask.enabled = ask.enabled.or_else(|| match object.text("type")?.as_ref() {
        "disabled" => Some(false),
        "enabled" | "adaptive" => Some(true),
        _ => None,
    });
    ask.enabled = ask.enabled.or_else(|| object.bool("enabled"));
    ask.effort = ask.effort.or_else(|| Effort::parse(&object.text("effort")?));
    ask.max_tokens =
        ask.max_tokens.or_else(|| object.u64("max_tokens").or_else(|| object.u64("budget_tokens")));
    ask.show = ask.show.or_else(|| object.bool("exclude").map(|hidden| !hidden));
}
