//! `thinkingConfig` in neutral words.

use super::{ID, either, snake};
use crate::json::{Extra, Raw, Val};
use crate::request::{ReasoningAsk, Request};
use crate::settings::Effort;

/// The members that have a meaning here.
const NAMES: [&str; 3] = ["includeThoughts", "thinkingBudget", "thinkingLevel"];

/// The meaning of a configuration in the neutral form.
pub(super) fn read(config: Option<Val<'_>>) -> ReasoningAsk {
    let Some(config) = config else { return ReasoningAsk::default() };
    let budget = either(config, "thinkingBudget");
    let effort = either(config, "thinkingLevel")
        .and_then(Val::as_str)
        .and_then(|level| Effort::parse(&level));
    let tokens = budget.and_then(Val::as_u64);
    let enabled = match (tokens, budget.map(Val::raw), effort) {
        (Some(0), _, _) => Some(false),
        // -1 leaves the amount to the model.
        (Some(_), _, _) | (_, Some("-1"), _) | (_, _, Some(_)) => Some(true),
        _ => None,
    };
    ReasoningAsk {
        enabled,
        effort,
        max_tokens: tokens.filter(|tokens| *tokens > 0),
        show: either(config, "includeThoughts").and_then(Val::as_bool),
        fields: Extra::default(),
    }
}

/// The configuration for a request: the caller's own, unless its meaning has changed.
pub(super) fn write(
    request: &Request,
    came: Option<Val<'_>>,
    lost: &mut Vec<String>,
) -> Option<Raw> {
    let said = read(came);
    let ask = &request.reasoning;
    let is_same_amount =
        (said.enabled, said.effort, said.max_tokens) == (ask.enabled, ask.effort, ask.max_tokens);
    if is_same_amount && said.show == ask.show {
        return came.map(Raw::from);
    }
    let mut out = came.map(|came| Extra::collect(ID, came, &[])).unwrap_or_default();
    let mut set = |key: &str, value: Option<Raw>| {
        out.fields.retain(|(name, _)| name != key && *name != snake(key));
        if let Some(value) = value {
            out.insert(ID, key, value);
        }
    };
    if said.show != ask.show {
        set("includeThoughts", ask.show.map(|show| Raw::build(|w| w.bool(show))));
    }
    if !is_same_amount {
        let (budget, level) = amount(request, lost);
        set("thinkingBudget", budget.map(|budget| Raw::build(|w| w.raw_str(&budget.to_string()))));
        set("thinkingLevel", level.map(Raw::string));
    }
    let is_empty = out.is_empty();
    (!is_empty).then(|| Raw::build(|w| w.object(|w| w.extra(&out, ID))))
}

/// The configuration with its names in camel case, so that later code finds them.
pub(super) fn camel(config: &Raw) -> Raw {
    let doc = config.doc();
    let named = |key: &str| NAMES.into_iter().find(|name| snake(name) == key);
    if !doc.root().entries().any(|(key, _)| named(&key).is_some()) {
        return config.clone();
    }
    Raw::build(|w| {
        w.object(|w| {
            for (key, value) in doc.root().entries() {
                w.key(named(&key).unwrap_or(&key)).raw_str(value.raw());
            }
        });
    })
}

/// How much thinking, as a budget or as a level; the API refuses both at once. Models before Gemini 3 know
/// budgets only.
fn amount(request: &Request, lost: &mut Vec<String>) -> (Option<i64>, Option<&'static str>) {
    let ask = &request.reasoning;
    let is_off = ask.enabled == Some(false) || ask.effort == Some(Effort::None);
    let model = request.model.rsplit('/').next().unwrap_or_default();
    let by_budget = model.starts_with("gemini-2") || model.starts_with("gemini-1");
    let tokens = ask.max_tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX));
    match (by_budget, is_off) {
        // Pro cannot go without: this is its least budget.
        (true, true) if model.contains("pro") => {
            lost.push("reasoning.enabled".to_owned());
            (Some(128), None)
        }
        (true, true) => (Some(0), None),
        (true, false) => {
            let budget = tokens.or_else(|| ask.effort.and_then(budget));
            (budget.or_else(|| (ask.enabled == Some(true)).then_some(-1)), None)
        }
        // There is no off from Gemini 3 on, and `low` is the least that all of them take.
        (false, true) => {
            lost.push("reasoning.enabled".to_owned());
            (None, Some("low"))
        }
        (false, false) => match ask.effort.and_then(level) {
            Some(level) => {
                if tokens.is_some() {
                    lost.push("reasoning.max_tokens".to_owned());
                }
                (None, Some(level))
            }
            None => (tokens, None),
        },
    }
}

/// The budget for an effort, as the API itself maps them for its OpenAI-compatible clients.
fn budget(effort: Effort) -> Option<i64> {
    match effort {
        Effort::None => None,
        Effort::Minimal | Effort::Low => Some(1024),
        Effort::Medium => Some(8192),
        Effort::High | Effort::Xhigh | Effort::Max => Some(24576),
    }
}

/// The nearest thinking level that all models take; not even all small ones take `minimal`.
fn level(effort: Effort) -> Option<&'static str> {
    match effort {
        Effort::None => None,
        Effort::Minimal | Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High | Effort::Xhigh | Effort::Max => Some("high"),
    }
}
