//! Claude on Vertex AI: the Messages API with the model in the address and a version in the body.

use serde_json::{Value, json};

use crate::json::Keyed;
use crate::messages::{self, MANUAL};
use crate::reply::{Answer, Refusal, Visit};

/// The only version.
const VERSION: &str = "vertex-2023-10-16";

pub(crate) fn answer(visit: &mut Visit<'_>) -> Result<Answer, Refusal> {
    let place = visit.route.split_once("/models/").and_then(|(_, place)| place.rsplit_once(':'));
    match (visit.request.method.as_str(), place) {
        ("POST", Some((model, "rawPredict"))) => predict(visit, model, false),
        ("POST", Some((model, "streamRawPredict"))) => predict(visit, model, true),
        ("GET", None) if visit.route == "/v1/models" => {
            let name = format!("publishers/anthropic/models/{}", visit.model);
            Ok(Answer::whole(&json!({"publisherModels": [{"name": name}]})))
        }
        _ => Err(refusal(404, "Not Found")),
    }
}

/// A refusal with Anthropic's error body.
pub(crate) fn refusal(status: u16, text: &str) -> Refusal {
    messages::refusal(&MANUAL, status, text)
}

/// The refusal of a request without a credential.
pub(crate) fn unauthorised() -> Refusal {
    refusal(401, "Request is missing required authentication credential.")
}

fn predict(visit: &mut Visit<'_>, model: &str, stream: bool) -> Result<Answer, Refusal> {
    let bad = |text: &str| refusal(400, text);
    let request = visit.request;
    if let Some((_, query)) = request.path.split_once('?') {
        return Err(bad(&format!("Invalid JSON payload received. Unknown name \"{query}\"")));
    }
    let body: Value = serde_json::from_slice(&request.body)
        .map_err(|error| bad(&format!("The request body is not valid JSON: {error}")))?;
    let Value::Object(mut members) = body else {
        return Err(bad("Input should be an object"));
    };
    if members.contains_key("model") {
        return Err(bad("model: Extra inputs are not permitted"));
    }
    match members.remove("anthropic_version") {
        None => return Err(bad("anthropic_version: Field required")),
        Some(version) if version != VERSION => {
            return Err(bad(&format!("anthropic_version: Input should be '{VERSION}'")));
        }
        Some(_) => {}
    }
    let mut body = Value::Object(members);
    if body.at("stream").as_bool().unwrap_or_default() != stream {
        return Err(bad("stream: The method and the body do not agree"));
    }
    body.set("model", Value::from(model));
    let mut headers = request.headers.clone();
    headers.push(("anthropic-version".to_owned(), VERSION.to_owned()));
    let inner = messages::request(headers, &body);
    messages::answer(&mut visit.inside(&inner), &MANUAL)
}
