//! Claude behind Bedrock's Converse: the rules of the Messages API in AWS shapes. Streams are
//! binary events.

mod frame;
mod translate;

use serde_json::{Value, json};

use crate::json::Keyed;
use crate::messages::{self, MANUAL, Reply};
use crate::pieces::pieces;
use crate::reply::{Answer, Refusal, Visit};

pub(crate) fn answer(visit: &mut Visit<'_>) -> Result<Answer, Refusal> {
    let route = visit.route.strip_prefix("/model/").and_then(|rest| rest.rsplit_once('/'));
    match (visit.request.method.as_str(), route) {
        ("POST", Some((model, "converse"))) => converse(visit, model, false),
        ("POST", Some((model, "converse-stream"))) => converse(visit, model, true),
        ("GET", None) if visit.route == "/foundation-models" || visit.route == "/v1/models" => {
            let entry = json!({"modelId": visit.model, "responseStreamingSupported": true});
            Ok(Answer::whole(&json!({"modelSummaries": [entry]})))
        }
        _ => Err(refusal(404, "The requested operation is not recognized by the service.")),
    }
}

/// A refusal with the error body of AWS.
pub(crate) fn refusal(status: u16, text: &str) -> Refusal {
    let kind = match status {
        401 | 403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        429 => "ThrottlingException",
        503 => "ServiceUnavailableException",
        500.. => "InternalServerException",
        _ => "ValidationException",
    };
    Refusal { status, text: text.to_owned(), body: json!({"__type": kind, "message": text}) }
}

/// The refusal of a request without a credential.
pub(crate) fn unauthorised() -> Refusal {
    refusal(401, "Missing Authentication Token")
}

fn converse(visit: &mut Visit<'_>, model: &str, stream: bool) -> Result<Answer, Refusal> {
    let body: Value = serde_json::from_slice(&visit.request.body)
        .map_err(|error| refusal(400, &format!("The request body is not valid JSON: {error}")))?;
    let model = model.replace("%3A", ":").replace("%3a", ":");
    let (inner, beta) =
        translate::request(&model, &body, stream).map_err(|text| refusal(400, &text))?;
    let mut headers = visit.request.headers.clone();
    headers.push(("anthropic-version".to_owned(), "bedrock-2023-05-31".to_owned()));
    headers.push(("anthropic-beta".to_owned(), beta));
    let inner = messages::request(headers, &inner);
    let reply = messages::reply(&mut visit.inside(&inner), &MANUAL).map_err(|error| {
        refusal(error.status, &format!("The model returned the following errors: {}", error.text))
    })?;
    Ok(if stream { events(&reply) } else { Answer::whole(&whole(&reply)) })
}

fn usage(reply: &Reply) -> Value {
    let number = |key: &str| reply.usage.at(key).as_u64().unwrap_or(0);
    let (input, output) = (number("input_tokens"), number("output_tokens"));
    json!({"inputTokens": input, "outputTokens": output, "totalTokens": input + output})
}

fn whole(reply: &Reply) -> Value {
    let content: Vec<Value> = reply.blocks.iter().map(translate::block).collect();
    json!({
        "metrics": {"latencyMs": 1},
        "output": {"message": {"content": content, "role": "assistant"}},
        "stopReason": reply.stop_reason,
        "usage": usage(reply),
    })
}

fn events(reply: &Reply) -> Answer {
    let mut frames = vec![frame::event("messageStart", &json!({"role": "assistant"}))];
    for (index, block) in reply.blocks.iter().enumerate() {
        frames.extend(block_events(index, block));
    }
    frames.push(frame::event("messageStop", &json!({"stopReason": reply.stop_reason})));
    frames.push(frame::event(
        "metadata",
        &json!({"metrics": {"latencyMs": 1}, "usage": usage(reply)}),
    ));
    let error = json!({"message": "The model stream was interrupted.", "originalStatusCode": 500});
    Answer {
        content_type: "application/vnd.amazon.eventstream",
        frames,
        error_event: frame::exception("modelStreamErrorException", &error),
    }
}

/// The events of one block. Only a tool call has a start event; text and thoughts begin with their
/// first delta.
fn block_events(index: usize, block: &Value) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let delta = |delta: Value| {
        frame::event("contentBlockDelta", &json!({"contentBlockIndex": index, "delta": delta}))
    };
    let text = |key: &str| pieces(block.at(key).as_str().unwrap_or_default());
    match block.at("type").as_str() {
        Some("thinking") => {
            let parts = text("thinking").into_iter();
            frames.extend(parts.map(|part| delta(json!({"reasoningContent": {"text": part}}))));
            frames.push(delta(json!({"reasoningContent": {"signature": block.at("signature")}})));
        }
        Some("redacted_thinking") => {
            frames.push(delta(json!({"reasoningContent": {"redactedContent": block.at("data")}})));
        }
        Some("tool_use") => {
            let start = json!({"toolUse": {"toolUseId": translate::tool_id(block), "name": block.at("name")}});
            frames.push(frame::event(
                "contentBlockStart",
                &json!({"contentBlockIndex": index, "start": start}),
            ));
            let input = block.at("input").to_string();
            frames.extend(
                pieces(&input).into_iter().map(|part| delta(json!({"toolUse": {"input": part}}))),
            );
        }
        Some(_) | None => {
            frames.extend(text("text").into_iter().map(|part| delta(json!({"text": part}))));
        }
    }
    frames.push(frame::event("contentBlockStop", &json!({"contentBlockIndex": index})));
    frames
}
