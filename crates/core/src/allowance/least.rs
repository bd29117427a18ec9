//! Little thinking in a caller's own words, for models whose rule has no words for it.
//!
//! It is unknown which parameter such a model follows. It may follow the caller's own amounts, so these are lowered;
//! no member is added, and a switch without a degree (`think: true`) stays.

use super::body::{ABOUT, OTHER, SHOWN};
use crate::json::{Raw, Val, merge};
use crate::request::ReasoningAsk;
use crate::settings::Effort;

/// A low cap on thinking tokens; on Messages it is the API's minimum.
const LITTLE: u64 = 1_024;
/// Words in names of members with a degree, and of members with a cap.
const DEGREE: [&str; 4] = ["effort", "level", "reason", "think"];
const CAP: [&str; 3] = ["budget", "effort", "token"];

/// Lowers the caller's amounts of thinking.
pub(crate) fn lower(ask: &mut ReasoningAsk) {
    ask.effort = ask.effort.map(|effort| effort.min(Effort::Low));
    ask.max_tokens = ask.max_tokens.map(|tokens| tokens.min(LITTLE));
    // A wire writes its own fields unchanged, so they are lowered as well.
    for (key, value) in &mut ask.fields.fields {
        let whole = Raw::build(|w| w.object(|w| w.field_raw(key, value)));
        let whole = whole.doc();
        if let Some(less) = lowered(whole.root()) {
            let less = merge(whole.root(), less.doc().root());
            *value = less.doc().root().get(key).map_or_else(|| value.clone(), Raw::from);
        }
    }
}

/// A patch that lowers the amounts in this body; `None` if they are low already.
pub(crate) fn lowered(body: Val<'_>) -> Option<Raw> {
    less(body, false)
}

fn less(object: Val<'_>, is_about: bool) -> Option<Raw> {
    let mut has_any = false;
    let patch = Raw::build(|w| {
        w.object(|w| {
            for (key, value) in object.entries() {
                let lower = key.to_ascii_lowercase();
                let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
                let is_about = is_about || has(&ABOUT);
                let is_other = SHOWN.contains(&&*key) || OTHER.contains(&&*key);
                let less = match value.is_object() {
                    _ if is_other => None,
                    true => less(value, is_about),
                    false if !is_about => None,
                    false => degree(value)
                        .filter(|_| has(&DEGREE))
                        .or_else(|| cap(value).filter(|_| has(&CAP))),
                };
                if let Some(less) = less {
                    has_any = true;
                    w.field_raw(&key, &less);
                }
            }
        });
    });
    has_any.then_some(patch)
}

/// A low effort in place of a higher one, in capitals if that one is.
fn degree(value: Val<'_>) -> Option<Raw> {
    let word = value.as_str()?;
    Effort::parse(&word).filter(|effort| *effort > Effort::Low)?;
    let low = Effort::Low.as_str();
    let is_loud = word.bytes().all(|it| it.is_ascii_uppercase());
    Some(if is_loud { Raw::string(&low.to_ascii_uppercase()) } else { Raw::string(low) })
}

/// A low cap in place of a higher or missing one (-1).
fn cap(value: Val<'_>) -> Option<Raw> {
    let tokens = value.as_f64()?;
    (tokens < 0.0 || tokens > LITTLE as f64).then(|| Raw::build(|w| w.u64(LITTLE)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[test]
    fn what_a_caller_says_of_how_much_to_think_becomes_little_wherever_it_stands() {
        for (body, expected) in [
            (
                r#"{"reasoning_effort":"high","temperature":1}"#,
                Some(r#"{"reasoning_effort":"low"}"#),
            ),
            (
                r#"{"reasoning":{"effort":"xhigh","max_tokens":9000,"summary":"high"}}"#,
                Some(r#"{"reasoning":{"effort":"low","max_tokens":1024}}"#),
            ),
            (r#"{"think":"high"}"#, Some(r#"{"think":"low"}"#)),
            (
                r#"{"thinking":{"type":"enabled","budget_tokens":8192},"max_tokens":9000}"#,
                Some(r#"{"thinking":{"budget_tokens":1024}}"#),
            ),
            (
                r#"{"output_config":{"effort":"max"}}"#,
                Some(r#"{"output_config":{"effort":"low"}}"#),
            ),
            (
                r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":-1},"maxOutputTokens":9000}}"#,
                Some(r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":1024}}}"#),
            ),
            (
                r#"{"generation_config":{"thinking_config":{"thinking_level":"HIGH"}}}"#,
                Some(r#"{"generation_config":{"thinking_config":{"thinking_level":"LOW"}}}"#),
            ),
            (
                r#"{"chat_template_kwargs":{"reasoning_effort":"medium","size":4096}}"#,
                Some(r#"{"chat_template_kwargs":{"reasoning_effort":"low"}}"#),
            ),
            // It is little, no degree, or about something else.
            (r#"{"reasoning_effort":"minimal","thinking_budget":1024,"think":true}"#, None),
            (r#"{"metadata":{"effort":"high"},"quality":"high","max_tokens":9000}"#, None),
            (r#"{"messages":[{"role":"user","content":"x","thinking_budget":9000}]}"#, None),
        ] {
            let lowered = lowered(Doc::parse_str(body).unwrap().root());
            assert_eq!(lowered.as_ref().map(Raw::as_str), expected, "{body}");
        }
    }
}
