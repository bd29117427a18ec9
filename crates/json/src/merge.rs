//! Merging JSON objects, and building them from dotted paths.

use super::{Raw, Val, Writer};

/// Merges the members of `patch` into `base`, recursively in objects. A list gains the items that it does not have
/// yet; any other value is replaced. Other members keep their place and their bytes. Only an object that becomes one
/// of the type `disabled` loses them, because providers refuse thinking parameters together with it.
#[must_use]
pub fn merge(base: Val<'_>, patch: Val<'_>) -> Raw {
    Raw::build(|w| write_merged(w, base, patch, Wins::Patch))
}

/// Like [`merge`], but members of `base` keep their values: `patch` only adds missing ones.
#[must_use]
pub fn fill(base: Val<'_>, patch: Val<'_>) -> Raw {
    Raw::build(|w| write_merged(w, base, patch, Wins::Base))
}

/// The object whose value counts if both have the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wins {
    Base,
    Patch,
}

fn write_merged(w: &mut Writer, base: Val<'_>, patch: Val<'_>, wins: Wins) {
    if base.is_array() && patch.is_array() {
        w.array(|w| {
            base.items().for_each(|item| w.raw_str(item.raw()));
            let is_new = |item: &Val<'_>| base.items().all(|old| old.raw() != item.raw());
            patch.items().filter(is_new).for_each(|item| w.raw_str(item.raw()));
        });
        return;
    }
    let is_disabled = || wins == Wins::Patch && patch.text("type").as_deref() == Some("disabled");
    if !base.is_object() || !patch.is_object() || is_disabled() {
        w.raw_str(if wins == Wins::Base { base.raw() } else { patch.raw() });
        return;
    }
    w.object(|w| {
        for (key, old) in base.entries() {
            match patch.get(&key) {
                Some(new) => write_merged(w.key(&key), old, new, wins),
                None => w.key(&key).raw_str(old.raw()),
            }
        }
        for (key, new) in patch.entries() {
            if base.get(&key).is_none() {
                w.key(&key).raw_str(new.raw());
            }
        }
    });
}

/// An object with `value` under a path of members joined by dots: `a.b` gives `{"a":{"b":value}}`.
#[must_use]
pub fn at_path(path: &str, value: &Raw) -> Raw {
    let mut built = value.clone();
    for key in path.rsplit('.') {
        built = Raw::build(|w| w.object(|w| w.field_raw(key, &built)));
    }
    built
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_deeply_and_keeps_the_rest() {
        let base = Raw::parse(r#"{"a":1e400,"t":{"type":"x","keep":[1, 2]},"z":1}"#).unwrap();
        let patch = Raw::parse(r#"{"t":{"type":"on","n":3},"new":true,"z":null}"#).unwrap();
        let merged = merge(base.doc().root(), patch.doc().root());
        let expected = r#"{"a":1e400,"t":{"type":"on","keep":[1, 2],"n":3},"z":null,"new":true}"#;
        assert_eq!(merged.as_str(), expected);
        let base = Raw::parse(r#"{"t":{"type":"enabled","budget_tokens":1},"a":1}"#).unwrap();
        let patch = Raw::parse(r#"{"t":{"type":"disabled"}}"#).unwrap();
        let merged = merge(base.doc().root(), patch.doc().root());
        assert_eq!(merged.as_str(), r#"{"t":{"type":"disabled"},"a":1}"#);
        let base = Raw::parse(r#"{"include":["a", "b"]}"#).unwrap();
        let patch = Raw::parse(r#"{"include":["b","c"]}"#).unwrap();
        let merged = merge(base.doc().root(), patch.doc().root());
        assert_eq!(merged.as_str(), r#"{"include":["a","b","c"]}"#);
        let base = Raw::parse(r#"{"a":{"b":false},"l":[1],"n":null}"#).unwrap();
        let patch = Raw::parse(r#"{"a":{"b":true,"c":1},"l":[2],"n":2,"new":3}"#).unwrap();
        let filled = fill(base.doc().root(), patch.doc().root());
        assert_eq!(filled.as_str(), r#"{"a":{"b":false,"c":1},"l":[1,2],"n":null,"new":3}"#);
        assert_eq!(at_path("a.b", &Raw::null()).as_str(), r#"{"a":{"b":null}}"#);
    }
}
