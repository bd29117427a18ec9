//! OpenAI Responses and its imitations.

mod contract;
mod ids;
mod read;
mod render;
mod store;
mod stream;

use serde_json::{Value, json};

use crate::json::Keyed;
use crate::mind::{self, Plan};
use crate::reply::{Answer, Refusal, Visit};
use crate::seal::{ALNUM, Digest, Look, Seal};
use ids::Pair;
use read::Request;
pub(crate) use store::Store;

/// The form of Responses that one provider speaks.
#[derive(Debug)]
pub(crate) struct ResponsesDialect {
    pub(crate) flavour: Flavour,
}

/// The provider of the API, and its storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// OpenAI for an organisation that stores nothing. Thoughts come back as encrypted content.
    Stateless,
    /// OpenAI with stored responses.
    Stateful,
    /// xAI: OpenAI's shapes with stored responses, but own error bodies. Every reasoning item of an
    /// answer has a summary.
    Xai,
    /// DeepSeek: plain reasoning text, no storage. Turns with tools must keep their thoughts.
    DeepSeek,
}

impl Flavour {
    fn stores(self) -> bool {
        matches!(self, Self::Stateful | Self::Xai)
    }
}

pub(crate) const STATELESS: ResponsesDialect = ResponsesDialect { flavour: Flavour::Stateless };
pub(crate) const STATEFUL: ResponsesDialect = ResponsesDialect { flavour: Flavour::Stateful };
pub(crate) const XAI: ResponsesDialect = ResponsesDialect { flavour: Flavour::Xai };
pub(crate) const DEEPSEEK: ResponsesDialect = ResponsesDialect { flavour: Flavour::DeepSeek };

pub(crate) fn answer(
    visit: &mut Visit<'_>,
    dialect: &ResponsesDialect,
    store: &Store,
) -> Result<Answer, Refusal> {
    let route = visit.route.strip_prefix("/v1").unwrap_or(visit.route);
    let method = visit.request.method.as_str();
    match (method, route, route.strip_prefix("/responses/")) {
        ("POST", "/responses", _) => create(visit, dialect, store),
        ("POST", "/responses/compact", _) => compact(visit, dialect, store),
        ("GET", _, Some(id)) => stored(dialect, store.get(id), id),
        ("DELETE", _, Some(id)) => {
            stored(dialect, store.remove(id), id)?;
            Ok(Answer::whole(&json!({"id": id, "object": "response", "deleted": true})))
        }
        ("GET", "/models", _) => {
            let model = json!({"id": visit.model, "object": "model", "created": CREATED, "owned_by": "simulated"});
            Ok(Answer::whole(&json!({"object": "list", "data": [model]})))
        }
        _ => Err(refusal(dialect, 404, &format!("Invalid URL ({method} {route})"))),
    }
}

fn stored(dialect: &ResponsesDialect, found: Option<Value>, id: &str) -> Result<Answer, Refusal> {
    let missing = || refusal(dialect, 404, &format!("Response with id '{id}' not found."));
    found.map(|body| Answer::whole(&body)).ok_or_else(missing)
}

/// The creation time of all answers, in Unix seconds. Simulators have no clock.
const CREATED: u64 = 1_760_000_000;

/// A refusal with the provider's error body.
pub(crate) fn refusal(dialect: &ResponsesDialect, status: u16, text: &str) -> Refusal {
    refusal_with(dialect, status, text, (None, None))
}

/// A refusal that also names a parameter and a code.
pub(crate) fn refusal_with(
    dialect: &ResponsesDialect,
    status: u16,
    text: &str,
    (param, code): (Option<&str>, Option<&str>),
) -> Refusal {
    let kind = match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let body = match dialect.flavour {
        Flavour::Stateless | Flavour::Stateful => {
            json!({"error": {"message": text, "type": kind, "param": param, "code": code}})
        }
        Flavour::DeepSeek => {
            json!({"error": {"message": text, "type": kind, "param": param, "code": kind}})
        }
        Flavour::Xai => {
            let code = match status {
                404 => "not-found",
                429 => "resource-exhausted",
                500.. => "internal-error",
                _ => "invalid-argument",
            };
            json!({"code": code, "error": text})
        }
    };
    Refusal { status, text: text.to_owned(), body }
}

/// The refusal of a request without a credential.
pub(crate) fn unauthorised(dialect: &ResponsesDialect) -> Refusal {
    match dialect.flavour {
        Flavour::Stateless | Flavour::Stateful => {
            let text = "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
            let body = json!({"error": {"message": text, "type": "invalid_request_error", "param": null, "code": null}});
            Refusal { status: 401, text: text.to_owned(), body }
        }
        Flavour::Xai => {
            let text =
                "Incorrect API key provided. You can obtain an API key from https://console.x.ai.";
            Refusal {
                status: 401,
                text: text.to_owned(),
                body: json!({"code": "invalid-argument", "error": text}),
            }
        }
        Flavour::DeepSeek => refusal(
            dialect,
            401,
            "Authentication Fails (auth header format should be Bearer sk-...)",
        ),
    }
}

fn create(
    visit: &mut Visit<'_>,
    dialect: &ResponsesDialect,
    store: &Store,
) -> Result<Answer, Refusal> {
    let request = read::request(visit, dialect, store)?;
    contract::enforce(visit, dialect, &request, store)?;
    let scene = request.scene(visit.id);
    let plan = mind::think(&scene);
    let seed = visit.seed();
    let id = match dialect.flavour {
        Flavour::DeepSeek => ids::uuid(seed.text("id")),
        Flavour::Stateless | Flavour::Stateful | Flavour::Xai => {
            format!("resp_{}", seed.text("id").word(crate::seal::HEX, 48))
        }
    };
    let output = output(visit, dialect, &request, &plan);
    let reply =
        Reply { body: body(&request, &plan, &id, &output, dialect), stream: request.stream };
    if request.store && dialect.flavour.stores() {
        store.put(&id, &reply.body, request.items.iter().chain(&output).cloned().collect());
    }
    Ok(if reply.stream { stream::render(&reply.body) } else { Answer::whole(&reply.body) })
}

struct Reply {
    body: Value,
    stream: bool,
}

fn output(
    visit: &Visit<'_>,
    dialect: &ResponsesDialect,
    request: &Request,
    plan: &Plan,
) -> Vec<Value> {
    let seed = visit.seed();
    let thinks = !plan.thought.is_empty();
    let pair = Pair::new(visit.id, seed, thinks);
    let id = |kind: &str, place: usize| match dialect.flavour {
        Flavour::DeepSeek => ids::uuid(seed.text(kind).number(place as u64)),
        Flavour::Stateless | Flavour::Stateful | Flavour::Xai => pair.id(kind, place),
    };
    let mut out = Vec::new();
    if thinks {
        let sealed = request.encrypted.then(|| {
            let seal = Seal {
                account: visit.account(),
                place: pair.digest(),
                body: plan.thought.clone(),
                ..Seal::default()
            };
            seal.encode(visit.id, Look::Fernet)
        });
        out.push(render::reasoning(dialect, request, plan, &id("rs", 0), sealed));
    }
    if !plan.text.is_empty() {
        out.push(render::message(&id("msg", 0), &plan.text));
    }
    for (place, call) in plan.calls.iter().enumerate() {
        let call_id = format!("call_{}", seed.text("call").number(place as u64).word(ALNUM, 24));
        out.push(render::call(&id("fc", place), &call_id, call));
    }
    if let Some(last) = out.last_mut().filter(|_| plan.truncated) {
        last.set("status", json!("incomplete"));
    }
    out
}

fn body(
    request: &Request,
    plan: &Plan,
    id: &str,
    output: &[Value],
    dialect: &ResponsesDialect,
) -> Value {
    let input = mind::tokens(&json!(request.items).to_string())
        + mind::tokens(&request.body.at("instructions").to_string())
        + mind::tokens(&request.body.at("tools").to_string());
    let (thought, visible) = (plan.thought_tokens(), plan.visible_tokens());
    let given = |key: &str, default: Value| {
        Some(request.body.at(key)).filter(|value| !value.is_null()).cloned().unwrap_or(default)
    };
    json!({
        "id": id,
        "object": "response",
        "created_at": CREATED,
        "status": if plan.truncated { "incomplete" } else { "completed" },
        "background": false,
        "error": null,
        "incomplete_details": if plan.truncated { json!({"reason": "max_output_tokens"}) } else { Value::Null },
        "instructions": request.body.at("instructions"),
        "max_output_tokens": request.body.at("max_output_tokens"),
        "metadata": given("metadata", json!({})),
        "model": request.model,
        "output": output,
        "parallel_tool_calls": given("parallel_tool_calls", json!(true)),
        "previous_response_id": request.body.at("previous_response_id"),
        "reasoning": {
            "effort": given("reasoning", json!({})).at("effort").as_str().unwrap_or("medium"),
            "summary": request.body.at("reasoning").at("summary"),
        },
        "store": request.store && dialect.flavour.stores(),
        "temperature": given("temperature", json!(1.0)),
        "text": given("text", json!({"format": {"type": "text"}})),
        "tool_choice": given("tool_choice", json!("auto")),
        "tools": given("tools", json!([])),
        "top_p": given("top_p", json!(1.0)),
        "truncation": "disabled",
        "usage": {
            "input_tokens": input,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": thought + visible,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": input + thought + visible,
        },
    })
}

/// Compaction: replaces the input by one opaque item with its words.
fn compact(
    visit: &mut Visit<'_>,
    dialect: &ResponsesDialect,
    store: &Store,
) -> Result<Answer, Refusal> {
    if dialect.flavour == Flavour::DeepSeek {
        return Err(refusal(dialect, 404, "Invalid URL (POST /responses/compact)"));
    }
    let request = read::request(visit, dialect, store)?;
    contract::enforce(visit, dialect, &request, store)?;
    let words = read::said(&request.items).join("\n");
    let seal =
        Seal { account: visit.account(), body: words, text: compaction_mark(), ..Seal::default() };
    let id = format!("cmp_{}", visit.seed().text("compact").word(crate::seal::HEX, 48));
    let item = json!({"type": "compaction", "id": id, "encrypted_content": seal.encode(visit.id, Look::Fernet)});
    Ok(Answer::whole(
        &json!({"id": id, "object": "response.compaction", "created_at": CREATED, "output": [item]}),
    ))
}

fn compaction_mark() -> u64 {
    Digest::new("compaction").finish()
}
