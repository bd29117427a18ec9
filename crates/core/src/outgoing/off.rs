//! Bodies with thinking switched off, and without contradicting members.

use crate::allowance::{can_be_lowered, can_be_off};
use crate::json::{Doc, Raw, Val};
use crate::provider::ModelRule;
use crate::settings::{Effort, Resolved};

/// The places for an amount of thinking, in addition to the places that the model's rule names.
const PLACES: [&str; 7] = [
    "reasoning_effort",
    "thinking_budget",
    "reasoning.effort",
    "reasoning.max_tokens",
    "output_config.effort",
    "thinking.budget_tokens",
    "thinking.display",
];

/// A body whose settings switch thinking off, without other members about the amount of thinking; `None` if no change
/// is needed. If the model does not think by default and its rule has no word for off, members that switch thinking
/// on are removed as well.
pub(crate) fn without_contradiction(
    body: &str,
    rule: &ModelRule,
    settings: &Resolved,
) -> Option<String> {
    if !is_off(settings) || !can_be_off(rule) {
        return None;
    }
    let thinking = &rule.thinking;
    let off = thinking.off.and_then(|off| Raw::parse(off).ok());
    let off = off.as_ref().map(Raw::doc);
    let off = off.as_ref().map(Doc::root);
    let on = thinking.on.filter(|_| off.is_none()).and_then(|on| Raw::parse(on).ok());
    let forms = [thinking.effort.map(|form| form.path), thinking.budget.map(|form| form.path)];
    let places = forms.into_iter().flatten().chain(PLACES);
    let mut paths: Vec<Vec<String>> =
        places.map(|path| path.split('.').map(str::to_owned).collect()).collect();
    if let Some(on) = &on {
        leaves(on.doc().root(), &mut Vec::new(), &mut paths);
    }
    let doc = Doc::parse_str(body).ok()?;
    let mut whole: Option<Raw> = None;
    for path in &paths {
        let came = whole.as_ref().map(Raw::doc);
        let left = without(came.as_ref().map_or(doc.root(), Doc::root), path, off);
        whole = left.or(whole);
    }
    whole.map(|whole| whole.as_str().to_owned())
}

/// Removes the member at this path. `None` if the body has none.
pub(crate) fn without_member(body: &str, path: &str) -> Option<String> {
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    let doc = Doc::parse_str(body).ok()?;
    without(doc.root(), &path, None).map(|left| left.as_str().to_owned())
}

/// Whether the settings switch thinking off.
pub(super) fn is_off(settings: &Resolved) -> bool {
    !settings.enabled.value || settings.effort.value == Some(Effort::None)
}

/// Whether the settings switch thinking off but the rule has no word for off or for a low effort, so that only the
/// caller's own words remain.
pub(crate) fn can_only_be_asked(rule: &ModelRule, settings: &Resolved) -> bool {
    is_off(settings) && !can_be_off(rule) && !can_be_lowered(rule)
}

/// Collects the paths of all members of an object that are not objects themselves.
fn leaves(object: Val<'_>, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (key, value) in object.entries() {
        path.push(key.into_owned());
        match value.is_object() {
            true => leaves(value, path, found),
            false => found.push(path.clone()),
        }
        path.pop();
    }
}

/// An object without the members at this path, except those in `off`, and without the objects that so become empty;
/// `None` if the object has no such members.
fn without(object: Val<'_>, path: &[String], off: Option<Val<'_>>) -> Option<Raw> {
    let (name, rest) = path.split_first()?;
    let mut has_any = false;
    let left = Raw::build(|w| {
        w.object(|w| {
            for (key, value) in object.entries() {
                let is_it = is_same_name(&key, name);
                let off = off.filter(|_| key == *name).and_then(|off| off.get(name));
                let left = without(value, rest, off).filter(|_| is_it);
                let is_gone = is_it && rest.is_empty() && off.is_none();
                has_any |= is_gone || left.is_some();
                match left {
                    _ if is_gone => {}
                    Some(left) if left.as_str() == "{}" => {}
                    Some(left) => w.field_raw(&key, &left),
                    None => w.key(&key).raw_str(value.raw()),
                }
            }
        });
    });
    has_any.then_some(left)
}

/// Whether two spellings name one member: Gemini's APIs take `thinking_budget` for `thinkingBudget`.
fn is_same_name(one: &str, other: &str) -> bool {
    let letters = |name: &str| {
        let letters = name.bytes().filter(|it| *it != b'_');
        letters.map(|it| it.to_ascii_lowercase()).collect::<Vec<_>>()
    };
    one == other || letters(one) == letters(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allowance::within;
    use crate::provider::Target;
    use crate::settings::resolve;
    use thinkthrough_limits::OnExceed;

    #[test]
    fn what_switches_thinking_on_goes_where_silence_means_off() {
        let chat = Some("chat-completions");
        for (provider, wire, model, body, expected) in [
            (
                "google",
                None,
                "gemini-2.5-flash-lite",
                r#"{"generationConfig":{"topK":1e2,"thinkingConfig":{"thinkingBudget":8192,"includeThoughts":true}}}"#,
                Some(
                    r#"{"generationConfig":{"topK":1e2,"thinkingConfig":{"includeThoughts":true}}}"#,
                ),
            ),
            (
                "google",
                None,
                "gemini-2.5-flash-lite",
                r#"{"generation_config":{"thinking_config":{"thinking_budget":8192}},"contents":[]}"#,
                Some(r#"{"contents":[]}"#),
            ),
            ("google", None, "gemini-2.5-flash-lite", r#"{"generationConfig":{"topK":1}}"#, None),
            // The rule's own members for off stay, as they are spelled there.
            (
                "google",
                None,
                "gemini-2.5-flash",
                r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":0,"thinking_budget":9}}}"#,
                Some(r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}"#),
            ),
            (
                "vertexai",
                chat,
                "deepseek-ai/deepseek-v3.1-maas",
                r#"{"chat_template_kwargs":{"thinking":true,"x":1}}"#,
                Some(r#"{"chat_template_kwargs":{"x":1}}"#),
            ),
            (
                "bedrock",
                None,
                "amazon.nova-2-lite-v1:0",
                r#"{"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"high"}},"a":1}"#,
                Some(r#"{"a":1}"#),
            ),
            // The rule has no form for off.
            ("deepseek", None, "deepseek-reasoner", r#"{"reasoning_effort":"high"}"#, None),
        ] {
            let rule = Target::built_in(provider, wire, model).unwrap().rule;
            let settings = within(&resolve(&[]), &rule, Some(OnExceed::DisableReasoning), None);
            let left = without_contradiction(body, &rule, &settings);
            assert_eq!(left.as_deref(), expected, "{model} {body}");
        }
    }
}
