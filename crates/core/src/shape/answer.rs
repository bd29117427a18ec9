//! The output of `parse`.

use super::block::write_block;
use crate::answer::Answer;
use crate::json::Writer;
use crate::problem::Problem;
use crate::usage::Usage;

/// Writes an answer.
pub fn write_answer(w: &mut Writer, answer: &Answer) {
    w.object(|w| write_members(w, answer));
}

/// Writes an answer with the members that `more` adds at its end.
pub fn write_answer_and(w: &mut Writer, answer: &Answer, more: &dyn Fn(&mut Writer)) {
    w.object(|w| {
        write_members(w, answer);
        more(w);
    });
}

fn write_members(w: &mut Writer, answer: &Answer) {
    w.key("blocks").array(|w| answer.blocks.iter().for_each(|block| write_block(w, block)));
    w.field_str("text", &answer.text());
    w.key("usage");
    match &answer.usage {
        Some(usage) => write_usage(w, usage),
        None => w.null(),
    }
    w.str_or_null("finishReason", answer.finish_reason.as_deref());
    w.str_or_null("model", answer.model.as_deref());
    w.opt_str("refusal", answer.refusal.as_deref());
    if let Some(details) = answer.refusal_details() {
        w.field_raw("refusalDetails", details);
    }
    w.opt_str("toolPlan", answer.tool_plan.as_deref());
    w.opt_str("messageSignature", answer.message_signature.as_deref());
    w.opt_str("responseId", answer.response_id.as_deref());
    w.opt_str("stopSequence", answer.stop_sequence.as_deref());
    if !answer.choices.is_empty() {
        w.key("choices")
            .array(|w| answer.choices.iter().for_each(|choice| write_answer(w, choice)));
    }
    w.key("problems").array(|w| answer.problems.iter().for_each(|it| write_problem(w, it)));
}

/// Writes token counts; unknown is `null`.
pub fn write_usage(w: &mut Writer, usage: &Usage) {
    w.object(|w| write_usage_members(w, usage));
}

pub(super) fn write_usage_members(w: &mut Writer, usage: &Usage) {
    w.u64_or_null("inputTokens", usage.input_tokens);
    w.u64_or_null("outputTokens", usage.output_tokens);
    w.u64_or_null("reasoningTokens", usage.reasoning_tokens);
    w.u64_or_null("cacheReadTokens", usage.cache_read_tokens);
    w.u64_or_null("cacheWriteTokens", usage.cache_write_tokens);
    w.u64_or_null("totalTokens", usage.total_tokens);
    match &usage.raw {
        Some(raw) => w.field_raw("raw", raw),
        None => w.key("raw").null(),
    }
}

/// Writes a finding.
pub fn write_problem(w: &mut Writer, problem: &Problem) {
    w.object(|w| write_problem_members(w, problem));
}

pub(super) fn write_problem_members(w: &mut Writer, problem: &Problem) {
    w.field_str("code", problem.code.as_str());
    w.field_str("message", &problem.message);
    w.opt_str("at", problem.at.as_deref());
}
