//! Gemini's Interactions: steps instead of messages, stored on the server or sent back whole.

mod read;
mod render;

use serde_json::{Value, json};

use crate::gemini;
use crate::json::Keyed;
use crate::mind::{self, Plan};
use crate::reply::{Answer, Refusal, Visit};
use crate::responses::Store;
use crate::seal::{ALNUM, HEX, Look, Seal};

pub(crate) fn answer(visit: &mut Visit<'_>, store: &Store) -> Result<Answer, Refusal> {
    let route = visit.route.strip_prefix("/v1beta").unwrap_or(visit.route);
    match (visit.request.method.as_str(), route, route.strip_prefix("/interactions/")) {
        ("POST", "/interactions", _) => create(visit, store),
        ("GET", _, Some(id)) => {
            store.get(id).map(|body| Answer::whole(&body)).ok_or_else(not_found)
        }
        ("DELETE", _, Some(id)) => {
            store.remove(id).map(|_| Answer::whole(&json!({}))).ok_or_else(not_found)
        }
        ("GET", "/models" | "/v1/models", _) => {
            let entry = json!({"name": format!("models/{}", visit.model), "thinking": true});
            Ok(Answer::whole(&json!({"models": [entry]})))
        }
        _ => Err(not_found()),
    }
}

fn not_found() -> Refusal {
    refusal(404, "Requested entity was not found.")
}

/// A refusal with Google's error body.
pub(crate) fn refusal(status: u16, text: &str) -> Refusal {
    gemini::refusal(&gemini::STUDIO, status, text)
}

/// The refusal of a request without a credential.
pub(crate) fn unauthorised() -> Refusal {
    gemini::unauthorised(&gemini::STUDIO)
}

fn create(visit: &mut Visit<'_>, store: &Store) -> Result<Answer, Refusal> {
    let request = read::request(visit, store)?;
    let plan = mind::think(&request.scene(visit.id));
    let config = request.body.at("generation_config");
    let shows = config.at("thinking_summaries") == "auto";
    let steps = steps(visit, &request.model, &plan, shows);
    let id = format!("v1_{}", visit.seed().text("id").word(ALNUM, 40));
    let body = body(&request, &plan, &id, &steps);
    if *request.body.at("store") != false {
        store.put(&id, &body, request.steps.iter().chain(&steps).cloned().collect());
    }
    Ok(if visit.log.stream { render::stream(&body) } else { Answer::whole(&body) })
}

fn steps(visit: &Visit<'_>, model: &str, plan: &Plan, shows: bool) -> Vec<Value> {
    let seal =
        Seal { model: Visit::model_digest(model), body: plan.thought.clone(), ..Seal::default() };
    let mut thought = json!({"type": "thought", "signature": seal.encode(visit.id, Look::Gemini)});
    if shows {
        thought.set("summary", json!([{"type": "text", "text": plan.thought}]));
    }
    let mut out = vec![thought];
    if !plan.text.is_empty() {
        out.push(json!({"type": "model_output", "content": [{"type": "text", "text": plan.text}]}));
    }
    for (place, call) in plan.calls.iter().enumerate() {
        let id = visit.seed().text("call").number(place as u64).word(HEX, 8);
        out.push(json!({"type": "function_call", "id": id, "name": call.name, "arguments": call.arguments}));
    }
    out
}

fn body(request: &read::Request, plan: &Plan, id: &str, steps: &[Value]) -> Value {
    const TIME: &str = "2026-01-01T00:00:00Z";
    let input = mind::tokens(&json!(request.steps).to_string())
        + mind::tokens(&request.body.at("tools").to_string());
    let (thought, visible) = (plan.thought_tokens(), plan.visible_tokens());
    let status = if plan.truncated {
        "incomplete"
    } else if plan.calls.is_empty() {
        "completed"
    } else {
        "requires_action"
    };
    json!({
        "id": id,
        "object": "interaction",
        "model": request.model,
        "status": status,
        "steps": steps,
        "created": TIME,
        "updated": TIME,
        "service_tier": "standard",
        "usage": {
            "input_tokens_by_modality": [{"modality": "text", "tokens": input}],
            "total_input_tokens": input,
            "total_output_tokens": visible,
            "total_thought_tokens": thought,
            "total_cached_tokens": 0,
            "total_tool_use_tokens": 0,
            "total_tokens": input + visible + thought,
        },
    })
}
