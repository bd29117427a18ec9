//! Opaque payloads of Google models on chat bodies, and where they stood.
//!
//! A payload is taken out of the field that it came in, and the rest of that field is kept; a `null` marks the
//! place of a spelling that is not the usual one, so that the payload goes back to where it was.

use crate::json::{Extra, Raw, Val, Writer};

/// The usual place is `extra_content.google.thought_signature`.
const WRAPPER: &str = "extra_content";
const VENDOR: &str = "google";
const FIELD: &str = "thought_signature";
/// Other spellings, used by proxies, directly on the object.
const ALIASES: [&str; 2] = ["thoughtSignature", FIELD];

/// The payload on a message, delta or tool call.
pub(super) fn find(object: Val<'_>) -> Option<String> {
    let usual = object.path(&[WRAPPER, VENDOR, FIELD]).and_then(Val::as_str);
    usual
        .or_else(|| ALIASES.iter().find_map(|alias| object.text(alias)))
        .or_else(|| object.path(&["provider_specific_fields", FIELD]).and_then(Val::as_str))
        .filter(|signature| !signature.is_empty())
        .map(std::borrow::Cow::into_owned)
}

/// Takes the payload's places out of fields that were collected from the same object.
pub(super) fn take_out(extra: &mut Extra, wire: &'static str) {
    for alias in ALIASES {
        if extra.get(wire, alias).is_some() {
            extra.insert(wire, alias, Raw::null());
        }
    }
    let Some(wrapper) = extra.get(wire, WRAPPER).cloned() else { return };
    let doc = wrapper.doc();
    if doc.root().path(&[VENDOR, FIELD]).is_none() {
        return;
    }
    let rest = wrapped(doc.root(), None);
    extra.insert(wire, WRAPPER, rest);
}

/// The wrapper with `signature` in its place.
fn wrapped(wrapper: Val<'_>, signature: Option<&str>) -> Raw {
    Raw::build(|w| {
        w.object(|w| {
            let mut done = false;
            for (key, value) in wrapper.entries() {
                if key != VENDOR {
                    w.key(&key).raw_str(value.raw());
                    continue;
                }
                done = true;
                w.key(VENDOR).object(|w| {
                    for (key, value) in value.entries().filter(|(key, _)| key != FIELD) {
                        w.key(&key).raw_str(value.raw());
                    }
                    w.opt_str(FIELD, signature);
                });
            }
            if !done && let Some(signature) = signature {
                w.key(VENDOR).object(|w| w.field_str(FIELD, signature));
            }
        });
    })
}

/// Writes the fields of `extra` with `signature` back in its place, inside an open object.
pub(super) fn write(w: &mut Writer, extra: &Extra, wire: &str, signature: Option<&str>) {
    let alias = ALIASES.iter().find(|alias| extra.get(wire, alias).is_some());
    let mut left = signature;
    for (key, value) in extra.of(wire) {
        if alias == Some(&key.as_str()) {
            w.str_or_null(key, signature);
        } else if key == WRAPPER && left.is_some() {
            w.field_raw(key, &wrapped(value.doc().root(), left.take()));
        } else {
            w.field_raw(key, value);
        }
    }
    if alias.is_none()
        && let Some(signature) = left
    {
        w.key(WRAPPER).object(|w| w.key(VENDOR).object(|w| w.field_str(FIELD, signature)));
    }
}
