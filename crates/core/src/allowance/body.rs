//! Whether a body that goes out lets its model think, and how many answers it asks for.
//!
//! A budget checks the body instead of its caller's parameters: a body may contain both yes and no, and its model may
//! ignore the no.

use crate::contract::Return;
use crate::json::{Doc, Val};
use crate::provider::ModelRule;

/// Words in names of members that are about thinking.
pub(super) const ABOUT: [&str; 5] = ["reason", "think", "effort", "template", "prompt_mode"];
/// Members that control which thoughts are shown or kept, but not the amount of thinking.
pub(super) const SHOWN: [&str; 20] = [
    "clear_thinking",
    "display",
    "exclude",
    "force_nonempty_content",
    "generate_summary",
    "include_reasoning",
    "include_thoughts",
    "includeThoughts",
    "keep",
    "preserve_thinking",
    "reasoning_format",
    "reasoning_history",
    "reasoning_in_content",
    "reasoning_split",
    "reasoning_summary",
    "return_reasoning",
    "separate_reasoning",
    "stream_reasoning",
    "summary",
    "thinking_format",
];
/// Members that hold no settings of the request.
pub(super) const OTHER: [&str; 6] =
    ["metadata", "response_format", "responseSchema", "responseJsonSchema", "text", "labels"];
/// The highest number of answers to one request that the calculation assumes.
const ANSWERS: u64 = 128;

/// Whether the answer to this body may hold a thought, by the rule of its model.
///
/// It holds no thought in three cases: the rule says that the model never thinks; the model does not think by default
/// and the body does not ask for it; or the body is off in the rule's own form and has no contradicting member. An
/// unknown model may think.
pub(super) fn may_think(rule: &ModelRule, body: Val<'_>) -> bool {
    let form = &rule.thinking;
    let is_formless = form.on.is_none()
        && form.off.is_none()
        && form.effort.is_none()
        && form.budget.is_none()
        && !form.default_on;
    let is_named = rule.pattern != "*" && !rule.assumed;
    if is_formless {
        let is_thoughtless = rule.contract.returns == Return::Never && rule.tags.is_none();
        return !(is_named && is_thoughtless);
    }
    let off = form.off.and_then(|off| Doc::parse_str(off).ok());
    let off = off.as_ref().map(Doc::root);
    if asks(body, off, false) {
        return true;
    }
    let is_off = off.is_some_and(|off| contains(body, off));
    let is_silent_off = is_named && !form.default_on;
    !(is_off || is_silent_off)
}

/// How many answers this body asks for: each of them thinks and costs.
pub(super) fn answers(body: Val<'_>) -> u64 {
    let config = body.some("generationConfig").or_else(|| body.some("generation_config"));
    let places = [Some(body), config].into_iter().flatten();
    let names = ["n", "candidateCount", "candidate_count", "best_of", "num_generations"];
    let all = places.flat_map(|place| names.into_iter().filter_map(move |name| place.get(name)));
    all.filter_map(number).max().unwrap_or(1).clamp(1, ANSWERS)
}

/// A number that may be written as a fraction or as a text.
fn number(value: Val<'_>) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let number = match value.as_str() {
        Some(text) => text.trim().parse().ok()?,
        None => value.as_f64()?,
    };
    // More than is reckoned with is as good as the most.
    (1..=ANSWERS).rev().find(|whole| number > (*whole as f64) - 1.0)
}

/// Whether the body asks for thinking anywhere, apart from the members of its `off` form.
fn asks(body: Val<'_>, off: Option<Val<'_>>, is_about: bool) -> bool {
    body.entries().any(|(key, value)| {
        let off = off.and_then(|off| off.get(&key));
        let lower = key.to_ascii_lowercase();
        let is_about = is_about || ABOUT.iter().any(|word| lower.contains(word));
        if SHOWN.contains(&&*key) || OTHER.contains(&&*key) || value.is_array() {
            return false;
        }
        if value.is_object() {
            return asks(value, off, is_about);
        }
        let is_said_no = says_no(value) != lower.starts_with("disable");
        is_about && !is_said_no && off.is_none_or(|off| !same(off, value))
    })
}

/// Whether a value of a member about thinking asks for no thinking.
fn says_no(value: Val<'_>) -> bool {
    match value.as_str() {
        Some(word) => matches!(&*word, "" | "none" | "disabled" | "off" | "false"),
        None => value.is_null() || value.as_bool() == Some(false) || value.as_f64() == Some(0.0),
    }
}

/// Whether `body` contains all members of `part`.
fn contains(body: Val<'_>, part: Val<'_>) -> bool {
    match part.is_object() {
        true => part
            .entries()
            .all(|(key, part)| body.get(&key).is_some_and(|body| contains(body, part))),
        false => same(body, part),
    }
}

fn same(one: Val<'_>, other: Val<'_>) -> bool {
    match (one.as_str(), other.as_str()) {
        (Some(one), Some(other)) => one == other,
        _ => one.raw() == other.raw(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Target;

    fn rule(provider: &str, wire: Option<&str>, model: &str) -> ModelRule {
        Target::built_in(provider, wire, model).unwrap().rule
    }

    #[test]
    fn only_a_body_that_is_really_off_lets_nothing_be_thought() {
        let of = |provider: &str, wire: Option<&str>, model: &str, body: &str| {
            may_think(&rule(provider, wire, model), Doc::parse_str(body).unwrap().root())
        };
        let chat = Some("chat-completions");
        for (provider, wire, model, body, expected) in [
            // Off in the rule's own form, and nothing against it.
            ("deepseek", None, "deepseek-v4", r#"{"thinking":{"type":"disabled"}}"#, false),
            (
                "deepseek",
                None,
                "deepseek-v4",
                r#"{"thinking":{"type":"disabled"},"reasoning_effort":"high"}"#,
                true,
            ),
            ("deepseek", None, "deepseek-v4", r#"{"enable_thinking":false}"#, true),
            ("deepseek", None, "deepseek-v4", "{}", true),
            ("openai", chat, "gpt-5.1", r#"{"reasoning_effort":"none"}"#, false),
            (
                "openai",
                chat,
                "gpt-5.1",
                r#"{"reasoning_effort":"none","reasoning":{"effort":"high"}}"#,
                true,
            ),
            // Without an off form a no says nothing.
            ("deepseek", None, "deepseek-reasoner", r#"{"thinking":{"type":"disabled"}}"#, true),
            (
                "google",
                None,
                "gemini-3-pro-preview",
                r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":0,"thinkingLevel":"high"}}}"#,
                true,
            ),
            (
                "google",
                None,
                "gemini-2.5-flash",
                r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}"#,
                false,
            ),
            // Silence means off.
            ("anthropic", None, "claude-sonnet-4-5", r#"{"max_tokens":9}"#, false),
            (
                "anthropic",
                None,
                "claude-sonnet-4-5",
                r#"{"thinking":{"type":"enabled","budget_tokens":0}}"#,
                true,
            ),
            (
                "google",
                None,
                "gemini-2.5-flash-lite",
                r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}}"#,
                true,
            ),
            // These never think, with any parameter; others are unknown.
            ("openai", chat, "gpt-4o", r#"{"reasoning_effort":"high"}"#, false),
            ("anthropic", None, "claude-3-5-haiku-latest", "{}", false),
            ("vllm", None, "unheard-of", r#"{"reasoning_effort":"none"}"#, true),
        ] {
            assert_eq!(of(provider, wire, model, body), expected, "{provider} {model} {body}");
        }
    }

    #[test]
    fn answers_are_counted_however_their_number_is_written() {
        for (body, expected) in [
            ("{}", 1),
            (r#"{"n":8}"#, 8),
            (r#"{"n":0}"#, 1),
            (r#"{"n":"8"}"#, 8),
            (r#"{"n":2.5}"#, 3),
            (r#"{"n":1e30}"#, ANSWERS),
            (r#"{"n":null}"#, 1),
            (r#"{"generationConfig":{"candidateCount":4}}"#, 4),
        ] {
            assert_eq!(answers(Doc::parse_str(body).unwrap().root()), expected, "{body}");
        }
    }
}
