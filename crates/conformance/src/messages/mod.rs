//! Anthropic Messages and its imitations.

mod binding;
mod blocks;
mod contract;
mod read;
mod render;
mod thinking;

use serde_json::{Value, json};

use crate::exchange::SimRequest;
use crate::json::Keyed;
use crate::mind::{self, Plan};
use crate::reply::{Answer, Refusal, Visit};
use crate::seal::{ALNUM, Digest, Look, Seal};
use read::Request;

/// The request that a hosting platform sends to the model.
pub(crate) fn request(headers: Vec<(String, String)>, body: &Value) -> SimRequest {
    let (method, path) = ("POST".to_owned(), "/v1/messages".to_owned());
    SimRequest { method, path, headers, body: body.to_string().into_bytes() }
}

/// The form of Messages that one provider speaks.
#[derive(Debug)]
pub(crate) struct MessagesDialect {
    pub(crate) generation: Generation,
}

/// The abilities and rules of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// `thinking.type = "enabled"` with a budget. The running tool loop must begin with its
    /// thought.
    Manual,
    /// Adaptive thinking, on by default. A thought has a signature, and has text only on request.
    Omitted,
    /// Like `Omitted`, but thinking is always on, and a thought is bound to everything before it.
    Bound,
    /// DeepSeek's imitation. Thoughts have no checked signature, and every turn with tools must
    /// keep them.
    DeepSeek,
}

pub(crate) const MANUAL: MessagesDialect = MessagesDialect { generation: Generation::Manual };
pub(crate) const OMITTED: MessagesDialect = MessagesDialect { generation: Generation::Omitted };
pub(crate) const BOUND: MessagesDialect = MessagesDialect { generation: Generation::Bound };
pub(crate) const DEEPSEEK: MessagesDialect = MessagesDialect { generation: Generation::DeepSeek };

/// A request with this text makes Anthropic's models answer with redacted thinking.
const REDACT: &str = "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECCCE4C1253D5E2D82641AC0E52CC2876CB";

pub(crate) fn answer(visit: &mut Visit<'_>, dialect: &MessagesDialect) -> Result<Answer, Refusal> {
    let route = visit.route.strip_prefix("/anthropic").unwrap_or(visit.route);
    let route = route.strip_prefix("/v1").unwrap_or(route);
    if dialect.generation != Generation::DeepSeek
        && visit.request.header("anthropic-version").is_none()
    {
        return Err(refusal(dialect, 400, "anthropic-version: header is required"));
    }
    match (visit.request.method.as_str(), route) {
        ("POST", "/messages") => complete(visit, dialect),
        ("POST", "/messages/count_tokens") => count(visit, dialect),
        ("GET", "/models") => Ok(models(visit, dialect)),
        ("GET", route) if route.strip_prefix("/models/") == Some(visit.model) => {
            Ok(Answer::whole(&model(visit.model, dialect)))
        }
        _ => Err(refusal(dialect, 404, "Not Found")),
    }
}

/// A refusal with the provider's error body.
pub(crate) fn refusal(dialect: &MessagesDialect, status: u16, text: &str) -> Refusal {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    let body = match dialect.generation {
        Generation::DeepSeek => {
            json!({"error": {"message": text, "type": kind, "param": null, "code": kind}})
        }
        Generation::Manual | Generation::Omitted | Generation::Bound => {
            let id = format!("req_{}", Digest::new("refusal").text(text).word(ALNUM, 24));
            json!({"type": "error", "error": {"type": kind, "message": text}, "request_id": id})
        }
    };
    Refusal { status, text: text.to_owned(), body }
}

/// The refusal of a request without a credential.
pub(crate) fn unauthorised(dialect: &MessagesDialect) -> Refusal {
    let text = match dialect.generation {
        Generation::DeepSeek => "Authentication Fails (auth header format should be Bearer sk-...)",
        Generation::Manual | Generation::Omitted | Generation::Bound => {
            "x-api-key header is required"
        }
    };
    refusal(dialect, 401, text)
}

fn models(visit: &Visit<'_>, dialect: &MessagesDialect) -> Answer {
    let id = visit.model;
    Answer::whole(
        &json!({"data": [model(id, dialect)], "has_more": false, "first_id": id, "last_id": id}),
    )
}

fn model(id: &str, dialect: &MessagesDialect) -> Value {
    let (adaptive, disabled, enabled) = match dialect.generation {
        Generation::Manual => (false, true, true),
        Generation::Omitted => (true, true, false),
        Generation::Bound => (true, false, false),
        Generation::DeepSeek => (true, true, true),
    };
    let types = json!({
        "adaptive": {"supported": adaptive}, "disabled": {"supported": disabled}, "enabled": {"supported": enabled},
    });
    json!({
        "type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z",
        "capabilities": {"thinking": {"supported": true, "types": types}},
    })
}

fn count(visit: &mut Visit<'_>, dialect: &MessagesDialect) -> Result<Answer, Refusal> {
    let request = read::request(visit, dialect, false)?;
    contract::enforce(visit, dialect, &request)?;
    Ok(Answer::whole(&json!({"input_tokens": input_tokens(&request)})))
}

fn input_tokens(request: &Request) -> u64 {
    ["system", "tools", "messages"]
        .iter()
        .map(|key| mind::tokens(&request.body.at(key).to_string()))
        .sum()
}

fn complete(visit: &mut Visit<'_>, dialect: &MessagesDialect) -> Result<Answer, Refusal> {
    let reply = reply(visit, dialect)?;
    Ok(if visit.log.stream { render::stream(&reply) } else { render::whole(&reply) })
}

/// Judges a request and makes its answer. A renderer follows.
pub(crate) fn reply(visit: &mut Visit<'_>, dialect: &MessagesDialect) -> Result<Reply, Refusal> {
    let request = read::request(visit, dialect, true)?;
    let accepted = contract::enforce(visit, dialect, &request)?;
    let plan = mind::think(&request.scene);
    let stop_reason = if plan.truncated {
        "max_tokens"
    } else if plan.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    Ok(Reply {
        id: format!("msg_{}", visit.seed().text("id").word(ALNUM, 24)),
        blocks: blocks(visit, dialect, &request, &plan, accepted.last_payload),
        transformations: accepted.transformations,
        usage: usage(dialect, &request, &plan),
        stop_reason,
        model: request.model,
    })
}

/// The data of an answer, for all renderers.
pub(crate) struct Reply {
    id: String,
    model: String,
    /// The content blocks of the answer.
    pub(crate) blocks: Vec<Value>,
    pub(crate) stop_reason: &'static str,
    /// The usage object.
    pub(crate) usage: Value,
    /// Reports of dropped thoughts, if the beta header asks for them.
    transformations: Option<Vec<Value>>,
}

fn blocks(
    visit: &Visit<'_>,
    dialect: &MessagesDialect,
    request: &Request,
    plan: &Plan,
    last_payload: u64,
) -> Vec<Value> {
    let mut out = Vec::new();
    if !plan.thought.is_empty() && (!plan.truncated || !plan.text.is_empty()) {
        thoughts(visit, dialect, request, plan, last_payload, &mut out);
    } else if !plan.thought.is_empty() {
        // The token cap ended the thought before its signature.
        out.push(
            json!({"type": "thinking", "thinking": shown(request, &plan.thought), "signature": ""}),
        );
    }
    if !plan.text.is_empty() {
        out.push(json!({"type": "text", "text": plan.text}));
    }
    for (place, call) in plan.calls.iter().enumerate() {
        let id = visit.seed().text("call").number(place as u64).word(ALNUM, 24);
        let id = match dialect.generation {
            Generation::DeepSeek => format!("call_{place:02}_{id}"),
            Generation::Manual | Generation::Omitted | Generation::Bound => format!("toolu_{id}"),
        };
        out.push(json!({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments}));
    }
    out
}

fn shown<'a>(request: &Request, thought: &'a str) -> &'a str {
    if request.thinking.shows_text() { thought } else { "" }
}

fn thoughts(
    visit: &Visit<'_>,
    dialect: &MessagesDialect,
    request: &Request,
    plan: &Plan,
    last_payload: u64,
    out: &mut Vec<Value>,
) {
    if dialect.generation == Generation::DeepSeek {
        let signature = visit.seed().text("signature").word(crate::seal::HEX, 32);
        out.push(json!({"type": "thinking", "thinking": plan.thought, "signature": signature}));
        return;
    }
    let bound = dialect.generation == Generation::Bound;
    let base = Seal {
        model: Visit::model_digest(&request.model),
        account: if bound { visit.account() } else { 0 },
        previous: last_payload,
        ..if bound { binding::Prefix::of(&request.body).whole() } else { Seal::default() }
    };
    let redacted = request.body.at("messages").to_string().contains(REDACT);
    if redacted {
        let mut previous = last_payload;
        let half = plan.thought.chars().count() / 2;
        let first: String = plan.thought.chars().take(half).collect();
        let rest: String = plan.thought.chars().skip(half).collect();
        for (index, body) in [first, rest].into_iter().enumerate() {
            let seal = Seal { place: place(index, 2), body, previous, ..base.clone() };
            let data = seal.encode(visit.id, Look::Anthropic);
            previous = payload_digest(&data);
            out.push(json!({"type": "redacted_thinking", "data": data}));
        }
        return;
    }
    let text = shown(request, &plan.thought);
    let seal =
        Seal { text: text_digest(text), place: place(0, 1), body: plan.thought.clone(), ..base };
    let signature = seal.encode(visit.id, Look::Anthropic);
    out.push(json!({"type": "thinking", "thinking": text, "signature": signature}));
}

/// The place of a payload: the index of its thought, and the count of thoughts in the message.
fn place(index: usize, count: usize) -> u64 {
    ((index as u64) << 8) | count as u64
}

fn text_digest(text: &str) -> u64 {
    Digest::new("thinking").text(text).finish()
}

fn payload_digest(payload: &str) -> u64 {
    Digest::new("payload").text(payload).finish()
}

fn usage(dialect: &MessagesDialect, request: &Request, plan: &Plan) -> Value {
    let mut usage = json!({
        "input_tokens": input_tokens(request),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": plan.thought_tokens() + plan.visible_tokens(),
    });
    if dialect.generation != Generation::DeepSeek {
        usage.set("output_tokens_details", json!({"thinking_tokens": plan.thought_tokens()}));
    }
    usage
}
