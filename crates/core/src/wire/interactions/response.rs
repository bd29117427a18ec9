//! Whole interactions, and the members at the end of an interaction.

use super::ID;
use super::stream::Decoder;
use super::write_step::Steps;
use crate::answer::Answer;
use crate::content::Block;
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val, Writer};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::ending::Ending;
use crate::wire::error;

/// The fields of an interaction that have a name here.
const NAMED: [&str; 8] = ["error", "id", "model", "object", "outputs", "status", "steps", "usage"];

/// Reads a whole interaction as the events that a stream would give.
pub(super) fn read(body: Val<'_>, sink: &mut dyn Sink) {
    if let Some(model) = body.text("model") {
        sink.event(Event::Fact(Fact::Model(&model)));
    }
    if let Some(id) = body.text("id") {
        sink.event(Event::Fact(Fact::ResponseId(&id)));
    }
    let mut decoder = Decoder::default();
    decoder.steps_of(body, sink);
    end(body, sink);
}

/// Token counts, the fields that have no name here, and how the interaction ended.
pub(super) fn end(interaction: Val<'_>, sink: &mut dyn Sink) {
    if let Some(usage) = interaction.get("usage").filter(|usage| usage.is_object()) {
        sink.event(Event::Usage(&counts(usage)));
    }
    for (key, value) in interaction.entries().filter(|(key, _)| !NAMED.contains(&&**key)) {
        let value = &Raw::from(value);
        sink.event(Event::Fact(Fact::Field { wire: ID, key: &key, value }));
    }
    let status = interaction.text("status");
    if interaction.some("error").is_some() || status.as_deref() == Some("failed") {
        return sink.event(Event::Problem(&error_of(interaction)));
    }
    if let Some(status @ ("cancelled" | "in_progress")) = status.as_deref() {
        let message = format!("the interaction ended with the status `{status}`");
        sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
    }
    let model = interaction.text("model");
    sink.event(Event::Finish { finish_reason: status.as_deref(), model: model.as_deref() });
}

/// The token counts in a usage object.
fn counts(usage: Val<'_>) -> Usage {
    Usage {
        input_tokens: usage.u64("total_input_tokens"),
        output_tokens: usage.u64("total_output_tokens"),
        reasoning_tokens: usage
            .u64("total_thought_tokens")
            .or_else(|| usage.u64("total_reasoning_tokens")),
        tool_input_tokens: usage.u64("total_tool_use_tokens"),
        cache_read_tokens: usage.u64("total_cached_tokens"),
        cache_write_tokens: None,
        is_cached_apart: false,
        is_reasoning_apart: true,
        total_tokens: usage.u64("total_tokens"),
        is_early: false,
        is_priced_apart: false,
        raw: Some(Raw::from(usage)),
    }
}

/// The provider's error, in one of many shapes, in this body or its `error`.
pub(super) fn error_of(body: Val<'_>) -> Problem {
    let said = error::read(body).or_else(|| error::read(body.some("error")?));
    said.unwrap_or_else(|| {
        let message = "the provider reported an error without a message";
        Problem::new(ProblemCode::UpstreamError, message)
    })
}

/// Writes a whole interaction.
pub(super) fn write(answer: &Answer) -> String {
    let broken = answer
        .upstream_error()
        .or_else(|| answer.problems.iter().find(|p| p.code == ProblemCode::Truncated));
    let has_calls = answer.blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
    let mut w = Writer::new();
    w.object(|w| {
        w.opt_str("id", answer.response_id.as_deref());
        let status = match broken {
            Some(_) => "failed",
            None => status(answer.finish_reason.as_deref(), has_calls),
        };
        head(w, status, answer.model.as_deref());
        if let Some(problem) = broken {
            write_error(w, problem);
        }
        w.key("steps").array(|w| {
            let mut steps = Steps::answer();
            steps.blocks(w, &answer.blocks);
            // The wire has no place for a refusal of its own, so it becomes text of the model.
            if let Some(refusal) = &answer.refusal {
                steps.blocks(w, &[Block::text(refusal)]);
            }
        });
        tail(w, answer.usage.as_ref(), &answer.extra);
    });
    w.finish()
}

/// The status for a finish reason of any wire.
pub(super) fn status(word: Option<&str>, has_calls: bool) -> &str {
    match word {
        Some(
            word @ ("cancelled" | "completed" | "in_progress" | "incomplete" | "requires_action"),
        ) => word,
        word => match Ending::of_answer(word, has_calls) {
            Some(Ending::ToolUse) => "requires_action",
            Some(Ending::ContextFull | Ending::Failed | Ending::Length | Ending::Refused) => {
                "incomplete"
            }
            Some(Ending::Complete | Ending::Pause | Ending::StopSequence) | None => "completed",
        },
    }
}

pub(super) fn head(w: &mut Writer, status: &str, model: Option<&str>) {
    w.field_str("status", status);
    w.field_str("object", "interaction");
    w.opt_str("model", model);
}

pub(super) fn write_error(w: &mut Writer, problem: &Problem) {
    w.key("error").object(|w| {
        w.field_str("message", &problem.message);
        w.field_str("code", problem.at.as_deref().unwrap_or("internal_error"));
    });
}

pub(super) fn tail(w: &mut Writer, counts: Option<&Usage>, extra: &Extra) {
    if let Some(counts) = counts {
        usage(w.key("usage"), counts);
    }
    w.extra(extra, ID);
}

/// Writes token counts: the object that came if it has this wire's form, else one with the known counts.
fn usage(w: &mut Writer, usage: &Usage) {
    if let Some(raw) = &usage.raw
        && counts(raw.doc().root()) == *usage
    {
        return w.raw(raw);
    }
    w.object(|w| {
        for (key, count) in [
            ("total_tokens", usage.total()),
            ("total_input_tokens", usage.input_tokens_with_cached()),
            ("total_cached_tokens", usage.cache_read_tokens),
            ("total_output_tokens", usage.output_tokens_without_reasoning()),
            ("total_thought_tokens", usage.reasoning_tokens),
        ] {
            if let Some(count) = count {
                w.field_u64(key, count);
            }
        }
    });
}
