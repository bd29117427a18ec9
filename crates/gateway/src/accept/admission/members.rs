//! Refuses request bodies that two readers can understand differently.
//!
//! If a member occurs twice, one reader takes the first and another the last; and some servers read `Model` as
//! `model`. The provider must read exactly the values that the gateway checked, so such requests are refused.

use crate::rejection::{Rejection, rejection};
use std::borrow::Cow;
use std::collections::HashSet;
use thinkthrough_json::Val;

/// Members that steer a request, as the wires spell them. Spellings in one row have the same meaning.
const STEERING: &[&[&str]] = &[
    &["model"],
    &["models"],
    &["stream"],
    &["max_tokens"],
    &["max_output_tokens"],
    &["max_completion_tokens"],
    &["maxOutputTokens"],
    &["generationConfig", "generation_config"],
    &["inferenceConfig"],
    &["additionalModelRequestFields"],
    &["tools"],
    &["tool_choice"],
    &["toolConfig", "tool_config"],
    &["functions"],
    &["function_call"],
    &["messages"],
    &["input"],
    &["contents"],
    &["prompt"],
    &["system"],
    &["systemInstruction", "system_instruction"],
    &["instructions"],
    &["previous_response_id"],
    &["previous_interaction_id"],
    &["conversation"],
    &["cachedContent", "cached_content"],
    &["container"],
    &["store"],
    &["background"],
    &["thinking"],
    &["thinkingConfig", "thinking_config"],
    &["think"],
    &["reasoning"],
    &["reasoning_effort"],
    &["output_config"],
    &["options"],
    &["n"],
    &["service_tier"],
    &["generateContentRequest", "generate_content_request"],
];

/// Members whose own members also steer the request.
const NESTED: &[&str] = &[
    "generationConfig",
    "generation_config",
    "inferenceConfig",
    "options",
    "output_config",
    "reasoning",
    "thinking",
    "thinkingConfig",
    "thinking_config",
];

/// Members that name further models. A key's list of models would have to cover these, too.
const FURTHER_MODELS: &[&str] =
    &["models", "fallbacks", "fallback_models", "preset", "plugins", "compound_custom"];

/// Refuses a request if a member occurs twice, or if a steering member differs from its wire's spelling in letter
/// case.
pub(crate) fn check_members(root: Val<'_>) -> Result<(), Rejection> {
    check_object(root, "")?;
    root.entries()
        .filter(|(key, _)| NESTED.contains(&&**key))
        .try_for_each(|(key, value)| check_nested(&key, value))
}

/// Checks two levels: on some wires thinking is configured inside the generation configuration.
fn check_nested(within: &str, object: Val<'_>) -> Result<(), Rejection> {
    check_object(object, within)?;
    object
        .entries()
        .filter(|(key, _)| NESTED.contains(&&**key))
        .try_for_each(|(key, value)| check_object(value, &format!("{within}.{key}")))
}

fn check_object(object: Val<'_>, within: &str) -> Result<(), Rejection> {
    let mut reporter = HashSet::new();
    for (key, _) in object.entries() {
        let one =
            meaning(&key).map_err(|meant| refused(within, &key, &format!("write `{meant}`")))?;
        if !reporter.insert(one) {
            return Err(refused(within, &key, "send it once"));
        }
    }
    Ok(())
}

fn refused(within: &str, key: &str, remedy: &str) -> Rejection {
    let key: String = key.chars().filter(|c| !c.is_control()).take(80).collect();
    let dot = if within.is_empty() { "" } else { "." };
    let message = format!("`{within}{dot}{key}` can be read in two ways; {remedy}");
    rejection(400, "invalid_request_error", message)
}

/// The name by which all spellings of a member are compared. An error is the spelling that the wire has.
fn meaning<'k>(key: &Cow<'k, str>) -> Result<Cow<'k, str>, &'static str> {
    let all = || STEERING.iter().map(|row| row.iter());
    for row in STEERING {
        if row.iter().any(|spelling| **spelling == **key) {
            return Ok(Cow::Borrowed(row.first().copied().unwrap_or_default()));
        }
    }
    let folded = folded(key);
    let alike = all().flatten().find(|spelling| spelling.eq_ignore_ascii_case(&folded));
    match alike {
        Some(meant) => Err(meant),
        None => Ok(folded),
    }
}

/// A name in lower case, as case-insensitive readers compare it. Two letters outside ASCII also fold to ASCII ones.
pub(crate) fn folded<'k>(key: &Cow<'k, str>) -> Cow<'k, str> {
    let is_folded = |c: char| !c.is_ascii_uppercase() && !matches!(c, '\u{17f}' | '\u{212a}');
    if key.chars().all(is_folded) {
        return key.clone();
    }
    let lower = key.chars().map(|c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        _ => c.to_ascii_lowercase(),
    });
    Cow::Owned(lower.collect())
}

/// A member that names a further model: a list of fallbacks, or a tool that asks a model.
pub(crate) fn another_model(root: Val<'_>) -> Option<String> {
    let names = |key: &Cow<'_, str>, list: &[&str]| list.contains(&&*folded(key));
    for (key, value) in root.entries().filter(|(_, value)| !value.is_null()) {
        if names(&key, FURTHER_MODELS) {
            return Some(key.into_owned());
        }
        if names(&key, &["tools"]) {
            let mut members = value.items().flat_map(Val::entries);
            if members.any(|(key, value)| names(&key, &["model"]) && !value.is_null()) {
                return Some("tools[].model".to_owned());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_json::Doc;

    fn refusal(body: &str) -> Option<String> {
        let doc = Doc::parse_str(body).unwrap();
        check_members(doc.root()).err().map(|rejection| {
            assert_eq!(rejection.status, 400);
            rejection.message
        })
    }

    #[test]
    fn t_10_a_member_that_steers_stands_there_once_and_in_its_own_spelling() {
        for row in STEERING {
            for name in *row {
                let upper = name.to_uppercase();
                let first = name.chars().next().unwrap();
                let escaped = format!("\\u{:04x}{}", u32::from(first), name.split_at(1).1);
                for body in [
                    format!(r#"{{"{name}":1,"{name}":2}}"#),
                    format!(r#"{{"{escaped}":1,"x":0,"{name}":2}}"#),
                    format!(r#"{{"{upper}":1}}"#),
                    format!(r#"{{"{name}":1,"{upper}":2}}"#),
                ] {
                    let message = refusal(&body).unwrap_or_else(|| panic!("{body}"));
                    assert!(message.to_lowercase().contains(&name.to_lowercase()), "{message}");
                }
                assert_eq!(refusal(&format!(r#"{{"{name}":1}}"#)), None);
                // The escaped spelling counts as the member itself.
                assert_eq!(refusal(&format!(r#"{{"{escaped}":1}}"#)), None);
            }
        }
        for body in [
            r#"{"generationConfig":{},"generation_config":{}}"#,
            r#"{"generationConfig":{"maxOutputTokens":1,"maxOutputTokens":2}}"#,
            r#"{"generationConfig":{"MaxOutputTokens":1}}"#,
            r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":1,"thinkingbudget":2}}}"#,
            r#"{"reasoning":{"effort":"low","effort":"high"}}"#,
            r#"{"anything":1,"Anything":2}"#,
            "{\"me\u{17f}sages\":[]}",
            "{\"max_to\u{212a}ens\":1}",
        ] {
            assert!(refusal(body).is_some(), "{body}");
        }
    }

    #[test]
    fn what_users_name_themselves_is_theirs() {
        for body in [
            r#"{"model":"m","metadata":{"model":1,"Model":2}}"#,
            r#"{"messages":[{"role":"user","content":"x"},{"role":"user","content":"y"}]}"#,
            r#"{"tools":[{"parameters":{"properties":{"model":{},"Model":{}}}}]}"#,
            r#"{"max_tokens":1,"max_completion_tokens":2}"#,
        ] {
            assert_eq!(refusal(body), None, "{body}");
        }
    }

    #[test]
    fn t_4_further_models_are_seen_wherever_they_are_named() {
        for (body, expected) in [
            (r#"{"model":"a","models":["b"]}"#, Some("models")),
            (r#"{"Models":["b"]}"#, Some("Models")),
            (r#"{"preset":"b"}"#, Some("preset")),
            (r#"{"tools":[{"type":"x"},{"type":"advisor","model":"b"}]}"#, Some("tools[].model")),
            (r#"{"model":"a","models":null}"#, None),
            (r#"{"tools":[{"function":{"parameters":{"properties":{"model":{}}}}}]}"#, None),
        ] {
            let doc = Doc::parse_str(body).unwrap();
            assert_eq!(another_model(doc.root()).as_deref(), expected, "{body}");
        }
    }
}
