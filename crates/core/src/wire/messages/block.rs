//! Blocks as this wire writes them, in requests and in answers alike.

use super::ID;
use super::response::usage_of;
use crate::content::{Parameters, Text, Thinking, ToolCall};
use crate::json::{Extra, Raw, Writer};
use crate::usage::Usage;

/// Writes visible text.
pub(super) fn text(w: &mut Writer, text: &Text) {
    w.object(|w| {
        w.field_str("type", "text");
        w.field_str("text", &text.text);
        extra(w, text.extra.of(ID));
    });
}

/// Writes a thought. The API demands the `signature` of a `thinking` block, so a thought without one gets an
/// empty one: servers that speak this wire without signing take it, and the API itself refuses either. Only a
/// block that came on this wire without that member goes back without it.
pub(super) fn thinking(w: &mut Writer, thinking: &Thinking) {
    if let Some(data) = &thinking.redacted_data {
        return w.object(|w| {
            w.field_str("type", "redacted_thinking");
            w.field_str("data", data);
            extra(w, thinking.extra.of(ID));
        });
    }
    w.object(|w| {
        w.field_str("type", "thinking");
        w.field_str("thinking", &thinking.thought);
        match &thinking.signature {
            Some(signature) => w.field_str("signature", signature),
            None if is_verbatim(&thinking.extra) => {}
            None => w.field_str("signature", ""),
        }
        extra(w, thinking.extra.of(ID));
    });
}

/// Writes a tool call under this id, with these arguments.
pub(super) fn tool_use(w: &mut Writer, id: &str, call: &ToolCall, input: &Raw) {
    w.object(|w| {
        w.field_str("type", "tool_use");
        w.field_str("id", id);
        w.field_str("name", &call.name);
        w.field_raw("input", input);
        extra(w, call.extra.of(ID));
    });
}

/// The arguments as an object, which this wire demands; text that is not JSON goes into its member `input`.
pub(super) fn input_object(parameters: &Parameters) -> Raw {
    match parameters {
        Parameters::Json(raw) => raw.clone(),
        Parameters::Free(text) | Parameters::Invalid(text) => {
            Raw::build(|w| w.object(|w| w.field_str("input", text)))
        }
    }
}

/// Writes members that came on this wire, but not the mark of [`verbatim`].
pub(super) fn extra(w: &mut Writer, fields: &[(String, Raw)]) {
    for (key, value) in fields.iter().filter(|(key, _)| key != MARK) {
        w.field_raw(key, value);
    }
}

/// The key of our mark for a block that came from this wire exactly so, with no member added or left out. A block's
/// `type` is never an unknown member, so this key cannot clash.
const MARK: &str = "type";

/// The `type` in the mark of an empty text that is no block but all of a message's content.
pub(super) const STRING: &str = "";

/// Whether a text has no other members, so that it can be a content without being a block.
pub(super) fn is_bare(text: &Text) -> bool {
    let mark = |(key, raw): &(String, Raw)| key == MARK && raw.as_str() == "\"\"";
    text.extra.of(ID).iter().all(mark)
}

/// Marks a block as unchanged since it came from this wire.
pub(super) fn mark_verbatim(extra: &mut Extra, kind: &str) {
    extra.insert(ID, MARK, Raw::string(kind));
}

/// Whether a block came from this wire exactly so.
pub(super) fn is_verbatim(extra: &Extra) -> bool {
    extra.get(ID, MARK).is_some()
}

/// Writes token counts: unchanged if they came on this wire, else in its words. The wire cannot express an unknown
/// count, so an unknown one of the two demanded counts is written as 0.
pub(super) fn usage(w: &mut Writer, usage: Option<&Usage>) {
    let nothing = Usage::default();
    let usage = usage.unwrap_or(&nothing);
    let is_it = |raw: &&Raw| Usage { is_early: usage.is_early, ..usage_of(raw) } == *usage;
    if let Some(raw) = usage.raw.as_ref().filter(is_it)
        && usage.input_tokens.is_some()
        && usage.output_tokens.is_some()
    {
        return w.raw(raw);
    }
    w.object(|w| {
        w.field_u64("input_tokens", usage.uncached_input_tokens().unwrap_or_default());
        if let Some(tokens) = usage.cache_write_tokens {
            w.field_u64("cache_creation_input_tokens", tokens);
        }
        if let Some(tokens) = usage.cache_read_tokens {
            w.field_u64("cache_read_input_tokens", tokens);
        }
        w.field_u64("output_tokens", usage.output_tokens_with_reasoning().unwrap_or_default());
        if let Some(tokens) = usage.reasoning_tokens {
            w.key("output_tokens_details").object(|w| w.field_u64("thinking_tokens", tokens));
        }
    });
}
