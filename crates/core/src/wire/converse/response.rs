//! Whole responses, and the code that streams share with them.

use super::ID;
use crate::content::{Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::open::{OpenBlocks, OpenOther, Part};

/// The key that thoughts come in.
pub(super) const SOURCE_FIELD: &str = "reasoningContent";

/// Reads a whole response.
pub(super) fn read(body: Val<'_>, sink: &mut dyn Sink) {
    if body.get("output").is_none() && message_of(body).is_some() {
        return sink.event(Event::Problem(&error("", body)));
    }
    fields(body, &["output", "stopReason", "usage"], sink);
    let content = body.path(&["output", "message", "content"]);
    let mut open = OpenBlocks::default();
    for (key, block) in (0..).zip(content.into_iter().flat_map(Val::each)) {
        read_block(&mut open, key, block, sink);
        open.end(key, sink);
    }
    if let Some(usage) = body.some("usage") {
        sink.event(Event::Usage(&usage_of(&Raw::from(usage))));
    }
    let finish_reason = body.text("stopReason");
    sink.event(Event::Finish { finish_reason: finish_reason.as_deref(), model: None });
}

/// Reports the unknown members, and the stop sequence if the model reports one. `null` has no meaning, and `p` is
/// padding.
pub(super) fn fields(object: Val<'_>, known: &[&str], sink: &mut dyn Sink) {
    for (key, value) in object.entries() {
        if !known.contains(&key.as_ref()) && key != "p" && !value.is_null() {
            if let Some(stop) = value.text("stop_sequence") {
                sink.event(Event::Fact(Fact::StopSequence(&stop)));
            }
            let value = &Raw::from(value);
            sink.event(Event::Fact(Fact::Field { wire: ID, key: &key, value }));
        }
    }
}

fn read_block(open: &mut OpenBlocks, key: u64, block: Val<'_>, sink: &mut dyn Sink) {
    let first = block.entries().next();
    let (kind, inner) = match &first {
        Some((kind, inner)) => (kind.as_ref(), *inner),
        None => ("", block),
    };
    if let ("text", Some(text)) = (kind, inner.as_str()) {
        let extra = Extra::collect(ID, block, &["text"]);
        open.start(key, text_part(extra), sink);
        open.push(key, &text, sink);
    } else if let ("reasoningContent", Some(thinking)) = (kind, thinking(inner)) {
        let text = thinking.thought.clone();
        open.start(key, Part::Thinking(Thinking { thought: String::new(), ..thinking }), sink);
        open.push(key, &text, sink);
    } else if kind == "toolUse" && !is_server_side(inner) {
        open.start(key, call_part(inner), sink);
    } else {
        note_unknown(kind, sink);
        open.start(key, Part::Other(OpenOther::new(ID, kind, Raw::from(block))), sink);
    }
}

/// A text block that has just begun.
pub(super) fn text_part(extra: Extra) -> Part {
    let text = Text { extra, ..Text::default() };
    Part::Text { text, citations: Vec::new(), wire: ID }
}

/// Whether a call is for the provider's own tools, which only the provider may run.
pub(super) fn is_server_side(tool_use: Val<'_>) -> bool {
    tool_use.some("type").is_some_and(|kind| kind.as_str().as_deref() != Some(CLIENT_SIDE))
}

/// The `type` of calls of the caller's tools; most have none.
const CLIENT_SIDE: &str = "tool_use";

/// A tool call that has just begun, or all of one.
pub(super) fn call_part(tool_use: Val<'_>) -> Part {
    let input = tool_use.some("input");
    let call = ToolCall {
        id: tool_use.string("toolUseId"),
        name: tool_use.string("name").unwrap_or_default(),
        parameters: input.map_or_else(Parameters::default, |input| match input.as_str() {
            Some(text) => Parameters::from_text(&text),
            None if input.entries().next().is_none() && input.is_object() => Parameters::default(),
            None => Parameters::Json(Raw::from(input)),
        }),
        signature: None,
        extra: Extra::collect(ID, tool_use, &["toolUseId", "name", "input", "type"]),
    };
    Part::Call { call, text: String::new() }
}

/// A thought in one of its known shapes; `redactedReasoning` is some clients' name for `redactedContent`.
pub(super) fn thinking(content: Val<'_>) -> Option<Thinking> {
    let mut thinking = Thinking::new("", SOURCE_FIELD);
    for (key, value) in content.entries() {
        match key.as_ref() {
            "reasoningText" => {
                thinking.thought = value.string("text").unwrap_or_default();
                thinking.signature = value.string("signature").filter(|text| !text.is_empty());
                thinking.extra = Extra::collect(ID, value, &["text", "signature"]);
            }
            "redactedContent" => thinking.redacted_data = Some(value.as_str()?.into_owned()),
            "redactedReasoning" => thinking.redacted_data = Some(value.string("data")?),
            _ => return None,
        }
    }
    Some(thinking)
}

/// Reports a block of unknown kind.
pub(super) fn note_unknown(kind: &str, sink: &mut dyn Sink) {
    let is_known = matches!(
        kind,
        "audio"
            | "citationsContent"
            | "image"
            | "searchResult"
            | "toolResult"
            | "toolUse"
            | "video"
    );
    if !is_known {
        let message = format!("a block of the unknown kind `{kind}` was kept as it stood");
        sink.event(Event::Problem(&Problem::new(ProblemCode::Unknown, message)));
    }
}

/// The counts in a usage object.
pub(super) fn usage_of(raw: &Raw) -> Usage {
    let doc = raw.doc();
    let usage = doc.root();
    Usage {
        input_tokens: usage.u64("inputTokens"),
        output_tokens: usage.u64("outputTokens"),
        reasoning_tokens: None,
        cache_read_tokens: usage.u64("cacheReadInputTokens"),
        cache_write_tokens: usage.u64("cacheWriteInputTokens"),
        tool_input_tokens: None,
        is_cached_apart: true,
        is_reasoning_apart: false,
        total_tokens: usage.u64("totalTokens"),
        is_early: false,
        is_priced_apart: false,
        raw: Some(raw.clone()),
    }
}

/// The message of an error body; services spell it in two ways.
pub(super) fn message_of(body: Val<'_>) -> Option<String> {
    ["message", "Message"].iter().find_map(|key| body.string(key))
}

/// The problem for an exception, located by the exception's name.
pub(super) fn error(name: &str, body: Val<'_>) -> Problem {
    let message = message_of(body).or(body.string("originalMessage"));
    let message = message.unwrap_or_else(|| "the provider gave no message".to_owned());
    let problem = Problem::new(ProblemCode::UpstreamError, message);
    match body.string("__type").filter(|_| name.is_empty()) {
        Some(kind) => problem.at(kind),
        None if name.is_empty() => problem,
        None => problem.at(name),
    }
}
