//! `additionalModelRequestFields`: a caller's parameters about reasoning, in the words of the requested model.

use super::ID;
use crate::json::{Doc, Extra, Raw, Val};
use crate::request::{ReasoningAsk, Request};
use crate::settings::Effort;
use crate::wire::thinking_config::{
    effort_word, is_same_thinking, meaning as thinking_meaning, thinking,
};

/// The field with the model-specific members.
pub(super) const FIELD: &str = "additionalModelRequestFields";

/// Members that control the thinking of some model.
const SAID: &[&str] =
    &["output_config", "reasoningConfig", "reasoning_config", "reasoning_effort", "thinking"];

/// The meaning of a request's reasoning members, with the members as they came.
pub(super) fn read(request: Val<'_>) -> ReasoningAsk {
    let fields = request.get(FIELD).filter(|fields| fields.is_object());
    let effort = request.path(&["outputConfig", EFFORT]).filter(|effort| effort.as_str().is_some());
    let mut ask = meaning(fields, effort);
    for (key, value) in [(FIELD, fields), (EFFORT, effort)] {
        if let Some(value) = value {
            ask.fields.insert(ID, key, Raw::from(value));
        }
    }
    ask
}

/// The member of `outputConfig` with the effort.
const EFFORT: &str = "effort";

/// The neutral words for these members and for the effort beside them, without the fields.
fn meaning(fields: Option<Val<'_>>, stated: Option<Val<'_>>) -> ReasoningAsk {
    let mut ask = fields.map(members_meaning).unwrap_or_default();
    let stated = stated.and_then(Val::as_str).and_then(|word| Effort::parse(&word));
    ask.effort = ask.effort.or(stated);
    ask
}

fn members_meaning(fields: Val<'_>) -> ReasoningAsk {
    let mut ask = thinking_meaning(fields.some("thinking"), fields.some("output_config"));
    let effort = |word: Option<String>| word.and_then(|word| Effort::parse(&word));
    let is_on = |config: Val<'_>| match config.text("type").as_deref() {
        Some("enabled") => Some(true),
        Some("disabled") => Some(false),
        _ => None,
    };
    ask.effort = ask.effort.or(effort(fields.string("reasoning_effort")));
    if let Some(config) = fields.some("reasoning_config") {
        ask.effort = ask.effort.or(effort(config.as_str().map(Into::into)));
        ask.enabled = ask.enabled.or(is_on(config));
        ask.max_tokens = ask.max_tokens.or(config.u64("budget_tokens"));
    }
    if let Some(config) = fields.some("reasoningConfig") {
        ask.enabled = ask.enabled.or(is_on(config));
        ask.effort = ask.effort.or(effort(config.string("maxReasoningEffort")));
        ask.max_tokens = ask.max_tokens.or(config.u64("budgetTokens"));
    }
    ask
}

/// The members about reasoning that are written.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// [`FIELD`].
    pub(super) raw: Option<Raw>,
    /// The effort in `outputConfig`, for callers that set it there.
    pub(super) effort: Option<Raw>,
    /// The budget that was written anew; the cap on all tokens must be greater.
    pub(super) budget: Option<u64>,
    /// A budget was wanted and does not fit under the request's cap.
    pub(super) is_lost: bool,
}

/// The field for a request: the caller's own while its meaning is unchanged, else a new one in the caller's words, or
/// in Claude's.
pub(super) fn fields(request: &Request) -> Fields {
    let raw = request.reasoning.fields.get(ID, FIELD);
    let doc = raw.map(Raw::doc);
    let old = doc.as_ref().map(Doc::root);
    let stated = request.reasoning.fields.get(ID, EFFORT);
    let stated_doc = stated.map(Raw::doc);
    let was = meaning(old, stated_doc.as_ref().map(Doc::root));
    if was == (ReasoningAsk { fields: Extra::default(), ..request.reasoning.clone() }) {
        return Fields { raw: raw.cloned(), effort: stated.cloned(), ..Fields::default() };
    }
    let members = old.into_iter().flat_map(Val::entries);
    let mut kept: Vec<(String, Raw)> = members
        .filter(|(key, _)| !SAID.contains(&key.as_ref()))
        .map(|(key, value)| (key.into_owned(), Raw::from(value)))
        .collect();
    let mut fields = Fields::default();
    if stated.is_some() {
        fields.effort = word(request).map(Raw::string);
    }
    let used = |key: &str| old.is_some_and(|old| old.some(key).is_some());
    if used("reasoning_effort") {
        kept.extend(word(request).map(|word| ("reasoning_effort".to_owned(), Raw::string(word))));
    } else if used("reasoning_config") {
        kept.extend(
            config(request, "budget_tokens", None).map(|raw| ("reasoning_config".to_owned(), raw)),
        );
    } else if used("reasoningConfig") {
        let key = "maxReasoningEffort";
        kept.extend(
            config(request, "budgetTokens", Some(key))
                .map(|raw| ("reasoningConfig".to_owned(), raw)),
        );
    } else {
        let old_thinking = old.and_then(|old| old.some("thinking"));
        let was_said = raw.is_some() || stated.is_some();
        if was_said && is_same_thinking(&was, &request.reasoning) {
            kept.extend(old_thinking.map(|object| ("thinking".to_owned(), Raw::from(object))));
        } else {
            let said = thinking(request, old_thinking);
            (fields.budget, fields.is_lost) = (said.budget, said.is_lost);
            kept.extend(said.object.map(|object| ("thinking".to_owned(), object)));
        }
        let effort = word(request).filter(|_| stated.is_none());
        kept.extend(claude_config(effort, old).map(|raw| ("output_config".to_owned(), raw)));
    }
    if !kept.is_empty() {
        let write =
            |w: &mut crate::json::Writer| kept.iter().for_each(|(key, raw)| w.field_raw(key, raw));
        fields.raw = Some(Raw::build(|w| w.object(write)));
    }
    fields
}

/// Whether thinking is wanted off.
fn is_off(request: &Request) -> bool {
    request.reasoning.enabled == Some(false) || request.reasoning.effort == Some(Effort::None)
}

/// The effort as a word. A model that takes a word cannot be switched off, so `off` gives `None`.
fn word(request: &Request) -> Option<&'static str> {
    if is_off(request) { None } else { effort_word(request.reasoning.effort) }
}

/// A configuration object with a type and a budget, or an effort under `effort_key`; a model whose configuration
/// is a word gets the effort as that.
fn config(request: &Request, budget_key: &str, effort_key: Option<&str>) -> Option<Raw> {
    let ask = &request.reasoning;
    if is_off(request) {
        return Some(Raw::build(|w| w.object(|w| w.field_str("type", "disabled"))));
    }
    if effort_key.is_none() && ask.max_tokens.is_none() {
        return word(request).map(Raw::string);
    }
    let is_on = ask.enabled == Some(true) || ask.effort.is_some() || ask.max_tokens.is_some();
    is_on.then(|| {
        Raw::build(|w| {
            w.object(|w| {
                w.field_str("type", "enabled");
                if let Some(budget) = ask.max_tokens {
                    w.field_u64(budget_key, budget);
                }
                if let (Some(key), Some(word)) = (effort_key, word(request)) {
                    w.field_str(key, word);
                }
            });
        })
    })
}

/// `output_config` with the effort, and its unknown members.
fn claude_config(effort: Option<&str>, old: Option<Val<'_>>) -> Option<Raw> {
    let old = old.and_then(|old| old.some("output_config"));
    let raw = Raw::build(|w| {
        w.object(|w| {
            w.opt_str("effort", effort);
            for (key, value) in old.into_iter().flat_map(Val::entries) {
                if key != "effort" {
                    w.key(&key).raw_str(value.raw());
                }
            }
        });
    });
    (raw.as_str() != "{}").then_some(raw)
}
