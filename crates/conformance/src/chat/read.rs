//! Reads a request and validates its structure.

use std::collections::HashSet;

use serde_json::Value;

use super::refuse::wrong_type;
use super::{Carrier, ChatDialect, House, Switch, google, refusal};
use crate::calls::OpenCalls;
use crate::json::Keyed;
use crate::mind::{Call, Choice, Said, Scene, Tool};
use crate::reply::{Refusal, Visit};
use crate::shape::{self, Kind};

/// A request with a valid structure.
pub(super) struct Request {
    pub(super) body: Value,
    pub(super) model: String,
    pub(super) stream: bool,
    /// Number of choices that the request asks for.
    pub(super) choices: u64,
    pub(super) messages: Vec<Message>,
    pub(super) scene: Scene,
}

pub(super) struct Message {
    pub(super) role: Role,
    /// The visible text.
    pub(super) text: String,
    /// The calls with their ids.
    pub(super) calls: Vec<(String, Call)>,
    /// The call id of a tool message.
    pub(super) call_id: String,
    /// The message as the client sent it.
    pub(super) raw: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

const SHAPE: &[(&str, Kind)] = &[
    ("model", Kind::Text),
    ("messages", Kind::List),
    ("messages.*", Kind::Map),
    ("messages.*.role", Kind::Text),
    ("messages.*.content", Kind::TextOrList),
    ("messages.*.content.*.text", Kind::Text),
    ("messages.*.content.*.thinking", Kind::List),
    ("messages.*.content.*.thinking.*", Kind::Map),
    ("messages.*.content.*.thinking.*.type", Kind::Text),
    ("messages.*.content.*.thinking.*.text", Kind::Text),
    ("messages.*.reasoning_content", Kind::Text),
    ("messages.*.reasoning", Kind::Text),
    ("messages.*.reasoning_details", Kind::List),
    ("messages.*.reasoning_details.*", Kind::Map),
    ("messages.*.reasoning_details.*.type", Kind::Text),
    ("messages.*.reasoning_details.*.id", Kind::Text),
    ("messages.*.reasoning_details.*.format", Kind::Text),
    ("messages.*.tool_call_id", Kind::Text),
    ("messages.*.tool_calls", Kind::List),
    ("messages.*.tool_calls.*.id", Kind::Text),
    ("messages.*.tool_calls.*.type", Kind::Text),
    ("messages.*.tool_calls.*.function.name", Kind::Text),
    ("messages.*.tool_calls.*.function.arguments", Kind::TextOrMap),
    ("messages.*.tool_calls.*.extra_content", Kind::Map),
    ("messages.*.tool_calls.*.extra_content.google", Kind::Map),
    ("messages.*.tool_calls.*.extra_content.google.thought_signature", Kind::Text),
    ("messages.*.extra_content", Kind::Map),
    ("messages.*.extra_content.google", Kind::Map),
    ("messages.*.extra_content.google.thought_signature", Kind::Text),
    ("extra_body", Kind::Map),
    ("tools", Kind::List),
    ("tools.*", Kind::Map),
    ("tools.*.function", Kind::Map),
    ("tools.*.function.name", Kind::Text),
    ("tools.*.function.description", Kind::Text),
    ("tools.*.function.parameters", Kind::Map),
    ("tool_choice", Kind::TextOrMap),
    ("parallel_tool_calls", Kind::Flag),
    ("stream", Kind::Flag),
    ("stream_options", Kind::Map),
    ("stream_options.include_usage", Kind::Flag),
    ("max_tokens", Kind::Number),
    ("max_completion_tokens", Kind::Number),
    ("temperature", Kind::Number),
    ("reasoning_effort", Kind::Text),
    ("reasoning_split", Kind::Flag),
    ("enable_thinking", Kind::Flag),
    ("preserve_thinking", Kind::Flag),
    ("thinking", Kind::Map),
    ("thinking.type", Kind::Text),
    ("reasoning", Kind::Map),
    ("chat_template_kwargs", Kind::Map),
];

pub(super) fn request(visit: &mut Visit<'_>, dialect: &ChatDialect) -> Result<Request, Refusal> {
    let bad = |text: &str| refusal(dialect, 400, text);
    let body: Value = serde_json::from_slice(&visit.request.body).map_err(|error| {
        bad(&format!("We could not parse the JSON body of your request: {error}"))
    })?;
    if let Some(wrong) = shape::wrong(&body, SHAPE) {
        return Err(wrong_type(dialect, &wrong));
    }
    let model = body.at("model").as_str().filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| bad("you must provide a model parameter"))?.to_owned();
    visit.log.model = Some(model.clone());
    let list = body.at("messages").as_array().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| bad("[] is too short - 'messages'"))?;
    let mut messages = Vec::with_capacity(list.len());
    for (place, raw) in list.iter().enumerate() {
        messages.push(message(raw, place, dialect)?);
    }
    pairs(&messages, dialect)?;
    last(&messages, dialect)?;
    let stream = *body.at("stream") == true;
    visit.log.stream = stream;
    let choices = body.at("n").as_u64().unwrap_or(1);
    let most = dialect.most_choices();
    if most == 1 && choices != 1 {
        return Err(bad("Invalid 'n': this model gives one choice only"));
    }
    if !(1..=most).contains(&choices) {
        return Err(bad(&format!("n must be between 1 and {most}, got {choices}.")));
    }
    let scene = scene(visit.id, &body, &messages, dialect)?;
    Ok(Request { body, model, stream, choices, messages, scene })
}

fn message(raw: &Value, place: usize, dialect: &ChatDialect) -> Result<Message, Refusal> {
    let bad = |text: String| refusal(dialect, 400, &text);
    let role = match raw.at("role").as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        Some(role) => {
            let known = "['system', 'assistant', 'user', 'tool']";
            return Err(bad(format!("'{role}' is not one of {known} - 'messages.{place}.role'")));
        }
        None => return Err(bad(format!("'role' is a required property - 'messages.{place}'"))),
    };
    let calls = calls(raw, place, dialect)?;
    if !calls.is_empty() && role != Role::Assistant {
        return Err(bad(format!(
            "'tool_calls' is not allowed on role '{}' - 'messages.{place}'",
            raw.at("role")
        )));
    }
    let text = text(raw.at("content"), place, dialect)?;
    let call_id = raw.at("tool_call_id").as_str().unwrap_or_default().to_owned();
    if role == Role::Tool && call_id.is_empty() {
        return Err(bad(format!(
            "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id' - 'messages.{place}'"
        )));
    }
    if raw.at("content").is_null() && role != Role::Assistant {
        return Err(bad(format!(
            "Invalid value for 'content': expected a string, got null - 'messages.{place}'"
        )));
    }
    let silent = role == Role::Assistant && text.trim().is_empty() && calls.is_empty();
    if dialect.house == House::Kimi && silent {
        let text =
            format!("the message at position {place} with role 'assistant' must not be empty");
        return Err(bad(text));
    }
    let text = match dialect.carrier {
        Carrier::ThinkTags => untagged(&text).1,
        Carrier::ThoughtTags => google::untagged(&text),
        Carrier::ReasoningContent | Carrier::Reasoning | Carrier::Chunks | Carrier::Details => text,
    };
    Ok(Message { role, text, calls, call_id, raw: raw.clone() })
}

/// Splits a text that begins with `<think>` into thought and rest.
pub(super) fn untagged(text: &str) -> (Option<String>, String) {
    let inside =
        text.trim_start().strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
    inside.map_or_else(
        || (None, text.to_owned()),
        |(thought, rest)| {
            (Some(thought.trim_matches('\n').to_owned()), rest.trim_start_matches('\n').to_owned())
        },
    )
}

fn text(content: &Value, place: usize, dialect: &ChatDialect) -> Result<String, Refusal> {
    let bad = |text: String| refusal(dialect, 400, &text);
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let mut out = String::new();
            for part in parts {
                match part.at("type").as_str() {
                    Some("text") => out.push_str(part.at("text").as_str().unwrap_or_default()),
                    Some(
                        "image_url" | "input_audio" | "file" | "video_url" | "document_url"
                        | "reference",
                    ) => {}
                    Some("thinking") if dialect.carrier == Carrier::Chunks => {}
                    other => {
                        let kind = other.unwrap_or("null");
                        if dialect.house == House::Kimi {
                            return Err(bad(format!(
                                "the message at position {place} contains an invalid part type: {kind}"
                            )));
                        }
                        return Err(bad(format!(
                            "Invalid value: '{kind}'. Supported values are: 'text', 'image_url' - 'messages.{place}.content'"
                        )));
                    }
                }
            }
            Ok(out)
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(bad(format!(
            "Invalid type for 'messages.{place}.content': expected a string or an array"
        ))),
    }
}

fn calls(raw: &Value, place: usize, dialect: &ChatDialect) -> Result<Vec<(String, Call)>, Refusal> {
    let bad = |text: String| refusal(dialect, 400, &text);
    let list = match raw.at("tool_calls") {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            return Err(bad(format!(
                "Invalid type for 'messages.{place}.tool_calls': expected an array"
            )));
        }
    };
    let mut out: Vec<(String, Call)> = Vec::new();
    let mut known = HashSet::new();
    for (index, item) in list.iter().enumerate() {
        let at = format!("messages.{place}.tool_calls.{index}");
        let id = item.at("id").as_str().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| bad(format!("'id' is a required property - '{at}'")))?;
        if !known.insert(id) {
            return Err(bad(format!(
                "Duplicate value for 'tool_call_id' of '{id}' in message[{place}]"
            )));
        }
        let name = item.at("function").at("name").as_str().filter(|name| !name.is_empty());
        let name =
            name.ok_or_else(|| bad(format!("'function.name' is a required property - '{at}'")))?;
        let arguments = item.at("function").at("arguments").as_str();
        let arguments = match (arguments, dialect.house) {
            (Some(arguments), _) => arguments.to_owned(),
            (None, House::Mistral) if item.at("function").at("arguments").is_object() => {
                item.at("function").at("arguments").to_string()
            }
            (None, _) => {
                return Err(bad(format!("'function.arguments' must be a string - '{at}'")));
            }
        };
        let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
        out.push((id.to_owned(), Call { name: name.to_owned(), arguments }));
    }
    Ok(out)
}

/// Refuses a call without a result in the messages right after it, and a result without a call.
fn pairs(messages: &[Message], dialect: &ChatDialect) -> Result<(), Refusal> {
    let mut open = OpenCalls::default();
    let closed = |open: &OpenCalls<'_>| match open.is_empty() {
        true => Ok(()),
        false => Err(unanswered(&open.unanswered(), dialect)),
    };
    for message in messages.iter() {
        if message.role == Role::Tool {
            open.answer(&message.call_id).ok_or_else(|| orphan(message, dialect))?;
            continue;
        }
        closed(&open)?;
        open = message.calls.iter().map(|(id, call)| (id.as_str(), call.name.as_str())).collect();
    }
    closed(&open)
}

fn orphan(message: &Message, dialect: &ChatDialect) -> Refusal {
    let id = &message.call_id;
    let text = if dialect.house == House::Kimi {
        format!("tool_call_id {id} is not found")
    } else if dialect.house == House::Mistral {
        format!("Unexpected tool call id {id} in tool results")
    } else if dialect.house == House::MiniMax {
        format!("invalid params, tool result's tool id({id}) not found (2013)")
    } else {
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            .to_owned()
    };
    refusal(dialect, 400, &text)
}

fn unanswered(open: &[&str], dialect: &ChatDialect) -> Refusal {
    let ids = open.join(", ");
    let rule = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
    let text = if dialect.house == House::Mistral {
        "Not the same number of function calls and responses".to_owned()
    } else if dialect.house == House::DeepSeek {
        format!("{rule} (insufficient tool messages following tool_calls message)")
    } else {
        format!("{rule} The following tool_call_ids did not have response messages: {ids}")
    };
    refusal(dialect, 400, &text)
}

fn last(messages: &[Message], dialect: &ChatDialect) -> Result<(), Refusal> {
    let ends_with_answer = messages.last().is_some_and(|message| {
        message.role == Role::Assistant
            && message.raw.at("prefix") != true
            && message.raw.at("partial") != true
    });
    if dialect.house != House::Mistral || !ends_with_answer {
        return Ok(());
    }
    let text = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant";
    Err(refusal(dialect, 400, text))
}

fn scene(
    id: &'static str,
    body: &Value,
    messages: &[Message],
    dialect: &ChatDialect,
) -> Result<Scene, Refusal> {
    let thinking = thinking(body, dialect)?;
    let mut said = Vec::new();
    let mut open = OpenCalls::default();
    for message in messages {
        match message.role {
            Role::System => {}
            Role::User => said.push(Said::User(message.text.clone())),
            Role::Assistant => {
                let calls = message.calls.iter();
                open = calls.map(|(id, call)| (id.as_str(), call.name.as_str())).collect();
                said.push(Said::Ai(message.calls.iter().map(|(_, call)| call.clone()).collect()));
            }
            Role::Tool => {
                said.push(Said::Result {
                    name: open.answer(&message.call_id).unwrap_or_default().to_owned(),
                    text: message.text.clone(),
                    failed: false,
                });
            }
        }
    }
    let cap = ["max_completion_tokens", "max_tokens"].iter().find_map(|key| body.at(key).as_u64());
    Ok(Scene {
        simulator: id,
        said,
        tools: tools(body, dialect)?,
        choice: choice(body, thinking, dialect)?,
        parallel: body.at("parallel_tool_calls") != false,
        thinking,
        max_tokens: cap,
    })
}

fn tools(body: &Value, dialect: &ChatDialect) -> Result<Vec<Tool>, Refusal> {
    let mut out = Vec::new();
    for (index, tool) in body.at("tools").as_array().into_iter().flatten().enumerate() {
        let function = tool.at("function");
        let name = function.at("name").as_str().unwrap_or_default();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if tool.at("type") != "function"
            || name.is_empty()
            || name.len() > 64
            || !name.chars().all(fits)
        {
            let text = format!(
                "Invalid 'tools[{index}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            );
            return Err(refusal(dialect, 400, &text));
        }
        out.push(Tool {
            name: name.to_owned(),
            description: function.at("description").as_str().unwrap_or_default().to_owned(),
            schema: function.at("parameters").clone(),
        });
    }
    Ok(out)
}

fn choice(body: &Value, thinking: bool, dialect: &ChatDialect) -> Result<Choice, Refusal> {
    let choice = match body.at("tool_choice") {
        Value::Null => Choice::Auto,
        Value::String(word) => match word.as_str() {
            "none" => Choice::None,
            "required" | "any" => Choice::Any,
            _ => Choice::Auto,
        },
        object => object
            .at("function")
            .at("name")
            .as_str()
            .map_or(Choice::Auto, |name| Choice::Named(name.to_owned())),
    };
    let forced = matches!(choice, Choice::Any | Choice::Named(_));
    if !forced || !thinking {
        return Ok(choice);
    }
    let text = match dialect.house {
        House::Kimi if choice == Choice::Any => {
            "tool_choice 'required' is incompatible with thinking enabled"
        }
        House::Kimi => "tool_choice 'specified' is incompatible with thinking enabled",
        House::DeepSeek | House::MiMo => "deepseek-reasoner does not support this tool_choice",
        House::Groq
        | House::Cerebras
        | House::Mistral
        | House::MiniMax
        | House::Vllm
        | House::LlamaCpp
        | House::OpenRouter
        | House::Zai
        | House::Qwen
        | House::Xai
        | House::Google => return Ok(choice),
    };
    Err(refusal(dialect, 400, text))
}

fn thinking(body: &Value, dialect: &ChatDialect) -> Result<bool, Refusal> {
    let kind = body.at("thinking").at("type").as_str();
    let off = kind == Some("disabled");
    match dialect.switch {
        Switch::AlwaysOn { keep } => {
            if off
                || kind.is_some_and(|kind| kind != "enabled")
                || !body.at("thinking").at("keep").is_null() && !keep
            {
                return Err(refusal(dialect, 400, "invalid thinking"));
            }
            let heat = body.at("temperature");
            if keep && heat.as_f64().is_some_and(|heat| (heat - 1.0).abs() > f64::EPSILON) {
                return Err(refusal(
                    dialect,
                    400,
                    "invalid temperature: only 1 is allowed for this model",
                ));
            }
            Ok(true)
        }
        Switch::AlwaysOnQuietly => Ok(true),
        Switch::ThinkingType => Ok(!off && body.at("reasoning_effort") != "none"),
        Switch::EnableThinking => Ok(*body.at("enable_thinking") != false),
        Switch::Reasoning => {
            let reasoning = body.at("reasoning");
            if !reasoning.at("enabled").is_null() && reasoning.at("enabled").as_bool().is_none() {
                return Err(refusal(dialect, 400, "`reasoning.enabled` must be a boolean"));
            }
            let asks = [reasoning.at("effort"), reasoning.at("max_tokens")];
            let is_asked = *reasoning.at("enabled") == true || asks.iter().any(|it| !it.is_null());
            Ok(is_asked && reasoning.at("effort") != "none" && *reasoning.at("enabled") != false)
        }
        Switch::EffortNone => Ok(body.at("reasoning_effort") != "none"),
        Switch::Template => {
            let kwargs = body.at("chat_template_kwargs");
            Ok(body.at("reasoning_effort") != "none"
                && kwargs.at("enable_thinking") != false
                && kwargs.at("thinking") != false)
        }
    }
}
