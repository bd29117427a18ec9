//! Gemini behind the OpenAI-compatible endpoint. Thoughts come in tags on request, signatures in
//! `extra_content`.

use serde_json::{Value, json};

use super::read::{Message, Request, Role};
use super::{ChatDialect, refusal};
use crate::gemini;
use crate::json::Keyed;
use crate::log::ThoughtState;
use crate::mind::{Verdict, Visible, judge};
use crate::pieces::pieces;
use crate::reply::{Refusal, Visit};
use crate::seal::{Look, Seal};

/// The `extra_content` of a signed call or message.
pub(super) fn signed(signature: &str) -> Value {
    json!({"google": {"thought_signature": signature}})
}

fn signature(holder: &Value) -> &Value {
    holder.at("extra_content").at("google").at("thought_signature")
}

/// Whether the request asks for thoughts.
pub(super) fn shows_thoughts(body: &Value) -> bool {
    *body.at("extra_body").at("google").at("thinking_config").at("include_thoughts") == true
}

/// Removes the thought at the start of the text.
pub(super) fn untagged(text: &str) -> String {
    let inside = text.strip_prefix("<thought>").and_then(|rest| rest.split_once("</thought>"));
    inside.map_or_else(|| text.to_owned(), |(_, rest)| rest.to_owned())
}

/// The deltas of a thought. Each has the flag `thought`.
pub(super) fn deltas(thought: &str) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    for (place, part) in pieces(thought).into_iter().enumerate() {
        let open = if place == 0 { "<thought>" } else { "" };
        out.push(json!({"content": format!("{open}{part}"), "extra_content": {"google": {"thought": true}}}));
    }
    out
}

/// Adds the closing tag before the first delta of the text, or alone if the answer has no text.
pub(super) fn close(deltas: &mut Vec<Value>) {
    match deltas.first_mut() {
        Some(first) => {
            let words = first.at("content").as_str().unwrap_or_default().to_owned();
            first.set("content", json!(format!("</thought>{words}")));
        }
        None => deltas.push(json!({"content": "</thought>"})),
    }
}

/// Demands a signature on the first call of every message in the running turn, and refuses foreign
/// or moved signatures.
pub(super) fn enforce(
    visit: &mut Visit<'_>,
    dialect: &ChatDialect,
    request: &Request,
) -> Result<(), Refusal> {
    let start =
        request.messages.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
    for (place, message) in request.messages.iter().enumerate() {
        if message.role != Role::Assistant {
            continue;
        }
        let visible = Visible::of(&message.text, message.calls.iter().map(|(_, call)| call));
        let calls = message.raw.at("tool_calls").as_array().into_iter().flatten();
        for (index, call) in calls.enumerate() {
            let name = call.at("function").at("name").as_str().unwrap_or_default();
            match signature(call).as_str() {
                Some(found) => {
                    check(visit, dialect, request, (place, message, Some(name)), (found, visible))?;
                }
                None if index == 0 && place > start => {
                    return Err(refusal(dialect, 400, &gemini::contract::missing(name, place + 1)));
                }
                None => {}
            }
        }
        match signature(&message.raw).as_str() {
            Some(found) => {
                check(visit, dialect, request, (place, message, None), (found, visible))?;
            }
            None if message.calls.is_empty() => {
                visit.log.loss(format!(
                    "no signature on the text at message {place}, allowed but worse"
                ));
            }
            None => {}
        }
    }
    Ok(())
}

fn check(
    visit: &mut Visit<'_>,
    dialect: &ChatDialect,
    request: &Request,
    (place, message, call): (usize, &Message, Option<&str>),
    (found, visible): (&str, Visible),
) -> Result<(), Refusal> {
    if gemini::contract::is_dummy(found) {
        visit.log.saw(place, "thought_signature", (false, true), ThoughtState::Foreign);
        visit.log.loss(format!("dummy signature at message {place}, allowed but worse"));
        return Ok(());
    }
    let seal = Seal::decode(visit.id, Look::Gemini, found)
        .filter(|seal| seal.model == Visit::model_digest(&request.model));
    let bearer = call.map_or_else(|| gemini::text_digest(&message.text), gemini::call_digest);
    let state = match &seal {
        None => ThoughtState::Foreign,
        Some(seal) if seal.text != bearer => ThoughtState::Altered,
        Some(seal) => match judge(&seal.body, visible) {
            Verdict::Own => ThoughtState::Own,
            Verdict::Altered | Verdict::Foreign => ThoughtState::Altered,
        },
    };
    visit.log.saw(place, "thought_signature", (false, true), state);
    let moved = call.is_some() && seal.is_some_and(|seal| seal.text != bearer);
    if state == ThoughtState::Foreign || moved {
        return Err(refusal(dialect, 400, "Corrupted thought signature."));
    }
    Ok(())
}
