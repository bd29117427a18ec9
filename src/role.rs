//! The roles that models play (`[roles]`), asked for as `role:NAME`.

use crate::config::Config;
use crate::failure::Failure;
use std::num::NonZeroU64;
use thinkthrough_core::echo::short;
use thinkthrough_core::provider::ModelRule;
use thinkthrough_core::settings::{Budget, Effort, Partial};

/// The role of small calls: titles, summaries. They need no thought.
const UTILITY: &str = "utility";

/// The model that plays a role.
pub(crate) fn model<'a>(config: &'a Config, role: &str) -> Result<&'a str, Failure> {
    let Some(model) = config.role(role) else {
        let known: Vec<_> = config.roles.iter().map(|(role, _)| role.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(Failure::Failed(format!(
            "no model plays the role `{}`; the configuration's `[roles]` has: {known}",
            short(role)
        )));
    };
    if model.starts_with("role:") {
        return Err(Failure::Failed(format!(
            "`roles.{role}` is `{model}`, which is no model; name a model there"
        )));
    }
    Ok(model)
}

/// Sets a role's wishes for its model, unless the configuration already has them under the model itself.
pub(crate) fn play(role: &str, rule: &ModelRule, said: &mut Partial) {
    let is_said = said.enabled.is_some() || said.effort.is_some() || said.max_tokens.is_some();
    if role != UTILITY || is_said {
        return;
    }
    let thinking = &rule.thinking;
    let thinks_always = thinking.default_on && thinking.off.is_none();
    let least = thinking.budget.and_then(|form| NonZeroU64::new(form.min));
    match (thinking.effort, least) {
        (Some(_), _) if thinks_always => said.effort = Some(Some(Effort::Low)),
        (None, Some(least)) if thinks_always => {
            said.max_tokens = Some(Some(Budget::Tokens(least)));
        }
        (Some(_) | None, Some(_) | None) => said.enabled = Some(false),
    }
}
