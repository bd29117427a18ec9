//! The words in which providers refuse a request for its thoughts.

use super::refused::RefusalCause;
use super::repair::Repair;
use super::unlisted::{has_word, names_past_thoughts};
use crate::wire::chat_completions::SIBLINGS;

struct Refusal {
    /// A refusal that fits has all of these, in lower case.
    words: &'static [&'static str],
    repair: Repair,
    /// The fault of the thought. `None` if the thought lacks its pair, or if the model accepts no thoughts: neither is
    /// the fault of the thought itself.
    cause: Option<RefusalCause>,
}

const fn asks(words: &'static [&'static str], repair: Repair) -> Refusal {
    Refusal { words, repair, cause: None }
}

/// A refusal of a thought that is not valid.
const fn refuses(words: &'static [&'static str], cause: RefusalCause) -> Refusal {
    Refusal { words, repair: Repair::Omit, cause: Some(cause) }
}

/// All known refusals, the more specific ones first. Source: the texts that users report. Wording drifts, so only its
/// core is here.
const REFUSALS: &[Refusal] = &[
    asks(
        &["reasoning_content", "must be passed back"],
        Repair::Return(Some(("reasoning_content", ""))),
    ),
    asks(&["missing `reasoning_content` field"], Repair::Return(Some(("reasoning_content", "")))),
    asks(
        &["reasoning_content is missing in assistant"],
        Repair::Return(Some(("reasoning_content", " "))),
    ),
    asks(&["must be passed back to the api"], Repair::Return(None)),
    // The template of gpt-oss, as llama.cpp's server passes it on with a 500 (ggml-org/llama.cpp#19701).
    asks(&["cannot pass both content and thinking"], Repair::Apart),
    asks(&["is missing a thought_signature"], Repair::Sign),
    asks(&["is missing a `thought_signature`"], Repair::Sign),
    asks(&["expected `thinking` or `redacted_thinking`"], Repair::Off),
    asks(&["thinking.signature: field required"], Repair::Omit),
    refuses(&["bound to a different conversation"], RefusalCause::Bound),
    refuses(&["item with id", "not found"], RefusalCause::Gone),
    refuses(&["encrypted content", "could not be"], RefusalCause::Shut),
    refuses(&["cannot be decrypted"], RefusalCause::Shut),
    // xAI, for an altered item of its own as well as for another's (Wei-Shaw/sub2api#4535, chenyme/grok2api#688).
    refuses(&["could not decrypt", "encrypted_content"], RefusalCause::Shut),
    refuses(&["could not decode the compaction blob"], RefusalCause::Shut),
    refuses(&["invalid `signature` in `thinking`"], RefusalCause::Signature),
    refuses(&["invalid `data` in `redacted_thinking`"], RefusalCause::Signature),
    refuses(&["corrupted thought signature"], RefusalCause::Signature),
    refuses(&["`thinking`", "cannot be modified"], RefusalCause::Altered),
    asks(&["cannot contain `thinking`"], Repair::Omit),
    asks(&["without its required following item"], Repair::Omit),
    asks(&["without its required 'reasoning' item"], Repair::Omit),
    asks(&["items are not persisted when `store`"], Repair::Omit),
];

/// The words with which servers refuse a field that they do not know.
const UNKNOWN: [&str; 11] = [
    "additional propert",
    "does not support",
    "extra inputs",
    "extra_forbidden",
    "not allowed",
    "not permitted",
    "not supported",
    "unexpected",
    "unknown",
    "unrecogni",
    "unsupported",
];

/// The repair that a refusal asks for, if it is known.
pub(super) fn repair(refusal: &str) -> Option<Repair> {
    let refusal = refusal.to_ascii_lowercase();
    let known = said(&refusal).next().map(|known| known.repair);
    known.or_else(|| refuses_field(&refusal).then_some(Repair::Forbid))
}

/// Whether the server does not know a field that messages have for thoughts. `reasoning` is also a parameter of requests, so
/// the refusal has to speak of messages.
fn refuses_field(refusal: &str) -> bool {
    let is_of_messages = |field: &&str| *field != "reasoning" || refusal.contains("message");
    let fields = SIBLINGS.into_iter().filter(is_of_messages);
    UNKNOWN.iter().any(|word| refusal.contains(word))
        && fields.into_iter().any(|field| has_word(refusal, field))
}

pub(super) fn repairs() -> impl Iterator<Item = Repair> {
    REFUSALS.iter().map(|known| known.repair).chain([Repair::Forbid])
}

/// The fault that a refusal finds in a thought, if it names one.
pub(super) fn cause(refusal: &str) -> Option<RefusalCause> {
    said(&refusal.to_ascii_lowercase()).find_map(|known| known.cause)
}

/// Whether the body of a 5xx refuses the history, so that a retry would fail as well.
#[must_use]
pub(super) fn names_history(failure: &str) -> bool {
    let failure = failure.to_ascii_lowercase();
    repair(&failure).is_some()
        || names_past_thoughts(&failure)
        || failure.contains("in an assistant message")
}

fn said(refusal: &str) -> impl Iterator<Item = &'static Refusal> {
    REFUSALS.iter().filter(move |known| known.words.iter().all(|word| refusal.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u_20_what_is_blamed_is_left_out() {
        let shut = "The encrypted content gAAA...9xQ= could not be decrypted or parsed.";
        assert_eq!((repair(shut), cause(shut)), (Some(Repair::Omit), Some(RefusalCause::Shut)));
        let xai = "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a previous response.";
        assert_eq!((repair(xai), cause(xai)), (Some(Repair::Omit), Some(RefusalCause::Shut)));
        let pair = "was provided without its required following item";
        assert_eq!((repair(pair), cause(pair)), (Some(Repair::Omit), None));
        // The repair is from the first entry that fits, the cause from the first one with a cause.
        let both =
            "Expected `thinking` or `redacted_thinking`. `thinking` blocks cannot be modified";
        assert_eq!((repair(both), cause(both)), (Some(Repair::Off), Some(RefusalCause::Altered)));
    }

    #[test]
    fn a_field_that_no_message_may_have_is_a_fact_about_the_model() {
        for words in [
            "property 'reasoning_content' is unsupported",
            "messages.1.assistant.reasoning: property 'messages.1.assistant.reasoning' is unsupported",
            "messages.1.reasoning_content: Extra inputs are not permitted",
            "[{'type': 'extra_forbidden', 'loc': ('body', 'messages', 1, 'reasoning'), 'msg': 'Extra inputs are not permitted'}]",
            "Unknown parameter: 'messages[1].reasoning_content'.",
            "messages[1].reasoning_content: unknown field",
            "Unrecognized key(s) in object: 'reasoning_content' at messages[1]",
            "json: unknown field \"reasoning_content\"",
            "Unknown field `reasoning` in message",
        ] {
            assert_eq!(repair(words), Some(Repair::Forbid), "{words}");
        }
        for words in [
            "property 'reasoning_effort' is unsupported",
            "reasoning_effort: Extra inputs are not permitted",
            "Unknown parameter: 'reasoning'",
            "maximum context length is 8192 tokens; your messages with reasoning_content have 9000",
            "reasoning_content must be a string",
            "Prior reasoning content is not supported",
        ] {
            assert_eq!(repair(words), None, "{words}");
        }
    }

    #[test]
    fn a_failure_that_names_the_history_does_not_pass() {
        for (failure, is_about_history) in [
            (
                "Cannot pass both content and thinking in an assistant message with tool calls!",
                true,
            ),
            ("Cannot render a call in an assistant message without its result", true),
            ("The server had an error while processing your request. Sorry about that!", false),
            ("Overloaded", false),
            ("messages[1]: json: unknown field \"reasoning_content\"", true),
            ("reasoning_content is not allowed in messages", true),
        ] {
            assert_eq!(names_history(failure), is_about_history, "{failure}");
        }
    }
}
