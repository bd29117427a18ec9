//! Reasoning in unknown members: other spellings, payloads on blocks that have none on their wire, and members that
//! proxies add to a message.

use crate::json::{Extra, Raw, Val};
use crate::wire::is_reasoning;

/// A tool's arguments are visible words of the model, under any name.
const ARGUMENTS: [&str; 4] = ["args", "arguments", "input", "parameters"];

/// Results of searches and summaries of a conversation are encrypted, too, and no thoughts.
const NOT_IN_RAW: &str = "encrypted_content";

/// The members that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// All, including empty ones: `null`, an empty text, a mark of ours.
    All,
    /// Members with content.
    Saying,
}

/// Whether unknown fields contain such members.
pub(super) fn are_in(extra: &Extra, which: Which) -> bool {
    let is_named = |(key, value): &(String, Raw)| {
        let doc = value.doc();
        counts(key, doc.root(), which) || is_inside(key, doc.root(), which)
    };
    let is_noted = |(key, value): &(String, Raw)| is_inside(key, value.doc().root(), which);
    extra.fields.iter().any(is_named) || extra.notes.iter().any(is_noted)
}

/// Takes them out.
pub(super) fn take_out(extra: &mut Extra) {
    extra.fields.retain(|(key, value)| !is_one(key, value.doc().root()));
    extra.fields.retain_mut(|(key, value)| {
        let is_changed = replace(key, value);
        !(is_changed && value.as_str() == "{}")
    });
    // The presence of a note already has a meaning.
    for (key, value) in &mut extra.notes {
        replace(key, value);
    }
}

/// Replaces a value by its rest, if members of it are removed.
fn replace(key: &str, value: &mut Raw) -> bool {
    let left = {
        let doc = value.doc();
        is_inside(key, doc.root(), Which::All).then(|| without(doc.root()))
    };
    left.is_some_and(|left| {
        *value = left;
        true
    })
}

/// A block that is kept raw without them; `None` if it has none. Deeper members are the block's own.
pub(super) fn without_any(raw: &Raw, which: Which) -> Option<Raw> {
    let doc = raw.doc();
    let goes = |key: &str, value: Val<'_>| key != NOT_IN_RAW && counts(key, value, which);
    doc.root().entries().find(|(key, value)| goes(key, *value))?;
    Some(Raw::build(|w| {
        w.object(|w| {
            for (key, value) in doc.root().entries() {
                if key == NOT_IN_RAW || !is_one(&key, value) {
                    w.key(&key).raw_str(value.raw());
                }
            }
        });
    }))
}

fn counts(key: &str, value: Val<'_>, which: Which) -> bool {
    let says = || !matches!(value.raw(), "null" | "true" | "false" | "\"\"" | "[]" | "{}");
    is_one(key, value) && (which == Which::All || says())
}

/// A flag that marks something as no thought stays.
fn is_one(key: &str, value: Val<'_>) -> bool {
    is_reasoning(key) && value.as_bool() != Some(false)
}

fn is_inside(key: &str, value: Val<'_>, which: Which) -> bool {
    !ARGUMENTS.contains(&key)
        && value
            .entries()
            .any(|(key, inner)| counts(&key, inner, which) || is_inside(&key, inner, which))
}

/// An object without the members of these names, at any depth; objects that become empty are removed.
fn without(object: Val<'_>) -> Raw {
    Raw::build(|w| {
        w.object(|w| {
            for (key, value) in object.entries().filter(|(key, value)| !is_one(key, *value)) {
                if !is_inside(&key, value, Which::All) {
                    w.key(&key).raw_str(value.raw());
                    continue;
                }
                let left = without(value);
                if left.as_str() != "{}" {
                    w.field_raw(&key, &left);
                }
            }
        });
    })
}
