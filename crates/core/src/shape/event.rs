//! Event lines: one JSON object per event.

use super::answer::{write_problem, write_problem_members, write_usage, write_usage_members};
use super::block::{write_block, write_opaque, write_parameters};
use crate::event::Event;
use crate::json::Writer;

/// Writes an event as one object, with the members that `more` adds at its end. Token counts and findings are members
/// of the line itself, for line filters, and also complete under `usage` or `problem`. Returns `false` and writes no
/// line for events without a line of their own.
pub fn write_event(w: &mut Writer, event: &Event<'_>, more: &dyn Fn(&mut Writer)) -> bool {
    let Some(kind) = name(event) else { return false };
    w.object(|w| {
        w.field_str("type", kind);
        write_members(w, event);
        more(w);
    });
    true
}

fn name(event: &Event<'_>) -> Option<&'static str> {
    Some(match event {
        Event::ThinkingStart { .. } => "thinking_start",
        Event::ThinkingDelta { .. } => "thinking_delta",
        Event::ThinkingEnd { .. } => "thinking_end",
        Event::TextDelta { .. } => "text_delta",
        Event::ToolCallStart { .. } => "tool_call_start",
        Event::ToolCallDelta { .. } => "tool_call_delta",
        Event::ToolCallEnd { .. } => "tool_call_end",
        Event::Whole { .. } => "block",
        Event::Usage(_) => "usage",
        Event::Finish { .. } => "finish",
        Event::Problem(_) => "problem",
        Event::Choice { event, .. } => return name(event),
        Event::TextStart { .. } | Event::TextEnd { .. } | Event::Fact(_) => return None,
    })
}

fn write_members(w: &mut Writer, event: &Event<'_>) {
    match *event {
        Event::ThinkingStart { block, source_field } => {
            index(w, block);
            w.field_str("sourceField", source_field);
        }
        Event::ThinkingDelta { block, delta }
        | Event::TextDelta { block, delta }
        | Event::ToolCallDelta { block, delta } => {
            index(w, block);
            w.field_str("delta", delta);
        }
        Event::ThinkingEnd { block, thinking, thought } => {
            index(w, block);
            w.opt_str("thought", thought);
            write_opaque(w, thinking);
        }
        Event::ToolCallStart { block, call } => {
            index(w, block);
            w.str_or_null("id", call.id.as_deref());
            w.field_str("name", &call.name);
        }
        Event::ToolCallEnd { block, call } => {
            index(w, block);
            write_parameters(w, &call.parameters);
            w.opt_str("signature", call.signature.as_deref());
        }
        Event::Whole { block, value } => {
            index(w, block);
            w.key("value");
            write_block(w, value);
        }
        Event::Usage(usage) => {
            write_usage_members(w, usage);
            w.key("usage");
            write_usage(w, usage);
        }
        Event::Finish { finish_reason, model } => {
            w.str_or_null("finishReason", finish_reason);
            w.str_or_null("model", model);
        }
        Event::Problem(problem) => {
            write_problem_members(w, problem);
            w.key("problem");
            write_problem(w, problem);
        }
        Event::Choice { index, event } => {
            write_members(w, event);
            w.field_u64("choice", u64::try_from(index).unwrap_or(u64::MAX));
        }
        Event::TextStart { .. } | Event::TextEnd { .. } | Event::Fact(_) => {}
    }
}

fn index(w: &mut Writer, block: usize) {
    w.field_u64("block", u64::try_from(block).unwrap_or(u64::MAX));
}
