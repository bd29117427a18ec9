//! Fields that the provider's validator refuses, whether thinking is on or off.

use serde_json::{Value, json};

use super::read::{Request, Role};
use super::refuse::extra_forbidden;
use super::{ChatDialect, Contract, House, refusal};
use crate::json::Keyed;
use crate::reply::Refusal;

pub(super) fn refused_names(dialect: &ChatDialect, request: &Request) -> Result<(), Refusal> {
    match dialect.contract {
        Contract::Forbidden => forbidden(dialect, request),
        Contract::WrongNameRefused => wrong_names(dialect, request),
        Contract::ExtraForbidden => extra(request),
        Contract::ToolCalls { .. }
        | Contract::Preserved
        | Contract::ToolTurns { .. }
        | Contract::Everywhere
        | Contract::SignedDetails
        | Contract::CallSignature
        | Contract::Apart
        | Contract::Optional => Ok(()),
    }
}

fn forbidden(dialect: &ChatDialect, request: &Request) -> Result<(), Refusal> {
    let mut messages = request.messages.iter();
    match messages.position(|message| !message.raw.at("reasoning_content").is_null()) {
        Some(place) => {
            let text = format!(
                "`reasoning_content` is not allowed in the input messages (messages[{place}])"
            );
            Err(refusal(dialect, 400, &text))
        }
        None => Ok(()),
    }
}

/// Top-level fields that Groq and Cerebras accept.
const TOP: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "response_format",
    "presence_penalty",
    "frequency_penalty",
    "n",
    "user",
    "reasoning_effort",
    "reasoning_format",
    "include_reasoning",
    "service_tier",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "metadata",
    "store",
    "clear_thinking",
    "disable_reasoning",
    "prompt_cache_key",
    "documents",
    "citation_options",
    "search_settings",
    "compound_custom",
    "prediction",
];

fn wrong_names(dialect: &ChatDialect, request: &Request) -> Result<(), Refusal> {
    let mut problems = Vec::new();
    for key in request.body.as_object().into_iter().flatten().map(|(key, _)| key) {
        if !TOP.contains(&key.as_str()) {
            problems.push(format!("property '{key}' is unsupported"));
        }
    }
    let known = [
        "role",
        "content",
        "name",
        "tool_calls",
        "tool_call_id",
        "reasoning",
        "function_call",
        "refusal",
    ];
    for (place, message) in request.messages.iter().enumerate() {
        let role = message.raw.at("role").as_str().unwrap_or_default();
        let keys = message.raw.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        let allowed = |key: &str| {
            known.contains(&key) && (key != "reasoning" || message.role == Role::Assistant)
        };
        problems.extend(
            keys.filter(|key| !allowed(key)).map(|key| unsupported(dialect, place, role, key)),
        );
    }
    if !request.body.at("include_reasoning").is_null()
        && !request.body.at("reasoning_format").is_null()
    {
        problems.push("cannot specify both `include_reasoning` and `reasoning_format`".to_owned());
    }
    if problems.is_empty() {
        return Ok(());
    }
    // Cerebras reports all errors, Groq only the first.
    let count = if dialect.house == House::Cerebras { problems.len() } else { 1 };
    problems.truncate(count);
    Err(refusal(dialect, 400, &problems.join("\n")))
}

fn unsupported(dialect: &ChatDialect, place: usize, role: &str, name: &str) -> String {
    if dialect.house == House::Cerebras {
        let at = format!("messages.{place}.{role}.{name}");
        return format!("{at}: property '{at}' is unsupported");
    }
    format!(
        "'messages.{place}' : for 'role:{role}' the following must be satisfied[('messages.{place}' : property \
         '{name}' is unsupported)]"
    )
}

/// Top-level fields that Mistral accepts.
const MISTRAL_TOP: &[&str] = &[
    "model",
    "messages",
    "stream",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "temperature",
    "top_p",
    "stop",
    "random_seed",
    "response_format",
    "presence_penalty",
    "frequency_penalty",
    "n",
    "prediction",
    "prompt_mode",
    "reasoning_effort",
    "safe_prompt",
    "metadata",
    "guardrails",
    "prompt_cache_key",
];

fn extra(request: &Request) -> Result<(), Refusal> {
    let mut problems = Vec::new();
    for (key, input) in request.body.as_object().into_iter().flatten() {
        if !MISTRAL_TOP.contains(&key.as_str()) {
            problems.push((json!(["body", key]), input));
        }
    }
    for (place, message) in request.messages.iter().enumerate() {
        let role = message.raw.at("role").as_str().unwrap_or_default();
        let known: &[&str] = match role {
            "assistant" => &["role", "content", "tool_calls", "prefix"],
            "tool" => &["role", "content", "tool_call_id", "name"],
            _ => &["role", "content"],
        };
        for (key, input) in message.raw.as_object().into_iter().flatten() {
            if !known.contains(&key.as_str()) {
                problems.push((json!(["body", "messages", place, role, key]), input));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(extra_forbidden(&details(&problems))) }
}

fn details(problems: &[(Value, &Value)]) -> Vec<Value> {
    let detail = |(location, input): &(Value, &Value)| {
        json!({
            "type": "extra_forbidden", "loc": location, "msg": "Extra inputs are not permitted", "input": input,
        })
    };
    problems.iter().map(detail).collect()
}
