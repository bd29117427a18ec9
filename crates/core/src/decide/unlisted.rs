//! Repairs for refusals that no table knows.
//!
//! A repair changes only the part of the request that the refusal names. It replaces a refused effort by a listed word, or
//! removes the effort or a flag. It removes a thought that the refusal names by itself or by the path of its answer. If the
//! refusal mentions thoughts in general, the repair removes all thoughts from a request that had some, and adds them to a
//! request that had none. Every other refusal goes to the caller.

use super::Repair;
use super::named::Named;
use crate::json::Doc;
use crate::provider::Target;
use crate::settings::{Effort, Efforts};
use crate::wire::chat_completions::SIBLINGS;
use std::borrow::Cow;

/// The paths of an effort in requests, and its other names in refusals.
const EFFORTS: [&str; 6] = [
    "reasoning_effort",
    "reasoning.effort",
    "output_config.effort",
    "generationConfig.thinkingConfig.thinkingLevel",
    "generation_config.thinking_level",
    "additionalModelRequestFields.output_config.effort",
];
const EFFORT_NAMES: [&str; 4] = ["thinkinglevel", "thinking_level", "'effort'", "`effort`"];

/// The members that ask a model to keep, to show or to seal its thoughts.
const MEMBERS: [&str; 12] = [
    "chat_template_kwargs",
    "enable_thinking",
    "generation_config.thinking_summaries",
    "include",
    "include_reasoning",
    "preserve_thinking",
    "reasoning.summary",
    "reasoning_format",
    "reasoning_split",
    "thinking.block_binding",
    "thinking.clear_thinking",
    "thinking.keep",
];

/// The value of `include` that asks for sealed thoughts.
const SEALS: &str = "reasoning.encrypted_content";

/// The names of thoughts in refusals.
const THOUGHTS: [&str; 15] = [
    "reasoning_content",
    "reasoning_details",
    "reasoning_text",
    "`reasoning`",
    "'reasoning'",
    "reasoning item",
    "reasoning block",
    "reasoning content",
    "redacted_thinking",
    "`thinking`",
    "thinking block",
    "thinking content",
    "thought_signature",
    "thought signature",
    "encrypted_content",
];

/// The repairs of this module that the store keeps.
pub(super) fn repairs() -> impl Iterator<Item = Repair> {
    let fields = SIBLINGS.into_iter().map(|field| Repair::Return(Some((field, ""))));
    MEMBERS.into_iter().map(Repair::Without).chain(fields)
}

/// The repair of a request to `target` with this body.
pub(super) fn repair(refusal: &str, body: &[u8], target: &Target) -> Option<Repair> {
    let doc = Doc::parse(body).ok()?;
    let said = refusal.to_ascii_lowercase();
    let names = |name: &&str| said.contains(&name.to_ascii_lowercase());
    let effort = EFFORTS.into_iter().find_map(|path| doc.root().dotted(path)?.as_str());
    let is_effort = |effort: &Cow<'_, str>| {
        EFFORTS.iter().chain(&EFFORT_NAMES).any(names) || is_refused_value(&said, effort)
    };
    if let Some(effort) = effort.filter(is_effort) {
        return Some(Repair::Efforts(efforts(&said, &effort)));
    }
    let member = MEMBERS.into_iter().filter(|path| doc.root().dotted(path).is_some());
    let is_member =
        |path: &&str| is_field(&said, path) || *path == "include" && said.contains(SEALS);
    if let Some(member) = member.into_iter().find(is_member) {
        return Some(Repair::Without(member));
    }
    let named = Named::of(refusal, body);
    if !named.is_empty() {
        return Some(Repair::Omit);
    }
    if !names_thoughts(&said) {
        return None;
    }
    let field = SIBLINGS.into_iter().find(|field| is_field(&said, field));
    let (contract, sent) = (&target.rule.contract, Named::all(body));
    if sent.is_empty() || named.says_where {
        let place = field.filter(|_| contract.field.is_some() || is_open(target));
        return Some(Repair::Return(place.map(|field| (field, ""))));
    }
    Some(Repair::Omit)
}

/// Words for thoughts. In refusals they also name parameters, so that another word has to say that the history is meant.
const WORDS: [&str; 3] = ["reasoning", "thinking", "thought"];

/// Words for earlier answers and what they carry.
const PAST: [&str; 8] =
    ["back", "conversation", "earlier", "encrypted", "history", "previous", "prior", "signature"];

/// Words for the places of a conversation.
const PLACES: [&str; 6] = ["message", "messages", "tool call", "tool calls", "turn", "turns"];

/// Whether a refusal speaks of the thoughts of a conversation. It is in lower case.
pub(super) fn names_thoughts(refusal: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| has_word(refusal, word));
    names_past_thoughts(refusal)
        || has(&["thoughts", "chain of thought", "chain-of-thought"])
        || has(&WORDS) && has(&PLACES)
}

/// Whether a failure speaks of earlier thoughts, and not of thinking that failed just now. It is in lower case.
pub(super) fn names_past_thoughts(failure: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| has_word(failure, word));
    THOUGHTS.iter().any(|name| failure.contains(name)) || has(&WORDS) && has(&PAST)
}

/// Whether a refusal quotes this value and lists others in its place.
fn is_refused_value(refusal: &str, value: &str) -> bool {
    let is_quoted = ['`', '\'', '"'].iter().any(|it| refusal.contains(&format!("{it}{value}{it}")));
    is_quoted
        && INTRODUCTIONS.iter().any(|it| refusal.contains(it))
        && efforts(refusal, value) != Efforts::default()
}

/// Whether the wire has several fields for thoughts.
fn is_open(target: &Target) -> bool {
    target.wire.id() == "chat-completions"
}

/// Whether a text names a field. A name that is also an English word must be in quotes.
fn is_field(text: &str, field: &str) -> bool {
    let quoted = ['`', '\'', '"'].map(|quote| format!("{quote}{field}{quote}"));
    field.contains(['_', '.']) && has_word(text, field) || quoted.iter().any(|it| text.contains(it))
}

/// Whether a text contains a name as a whole word.
pub(super) fn has_word(text: &str, member: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(member).any(|(at, _)| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let behind = text.get(at + member.len()..).and_then(|it| it.chars().next());
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

/// The phrases that introduce a list of accepted values. Without one, every effort word but the sent one counts as accepted.
const INTRODUCTIONS: [&str; 6] =
    ["supported values", "allowed values", "valid values", "must be one of", "one of", "expected"];

fn efforts(refusal: &str, sent: &str) -> Efforts {
    let list = INTRODUCTIONS.into_iter().find_map(|it| refusal.split_once(it)).map(|it| it.1);
    let words = |text: &str| -> Vec<Effort> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(|word| *word != sent).filter_map(Effort::parse).collect()
    };
    words(list.unwrap_or(refusal)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(refusal: &str, body: &str) -> Option<Repair> {
        let target = Target::built_in("openai-compatible", None, "anything").unwrap();
        repair(refusal, body.as_bytes(), &target)
    }

    #[test]
    fn a_parameter_that_is_named_is_said_otherwise_or_not_at_all() {
        let efforts = |words: &str| Some(Repair::Efforts(Efforts::parse(words).unwrap()));
        let chat = r#"{"reasoning_effort":"max","preserve_thinking":true,"messages":[]}"#;
        for (refusal, body, expected) in [
            (
                "Unsupported value: 'reasoning_effort' does not support 'max' with this model. Supported values are: low, medium and high.",
                chat,
                efforts("low,medium,high"),
            ),
            (
                "Function tools with reasoning_effort are not supported; set reasoning_effort to 'none'.",
                chat,
                efforts("none"),
            ),
            (
                "Invalid value: 'max'. Supported values are: 'low' and 'medium'.",
                chat,
                efforts("low,medium"),
            ),
            ("Invalid value: 'cat'. Supported values are: 'low' and 'medium'.", chat, None),
            ("reasoning.effort: unknown", r#"{"reasoning":{"effort":"max"}}"#, efforts("")),
            ("reasoning_effort is not known", r#"{"messages":[]}"#, None),
            (
                "Unknown parameter: `preserve_thinking`",
                chat,
                Some(Repair::Without("preserve_thinking")),
            ),
            // The body does not have this member.
            ("Unknown parameter: `include`", chat, None),
            ("`max_tokens` is too large", chat, None),
            (
                "Unsupported value: 'reasoning.encrypted_content'",
                r#"{"include":["reasoning.encrypted_content"],"input":[]}"#,
                Some(Repair::Without("include")),
            ),
            ("Please include a question", r#"{"include":["x"],"input":[]}"#, None),
        ] {
            assert_eq!(asked(refusal, body), expected, "{refusal}");
        }
    }

    #[test]
    fn words_about_thoughts_lead_the_other_way_round() {
        let with = r#"{"messages":[{"role":"user","content":"?"},{"role":"assistant","content":"x","reasoning":"hm"}]}"#;
        let without =
            r#"{"messages":[{"role":"user","content":"?"},{"role":"assistant","content":"x"}]}"#;
        let field = Some(Repair::Return(Some(("reasoning", ""))));
        for (refusal, body, expected) in [
            ("messages[1]: earlier thoughts are not taken", with, Some(Repair::Omit)),
            ("messages[0]: too many pictures", with, None),
            ("Prior reasoning content is not supported", with, Some(Repair::Omit)),
            ("your messages with reasoning_content are too long", with, Some(Repair::Omit)),
            ("Assistant messages need `reasoning`", without, field),
            ("messages[1]: the thinking block is missing", without, Some(Repair::Return(None))),
            ("We need the reasoning of message 1 as it was", with, Some(Repair::Omit)),
            ("Invalid history: thinking found", with, Some(Repair::Omit)),
            ("thoughts may not be sent", with, Some(Repair::Omit)),
            ("Please pass the reasoning back", without, Some(Repair::Return(None))),
            ("the prior reasoning is required", without, Some(Repair::Return(None))),
            ("an answer must include its thoughts", without, Some(Repair::Return(None))),
            ("reasoning must be provided for tool calls", without, Some(Repair::Return(None))),
            ("Rate limit reached", with, None),
            ("A call has no result", with, None),
            // A parameter is meant.
            ("This model does not support reasoning", with, None),
            ("thinking budgets start at 1024", with, None),
        ] {
            assert_eq!(asked(refusal, body), expected, "{refusal}");
        }
    }
}
