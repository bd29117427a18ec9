//! Whole responses, and the code that streams share with them: blocks, token counts, fields, errors.

use super::ID;
use crate::content::{Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::open::{OpenBlocks, OpenOther, Part};
use crate::wire::tool_ids::NAMELESS_ANSWER;

/// The key that thoughts come in.
pub(super) const SOURCE_FIELD: &str = "thinking";

/// The members of a message that have a place of their own here.
const MESSAGE_FIELDS: &[&str] =
    &["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"];

/// Reads a whole response.
pub(super) fn read(body: Val<'_>, sink: &mut dyn Sink) {
    if body.text("type").as_deref() == Some("error") {
        return sink.event(Event::Problem(&error(body)));
    }
    head(body, sink);
    let mut open = OpenBlocks::default();
    let content = body.some("content");
    for (key, block) in (0..).zip(content.into_iter().flat_map(Val::each)) {
        start_block(&mut open, key, block, sink);
        open.end(key, sink);
    }
    if let Some(text) = content.and_then(Val::as_str) {
        open.start(0, text_part(Text::default(), Vec::new()), sink);
        open.push(0, &text, sink);
        open.end(0, sink);
    }
    if let Some(usage) = body.some("usage") {
        sink.event(Event::Usage(&usage_of(&Raw::from(usage))));
    }
    if let Some(stop) = body.text("stop_sequence") {
        sink.event(Event::Fact(Fact::StopSequence(&stop)));
    }
    let (finish_reason, model) = (body.text("stop_reason"), name(body, "model"));
    sink.event(Event::Finish { finish_reason: finish_reason.as_deref(), model: model.as_deref() });
}

/// Reports the model, the id and the other members of the message.
pub(super) fn head(message: Val<'_>, sink: &mut dyn Sink) {
    if let Some(id) = name(message, "id").filter(|id| id != NAMELESS_ANSWER) {
        sink.event(Event::Fact(Fact::ResponseId(&id)));
    }
    if let Some(model) = name(message, "model") {
        sink.event(Event::Fact(Fact::Model(&model)));
    }
    fields(message, MESSAGE_FIELDS, sink);
    refusal(message, sink);
}

/// Reports the reason of a refusal, if there is one.
pub(super) fn refusal(holder: Val<'_>, sink: &mut dyn Sink) {
    let explanation = holder.some("stop_details").and_then(|it| it.string("explanation"));
    if let Some(text) = explanation.filter(|text| !text.is_empty()) {
        sink.event(Event::Fact(Fact::Refusal(&text)));
    }
}

/// A name or an id; `None` if it is empty.
pub(super) fn name(object: Val<'_>, key: &str) -> Option<String> {
    object.string(key).filter(|name| !name.is_empty())
}

/// Reports the unknown members. `null` has no meaning.
pub(super) fn fields(object: Val<'_>, known: &[&str], sink: &mut dyn Sink) {
    for (key, value) in object.entries() {
        if !known.contains(&key.as_ref()) && !value.is_null() {
            let value = &Raw::from(value);
            sink.event(Event::Fact(Fact::Field { wire: ID, key: &key, value }));
        }
    }
}

/// Begins the block that this is the start of; in a whole response it is all of it.
pub(super) fn start_block(open: &mut OpenBlocks, key: u64, block: Val<'_>, sink: &mut dyn Sink) {
    let kind = block.text("type").unwrap_or_default();
    match kind.as_ref() {
        "text" => {
            let extra = Extra::collect(ID, block, &["type", "text", "citations"]);
            let citations = block.get("citations").into_iter().flat_map(Val::items);
            let text = Text { extra, ..Text::default() };
            open.start(key, text_part(text, citations.map(Raw::from).collect()), sink);
            open.push(key, &block.text("text").unwrap_or_default(), sink);
        }
        "thinking" => {
            open.start(
                key,
                Part::Thinking(Thinking {
                    source_field: SOURCE_FIELD.to_owned(),
                    signature: name(block, "signature"),
                    extra: Extra::collect(ID, block, &["type", "thinking", "signature"]),
                    ..Thinking::default()
                }),
                sink,
            );
            open.push(key, &block.text("thinking").unwrap_or_default(), sink);
        }
        "redacted_thinking" => open.start(key, Part::Thinking(redacted(block)), sink),
        "tool_use" => {
            let call = ToolCall {
                id: block.string("id"),
                name: block.string("name").unwrap_or_default(),
                parameters: block.some("input").map_or_else(Parameters::default, given_input),
                signature: None,
                extra: Extra::collect(ID, block, &["type", "id", "name", "input"]),
            };
            open.start(key, Part::Call { call, text: String::new() }, sink);
        }
        other => {
            if !is_known(other) {
                let message = format!("a block of the unknown type `{other}` was kept as it stood");
                sink.event(Event::Problem(&Problem::new(ProblemCode::Unknown, message)));
            }
            open.start(key, Part::Other(OpenOther::new(ID, other, Raw::from(block))), sink);
        }
    }
}

/// A text block that has just begun.
pub(super) fn text_part(text: Text, citations: Vec<Raw>) -> Part {
    Part::Text { text, citations, wire: ID }
}

/// A thought that the provider keeps unreadable.
pub(super) fn redacted(block: Val<'_>) -> Thinking {
    Thinking {
        source_field: SOURCE_FIELD.to_owned(),
        redacted_data: name(block, "data"),
        extra: Extra::collect(ID, block, &["type", "data"]),
        ..Thinking::default()
    }
}

/// Arguments on the block itself. Some servers write them as a string.
fn given_input(input: Val<'_>) -> Parameters {
    if let Some(text) = input.as_str() {
        return Parameters::from_text(&text);
    }
    let is_empty = input.is_object() && input.entries().next().is_none();
    if is_empty { Parameters::default() } else { Parameters::Json(Raw::from(input)) }
}

/// Blocks of the provider's own tools and of its context management; they are kept raw.
fn is_known(kind: &str) -> bool {
    kind.ends_with("_tool_use")
        || kind.ends_with("_tool_result")
        || matches!(kind, "compaction" | "container_upload" | "fallback")
}

/// The counts in a usage object.
pub(super) fn usage_of(raw: &Raw) -> Usage {
    let doc = raw.doc();
    let usage = doc.root();
    let thinking = usage.path(&["output_tokens_details", "thinking_tokens"]);
    Usage {
        input_tokens: usage.u64("input_tokens"),
        output_tokens: usage.u64("output_tokens"),
        reasoning_tokens: thinking.and_then(Val::as_u64),
        cache_read_tokens: usage.u64("cache_read_input_tokens"),
        cache_write_tokens: usage.u64("cache_creation_input_tokens"),
        tool_input_tokens: None,
        is_cached_apart: true,
        is_reasoning_apart: false,
        total_tokens: None,
        is_early: false,
        is_priced_apart: false,
        raw: Some(raw.clone()),
    }
}

/// A later usage object over an earlier one. Counts are cumulative, so the later ones count; `null` has no meaning.
pub(super) fn merge_usage(earlier: Option<&Raw>, later: Val<'_>) -> Raw {
    let Some(earlier) = earlier else { return Raw::from(later) };
    let doc = earlier.doc();
    let old = doc.root();
    let covers = old
        .entries()
        .all(|(key, value)| later.get(&key).is_some_and(|new| !new.is_null() || value.is_null()));
    if covers {
        return Raw::from(later);
    }
    let said: Vec<_> = later
        .entries()
        .filter(|(key, value)| !value.is_null() || old.get(key).is_none())
        .map(|(key, value)| (key.into_owned(), Raw::from(value)))
        .collect();
    earlier.with(&said)
}

/// The problem for an error body or an error event; its location is the wire's word for the error.
pub(super) fn error(body: Val<'_>) -> Problem {
    let error = body.some("error").unwrap_or(body);
    let message = error.as_str().or_else(|| error.text("message"));
    let message = message.as_deref().unwrap_or("the provider gave no message");
    let problem = Problem::new(ProblemCode::UpstreamError, message);
    match error.text("type").filter(|kind| !kind.is_empty() && kind != "error") {
        Some(kind) => problem.at(kind),
        None => problem,
    }
}
