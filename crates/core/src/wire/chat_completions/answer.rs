//! Writes whole responses.

use super::choice::SIBLINGS;
use super::form::Form;
use super::{beside, details, parts, thoughts, usage, write_message};
use crate::answer::{Answer, BESIDE};
use crate::content::{Block, Thinking, push_thought};
use crate::json::{Raw, Writer};
use crate::wire::ending::Ending;

/// The field for thoughts from other wires.
const USUAL: &str = "reasoning_content";

pub(super) fn write(form: &'static Form, answer: &Answer) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        w.opt_str("id", answer.response_id.as_deref());
        w.field_str("object", "chat.completion");
        w.opt_str("model", answer.model.as_deref());
        beside::write(w, &answer.extra, form.id);
        w.key("choices").array(|w| {
            for (at, answer) in std::iter::once(answer).chain(&answer.choices).enumerate() {
                w.object(|w| write_choice(w, form, answer, at));
            }
        });
        if let Some(usage) = &answer.usage {
            w.field_raw("usage", &usage::write(usage));
        }
        if let Some(problem) = answer.upstream_error() {
            w.key("error").object(|w| super::problem::write(w, problem));
        }
    });
    w.finish()
}

fn write_choice(w: &mut Writer, form: &'static Form, answer: &Answer, at: usize) {
    w.field_u64("index", u64::try_from(at).unwrap_or(u64::MAX));
    let beside = answer.extra.noted(form.id, BESIDE);
    w.key("message").object(|w| {
        write_body(w, form, answer);
        beside::write_message(w, beside);
    });
    let has_calls = answer.blocks.iter().any(|block| matches!(block, Block::ToolCall(_)));
    let word = answer.finish_reason.as_deref().map(|word| reason(word, has_calls));
    w.str_or_null("finish_reason", word);
    beside::write_choice(w, beside);
}

fn write_body(w: &mut Writer, form: &'static Form, answer: &Answer) {
    w.field_str("role", "assistant");
    write_content(w, form, answer);
    w.opt_str("refusal", answer.refusal.as_deref());
    write_thoughts(w, form, answer);
    for block in &answer.blocks {
        match block {
            Block::Other(other) if other.wire == form.id && is_beside(other) => {
                w.field_raw(&other.kind, &other.raw);
            }
            Block::Text(text) => {
                if let Some(annotations) = text.extra.get(form.id, "annotations") {
                    w.field_raw("annotations", annotations);
                }
            }
            Block::Media(_)
            | Block::Other(_)
            | Block::Thinking(_)
            | Block::ToolCall(_)
            | Block::ToolResponse(_) => {}
        }
    }
    let calls: Vec<_> = answer
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect();
    match calls.as_slice() {
        [] => {}
        [old] if write_message::is_old(old, form.id) => {
            write_message::write_old_call(w, old, form.id);
        }
        calls => w.key("tool_calls").array(|w| {
            for call in calls {
                w.object(|w| write_message::write_call(w, call, call.id.as_deref(), form.id));
            }
        }),
    }
    if let Some(signature) = &answer.message_signature {
        super::signature::write(w, &crate::json::Extra::default(), form.id, Some(signature));
    }
}

/// Whether a block was a field of the message beside the content.
pub(super) fn is_beside(other: &crate::content::Other) -> bool {
    !parts::is_part(other) && other.kind != details::FIELD && other.kind != details::BLOCKS
}

fn write_content(w: &mut Writer, form: &'static Form, answer: &Answer) {
    let as_part = |block: &Block| match block {
        Block::Thinking(thinking) => place(form, thinking) == parts::THINKING,
        Block::Other(other) => other.wire == form.id && parts::is_part(other),
        Block::Media(_) | Block::Text(_) | Block::ToolCall(_) | Block::ToolResponse(_) => false,
    };
    if answer.blocks.iter().any(as_part) {
        w.key("content").array(|w| {
            for block in &answer.blocks {
                match block {
                    Block::Thinking(thinking) if as_part(block) => {
                        w.raw(&parts::write_thinking(thinking, form.id));
                    }
                    Block::Other(other) if as_part(block) => w.raw(&other.raw),
                    Block::Text(text) => w.raw(&write_message::text_part(text, form.id)),
                    Block::Media(_)
                    | Block::Other(_)
                    | Block::Thinking(_)
                    | Block::ToolCall(_)
                    | Block::ToolResponse(_) => {}
                }
            }
        });
        return;
    }
    let mut text = None::<String>;
    for block in &answer.blocks {
        match block {
            Block::Thinking(thinking) if place(form, thinking) == thoughts::TAGS => {
                thoughts::push_tagged(text.get_or_insert_default(), thinking);
            }
            Block::Text(block) => text.get_or_insert_default().push_str(&block.text),
            Block::Media(_)
            | Block::Other(_)
            | Block::Thinking(_)
            | Block::ToolCall(_)
            | Block::ToolResponse(_) => {}
        }
    }
    w.str_or_null("content", text.as_deref());
}

fn write_thoughts(w: &mut Writer, form: &'static Form, answer: &Answer) {
    let mut fields: Vec<(&str, String)> = Vec::new();
    let mut entries: [(&str, Vec<Raw>); 2] =
        [(details::FIELD, Vec::new()), (details::BLOCKS, Vec::new())];
    let mut steps = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Thinking(thinking) => match place(form, thinking) {
                parts::THINKING | thoughts::TAGS => {}
                STEPS => steps.push(step(thinking, form.id)),
                field => match entries.iter_mut().find(|(name, _)| *name == field) {
                    Some((_, list)) => list.push(thoughts::entry(thinking, form.id)),
                    None => push(&mut fields, field, &thinking.thought),
                },
            },
            Block::Other(other) if other.wire == form.id => {
                if let Some((_, list)) = entries.iter_mut().find(|(name, _)| *name == other.kind) {
                    list.push(other.raw.clone());
                }
            }
            Block::Media(_)
            | Block::Other(_)
            | Block::Text(_)
            | Block::ToolCall(_)
            | Block::ToolResponse(_) => {}
        }
    }
    for (field, text) in fields {
        w.field_str(field, &text);
    }
    let lists = entries.into_iter().chain([(STEPS, steps)]);
    for (field, list) in lists.filter(|(_, list)| !list.is_empty()) {
        w.key(field).array(|w| list.iter().for_each(|entry| w.raw(entry)));
    }
}

/// The field with the steps of search models.
pub(super) const STEPS: &str = "reasoning_steps";

/// A step in its original form.
pub(super) fn step(thinking: &Thinking, wire: &str) -> Raw {
    Raw::build(|w| {
        w.object(|w| {
            w.field_str("thought", &thinking.thought);
            w.extra(&thinking.extra, wire);
        });
    })
}

/// Separate thoughts that go into one field are joined with a line feed.
fn push<'a>(fields: &mut Vec<(&'a str, String)>, field: &'a str, thought: &str) {
    if thought.is_empty() {
        return;
    }
    match fields.iter_mut().find(|(name, _)| *name == field) {
        Some((_, text)) => push_thought(text, thought),
        None => fields.push((field, thought.to_owned())),
    }
}

/// The field for an answer's thought: the field that it came in, if this family has that field.
pub(super) fn place<'a>(form: &Form, thinking: &'a Thinking) -> &'a str {
    place_of(form, &thinking.source_field)
}

pub(super) fn place_of<'a>(form: &Form, source_field: &'a str) -> &'a str {
    let is_own = SIBLINGS.contains(&source_field)
        || matches!(source_field, details::FIELD | details::BLOCKS | thoughts::TAGS | STEPS);
    match (is_own, form.thinks_in_content) {
        (true, _) => source_field,
        (false, true) => parts::THINKING,
        (false, false) => USUAL,
    }
}

/// The finish reason in this family's words. A word of this family, or an unknown word, stays as it is; but other APIs
/// say `stop` also of an answer with calls, and clients of this family run tools only at its own word.
pub(super) fn reason(word: &str, has_calls: bool) -> &str {
    if word == "stop" && has_calls {
        return "tool_calls";
    }
    if matches!(word, "" | "stop" | "length" | "tool_calls" | "function_call" | "content_filter") {
        return word;
    }
    match Ending::of_answer(Some(word), has_calls) {
        Some(Ending::Complete | Ending::Pause | Ending::StopSequence) => "stop",
        Some(Ending::ContextFull | Ending::Failed | Ending::Length) => "length",
        Some(Ending::Refused) => "content_filter",
        Some(Ending::ToolUse) => "tool_calls",
        None => word,
    }
}
