//! Cohere's chat, version 2: typed content, named events, and thoughts that may come back.

mod read;
mod render;

use serde_json::{Value, json};

use crate::json::Keyed;
use crate::mind;
use crate::reply::{Answer, Refusal, Visit};
use crate::seal::{ALNUM, HEX};

pub(crate) fn answer(visit: &mut Visit<'_>) -> Result<Answer, Refusal> {
    match (visit.request.method.as_str(), visit.route) {
        ("POST", "/v2/chat") => chat(visit),
        ("GET", "/v1/models") => {
            let entry = json!({"name": visit.model, "endpoints": ["chat"], "features": ["reasoning", "tools"]});
            Ok(Answer::whole(&json!({"models": [entry]})))
        }
        (method, route) => Err(refusal(404, &format!("page not found: {method} {route}"))),
    }
}

/// A refusal with Cohere's error body.
pub(crate) fn refusal(status: u16, text: &str) -> Refusal {
    Refusal { status, text: text.to_owned(), body: json!({"id": "simulated", "message": text}) }
}

/// The refusal of a request without a credential.
pub(crate) fn unauthorised() -> Refusal {
    refusal(401, "no api key supplied")
}

fn chat(visit: &mut Visit<'_>) -> Result<Answer, Refusal> {
    let body: Value = serde_json::from_slice(&visit.request.body)
        .map_err(|error| refusal(400, &format!("invalid request: {error}")))?;
    let model = body.at("model").as_str().filter(|model| !model.is_empty());
    visit.log.model =
        Some(model.ok_or_else(|| refusal(400, "invalid request: model is required"))?.to_owned());
    visit.log.stream = *body.at("stream") == true;
    let scene = read::scene(visit, &body)?;
    let plan = mind::think(&scene);
    let seed = visit.seed();
    let input = mind::tokens(&body.at("messages").to_string());
    let output = plan.thought_tokens() + plan.visible_tokens();
    let reply = render::Reply {
        id: seed.text("id").word(HEX, 32),
        ids: (0..plan.calls.len())
            .map(|place| format!("call_{}", seed.text("call").number(place as u64).word(ALNUM, 12)))
            .collect(),
        usage: json!({
            "billed_units": {"input_tokens": input, "output_tokens": output},
            "tokens": {"input_tokens": input, "output_tokens": output},
        }),
        thinking: scene.thinking,
        plan,
    };
    Ok(if visit.log.stream { reply.stream() } else { Answer::whole(&reply.whole()) })
}
