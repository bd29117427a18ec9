//! `[budget]` and `limits`: what may be spent in a session, and asked for within a minute.

use super::table::Section;
use thinkthrough_core::budget::{BudgetRules, Limit, OnExceed, RateLimits, WarnAt};
use toml::Value;

/// `[budget]`; what it does not say is as without it.
pub(super) fn budget(section: Option<Section<'_>>) -> Result<BudgetRules, String> {
    const MAX: [&str; 2] = ["reasoning_tokens_per_session", "maxReasoningTokensPerSession"];
    const WARN: [&str; 2] = ["warn_at", "warningThresholdPercent"];
    let Some(section) = section else { return Ok(BudgetRules::DEFAULT) };
    section.only(&[MAX[0], WARN[0], "on_exceed", MAX[1], WARN[1]])?;
    let mut rules = BudgetRules::DEFAULT;
    if let Some(key) = section.one_of(MAX)? {
        rules.max = limit(section, key)?.unwrap_or(rules.max);
    }
    if let Some(key) = section.one_of(WARN)? {
        let at = section.at(key);
        let number = section.number(key)?.unwrap_or_default();
        let share = if key == WARN[0] {
            WarnAt::from_fraction(number)
        } else {
            WarnAt::from_percent(number)
        };
        rules.warn_at = share.map_err(|error| format!("`{at}`: {error}"))?;
    }
    if let Some(word) = section.string("on_exceed")? {
        rules.on_exceed = OnExceed::parse(&word).ok_or_else(|| {
            let allowed = OnExceed::ALL.map(OnExceed::as_str).join(", ");
            format!("`{}` cannot be `{word}`; allowed: {allowed}", section.at("on_exceed"))
        })?;
    }
    Ok(rules)
}

/// `limits = { ... }` of a provider or a key.
pub(super) fn limits(section: Section<'_>) -> Result<RateLimits, String> {
    let Some(table) = section.table("limits")? else { return Ok(RateLimits::UNLIMITED) };
    let name = section.at("limits");
    let inner = Section { name: &name, table };
    inner.only(&["requests_per_minute", "tokens_per_minute"])?;
    Ok(RateLimits {
        requests_per_minute: limit(inner, "requests_per_minute")?.unwrap_or(Limit::Unlimited),
        tokens_per_minute: limit(inner, "tokens_per_minute")?.unwrap_or(Limit::Unlimited),
    })
}

/// A number of things; `0` and `"unlimited"` are no limit.
pub(super) fn limit(section: Section<'_>, key: &str) -> Result<Option<Limit>, String> {
    let Some(value) = section.table.get(key) else { return Ok(None) };
    let limit = match value {
        Value::Integer(number) => u64::try_from(*number).ok().map(Limit::from_config),
        Value::String(text) => Limit::parse(text),
        _ => None,
    };
    let wrong = || format!("`{}` must be a whole number or \"unlimited\"", section.at(key));
    limit.map(Some).ok_or_else(wrong)
}
