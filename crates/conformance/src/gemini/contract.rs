//! The rule about thought signatures.

use serde_json::Value;

use super::read::{Content, Request, field};
use super::{GeminiDialect, House, call_digest, refusal, text_digest};
use crate::json::Keyed;
use crate::log::ThoughtState;
use crate::mind::{Verdict, Visible, judge};
use crate::reply::{Refusal, Visit};
use crate::seal::{Look, Seal, decode64};

/// The documented values for calls that no Gemini model made.
const DUMMIES: &[&str] =
    &["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// Logs every thought of the request and applies the rule.
pub(super) fn enforce(
    visit: &mut Visit<'_>,
    dialect: &GeminiDialect,
    request: &Request,
) -> Result<(), Refusal> {
    for (place, content) in request.contents.iter().enumerate().filter(|(_, content)| content.model)
    {
        let text = content.text();
        let said = (text_digest(&text), Visible::of(&text, &content.calls()));
        let signed = signatures(visit, dialect, request, (place, content), said)?;
        thoughts(visit, content, place, said.1);
        if !signed && !content.has("functionCall") && !text.is_empty() {
            visit
                .log
                .loss(format!("no signature on the text at content {place}, allowed but worse"));
        }
    }
    let start = request.contents.iter().rposition(Content::opens_turn).unwrap_or(0);
    let mut opened = false;
    for (place, content) in request.contents.iter().enumerate().skip(start + 1) {
        if content.model && !opened {
            first_call(dialect, content, place)?;
        }
        // Several contents of the model in a row are one step. Only the first call of a step has a
        // signature.
        opened = content.model && (opened || content.has("functionCall"));
    }
    Ok(())
}

/// Refuses foreign signatures and calls with the signature of another. Returns whether the content
/// has any signature.
fn signatures(
    visit: &mut Visit<'_>,
    dialect: &GeminiDialect,
    request: &Request,
    (place, content): (usize, &Content),
    said: (u64, Visible),
) -> Result<bool, Refusal> {
    let mut any = false;
    for part in &content.parts {
        let Some(signature) = field(part, "thoughtSignature") else { continue };
        any = true;
        let signature = signature.as_str().unwrap_or_default();
        if is_dummy(signature) {
            visit.log.saw(place, "thoughtSignature", (false, true), ThoughtState::Foreign);
            visit.log.loss(format!("dummy signature at content {place}, allowed but worse"));
            continue;
        }
        let seal = Seal::decode(visit.id, Look::Gemini, signature)
            .filter(|seal| seal.model == Visit::model_digest(&request.model));
        let state = seal.map_or(ThoughtState::Foreign, |seal| state(&seal, part, said));
        visit.log.saw(place, "thoughtSignature", (false, true), state);
        let moved = state == ThoughtState::Altered && field(part, "functionCall").is_some();
        if state == ThoughtState::Foreign || moved {
            return Err(refusal(dialect, 400, "Corrupted thought signature."));
        }
    }
    Ok(any)
}

fn state(seal: &Seal, part: &Value, (text, visible): (u64, Visible)) -> ThoughtState {
    let call = field(part, "functionCall")
        .map(|call| call_digest(call.at("name").as_str().unwrap_or_default()));
    if call.unwrap_or(text) != seal.text {
        return ThoughtState::Altered;
    }
    match judge(&seal.body, visible) {
        Verdict::Own => ThoughtState::Own,
        // Changed arguments do not matter: the provider checks only that the signature is on a call
        // with the same name.
        Verdict::Altered | Verdict::Foreign if call.is_some() => ThoughtState::Own,
        Verdict::Altered | Verdict::Foreign => ThoughtState::Altered,
    }
}

/// Whether the value is a documented substitute for a signature, plain or in base64.
pub(crate) fn is_dummy(signature: &str) -> bool {
    let plain = decode64(signature).and_then(|bytes| String::from_utf8(bytes).ok());
    DUMMIES.contains(&signature) || plain.is_some_and(|plain| DUMMIES.contains(&plain.as_str()))
}

/// Logs thought texts. They may come back, but the model does not need them.
fn thoughts(visit: &mut Visit<'_>, content: &Content, place: usize, visible: Visible) {
    let parts = content.parts.iter().filter(|part| *part.at("thought") == true);
    let text: String = parts.filter_map(|part| part.at("text").as_str()).collect();
    if text.is_empty() {
        return;
    }
    let state = match judge(&text, visible) {
        Verdict::Own => ThoughtState::Own,
        Verdict::Altered => ThoughtState::Altered,
        Verdict::Foreign => ThoughtState::Foreign,
    };
    visit.log.saw(place, "thought", (true, false), state);
}

/// Refuses a step whose first call has no signature.
fn first_call(dialect: &GeminiDialect, content: &Content, place: usize) -> Result<(), Refusal> {
    let part = content.parts.iter().find(|part| field(part, "functionCall").is_some());
    let Some(part) = part.filter(|part| field(part, "thoughtSignature").is_none()) else {
        return Ok(());
    };
    let name =
        field(part, "functionCall").and_then(|call| call.at("name").as_str()).unwrap_or_default();
    let text = match dialect.house {
        House::Studio => missing(name, place + 1),
        House::Vertex => format!(
            "Unable to submit request because function call `{name}` in the {}. content block is missing a \
             `thought_signature`. Learn more: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures",
            place + 1
        ),
    };
    Err(refusal(dialect, 400, &text))
}

/// The Gemini API's refusal of a call without its signature.
pub(crate) fn missing(name: &str, position: usize) -> String {
    format!(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
         correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \
         `default_api:{name}` , position {position}. Please refer to \
         https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )
}
