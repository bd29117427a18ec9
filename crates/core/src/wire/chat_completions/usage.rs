//! Token counts, wherever a chat body has them.

use crate::json::{Kind, Raw, Val};
use crate::usage::Usage;

/// An empty object is no report.
pub(super) fn says_something(usage: Val<'_>) -> bool {
    usage.is_object() && usage.entries().any(|(_, value)| !value.is_null())
}

/// Reads a usage object. Every number is the provider's own, and no sum. `reports_cached_at_top`: a 0 in `cached_tokens`
/// is a report.
pub(super) fn read(usage: Val<'_>, reports_cached_at_top: bool) -> Usage {
    let first = |paths: &[&[&str]]| paths.iter().find_map(|path| usage.path(path)?.as_u64());
    // Some servers fill the fields of other protocols with zeros; there a zero is no report.
    let alias =
        |names: &[&str]| names.iter().find_map(|name| usage.u64(name).filter(|count| *count > 0));
    let read = first(&[&["prompt_tokens_details", "cached_tokens"], &["prompt_cache_hit_tokens"]]);
    let read = read.or_else(|| usage.u64("cached_tokens").filter(|_| reports_cached_at_top));
    let read = read.or_else(|| alias(&["cached_tokens", "cache_read_input_tokens"]));
    let written = first(&[&["prompt_tokens_details", "cache_write_tokens"]]);
    Usage {
        input_tokens: first(&[&["prompt_tokens"]]).or_else(|| alias(&["input_tokens"])),
        output_tokens: first(&[&["completion_tokens"]]).or_else(|| alias(&["output_tokens"])),
        reasoning_tokens: first(&[
            &["completion_tokens_details", "reasoning_tokens"],
            &["output_tokens_details", "reasoning_tokens"],
            &["reasoning_tokens"],
        ]),
        tool_input_tokens: None,
        cache_read_tokens: read.or_else(|| usage.u64("cache_read_input_tokens")),
        cache_write_tokens: written.or_else(|| alias(&["cache_creation_input_tokens"])),
        is_cached_apart: false,
        is_reasoning_apart: false,
        total_tokens: first(&[&["total_tokens"]]),
        is_early: false,
        is_priced_apart: false,
        raw: Some(Raw::from(usage)),
    }
}

/// The usage object that this wire writes: the object that was read if it has this wire's shape, else the counts. The
/// wire cannot express an unknown count, so an unknown one of the three demanded counts is written as 0.
pub(super) fn write(usage: &Usage) -> Raw {
    if let Some(raw) = &usage.raw {
        let doc = raw.doc();
        if doc.root().get("prompt_tokens").is_some_and(|count| count.kind() == Kind::Number) {
            return raw.clone();
        }
    }
    Raw::build(|w| {
        w.object(|w| {
            for (key, count) in [
                ("prompt_tokens", usage.input_tokens_with_cached()),
                ("completion_tokens", usage.output_tokens_with_reasoning()),
                ("total_tokens", usage.total()),
            ] {
                w.field_u64(key, count.unwrap_or_default());
            }
            if usage.cache_read_tokens.is_some() || usage.cache_write_tokens.is_some() {
                w.key("prompt_tokens_details").object(|w| {
                    if let Some(read) = usage.cache_read_tokens {
                        w.field_u64("cached_tokens", read);
                    }
                    if let Some(written) = usage.cache_write_tokens {
                        w.field_u64("cache_write_tokens", written);
                    }
                });
            }
            if let Some(reasoning) = usage.reasoning_tokens {
                w.key("completion_tokens_details")
                    .object(|w| w.field_u64("reasoning_tokens", reasoning));
            }
        });
    })
}
