//! Reads the response object itself: at the end of a stream, and as a whole body.

use super::ID;
use super::item::ItemKind;
use super::slot::Slot;
use super::stream::Decoder;
use crate::event::{Event, Fact, Sink};
use crate::json::{Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::usage::Usage;
use crate::wire::error;
use std::collections::HashMap;

/// Compares the final output with the items that came. It may be empty, have fewer items or other ids; items
/// that are new are added and items that had no last word get one.
pub(super) fn take_output(decoder: &mut Decoder, response: Val<'_>, sink: &mut dyn Sink) {
    let Some(output) = response.get("output") else { return };
    let items: Vec<Val<'_>> = output.items().collect();
    let mut taken = vec![false; decoder.slots().len()];
    let by_id: Vec<Option<usize>> = {
        let ids: HashMap<&str, usize> = decoder
            .slots()
            .iter()
            .enumerate()
            .filter_map(|(at, slot)| Some((slot.id.as_deref()?, at)))
            .collect();
        items.iter().map(|item| take(&mut taken, *ids.get(&*item.text("id")?)?)).collect()
    };
    // All slots before this one are taken, so that items in their order are found at once.
    let mut free = 0;
    for (item, known) in items.into_iter().zip(by_id) {
        while taken.get(free) == Some(&true) {
            free += 1;
        }
        let known = known.or_else(|| {
            let mut rest = decoder.slots().iter().zip(&taken).enumerate().skip(free);
            let fits = |slot: &Slot, taken: bool| !taken && same_place(slot, item);
            let at = rest.find(|(_, (slot, taken))| fits(slot, **taken))?.0;
            take(&mut taken, at)
        });
        let at = known.unwrap_or_else(|| {
            decoder.add(Slot::new(None, item.string("id"), ItemKind::of_item(item)))
        });
        if decoder.slots().get(at).is_some_and(|slot| !slot.done) {
            decoder.finish(at, item, sink);
        }
    }
}

/// Takes the slot at this place, unless it was taken before.
fn take(taken: &mut [bool], at: usize) -> Option<usize> {
    let slot = taken.get_mut(at).filter(|taken| !**taken)?;
    *slot = true;
    Some(at)
}

/// Whether an item under another id is this one: some relatives give an item a new id in every event. The ids
/// of calls are not subject to that.
fn same_place(slot: &Slot, item: Val<'_>) -> bool {
    let is_call = matches!(slot.kind, ItemKind::Function | ItemKind::Custom);
    slot.kind == ItemKind::of_item(item)
        && (!is_call
            || slot.call_id.is_none()
            || slot.call_id.as_deref() == item.text("call_id").as_deref())
}

/// The token counts of a response, if it has any.
pub(super) fn usage(response: Val<'_>, sink: &mut dyn Sink) {
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        sink.event(Event::Usage(&counts(usage)));
    }
}

/// The token counts in a usage object; some relatives use the names of Chat Completions.
pub(super) fn counts(usage: Val<'_>) -> Usage {
    let first = |keys: [&str; 2]| keys.iter().find_map(|key| usage.u64(key));
    let detail = |objects: [&str; 2], key| {
        objects.iter().find_map(|object| usage.path(&[object, key])?.as_u64())
    };
    let input_details = ["input_tokens_details", "prompt_tokens_details"];
    let output_details = ["output_tokens_details", "completion_tokens_details"];
    Usage {
        input_tokens: first(["input_tokens", "prompt_tokens"]),
        output_tokens: first(["output_tokens", "completion_tokens"]),
        reasoning_tokens: detail(output_details, "reasoning_tokens"),
        cache_read_tokens: detail(input_details, "cached_tokens"),
        cache_write_tokens: detail(input_details, "cache_write_tokens"),
        tool_input_tokens: None,
        is_cached_apart: false,
        is_reasoning_apart: false,
        total_tokens: usage.u64("total_tokens"),
        is_early: false,
        is_priced_apart: false,
        raw: Some(Raw::from(usage)),
    }
}

/// Fields that clients demand of every response, with their values if an answer lacks them.
pub(super) const DEFAULTS: [(&str, &str); 4] = [
    ("created_at", "0"),
    ("parallel_tool_calls", "true"),
    ("tool_choice", "\"auto\""),
    ("tools", "[]"),
];

/// The fields of a response that have a name here.
const NAMED: [&str; 8] =
    ["error", "id", "incomplete_details", "model", "object", "output", "status", "usage"];

/// The fields of a response that have no name here.
pub(super) fn fields(response: Val<'_>, sink: &mut dyn Sink) {
    for (key, value) in response.entries() {
        let is_default = DEFAULTS.iter().any(|(name, is)| key == *name && value.raw() == *is);
        if !is_default && !NAMED.contains(&&*key) && key != "type" {
            let value = &Raw::from(value);
            sink.event(Event::Fact(Fact::Field { wire: ID, key: &key, value }));
        }
    }
}

/// Reports the members of an event beside its response.
pub(super) fn beside(event: Val<'_>, sink: &mut dyn Sink) {
    let own = ["type", "sequence_number", "response"];
    let others =
        || event.entries().filter(|(key, value)| !own.contains(&&**key) && !value.is_null());
    if event.get("response").is_some() && others().next().is_some() {
        let members = &Raw::build(|w| {
            w.object(|w| others().for_each(|(key, value)| w.key(&key).raw_str(value.raw())));
        });
        sink.event(Event::Fact(Fact::Beside { wire: ID, members }));
    }
}

/// Why the response ended: the reason of an incomplete one, else its status.
pub(super) fn finish(response: Val<'_>, sink: &mut dyn Sink) {
    let status = response.text("status");
    let model = response.text("model");
    let reason = response.path(&["incomplete_details", "reason"]).and_then(Val::as_str);
    match status.as_deref() {
        Some("failed") => sink.event(Event::Problem(&error_of(response))),
        Some(status @ ("cancelled" | "in_progress" | "queued")) => {
            let message = format!("the response ended with the status `{status}`");
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
        _ => {}
    }
    if status.as_deref() != Some("failed") {
        let finish_reason = reason.as_deref().or(status.as_deref());
        sink.event(Event::Finish { finish_reason, model: model.as_deref() });
    }
}

/// Whether the response is complete.
pub(super) fn is_completed(response: Val<'_>) -> bool {
    response.text("status").is_none_or(|status| status == "completed")
        && response.some("error").is_none()
}

/// Whether this is an error body: `error` in any shape, or the `detail` of some backends.
pub(super) fn is_error(body: Val<'_>) -> bool {
    body.some("error").is_some() || body.text("detail").is_some()
}

/// The provider's error, in one of many shapes, in this body or its `error`.
pub(super) fn error_of(body: Val<'_>) -> Problem {
    let said = error::read(body).or_else(|| error::read(body.some("error")?));
    said.unwrap_or_else(|| {
        let message = "the provider reported an error without a message";
        Problem::new(ProblemCode::UpstreamError, message)
    })
}
