//! A tool choice that forces a call, at models that only choose by themselves while they think.

use crate::allowance::can_be_off;
use crate::provider::{Target, WhileThinking};
use crate::request::{Request, ToolChoice};
use crate::settings::{Budget, Effort, Resolved, Source};

use super::off::is_off;

/// The parameter that changes if thinking goes off for a forced choice.
pub(crate) const THINKING: &str = "reasoning.enabled";

/// Why a forced choice and thinking that the user set do not go together.
pub(crate) const CONFLICT: &str = "cannot be forced to call a tool while it thinks, and `reasoning` is set to think; leave one of them out";

/// The fate of a tool choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// It goes as it is.
    Stays,
    /// It goes as it is, and thinking is off in this request.
    ThinkingOff,
    /// The model chooses by itself.
    Automatic,
    /// It would take thinking off that the user set.
    Conflict,
}

/// Decides about the tool choice of a request. With `is_own` it is on the model's own wire: a choice that the model
/// never takes is a guarantee there, and the provider refuses it.
pub(crate) fn choice(
    request: &Request,
    target: &Target,
    settings: &Resolved,
    is_own: bool,
) -> Choice {
    let rule = &target.rule;
    let is_forced =
        matches!(&request.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_)));
    let is_refused = is_forced && rule.thinking.choice == WhileThinking::Automatic;
    if !is_refused || !is_on(request, target, settings, is_own) {
        return Choice::Stays;
    }
    match (can_be_off(rule), is_own) {
        (true, _) if is_set(settings) => Choice::Conflict,
        (true, _) => Choice::ThinkingOff,
        (false, true) => Choice::Stays,
        (false, false) => Choice::Automatic,
    }
}

/// Whether the user asked for thinking. Settings that a budget lowered do not count.
fn is_set(settings: &Resolved) -> bool {
    let Resolved { enabled, effort, max_tokens, .. } = settings;
    let is_enabled = enabled.value && enabled.is_explicit() && enabled.source != Source::Budget;
    let has_effort = effort.value.is_some() && effort.source != Source::Budget;
    let has_budget = matches!(max_tokens.value, Some(Budget::Tokens(_)));
    is_enabled || has_effort || has_budget && max_tokens.source != Source::Budget
}

/// Whether the settings ask for thinking, from any source.
fn is_asked(settings: &Resolved) -> bool {
    let has_budget = matches!(settings.max_tokens.value, Some(Budget::Tokens(_)));
    let is_enabled = settings.enabled.value && settings.enabled.is_explicit();
    settings.effort.value.is_some() || has_budget || is_enabled
}

/// Whether the model thinks in answer to this request.
fn is_on(request: &Request, target: &Target, settings: &Resolved, is_own: bool) -> bool {
    let (ask, form) = (&request.reasoning, &target.rule.thinking);
    if is_off(settings) {
        return false;
    }
    if is_asked(settings) {
        return true;
    }
    if ask.enabled == Some(false) || ask.effort == Some(Effort::None) {
        return form.off.is_none() && form.default_on;
    }
    // With a separate switch, an effort alone does not switch thinking on.
    let is_asked = ask.enabled == Some(true)
        || ask.max_tokens.is_some()
        || ask.effort.is_some() && !is_own
        || !request.is_relayed && form.on.is_some();
    is_asked || form.default_on
}
