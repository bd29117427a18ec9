//! Computes a request's demand on a budget, and fits its settings to the grant.

mod body;
mod extent;
mod least;

pub use extent::{Extent, MOST, unclear_cap};
pub(crate) use least::{lower, lowered};

use crate::provider::ModelRule;
use crate::settings::{Budget, Effort, Resolved, Setting, Source};
use std::num::NonZeroU64;
use thinkthrough_limits::{Ask, OnExceed};

/// The demand on the budget of a request with these settings; `most` if it has no cap of its own.
#[must_use]
pub fn ask(rule: &ModelRule, settings: &Resolved, most: u64) -> Ask {
    let is_off = !settings.enabled.value || settings.effort.value == Some(Effort::None);
    let wanted = match settings.max_tokens.value {
        _ if is_off => 0,
        Some(Budget::Tokens(tokens)) => tokens.get().min(most),
        Some(Budget::Unlimited) | None => most,
    };
    let least = rule.thinking.budget.map_or(1, |form| form.min);
    Ask { wanted, least: least.min(wanted) }
}

/// The settings within the budget's grant: the budget's action if it is spent, else a cap on the thought, if the
/// model takes a cap.
#[must_use]
pub fn within(
    settings: &Resolved,
    rule: &ModelRule,
    exceeded: Option<OnExceed>,
    cap: Option<u64>,
) -> Resolved {
    let mut settings = settings.clone();
    match exceeded {
        Some(OnExceed::DisableReasoning) if can_be_off(rule) => settings.enabled = decided(false),
        // If thinking cannot be switched off, the least amount is the nearest.
        Some(OnExceed::DisableReasoning | OnExceed::LowerEffort) => least(&mut settings, rule),
        Some(OnExceed::Warn | OnExceed::Block) => {}
        None => {
            // A grant above the model's greatest cap does not restrict it.
            let cap = cap.filter(|cap| rule.thinking.budget.is_some_and(|form| *cap < form.max));
            if let Some(cap) = cap.and_then(NonZeroU64::new) {
                settings.max_tokens = decided(Some(Budget::Tokens(cap)));
            }
        }
    }
    settings
}

/// Whether the model's thinking can be switched off, or is off by default.
#[must_use]
pub fn can_be_off(rule: &ModelRule) -> bool {
    let form = &rule.thinking;
    form.off.is_some() || !form.default_on && form.on.is_some()
}

/// Whether the model takes an amount of thinking.
#[must_use]
pub fn can_be_lowered(rule: &ModelRule) -> bool {
    rule.thinking.effort.is_some() || rule.thinking.budget.is_some()
}

/// The least that still is thinking: the lowest effort, else the lowest cap.
fn least(settings: &mut Resolved, rule: &ModelRule) {
    let steps = rule.thinking.effort.map_or(&[][..], |form| form.words);
    let lowest = steps.iter().map(|(step, _)| *step).filter(|step| *step > Effort::None).min();
    if let Some(effort) = lowest {
        let asked = settings.effort.value.unwrap_or(Effort::Max);
        settings.effort = decided(Some(asked.min(effort)));
    }
    let least = rule.thinking.budget.and_then(|form| NonZeroU64::new(form.min));
    if let Some(least) = least {
        settings.max_tokens = decided(Some(Budget::Tokens(least)));
    }
}

fn decided<T>(value: T) -> Setting<T> {
    Setting { value, source: Source::Budget }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Target;
    use crate::settings::resolve;

    #[test]
    fn a_model_that_cannot_be_switched_off_gets_its_lowest_effort_instead() {
        for (provider, model, enabled, effort) in [
            ("google", "gemini-3-pro-preview", true, Some(Effort::Low)),
            ("moonshotai", "kimi-k3", true, Some(Effort::Low)),
            ("groq", "openai/gpt-oss-120b", true, Some(Effort::Low)),
            ("deepseek", "deepseek-v4", false, None),
            ("anthropic", "claude-sonnet-4-5", false, None),
        ] {
            let rule = Target::built_in(provider, None, model).unwrap().rule;
            let settings = within(&resolve(&[]), &rule, Some(OnExceed::DisableReasoning), None);
            let said = (settings.enabled.value, settings.effort.value);
            assert_eq!(said, (enabled, effort), "{model}");
        }
    }
}
