//! Whole responses, and the ends of answers.

use super::names::is_finish_reason;
use super::write_part::{Parts, own_fields};
use super::{CANDIDATE, ID, error};
use crate::answer::Answer;
use crate::content::Block;
use crate::json::{Extra, Raw, Val, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::ending::Ending;

/// The token counts in a usage object.
pub(super) fn counts(usage: Val<'_>) -> Usage {
    Usage {
        input_tokens: usage.u64("promptTokenCount"),
        output_tokens: usage.u64("candidatesTokenCount"),
        reasoning_tokens: usage.u64("thoughtsTokenCount"),
        tool_input_tokens: usage.u64("toolUsePromptTokenCount"),
        cache_read_tokens: usage.u64("cachedContentTokenCount"),
        cache_write_tokens: None,
        is_cached_apart: false,
        is_reasoning_apart: true,
        total_tokens: usage.u64("totalTokenCount"),
        is_early: false,
        is_priced_apart: false,
        raw: Some(Raw::from(usage)),
    }
}

/// Writes token counts: the object that came if it has this wire's form, else one with the known counts.
pub(super) fn usage(w: &mut Writer, usage: &Usage) {
    if let Some(raw) = &usage.raw
        && counts(raw.doc().root()) == *usage
    {
        return w.raw(raw);
    }
    // On this wire the count of the candidates excludes the thoughts.
    let output = usage.output_tokens_without_reasoning();
    w.object(|w| {
        for (key, count) in [
            ("promptTokenCount", usage.input_tokens_with_cached()),
            ("cachedContentTokenCount", usage.cache_read_tokens),
            ("candidatesTokenCount", output),
            ("thoughtsTokenCount", usage.reasoning_tokens),
            ("totalTokenCount", usage.total()),
        ] {
            if let Some(count) = count {
                w.field_u64(key, count);
            }
        }
    });
}

/// The problem that broke an answer off, if one did.
pub(super) fn breaks(problem: &Problem) -> bool {
    matches!(problem.code, ProblemCode::UpstreamError | ProblemCode::Truncated)
}

/// The wire's word for a finish reason of any wire.
pub(super) fn finish_word(word: Option<&str>) -> &str {
    // The wire's own words are spelled like this; a word of Cohere is, too.
    let is_alike = |word: &&str| word.bytes().all(|b| matches!(b, b'A'..=b'Z' | b'_'));
    let ending = Ending::of_answer(word, false);
    let own = |word: &&str| !word.is_empty() && (is_finish_reason(word) || ending.is_none());
    if let Some(own) = word.filter(is_alike).filter(own) {
        return own;
    }
    match ending {
        Some(Ending::ContextFull | Ending::Length) => "MAX_TOKENS",
        Some(Ending::Failed) => "OTHER",
        Some(Ending::Refused) => "SAFETY",
        Some(Ending::Complete | Ending::Pause | Ending::StopSequence | Ending::ToolUse) => "STOP",
        None => word.unwrap_or("STOP"),
    }
}

/// Whether the prompt was refused, so that there is no candidate.
pub(super) fn is_blocked(extra: &Extra) -> bool {
    let feedback = extra.get(ID, "promptFeedback");
    feedback.is_some_and(|feedback| {
        let doc = feedback.doc();
        doc.root().some("blockReason").is_some_and(|reason| reason.as_u64() != Some(0))
    })
}

/// Writes a whole response.
pub(super) fn write(answer: &Answer) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        let has_nothing = answer.blocks.is_empty() && answer.finish_reason.is_none();
        if !(has_nothing && is_blocked(&answer.extra)) {
            w.key("candidates").array(|w| {
                candidate(w, 0, answer);
                for (choice, index) in answer.choices.iter().zip(1..) {
                    candidate(w, index, choice);
                }
            });
        }
        if let Some(problem) = answer.problems.iter().find(|problem| breaks(problem)) {
            error::write(w.key("error"), problem);
        }
        tail(w, answer.usage.as_ref(), answer.model.as_deref(), answer.response_id.as_deref());
        own_fields(w, &answer.extra);
    });
    w.finish()
}

/// Writes the members beside the candidates.
pub(super) fn tail(w: &mut Writer, counts: Option<&Usage>, model: Option<&str>, id: Option<&str>) {
    if let Some(counts) = counts {
        usage(w.key("usageMetadata"), counts);
    }
    w.opt_str("modelVersion", model);
    w.opt_str("responseId", id);
}

fn candidate(w: &mut Writer, index: u64, answer: &Answer) {
    let mut parts = Parts::default();
    w.object(|w| {
        w.key("content").object(|w| {
            w.key("parts").array(|w| {
                answer.blocks.iter().for_each(|block| parts.block(w, block));
                // The wire has no place for a refusal of its own, so it becomes text of the model.
                if let Some(refusal) = &answer.refusal {
                    parts.block(w, &Block::text(refusal));
                }
            });
            w.field_str("role", "model");
        });
        if !answer.problems.iter().any(breaks) {
            w.field_str("finishReason", finish_word(answer.finish_reason.as_deref()));
        }
        w.field_u64("index", index);
        candidate_fields(w, &answer.extra);
    });
}

/// Writes the other fields of a candidate.
pub(super) fn candidate_fields(w: &mut Writer, extra: &Extra) {
    if let Some(fields) = extra.noted(ID, CANDIDATE) {
        let doc = fields.doc();
        doc.root().entries().for_each(|(key, value)| w.key(&key).raw_str(value.raw()));
    }
}
