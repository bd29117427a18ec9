//! The rule about thoughts in the history: demanded, refused, or silently lost.

use serde_json::Value;

use super::fields::refused_names;
use super::read::{Message, Request, Role, untagged};
use super::refuse::param_incorrect;
use super::{Carrier, ChatDialect, Contract, House, PREAMBLE, details, google, refusal};
use crate::json::Keyed;
use crate::log::ThoughtState;
use crate::mind::{Verdict, Visible, judge};
use crate::reply::{Refusal, Visit};

/// Logs every thought of the request, then applies the rule.
pub(super) fn enforce(
    visit: &mut Visit<'_>,
    dialect: &ChatDialect,
    request: &Request,
) -> Result<(), Refusal> {
    let found: Vec<Found> = request
        .messages
        .iter()
        .enumerate()
        .map(|(place, message)| look(visit, dialect, place, message))
        .collect();
    if !request.scene.thinking {
        return refused_names(dialect, request);
    }
    match dialect.contract {
        Contract::ToolCalls { exact } => tool_calls(visit, dialect, request, &found, exact),
        Contract::Preserved => {
            tool_calls(visit, dialect, request, &found, false)?;
            lost(visit, dialect, request, &found);
            Ok(())
        }
        Contract::ToolTurns { indexed } => tool_turns(dialect, request, indexed),
        Contract::Everywhere => everywhere(dialect, request),
        Contract::SignedDetails => {
            details::enforce(visit, dialect, request)?;
            lost(visit, dialect, request, &found);
            Ok(())
        }
        Contract::Forbidden => refused_names(dialect, request),
        Contract::CallSignature => google::enforce(visit, dialect, request),
        Contract::WrongNameRefused | Contract::ExtraForbidden => {
            refused_names(dialect, request)?;
            lost(visit, dialect, request, &found);
            Ok(())
        }
        Contract::Apart => {
            apart(dialect, request)?;
            lost(visit, dialect, request, &found);
            Ok(())
        }
        Contract::Optional => {
            lost(visit, dialect, request, &found);
            Ok(())
        }
    }
}

/// The thought of a message, in the field that the provider reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Thought(ThoughtState),
}

fn look(visit: &mut Visit<'_>, dialect: &ChatDialect, place: usize, message: &Message) -> Found {
    if message.role != Role::Assistant {
        return Found::Nothing;
    }
    // The mark of the thought was made with the preamble. A client must drop the preamble or the
    // thought, see `apart`.
    let is_apart = dialect.contract == Contract::Apart && !message.calls.is_empty();
    let text = if is_apart { PREAMBLE } else { message.text.as_str() };
    let visible = Visible::of(text, message.calls.iter().map(|(_, call)| call));
    let mut found = Found::Nothing;
    let signed = details::is_signed(&message.raw);
    for (field, thought) in thoughts(&message.raw) {
        let text = !thought.trim().is_empty();
        if !text {
            continue;
        }
        let state = if reads(dialect.carrier, field) {
            match judge(&thought, visible) {
                Verdict::Own => ThoughtState::Own,
                Verdict::Altered => ThoughtState::Altered,
                Verdict::Foreign => ThoughtState::Foreign,
            }
        } else {
            ThoughtState::Ignored
        };
        if state != ThoughtState::Ignored {
            found = Found::Thought(state);
        }
        visit.log.saw(place, field, (true, signed && field == "reasoning_details"), state);
    }
    counted_ids(visit, dialect, place, message);
    found
}

fn reads(carrier: Carrier, field: &str) -> bool {
    carrier.field() == field
        || carrier == Carrier::ThinkTags
            && matches!(field, "reasoning_details" | "reasoning_content")
}

/// All thoughts of a message, from any field.
fn thoughts(raw: &Value) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    for field in ["reasoning_content", "reasoning"] {
        if let Some(text) = raw.at(field).as_str() {
            out.push((field, text.to_owned()));
        }
    }
    let details = raw.at("reasoning_details").as_array().into_iter().flatten();
    let details: String = details.filter_map(|detail| detail.at("text").as_str()).collect();
    if !details.is_empty() {
        out.retain(|(_, text)| *text != details);
        out.push(("reasoning_details", details));
    }
    let chunks = raw
        .at("content")
        .as_array()
        .into_iter()
        .flatten()
        .filter(|part| part.at("type") == "thinking");
    for chunk in chunks {
        let parts = chunk.at("thinking").as_array().into_iter().flatten();
        out.push(("thinking", parts.filter_map(|part| part.at("text").as_str()).collect()));
    }
    if let (Some(thought), _) = untagged(raw.at("content").as_str().unwrap_or_default()) {
        out.push(("think_tags", thought));
    }
    out
}

/// Logs call ids in a foreign form. Kimi K2 stops calling tools if the history has such ids.
fn counted_ids(visit: &mut Visit<'_>, dialect: &ChatDialect, place: usize, message: &Message) {
    if dialect.ids != super::Ids::Counted {
        return;
    }
    for (id, call) in &message.calls {
        let native = id
            .strip_prefix("functions.")
            .and_then(|rest| rest.strip_prefix(call.name.as_str()))
            .and_then(|rest| rest.strip_prefix(':'))
            .is_some_and(|count| count.parse::<u32>().is_ok());
        if !native {
            visit.log.loss(format!(
                "tool call id `{id}` at message {place} is not the native form, allowed but worse"
            ));
        }
    }
}

fn tool_calls(
    visit: &mut Visit<'_>,
    dialect: &ChatDialect,
    request: &Request,
    found: &[Found],
    exact: bool,
) -> Result<(), Refusal> {
    for (place, (message, found)) in request.messages.iter().zip(found).enumerate() {
        if message.role != Role::Assistant || message.calls.is_empty() {
            continue;
        }
        // Kimi accepts a single blank. A field that is absent, null or "" counts as missing.
        if message.raw.at("reasoning_content").as_str().unwrap_or_default().is_empty() {
            let text = format!(
                "thinking is enabled but reasoning_content is missing in assistant tool call message at index {place}"
            );
            return Err(refusal(dialect, 400, &text));
        }
        match found {
            Found::Thought(ThoughtState::Own) => {}
            Found::Thought(_) if exact => {
                let text = format!(
                    "reasoning_content in assistant tool call message at index {place} is not what the model said"
                );
                return Err(refusal(dialect, 400, &text));
            }
            Found::Nothing if exact => {
                let text = format!(
                    "reasoning_content in assistant tool call message at index {place} is blank"
                );
                return Err(refusal(dialect, 400, &text));
            }
            Found::Nothing => {
                visit
                    .log
                    .loss(format!("the thought at message {place} is blank, allowed but worse"));
            }
            Found::Thought(_) => {}
        }
    }
    Ok(())
}

/// Demands the field in every turn with tool calls, also in earlier turns.
///
/// DeepSeek demands it on all assistant messages of the turn, MiMo only on those with calls. An
/// empty string is accepted; an absent field and null are not.
fn tool_turns(dialect: &ChatDialect, request: &Request, indexed: bool) -> Result<(), Refusal> {
    let mut start = 0;
    let messages = &request.messages;
    while start < messages.len() {
        let rest = messages.iter().skip(start + 1);
        let length = 1 + rest.take_while(|message| message.role != Role::User).count();
        let turn = || messages.iter().enumerate().skip(start).take(length);
        let used_tools = turn().any(|(_, message)| !message.calls.is_empty());
        let missing = turn().find(|(_, message)| {
            let counts = dialect.house != House::MiMo || !message.calls.is_empty();
            let absent = !message.raw.at("reasoning_content").is_string();
            message.role == Role::Assistant && counts && absent
        });
        if let (true, Some((place, _))) = (used_tools, missing) {
            return Err(not_passed_back(dialect, place, indexed));
        }
        start += length;
    }
    Ok(())
}

/// The strictest reading of DeepSeek's rule: every assistant message needs the field, with or
/// without tools, and a blank text is refused.
fn everywhere(dialect: &ChatDialect, request: &Request) -> Result<(), Refusal> {
    let blank = |message: &Message| {
        message.raw.at("reasoning_content").as_str().is_none_or(|text| text.trim().is_empty())
    };
    let mut answers =
        request.messages.iter().enumerate().filter(|(_, message)| message.role == Role::Assistant);
    match answers.find(|(_, message)| blank(message)) {
        Some((place, _)) => Err(not_passed_back(dialect, place, false)),
        None => Ok(()),
    }
}

/// Applies the rule of gpt-oss' chat template. An empty text does not count.
fn apart(dialect: &ChatDialect, request: &Request) -> Result<(), Refusal> {
    let is_said = |message: &Message, key: &str| {
        message.raw.at(key).as_str().is_some_and(|text| !text.is_empty())
    };
    let is_crowded = |message: &Message| {
        !message.calls.is_empty()
            && is_said(message, "content")
            && is_said(message, "reasoning_content")
    };
    if !request.messages.iter().any(is_crowded) {
        return Ok(());
    }
    let text = "Cannot pass both content and thinking in an assistant message with tool calls! Put the analysis \
                message in one or the other, but not both.";
    Err(refusal(dialect, 500, text))
}

fn not_passed_back(dialect: &ChatDialect, place: usize, indexed: bool) -> Refusal {
    let sentence = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    if dialect.house == House::MiMo {
        return param_incorrect(sentence);
    }
    if !indexed {
        return refusal(dialect, 400, sentence);
    }
    let text = format!(
        "Missing `reasoning_content` field in the assistant message at message index {place}. For more information, \
         please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls"
    );
    refusal(dialect, 400, &text)
}

/// Logs a loss for each missing thought that the model would have read.
fn lost(visit: &mut Visit<'_>, dialect: &ChatDialect, request: &Request, found: &[Found]) {
    let whole = dialect.reads_whole_history(&request.body);
    let loop_start =
        request.messages.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
    for (place, (message, found)) in request.messages.iter().zip(found).enumerate() {
        let counts = place > loop_start || whole;
        if message.role == Role::Assistant && counts && *found == Found::Nothing {
            visit.log.loss(format!("thought missing at message {place}, allowed but worse"));
        }
    }
}
