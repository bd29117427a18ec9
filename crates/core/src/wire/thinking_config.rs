//! The objects `thinking` and `output_config`, which control the thinking of a Claude model, on every wire.

use crate::json::{Extra, Raw, Val};
use crate::request::{ReasoningAsk, Request};
use crate::settings::Effort;

/// The least budget that the API takes.
pub(crate) const LEAST_BUDGET: u64 = 1024;

/// The neutral words for these objects, without the fields.
pub(crate) fn meaning(thinking: Option<Val<'_>>, config: Option<Val<'_>>) -> ReasoningAsk {
    let text = |object: Option<Val<'_>>, key: &str| object.and_then(|object| object.string(key));
    ReasoningAsk {
        enabled: match text(thinking, "type").as_deref() {
            Some("adaptive" | "enabled") => Some(true),
            // Its model has no other form of off.
            Some("disabled" | "between_tools") => Some(false),
            _ => None,
        },
        effort: text(config, "effort").and_then(|word| Effort::parse(&word)),
        max_tokens: thinking.and_then(|thinking| thinking.u64("budget_tokens")),
        show: match text(thinking, "display").as_deref() {
            Some("summarized" | "updates") => Some(true),
            Some("omitted") => Some(false),
            _ => None,
        },
        fields: Extra::default(),
    }
}

/// Whether the members about thinking itself are unchanged. Effort alone does not switch thinking, unless it is
/// `none`.
pub(crate) fn is_same_thinking(was: &ReasoningAsk, is: &ReasoningAsk) -> bool {
    (was.enabled, was.max_tokens, was.show) == (is.enabled, is.max_tokens, is.show)
        && (was.effort == is.effort || is.effort != Some(Effort::None))
}

/// The members about thinking that are written.
#[derive(Debug, Default)]
pub(crate) struct Thinking {
    /// The object `thinking`, if it is needed.
    pub(crate) object: Option<Raw>,
    /// The budget in it.
    pub(crate) budget: Option<u64>,
    /// A budget was wanted and does not fit under the request's cap.
    pub(crate) is_lost: bool,
}

/// The budget of a thought within a cap on all tokens: it is part of them and must be smaller. A larger budget is
/// lowered so far that a text has room as well, if the least budget allows it.
pub(crate) fn budget_below(budget: u64, cap: u64) -> u64 {
    match cap {
        cap if budget < cap => budget,
        cap => (cap / 5 * 4).max(LEAST_BUDGET).min(cap.saturating_sub(1)),
    }
}

/// Writes on, off or the amount. Members of the `old` object that have no name here are kept.
pub(crate) fn thinking(request: &Request, old: Option<Val<'_>>) -> Thinking {
    let ask = &request.reasoning;
    let mut said = Thinking::default();
    if ask.enabled == Some(false) || ask.effort == Some(Effort::None) {
        said.object = Some(Raw::build(|w| w.object(|w| w.field_str("type", "disabled"))));
        return said;
    }
    if ask.enabled != Some(true) && ask.effort.is_none() && ask.max_tokens.is_none() {
        return said;
    }
    said.budget = ask.max_tokens.map(|budget| match request.max_tokens {
        Some(cap) => budget_below(budget.max(LEAST_BUDGET), cap),
        None => budget.max(LEAST_BUDGET),
    });
    if said.budget.is_some_and(|budget| budget < LEAST_BUDGET) {
        return Thinking { is_lost: true, ..Thinking::default() };
    }
    said.object = Some(Raw::build(|w| {
        w.object(|w| {
            w.field_str("type", if said.budget.is_some() { "enabled" } else { "adaptive" });
            if let Some(budget) = said.budget {
                w.field_u64("budget_tokens", budget);
            }
            if let Some(show) = ask.show {
                w.field_str("display", if show { "summarized" } else { "omitted" });
            }
            for (key, value) in old.into_iter().flat_map(Val::entries) {
                if !matches!(key.as_ref(), "type" | "budget_tokens" | "display") {
                    w.key(&key).raw_str(value.raw());
                }
            }
        });
    }));
    said
}

/// The word for an effort; the ladder here begins at `low`, and no effort is no thinking.
pub(crate) fn effort_word(effort: Option<Effort>) -> Option<&'static str> {
    match effort {
        None | Some(Effort::None) => None,
        Some(Effort::Minimal) => Some(Effort::Low.as_str()),
        Some(effort) => Some(effort.as_str()),
    }
}
