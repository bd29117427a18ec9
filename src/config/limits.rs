//! `[budget]` and `limits`: the spending of a session, and the requests within a minute.

use super::prices::amount;
use super::table::Section;
use thinkthrough_limits::{BudgetRules, Budgets, Limit, OnExceed, RateLimits, WarnAt};
use toml::Value;

/// The dollars of each scope, in the order of `Scope::ALL`.
const USD: [&str; 5] =
    ["usd_per_session", "usd_per_turn", "usd_per_task", "usd_per_day", "usd_per_key"];
const WARN: [&str; 2] = ["warn_at", "warningThresholdPercent"];

/// A higher number is a mistake, and its sums could overflow.
const MOST: u64 = 1_000_000_000_000_000;
const WHOLE: &str = "a whole number or \"unlimited\"";

/// `[budget]`; a missing setting has its default.
pub(super) fn budget(section: Option<Section<'_>>) -> Result<BudgetRules, String> {
    const MAX: [&str; 2] = ["reasoning_tokens_per_session", "maxReasoningTokensPerSession"];
    let Some(section) = section else { return Ok(BudgetRules::DEFAULT) };
    section.only(&[MAX[0], WARN[0], "on_exceed", MAX[1], WARN[1]])?;
    let mut rules = BudgetRules::DEFAULT;
    if let Some(key) = section.one_of(MAX)? {
        rules.max = limit(section, key)?.unwrap_or(rules.max);
    }
    rules.warn_at = warn_at(section)?.unwrap_or(rules.warn_at);
    rules.on_exceed = on_exceed(section)?.unwrap_or(rules.on_exceed);
    Ok(rules)
}

/// `budget = { ... }` of a key: a scope without a setting is unlimited.
pub(super) fn budgets(section: Section<'_>) -> Result<Budgets, String> {
    const SESSION: [&str; 2] = ["reasoning_tokens_per_session", "maxReasoningTokensPerSession"];
    const MAX: [&str; 5] = [
        SESSION[0],
        "reasoning_tokens_per_turn",
        "reasoning_tokens_per_task",
        "reasoning_tokens_per_day",
        "reasoning_tokens_per_key",
    ];
    let Some(table) = section.table("budget")? else { return Ok(Budgets::NONE) };
    let name = section.at("budget");
    let inner = Section { name: &name, table };
    inner.only(&[&MAX[..], &USD[..], &[WARN[0], "on_exceed", SESSION[1], WARN[1]]].concat())?;
    let mut budgets = Budgets::NONE;
    for (max, key) in budgets.money.iter_mut().zip(USD) {
        *max = dollars(inner, key)?.unwrap_or(*max);
    }
    for (max, key) in budgets.max.iter_mut().zip(MAX) {
        *max = limit(inner, key)?.unwrap_or(*max);
    }
    if let (Some(key), [session, ..]) = (inner.one_of(SESSION)?, &mut budgets.max) {
        *session = limit(inner, key)?.unwrap_or(*session);
    }
    budgets.warn_at = warn_at(inner)?.unwrap_or(budgets.warn_at);
    budgets.on_exceed = on_exceed(inner)?.unwrap_or(budgets.on_exceed);
    Ok(budgets)
}

/// Dollars; `0` and `"unlimited"` are no limit.
fn dollars(section: Section<'_>, key: &str) -> Result<Option<Limit>, String> {
    match section.table.get(key).and_then(Value::as_str) {
        Some("unlimited") => Ok(Some(Limit::Unlimited)),
        _ => Ok(amount(section, key)?.map(Limit::from_config)),
    }
}

fn warn_at(section: Section<'_>) -> Result<Option<WarnAt>, String> {
    const SHARE: &str = "a share above 0 and at most 1, like 0.8";
    let Some(key) = section.one_of(WARN)? else { return Ok(None) };
    if key == WARN[1] {
        return percent(section, key).map(Some);
    }
    let number = section.number(key).map_err(|_| section.wrong(key, SHARE))?.unwrap_or_default();
    let at = section.at(key);
    let share = WarnAt::from_fraction(number);
    share.map(Some).map_err(|error| format!("`{at}` cannot be `{number}`: {error}"))
}

/// A user who writes 0.8 here means 80, and would be warned at once.
fn percent(section: Section<'_>, key: &str) -> Result<WarnAt, String> {
    let percent = section.table.get(key).and_then(Value::as_integer);
    let percent = percent.and_then(|it| u8::try_from(it).ok()).filter(|it| *it <= 100);
    let share = percent.and_then(|it| WarnAt::from_percent(f64::from(it)).ok());
    let allowed = format!(
        "a whole number from 1 to 100, like 80, or be said as `{} = 0.8`",
        section.at(WARN[0])
    );
    share.ok_or_else(|| section.wrong(key, &allowed))
}

fn on_exceed(section: Section<'_>) -> Result<Option<OnExceed>, String> {
    const KEY: &str = "on_exceed";
    let Some(value) = section.table.get(KEY) else { return Ok(None) };
    let action = value.as_str().and_then(OnExceed::parse).ok_or_else(|| {
        let allowed = OnExceed::ALL.map(OnExceed::as_str).join(", ");
        let said = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("`{}` cannot be `{said}`; allowed: {allowed}", section.at(KEY))
    });
    action.map(Some)
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
    let (limit, allowed) = match value {
        Value::Integer(number) => match u64::try_from(*number) {
            Ok(number) if number > MOST => (None, "at most 1000000000000000, or \"unlimited\""),
            number => (number.ok().map(Limit::from_config), WHOLE),
        },
        Value::String(text) if text == "unlimited" => (Some(Limit::Unlimited), WHOLE),
        Value::String(text) if Limit::parse(text).is_some() => {
            (None, "a whole number without quotes, or \"unlimited\"")
        }
        _ => (None, WHOLE),
    };
    limit.map(Some).ok_or_else(|| section.wrong(key, allowed))
}
