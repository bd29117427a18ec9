//! Blocks as this wire writes them, in requests and in answers alike.

use super::ID;
use super::response::usage_of;
use crate::content::{Parameters, Text, Thinking, ToolCall};
use crate::json::{Extra, Raw, Writer};
use crate::usage::Usage;

/// Writes visible text, with its citations if it has any.
pub(super) fn text(w: &mut Writer, text: &Text) {
    let Some(citations) = text.extra.get(ID, "citations") else {
        return w.object(|w| {
            w.field_str("text", &text.text);
            extra(w, &text.extra);
        });
    };
    w.object(|w| {
        w.key("citationsContent").object(|w| {
            w.key("content").array(|w| w.object(|w| w.field_str("text", &text.text)));
            w.field_raw("citations", citations);
        });
    });
}

/// Writes a thought. Only some models sign; a thought without a signature has no such member.
pub(super) fn thinking(w: &mut Writer, thinking: &Thinking) {
    w.object(|w| {
        w.key("reasoningContent").object(|w| match &thinking.redacted_data {
            Some(data) => w.field_str("redactedContent", data),
            None => w.key("reasoningText").object(|w| {
                w.field_str("text", &thinking.thought);
                w.opt_str("signature", thinking.signature.as_deref());
                extra(w, &thinking.extra);
            }),
        });
    });
}

/// A thought whose only payload is of a kind that this wire has no member for.
pub(super) fn is_unsayable(thinking: &Thinking) -> bool {
    thinking.thought.is_empty() && thinking.signature.is_none() && thinking.redacted_data.is_none()
}

/// Writes a tool call under this id, with these arguments.
pub(super) fn tool_use(w: &mut Writer, id: &str, call: &ToolCall, input: &Raw) {
    w.object(|w| {
        w.key("toolUse").object(|w| {
            w.field_str("toolUseId", id);
            w.field_str("name", &call.name);
            w.field_raw("input", input);
            extra(w, &call.extra);
        });
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

/// Writes members that came on this wire, but not the mark of [`mark_verbatim`].
pub(super) fn extra(w: &mut Writer, extra: &Extra) {
    for (key, value) in extra.of(ID).iter().filter(|(key, _)| key != MARK) {
        w.field_raw(key, value);
    }
}

/// The key of our mark for data that came from this wire exactly so, with no member added or left out. No member of
/// this wire has an empty name, so this key cannot clash.
const MARK: &str = "";

/// Marks an object as unchanged since it came from this wire.
pub(super) fn mark_verbatim(extra: &mut Extra) {
    extra.insert(ID, MARK, Raw::null());
}

/// Whether an object came from this wire exactly so.
pub(super) fn is_verbatim(extra: &Extra) -> bool {
    extra.get(ID, MARK).is_some()
}

/// Writes token counts: unchanged if they came on this wire, else in its words. The wire cannot express an unknown
/// count, so an unknown one of the three demanded counts is written as 0.
pub(super) fn usage(w: &mut Writer, usage: Option<&Usage>) {
    let nothing = Usage::default();
    let usage = usage.unwrap_or(&nothing);
    if let Some(raw) = usage.raw.as_ref().filter(|raw| usage_of(raw) == *usage)
        && usage.input_tokens.is_some()
        && usage.output_tokens.is_some()
    {
        return w.raw(raw);
    }
    let input = usage.uncached_input_tokens().unwrap_or_default();
    let output = usage.output_tokens_with_reasoning().unwrap_or_default();
    let [read, write] = [usage.cache_read_tokens, usage.cache_write_tokens];
    let counts = [Some(input), Some(output), read, write];
    w.object(|w| {
        w.field_u64("inputTokens", input);
        w.field_u64("outputTokens", output);
        w.field_u64("totalTokens", counts.into_iter().flatten().fold(0, u64::saturating_add));
        if let Some(tokens) = read {
            w.field_u64("cacheReadInputTokens", tokens);
        }
        if let Some(tokens) = write {
            w.field_u64("cacheWriteInputTokens", tokens);
        }
    });
}
