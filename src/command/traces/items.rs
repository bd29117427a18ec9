//! The items of a trace for readers: the question and results before the answer, calls and a refusal behind it.

use thinkthrough_store::{Trace, TraceItem, TraceItemKind};

/// A text with its heading, such as `call grep`.
pub(super) struct Part<'a> {
    pub(super) heading: String,
    pub(super) text: &'a str,
}

/// The parts of a trace before its thought, and behind its answer.
pub(super) fn parts(trace: &Trace) -> [Vec<Part<'_>>; 2] {
    let items = trace.items.all().iter();
    let is_asked =
        |item: &&TraceItem| matches!(item.kind, TraceItemKind::Question | TraceItemKind::Result);
    let (asked, answered): (Vec<_>, Vec<_>) = items.partition(is_asked);
    [asked, answered].map(|items| items.into_iter().map(part).collect())
}

fn part(item: &TraceItem) -> Part<'_> {
    let name = item.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let is_error = if item.is_error { " (failed)" } else { "" };
    let is_cut = if item.is_cut { " (the first 16 KiB)" } else { "" };
    let kind = match item.kind {
        TraceItemKind::Refusal => "refused by the provider",
        kind => kind.as_str(),
    };
    Part { heading: format!("{kind}{name}{is_error}{is_cut}"), text: &item.text }
}

/// The note about items beyond the limits.
pub(super) fn left_out(trace: &Trace) -> Option<String> {
    let count = trace.items.left_out();
    (count > 0).then(|| format!("{count} more questions, calls or results are not kept"))
}

/// The name that was asked for, if the model has another one at its provider, and the effort.
pub(super) fn asked(trace: &Trace) -> [Option<String>; 2] {
    let metadata = thinkthrough_json::Raw::parse(&trace.metadata).ok();
    let named = |name: &str| metadata.as_ref().and_then(|raw| raw.doc().root().string(name));
    [named("asked").filter(|asked| *asked != trace.model), named("effort")]
}
