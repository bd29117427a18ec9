//! Owned JSON text, and the unknown fields of a wire.

use super::parse::{Doc, JsonError};
use super::value::Val;
use std::fmt;

/// An owned, valid JSON value, kept exactly as it was written.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Box<str>);

impl Raw {
    /// Takes a text that must be one JSON value; the white space around it goes.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        let doc = Doc::parse_str(text)?;
        Ok(Self::from(doc.root()))
    }

    /// The JSON `null`.
    #[must_use]
    pub fn null() -> Self {
        Raw("null".into())
    }

    /// The JSON string with this text.
    #[must_use]
    pub fn string(text: &str) -> Self {
        let mut out = String::with_capacity(text.len() + 2);
        super::write_escaped(text, &mut out);
        Raw(out.into())
    }

    /// Makes a value from the output of `build`, which must write one value.
    #[must_use]
    pub fn build(build: impl FnOnce(&mut super::Writer)) -> Self {
        let mut writer = super::Writer::new();
        build(&mut writer);
        Raw(writer.finish().into())
    }

    /// The text as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns this object with `members`: they replace members of the same name, and new ones come at its end. If
    /// this value is not an object, returns an object of `members` alone.
    #[must_use]
    pub fn with(&self, members: &[(String, Raw)]) -> Raw {
        let doc = self.doc();
        let replaced = |key: &str| members.iter().rfind(|(name, _)| name == key);
        Raw::build(|w| {
            w.object(|w| {
                for (key, old) in doc.root().entries() {
                    match replaced(&key) {
                        Some((_, new)) => w.field_raw(&key, new),
                        None => w.key(&key).raw_str(old.raw()),
                    }
                }
                for (key, new) in members {
                    if doc.root().get(key).is_none() {
                        w.field_raw(key, new);
                    }
                }
            });
        })
    }

    /// Looks inside.
    #[must_use]
    pub fn doc(&self) -> Doc<'_> {
        // Valid by construction; the fallback document is for the impossible case.
        Doc::parse_str(&self.0).unwrap_or(Doc { text: "null", nodes: Vec::new() })
    }
}

impl From<Val<'_>> for Raw {
    fn from(value: Val<'_>) -> Self {
        Raw(value.raw().into())
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fields that came with something and that the neutral form has no name for.
/// They go back out on the wire they came from, and nowhere else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extra {
    /// The wire of these fields; `None` without fields.
    pub wire: Option<&'static str>,
    /// The fields in their order.
    pub fields: Vec<(String, Raw)>,
    /// Notes of the wire about the original form of a value. Notes are separate from fields: they are never sent, and
    /// no received field can look like one.
    pub notes: Vec<(String, Raw)>,
}

impl Extra {
    /// Collects the members of `object` whose names are not in `known`.
    #[must_use]
    pub fn collect(wire: &'static str, object: Val<'_>, known: &[&str]) -> Self {
        let fields: Vec<_> = object
            .entries()
            .filter(|(key, _)| !known.contains(&key.as_ref()))
            .map(|(key, value)| (key.into_owned(), Raw::from(value)))
            .collect();
        Extra { wire: (!fields.is_empty()).then_some(wire), fields, notes: Vec::new() }
    }

    /// Whether there are no fields and no notes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.notes.is_empty()
    }

    /// Adds a field of `wire`, replacing one of the same name; fields of another wire are given up first.
    pub fn insert(&mut self, wire: &'static str, key: &str, value: Raw) {
        self.belong_to(wire);
        put(&mut self.fields, key, value);
    }

    /// Adds a note of `wire` in the same way.
    pub fn note(&mut self, wire: &'static str, name: &str, value: Raw) {
        self.belong_to(wire);
        put(&mut self.notes, name, value);
    }

    fn belong_to(&mut self, wire: &'static str) {
        if self.wire != Some(wire) {
            *self = Extra { wire: Some(wire), ..Extra::default() };
        }
    }

    /// The field `key`, if these are fields of `wire`.
    #[must_use]
    pub fn get(&self, wire: &str, key: &str) -> Option<&Raw> {
        self.of(wire).iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The note `name`, if these are notes of `wire`.
    #[must_use]
    pub fn noted(&self, wire: &str, name: &str) -> Option<&Raw> {
        let notes = if self.wire == Some(wire) { self.notes.as_slice() } else { &[] };
        notes.iter().find(|(noted, _)| noted == name).map(|(_, value)| value)
    }

    /// The fields, if they are fields of `wire`.
    #[must_use]
    pub fn of(&self, wire: &str) -> &[(String, Raw)] {
        if self.wire == Some(wire) { &self.fields } else { &[] }
    }
}

fn put(entries: &mut Vec<(String, Raw)>, key: &str, value: Raw) {
    match entries.iter_mut().find(|(name, _)| name == key) {
        Some((_, old)) => *old = value,
        None => entries.push((key.to_owned(), value)),
    }
}
