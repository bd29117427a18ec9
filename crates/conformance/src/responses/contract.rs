//! The rules about reasoning items in the input: pairs, encrypted content, and demanded thoughts.

use serde_json::Value;

use super::ids::{self, Known};
use super::read::{Request, call, kind, not_found, text};
use super::{Flavour, ResponsesDialect, Store, compaction_mark, refusal, refusal_with};
use crate::calls::OpenCalls;
use crate::json::Keyed;
use crate::log::ThoughtState;
use crate::mind::{Call, Verdict, Visible, judge};
use crate::reply::{Refusal, Visit};
use crate::seal::{Look, Seal};

/// Logs every thought of the request and applies the rules.
pub(super) fn enforce(
    visit: &mut Visit<'_>,
    dialect: &ResponsesDialect,
    request: &Request,
    store: &Store,
) -> Result<(), Refusal> {
    for (place, item) in request.items.iter().enumerate().skip(request.carried) {
        if kind(item) == "reasoning" {
            reasoning(visit, dialect, request, place, store)?;
        } else if kind(item) == "compaction" {
            compaction(visit, dialect, item)?;
        }
    }
    match dialect.flavour {
        Flavour::DeepSeek => grouped(dialect, request)?,
        Flavour::Stateless | Flavour::Stateful => pairs(visit.id, dialect, request)?,
        // xAI accepts a call without its reasoning item, but the model gets worse.
        Flavour::Xai => {}
    }
    outputs(dialect, request)?;
    if dialect.flavour == Flavour::DeepSeek && request.thinking {
        tool_turns(dialect, request)?;
    }
    lost(visit, request);
    Ok(())
}

/// Logs one reasoning item. Refuses it if its payload is foreign or changed, or if it has no
/// payload and is not stored. DeepSeek accepts any item.
fn reasoning(
    visit: &mut Visit<'_>,
    dialect: &ResponsesDialect,
    request: &Request,
    place: usize,
    store: &Store,
) -> Result<(), Refusal> {
    let Some(item) = request.items.get(place) else { return Ok(()) };
    let readable = readable(item);
    let payload = item.at("encrypted_content").as_str().filter(|payload| !payload.is_empty());
    let group = group_after(&request.items, place);
    let index = place - request.carried;
    let seal = payload.map(|payload| Seal::decode(visit.id, Look::Fernet, payload));
    let state = match (&seal, dialect.flavour) {
        (Some(Some(seal)), _) => state(judge(&seal.body, Visible::of(&group.0, &group.1))),
        (Some(None), _) => ThoughtState::Foreign,
        (None, Flavour::DeepSeek) => state(judge(&readable, Visible::of(&group.0, &group.1))),
        (None, Flavour::Stateless | Flavour::Stateful | Flavour::Xai) => {
            let id = item.at("id").as_str().unwrap_or_default();
            if ids::known(visit.id, "rs", id).is_some() {
                ThoughtState::Own
            } else {
                ThoughtState::Foreign
            }
        }
    };
    visit.log.saw(index, "reasoning", (!readable.is_empty(), payload.is_some()), state);
    if dialect.flavour == Flavour::DeepSeek {
        return Ok(());
    }
    if let (Some(payload), Some(seal)) = (payload, seal) {
        // Every account can read xAI's payloads. OpenAI's are bound to the account.
        let portable = dialect.flavour == Flavour::Xai;
        let ours = seal.is_some_and(|seal| portable || seal.account == visit.account());
        return if ours { Ok(()) } else { Err(unverified(dialect, payload)) };
    }
    let Some(id) = item.at("id").as_str().filter(|id| !id.is_empty()) else {
        let param = format!("input[{index}].id");
        let text = format!("Missing required parameter: '{param}'.");
        return Err(refusal_with(
            dialect,
            400,
            &text,
            (Some(&param), Some("missing_required_parameter")),
        ));
    };
    let stored = dialect.flavour.stores() && store.has_item(id);
    if stored { Ok(()) } else { Err(not_found(dialect, id)) }
}

fn state(verdict: Verdict) -> ThoughtState {
    match verdict {
        Verdict::Own => ThoughtState::Own,
        Verdict::Altered => ThoughtState::Altered,
        Verdict::Foreign => ThoughtState::Foreign,
    }
}

/// The text of a reasoning item: its content, else its summary.
fn readable(item: &Value) -> String {
    let join = |key: &str, glue: &str| {
        let parts = item.at(key).as_array().into_iter().flatten();
        parts.filter_map(|part| part.at("text").as_str()).collect::<Vec<_>>().join(glue)
    };
    let content = join("content", "");
    if content.is_empty() { join("summary", "\n\n") } else { content }
}

/// The visible part of the answer after a reasoning item.
fn group_after(items: &[Value], place: usize) -> (String, Vec<Call>) {
    let mut group = (String::new(), Vec::new());
    for item in items.iter().skip(place + 1) {
        match (kind(item), item.at("role").as_str()) {
            ("message", Some("assistant")) => group.0.push_str(&text(item)),
            ("function_call", _) => group.1.push(call(item)),
            _ => break,
        }
    }
    group
}

fn unverified(dialect: &ResponsesDialect, payload: &str) -> Refusal {
    match dialect.flavour {
        Flavour::Xai => {
            let text = "Could not decode the compaction blob. Ensure it is unmodified from the compact response.";
            refusal(dialect, 400, text)
        }
        Flavour::Stateless | Flavour::Stateful | Flavour::DeepSeek => {
            let head: String = payload.chars().take(4).collect();
            let tail: String =
                payload.chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
            let text = format!(
                "The encrypted content {head}...{tail} could not be verified. Reason: Encrypted content could not be \
                 decrypted or parsed."
            );
            refusal_with(dialect, 400, &text, (None, Some("invalid_encrypted_content")))
        }
    }
}

fn compaction(visit: &Visit<'_>, dialect: &ResponsesDialect, item: &Value) -> Result<(), Refusal> {
    let payload = item.at("encrypted_content").as_str().unwrap_or_default();
    let seal = Seal::decode(visit.id, Look::Fernet, payload);
    let portable = dialect.flavour == Flavour::Xai;
    let ours = seal.is_some_and(|seal| {
        (portable || seal.account == visit.account()) && seal.text == compaction_mark()
    });
    if ours { Ok(()) } else { Err(unverified(dialect, payload)) }
}

fn known(simulator: &str, item: &Value) -> Option<Known> {
    let id = item.at("id").as_str()?;
    match kind(item) {
        "reasoning" => ids::known(simulator, "rs", id),
        "function_call" => ids::known(simulator, "fc", id),
        "message" => ids::known(simulator, "msg", id),
        _ => None,
    }
}

/// Refuses a reasoning item without its follower, and a follower without its reasoning item. Ids
/// show which items belong together, so that items without ids are not checked.
fn pairs(simulator: &str, dialect: &ResponsesDialect, request: &Request) -> Result<(), Refusal> {
    let bad = |text: String| Err(refusal_with(dialect, 400, &text, (Some("input"), None)));
    let mut open: Option<String> = None;
    for (place, item) in request.items.iter().enumerate() {
        let mine = known(simulator, item);
        if kind(item) == "reasoning" {
            open = mine
                .as_ref()
                .map(|known| known.seed.clone())
                .or_else(|| sealed_seed(simulator, item, request, place));
            let Some(mine) = mine else { continue };
            let next = request.items.get(place + 1);
            // The next item may be a call without `id`, because its `call_id` is enough. A message
            // needs its `id`.
            let is_call =
                next.is_some_and(|it| kind(it) == "function_call" && it.at("id").is_null());
            let next = next.and_then(|next| known(simulator, next));
            if !is_call && next.is_none_or(|next| next.seed != mine.seed) {
                let id = item.at("id").as_str().unwrap_or_default();
                return bad(format!(
                    "Item '{id}' of type 'reasoning' was provided without its required following item."
                ));
            }
        } else if let Some(mine) = mine {
            if mine.paired && open.as_deref() != Some(mine.seed.as_str()) {
                let (id, kind) = (item.at("id").as_str().unwrap_or_default(), kind(item));
                let wanted = ids::reasoning(simulator, &mine);
                return bad(format!(
                    "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{wanted}'."
                ));
            }
        } else if !matches!(kind(item), "function_call" | "message") || item.at("role") == "user" {
            open = None;
        }
    }
    Ok(())
}

/// The seed of the answer that a reasoning item without id belongs to. Its payload and the id of
/// the next item must name the same answer.
fn sealed_seed(simulator: &str, item: &Value, request: &Request, place: usize) -> Option<String> {
    let payload = item.at("encrypted_content").as_str()?;
    let seal = Seal::decode(simulator, Look::Fernet, payload)?;
    let next = known(simulator, request.items.get(place + 1)?)?;
    (ids::digest(&next.seed) == seal.place).then_some(next.seed)
}

/// Refuses a call without its output and an output without its call.
fn outputs(dialect: &ResponsesDialect, request: &Request) -> Result<(), Refusal> {
    let bad = |text: String| Err(refusal_with(dialect, 400, &text, (Some("input"), None)));
    let mut open = OpenCalls::default();
    for item in &request.items {
        let id = item.at("call_id").as_str().unwrap_or_default();
        match kind(item) {
            "function_call" => open.push(id, ""),
            "function_call_output" if open.answer(id).is_none() => {
                return bad(format!(
                    "No tool call found for function call output with call_id {id}."
                ));
            }
            _ => {}
        }
    }
    let unanswered = open.unanswered();
    let Some(id) = unanswered.first() else { return Ok(()) };
    match dialect.flavour {
        Flavour::DeepSeek => bad(format!("No tool output found for tool call {id}.")),
        Flavour::Stateless | Flavour::Stateful | Flavour::Xai => {
            bad(format!("No tool output found for function call {id}."))
        }
    }
}

/// Refuses a message or reasoning item between two calls, because DeepSeek merges calls into one
/// assistant message.
fn grouped(dialect: &ResponsesDialect, request: &Request) -> Result<(), Refusal> {
    let mut last_call: Option<&str> = None;
    let mut between = false;
    for item in &request.items {
        match (kind(item), item.at("role").as_str()) {
            ("function_call", _) => {
                if let Some(id) = last_call.filter(|_| between) {
                    let text = format!("No tool output found for tool call {id}.");
                    return Err(refusal(dialect, 400, &text));
                }
                last_call = item.at("call_id").as_str();
                between = false;
            }
            ("message", Some("assistant")) | ("reasoning", _) => between = last_call.is_some(),
            _ => {
                last_call = None;
                between = false;
            }
        }
    }
    Ok(())
}

/// DeepSeek: in a turn with tool calls every answer must have its reasoning text, also in later
/// requests.
fn tool_turns(dialect: &ResponsesDialect, request: &Request) -> Result<(), Refusal> {
    let turns = request.items.split(|item| item.at("role") == "user");
    for turn in turns.filter(|turn| turn.iter().any(|item| kind(item) == "function_call")) {
        for answer in turn.split(|item| kind(item) == "function_call_output") {
            let speaks = answer
                .iter()
                .any(|item| kind(item) == "function_call" || item.at("role") == "assistant");
            let thinks = answer.iter().any(|item| {
                let parts = item.at("content").as_array().into_iter().flatten();
                kind(item) == "reasoning"
                    && parts.into_iter().any(|part| part.at("type") == "reasoning_text")
            });
            if speaks && !thinks {
                let text =
                    "The `reasoning_text` in the thinking mode must be passed back to the API.";
                return Err(refusal(dialect, 400, text));
            }
        }
    }
    Ok(())
}

/// Logs the missing thoughts of the running turn.
fn lost(visit: &mut Visit<'_>, request: &Request) {
    let start = request.items.iter().rposition(|item| item.at("role") == "user").unwrap_or(0);
    let mut thought = false;
    let mut reported = false;
    for (place, item) in request.items.iter().enumerate().skip(start) {
        match kind(item) {
            "reasoning" => thought = true,
            "function_call"
                if !thought && !reported && request.thinking && place >= request.carried =>
            {
                visit.log.loss(format!(
                    "thought missing before item {}, allowed but worse",
                    place - request.carried
                ));
                reported = true;
            }
            "function_call_output" => (thought, reported) = (false, false),
            _ => {}
        }
    }
}
