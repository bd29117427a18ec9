//! Opaque payloads of Gemini models on chat bodies, and their places.
//!
//! A payload is taken out of its field, and a `null` marks its place, so that it goes back to the same place, or is
//! gone if it must not go back.

use crate::json::{Extra, Raw, Val, Writer};

/// The places in which servers and proxies put the payload; the first is the usual one.
const PLACES: [&str; 4] = [
    "extra_content.google.thought_signature",
    "thoughtSignature",
    "thought_signature",
    "provider_specific_fields.thought_signature",
];

/// The field and the path inside it.
fn split(place: &str) -> (&str, Vec<&str>) {
    let mut steps = place.split('.');
    (steps.next().unwrap_or_default(), steps.collect())
}

/// The new content of a place.
#[derive(Clone, Copy)]
enum Leaf<'a> {
    /// The member is removed.
    Gone,
    /// The mark.
    Mark,
    /// The payload.
    Payload(&'a str),
}

/// The payload on a message, delta or tool call.
pub(super) fn find(object: Val<'_>) -> Option<String> {
    let found = PLACES.iter().find_map(|place| {
        let (key, inner) = split(place);
        object.get(key)?.path(&inner)?.as_str()
    });
    found.filter(|signature| !signature.is_empty()).map(std::borrow::Cow::into_owned)
}

/// Takes the payload out of fields that were collected from the same object.
pub(super) fn take_out(extra: &mut Extra, wire: &'static str) {
    for place in PLACES {
        let (key, inner) = split(place);
        let Some(value) = extra.get(wire, key).cloned() else { continue };
        let doc = value.doc();
        if doc.root().path(&inner).is_some_and(|payload| payload.as_str().is_some())
            && let Some(marked) = set(Some(doc.root()), &inner, Leaf::Mark)
        {
            extra.insert(wire, key, marked);
        }
    }
}

/// The value with `leaf` at `path` in it; `None` if the value becomes empty.
fn set(value: Option<Val<'_>>, path: &[&str], leaf: Leaf<'_>) -> Option<Raw> {
    let Some((key, inner)) = path.split_first() else {
        return match leaf {
            Leaf::Gone => None,
            Leaf::Mark => Some(Raw::null()),
            Leaf::Payload(payload) => Some(Raw::string(payload)),
        };
    };
    let member = set(value.and_then(|value| value.get(key)), inner, leaf);
    let entries = || value.into_iter().flat_map(Val::entries);
    if member.is_none() && entries().all(|(name, _)| name == *key) {
        return None;
    }
    Some(Raw::build(|w| {
        w.object(|w| {
            for (name, value) in entries() {
                if name != *key {
                    w.key(&name).raw_str(value.raw());
                } else if let Some(member) = &member {
                    w.field_raw(key, member);
                }
            }
            if let Some(member) =
                member.as_ref().filter(|_| entries().all(|(name, _)| name != *key))
            {
                w.field_raw(key, member);
            }
        });
    }))
}

/// Writes the fields of `extra` with the payload back in its places, inside an open object.
pub(super) fn write(w: &mut Writer, extra: &Extra, wire: &str, signature: Option<&str>) {
    let marked = |key: &str, value: Val<'_>| {
        PLACES
            .into_iter()
            .map(split)
            .find(|(first, inner)| *first == key && value.path(inner).is_some_and(Val::is_null))
    };
    let leaf = signature.map_or(Leaf::Gone, Leaf::Payload);
    let [usual, ..] = PLACES;
    let (usual_key, usual_inner) = split(usual);
    let is_marked =
        extra.of(wire).iter().any(|(key, value)| marked(key, value.doc().root()).is_some());
    let mut is_said = is_marked || signature.is_none();
    for (key, value) in extra.of(wire) {
        let doc = value.doc();
        let new = match marked(key, doc.root()) {
            Some((_, inner)) => set(Some(doc.root()), &inner, leaf),
            None if !is_said && key == usual_key => {
                is_said = true;
                set(Some(doc.root()), &usual_inner, leaf)
            }
            None => Some(value.clone()),
        };
        if let Some(new) = new {
            w.field_raw(key, &new);
        }
    }
    if !is_said && let Some(new) = set(None, &usual_inner, leaf) {
        w.field_raw(usual_key, &new);
    }
}
