//! Reads and validates a request.

use serde_json::{Value, json};

use super::refusal;
use crate::calls::OpenCalls;
use crate::json::Keyed;
use crate::log::ThoughtState;
use crate::mind::{Call, Choice, Said, Scene, Tool, Verdict, Visible, judge};
use crate::reply::{Refusal, Visit};
use crate::shape::{self, Kind};

const SHAPE: &[(&str, Kind)] = &[
    ("model", Kind::Text),
    ("stream", Kind::Flag),
    ("messages", Kind::List),
    ("messages.*", Kind::Map),
    ("messages.*.role", Kind::Text),
    ("messages.*.content", Kind::TextOrList),
    ("messages.*.content.*", Kind::Map),
    ("messages.*.content.*.type", Kind::Text),
    ("messages.*.content.*.text", Kind::Text),
    ("messages.*.content.*.thinking", Kind::Text),
    ("messages.*.content.*.document", Kind::Map),
    ("messages.*.content.*.document.data", Kind::TextOrMap),
    ("messages.*.tool_plan", Kind::Text),
    ("messages.*.tool_calls", Kind::List),
    ("messages.*.tool_calls.*.type", Kind::Text),
    ("tools", Kind::List),
    ("tools.*", Kind::Map),
    ("tools.*.type", Kind::Text),
    ("tools.*.function", Kind::Map),
    ("tools.*.function.name", Kind::Text),
    ("tools.*.function.description", Kind::Text),
    ("tools.*.function.parameters", Kind::Map),
    ("thinking", Kind::Map),
    ("max_tokens", Kind::Number),
    ("temperature", Kind::Number),
];

/// Validates the body and reads the scene for the mind.
pub(super) fn scene(visit: &mut Visit<'_>, body: &Value) -> Result<Scene, Refusal> {
    if let Some(wrong) = shape::wrong(body, SHAPE) {
        let (at, kind) = (wrong.bracketed(), wrong.kind.name());
        return Err(refusal(400, &format!("invalid request: {at}: expected {kind}")));
    }
    let thinking = thinking(body)?;
    let messages = body.at("messages").as_array().filter(|list| !list.is_empty());
    let messages =
        messages.ok_or_else(|| refusal(400, "invalid request: messages must not be empty"))?;
    let start = messages.iter().rposition(|message| message.at("role") == "user").unwrap_or(0);
    let mut said = Vec::new();
    let mut open = OpenCalls::default();
    for (place, message) in messages.iter().enumerate() {
        let role = message.at("role").as_str();
        if role != Some("tool") && !open.is_empty() {
            return Err(unanswered(place));
        }
        match role {
            Some("user") => said.push(Said::User(text(message, place)?)),
            Some("assistant") => {
                let plain = calls(message, place)?;
                let thought = thought(visit, message, place, &plain)?;
                if !thought && thinking && place > start {
                    visit
                        .log
                        .loss(format!("thought missing at message {place}, allowed but worse"));
                }
                open = called(message).collect();
                said.push(Said::Ai(plain));
            }
            Some("tool") => {
                let id = message.at("tool_call_id").as_str().unwrap_or_default();
                let Some(name) = open.answer(id).map(str::to_owned) else {
                    let text = format!(
                        "invalid request: tool call id '{id}' not found in previous tool calls at messages[{place}]"
                    );
                    return Err(refusal(400, &text));
                };
                said.push(Said::Result { name, text: text(message, place)?, failed: false });
            }
            Some("system" | "developer") => {}
            Some(_) | None => {
                let text = format!(
                    "invalid request: messages[{place}]: role must be one of user, assistant, system, tool"
                );
                return Err(refusal(400, &text));
            }
        }
    }
    if !open.is_empty() {
        return Err(unanswered(messages.len()));
    }
    Ok(Scene {
        simulator: visit.id,
        said,
        tools: tools(body),
        choice: match body.at("tool_choice").as_str() {
            Some("NONE") => Choice::None,
            Some("REQUIRED") => Choice::Any,
            Some(_) | None => Choice::Auto,
        },
        parallel: true,
        thinking,
        max_tokens: body.at("max_tokens").as_u64(),
    })
}

fn unanswered(place: usize) -> Refusal {
    let text = format!(
        "invalid request: all tool calls must be followed by tool results before messages[{place}]"
    );
    refusal(400, &text)
}

fn thinking(body: &Value) -> Result<bool, Refusal> {
    let config = body.at("thinking");
    if config
        .get("token_budget")
        .is_some_and(|budget| budget.as_u64().is_none_or(|budget| budget == 0))
    {
        return Err(refusal(
            400,
            "invalid request: thinking.token_budget must be a positive integer",
        ));
    }
    match config.at("type").as_str() {
        None if config.is_null() => Ok(true),
        Some("enabled") => Ok(true),
        Some("disabled") => Ok(false),
        Some(_) | None => {
            Err(refusal(400, "invalid request: thinking.type must be one of enabled, disabled"))
        }
    }
}

fn text(message: &Value, place: usize) -> Result<String, Refusal> {
    let mut out = String::new();
    match message.at("content") {
        Value::Null => {}
        Value::String(text) => out.push_str(text),
        Value::Array(parts) => {
            for part in parts {
                match part.at("type").as_str() {
                    Some("text") => out.push_str(part.at("text").as_str().unwrap_or_default()),
                    Some("document") => {
                        let data = part.at("document").at("data");
                        out.push_str(
                            &data.as_str().map_or_else(|| data.to_string(), str::to_owned),
                        );
                    }
                    Some("thinking" | "image_url") => {}
                    Some(kind) => {
                        let text = format!(
                            "invalid request: messages[{place}]: unknown content type '{kind}'"
                        );
                        return Err(refusal(400, &text));
                    }
                    None => {
                        let text =
                            format!("invalid request: messages[{place}]: content type is required");
                        return Err(refusal(400, &text));
                    }
                }
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(refusal(
                400,
                &format!("invalid request: messages[{place}]: content has the wrong type"),
            ));
        }
    }
    Ok(out)
}

/// Ids and names of the calls in a message.
fn called(message: &Value) -> impl Iterator<Item = (&str, &str)> {
    let calls = message.at("tool_calls").as_array().into_iter().flatten();
    calls.map(|call| {
        let (id, name) = (call.at("id"), call.at("function").at("name"));
        (id.as_str().unwrap_or_default(), name.as_str().unwrap_or_default())
    })
}

fn calls(message: &Value, place: usize) -> Result<Vec<Call>, Refusal> {
    let mut out = Vec::new();
    for call in message.at("tool_calls").as_array().into_iter().flatten() {
        let function = call.at("function");
        let parts = (
            call.at("id").as_str(),
            function.at("name").as_str(),
            function.at("arguments").as_str(),
        );
        let (Some(_), Some(name), Some(arguments)) = parts else {
            let text = format!(
                "invalid request: messages[{place}]: tool_calls need id, function.name and function.arguments"
            );
            return Err(refusal(400, &text));
        };
        let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
        out.push(Call { name: name.to_owned(), arguments });
    }
    Ok(out)
}

/// Logs the thoughts of a message and returns whether it has any.
fn thought(
    visit: &mut Visit<'_>,
    message: &Value,
    place: usize,
    calls: &[Call],
) -> Result<bool, Refusal> {
    let visible = Visible::of(&text(message, place)?, calls);
    let mut any = false;
    let parts = message.at("content").as_array().into_iter().flatten();
    for part in parts.filter(|part| part.at("type") == "thinking") {
        any = true;
        let state = match judge(part.at("thinking").as_str().unwrap_or_default(), visible) {
            Verdict::Own => ThoughtState::Own,
            Verdict::Altered => ThoughtState::Altered,
            Verdict::Foreign => ThoughtState::Foreign,
        };
        visit.log.saw(place, "thinking", (true, false), state);
    }
    Ok(any)
}

fn tools(body: &Value) -> Vec<Tool> {
    let list = body.at("tools").as_array().into_iter().flatten();
    list.map(|tool| {
        let function = tool.at("function");
        Tool {
            name: function.at("name").as_str().unwrap_or_default().to_owned(),
            description: function.at("description").as_str().unwrap_or_default().to_owned(),
            schema: function.at("parameters").clone(),
        }
    })
    .collect()
}
