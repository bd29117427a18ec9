//! Changes of thoughts and ids, carried out on the bytes of a request that stays on its wire.
//!
//! Only changed messages are written, once before and once after the change; at the differences, the caller's bytes
//! are edited. So only the writer of each wire knows the form of a thought there, and untouched members keep their
//! bytes. New members go before the other members of an object. The same message so becomes the same bytes at every
//! place, and a request that grows at its end grows at its end upstream, too.

use super::change::{Change, changed};
use super::layout::{Group, Layout};
use super::list::{ListEdit, member};
use super::{Draft, Overlap, Plan};
use crate::content::Content;
use crate::json::{Doc, Kind, Raw, Val, merge};
use crate::request::Request;
use crate::wire::{Dialect, Wire, is_reasoning};
use std::borrow::Cow;
use std::fmt;

/// Further differences between the caller's body and the upstream body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Additions<'a> {
    /// The model's name upstream, on wires that have it in the body.
    pub model: Option<&'a str>,
    /// Objects whose members are added if the caller lacks them.
    pub fill: &'a [Raw],
}

/// Why changes cannot be carried out on these bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unplaced {
    /// The wire, or this form of its requests, keeps no list of messages that could be edited.
    NoList,
    /// The body is not the source of the contents.
    OtherBody,
    /// Changes contradict each other.
    Overlap(Overlap),
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unplaced::NoList => f.write_str("this request has no list of messages to edit"),
            Unplaced::OtherBody => f.write_str("the body is not what the messages were read from"),
            Unplaced::Overlap(overlap) => overlap.fmt(f),
        }
    }
}

impl std::error::Error for Unplaced {}

/// The edits that turn `body`, from which `contents` were read on `wire`, into the upstream's request.
///
/// # Errors
/// When a change has no place in these bytes; the request can still be written anew.
pub fn plan(
    wire: &dyn Wire,
    body: &Doc<'_>,
    contents: &[Content],
    changes: &[Change],
    dialect: &Dialect,
    additions: Additions<'_>,
) -> Result<Plan, Unplaced> {
    plan_to(wire, body, contents, &changed(contents, changes), dialect, additions)
}

/// As [`plan`], to the messages `after`, one for each of `contents`. An answer that becomes empty is removed as a
/// whole.
///
/// # Errors
/// As [`plan`].
pub fn plan_to(
    wire: &dyn Wire,
    body: &Doc<'_>,
    contents: &[Content],
    after: &[Content],
    dialect: &Dialect,
    additions: Additions<'_>,
) -> Result<Plan, Unplaced> {
    let mut draft = Draft::new();
    let (body, len) = (body.root(), body.text().len());
    if !std::ptr::eq(contents, after) && contents != after {
        let layout = Layout::of(wire.id(), body).ok_or(Unplaced::NoList)?;
        if layout.contents() != contents.len() || contents.len() != after.len() {
            return Err(Unplaced::OtherBody);
        }
        let mut list = ListEdit::of(layout.list);
        for group in &layout.groups {
            let (old, new) =
                (contents.get(group.contents.clone()), after.get(group.contents.clone()));
            let (Some(old), Some(new)) = (old, new) else { return Err(Unplaced::OtherBody) };
            if old != new {
                let edit = GroupEdit { wire, dialect, layout: &layout, group };
                edit.say(old, new, &mut list, &mut draft)?;
            }
        }
        list.finish(&mut draft);
    }
    add(&mut draft, body, additions);
    draft.finish(len).map_err(Unplaced::Overlap)
}

struct GroupEdit<'a> {
    wire: &'a dyn Wire,
    dialect: &'a Dialect,
    layout: &'a Layout<'a>,
    group: &'a Group,
}

impl GroupEdit<'_> {
    fn say(
        &self,
        old: &[Content],
        new: &[Content],
        list: &mut ListEdit,
        draft: &mut Draft,
    ) -> Result<(), Unplaced> {
        let takes_all = new.iter().all(|content| content.blocks.is_empty());
        if takes_all {
            // An answer that became empty is removed, because many providers refuse empty messages.
            self.group.elements.clone().for_each(|index| list.remove(index));
            return Ok(());
        }
        // A content whose words moved into another one is not written as a message.
        let new: Vec<Content> = new.iter().filter(|it| !it.blocks.is_empty()).cloned().collect();
        let (before, after) = (self.write(old, &Dialect::PLAIN), self.write(&new, self.dialect));
        let (before, after) = (Doc::parse_str(&before), Doc::parse_str(&after));
        let (Ok(before), Ok(after)) = (before, after) else { return Err(Unplaced::OtherBody) };
        let listed =
            |doc: Val<'_>| doc.get(self.layout.key).filter(|list| list.is_array()).is_some();
        if !listed(before.root()) || !listed(after.root()) {
            return Err(Unplaced::NoList);
        }
        let items = |doc: &Doc<'_>| -> Vec<String> {
            let list = doc.root().get(self.layout.key);
            list.into_iter().flat_map(Val::items).map(|item| item.raw().to_owned()).collect()
        };
        let (old, new) = (items(&before), items(&after));
        let elements: Vec<Val<'_>> = self
            .layout
            .list
            .items()
            .take(self.group.elements.end)
            .skip(self.group.elements.start)
            .collect();
        splice_items(draft, list, self.group.elements.start, &elements, &old, &new);
        Ok(())
    }

    fn write(&self, messages: &[Content], dialect: &Dialect) -> String {
        let request =
            Request { model: "m".to_owned(), contents: messages.to_vec(), ..Request::default() };
        self.wire.write_request(&request, dialect).body
    }
}

/// Model and flags.
fn add(draft: &mut Draft, body: Val<'_>, additions: Additions<'_>) {
    let mut members = ListEdit::of(body);
    if let (Some(model), Some(old)) = (additions.model, body.get("model"))
        && old.as_str().as_deref() != Some(model)
    {
        draft.replace(old.span(), Raw::string(model).as_str());
    }
    let all = additions.fill.iter().fold(None, |all: Option<Raw>, patch| {
        Some(all.map_or_else(|| patch.clone(), |all| merge(all.doc().root(), patch.doc().root())))
    });
    if let Some(all) = all {
        fill(draft, &mut members, body, all.doc().root());
    }
    members.finish(draft);
}

/// Adds the members of `patch` that `object` does not have; of lists, the items. Members of the caller stay.
fn fill(draft: &mut Draft, members: &mut ListEdit, object: Val<'_>, patch: Val<'_>) {
    for (key, value) in patch.entries() {
        match object.get(&key) {
            None => members.insert(0, member(&key, value.raw())),
            Some(old) if old.is_object() && value.is_object() => {
                let mut inner = ListEdit::of(old);
                fill(draft, &mut inner, old, value);
                inner.finish(draft);
            }
            Some(old) if old.is_array() && value.is_array() => {
                let mut inner = ListEdit::of(old);
                let is_new = |item: &Val<'_>| old.items().all(|it| it.raw() != item.raw());
                let end = old.items().count();
                value.items().filter(is_new).for_each(|item| inner.insert(end, item.raw()));
                inner.finish(draft);
            }
            Some(_) => {}
        }
    }
}

/// Applies the difference between `before` and `after` to `body`.
fn splice(draft: &mut Draft, body: Val<'_>, before: Val<'_>, after: Val<'_>) {
    if before.raw() == after.raw() {
        return;
    }
    match (body.kind(), before.kind(), after.kind()) {
        (Kind::Object, Kind::Object, Kind::Object) => splice_object(draft, body, before, after),
        (Kind::Array, Kind::Array, Kind::Array) => {
            let owned = |list: Val<'_>| list.items().map(|item| item.raw().to_owned()).collect();
            let (old, new): (Vec<String>, Vec<String>) = (owned(before), owned(after));
            let elements: Vec<Val<'_>> = body.items().collect();
            let mut list = ListEdit::of(body);
            splice_items(draft, &mut list, 0, &elements, &old, &new);
            list.finish(draft);
        }
        (Kind::String, Kind::String, Kind::Array) => {
            // A text becomes one of several blocks: its own bytes stay.
            let (raw, start) = (after.raw(), after.span().start);
            let texts = after.items().filter_map(|block| block.get("text"));
            let own = texts.filter(|text| text.as_str() == before.as_str()).last();
            let around = own.and_then(|own| {
                let span = own.span();
                Some((raw.get(..span.start - start)?, raw.get(span.end - start..)?))
            });
            match around {
                Some((head, tail)) => {
                    draft.insert(body.span().start, head);
                    draft.insert(body.span().end, tail);
                }
                None => draft.replace(body.span(), raw),
            }
        }
        _ => draft.replace(body.span(), after.raw()),
    }
}

fn splice_object(draft: &mut Draft, body: Val<'_>, before: Val<'_>, after: Val<'_>) {
    if is_said_elsewhere(body, before, after) {
        return draft.replace(body.span(), after.raw());
    }
    let mut members = ListEdit::of(body);
    for (key, old) in before.entries() {
        match (after.get(&key), body.get(&key)) {
            (Some(new), Some(here)) => splice(draft, here, old, new),
            (Some(new), None) if new.raw() != old.raw() => {
                members.insert(0, member(&key, new.raw()));
            }
            (None, Some(_)) => {
                let named = body.entries().enumerate().filter(|(_, (name, _))| *name == key);
                named.for_each(|(index, _)| members.remove(index));
            }
            (Some(_) | None, None) => {}
        }
    }
    for (key, new) in after.entries().filter(|(key, _)| before.get(key).is_none()) {
        match body.get(&key) {
            Some(here) if here.raw() != new.raw() => draft.replace(here.span(), new.raw()),
            Some(_) => {}
            None => members.insert(0, member(&key, new.raw())),
        }
    }
    members.finish(draft);
}

/// Whether a change affects a member that the caller writes differently from our writer, such as a thought among the
/// parts of the content on a wire that has a field for it. Then only a whole new object in our form carries the
/// change reliably. This is so if a changed list has fewer parts in our form than in the caller's, because we write
/// them elsewhere, and if the caller writes thoughts in a member that we do not use.
fn is_said_elsewhere(body: Val<'_>, before: Val<'_>, after: Val<'_>) -> bool {
    let changes = |key: &str, old: Val<'_>| after.get(key).is_none_or(|new| new.raw() != old.raw());
    let length = |list: Val<'_>| list.is_array().then(|| list.items().count());
    let is_written_otherwise = |key: &str, old: Val<'_>| {
        length(old)
            .is_some_and(|count| body.get(key).and_then(length).is_some_and(|it| it != count))
    };
    let loses_parts =
        before.entries().any(|(key, old)| changes(&key, old) && is_written_otherwise(&key, old));
    let is_moved = |(key, value): (Cow<'_, str>, Val<'_>)| {
        is_reasoning(&key) && !value.is_null() && before.get(&key).is_none()
    };
    if body.entries().any(is_moved) {
        return true;
    }
    let mut said = before.entries().filter(|(_, old)| !old.is_null());
    said.any(|(key, old)| body.get(&key).is_none() && (loses_parts || changes(&key, old)))
}

/// Changes `elements`, which begin at index `first` of `list`, from `old` into `new`.
fn splice_items(
    draft: &mut Draft,
    list: &mut ListEdit,
    first: usize,
    elements: &[Val<'_>],
    old: &[String],
    new: &[String],
) {
    if elements.len() != old.len() {
        // The caller writes them differently from our writer, so all of them are replaced.
        (0..elements.len()).for_each(|index| list.remove(first + index));
        return new.iter().for_each(|item| list.insert(first, item.as_str()));
    }
    let (mut at_old, mut at_new) = (0, 0);
    while at_old < old.len() || at_new < new.len() {
        let (next_old, next_new) = next_same(old, new, at_old, at_new);
        let (gone, come) = (next_old - at_old, next_new - at_new);
        let pairs = gone.min(come);
        // Changed items are paired at the end of a gap, because thoughts come before the text that they are about.
        for item in new.iter().take(next_new - pairs).skip(at_new) {
            list.insert(first + at_old, item.as_str());
        }
        for index in at_old..next_old - pairs {
            list.remove(first + index);
        }
        for pair in 1..=pairs {
            let parts = (
                elements.get(next_old - pair),
                old.get(next_old - pair).map(|text| Doc::parse_str(text)),
                new.get(next_new - pair).map(|text| Doc::parse_str(text)),
            );
            if let (Some(here), Some(Ok(old)), Some(Ok(new))) = parts {
                splice(draft, *here, old.root(), new.root());
            }
        }
        (at_old, at_new) = (next_old + 1, next_new + 1);
    }
}

/// The next two items that are the same: the nearest ones, by the number of items that are passed over.
fn next_same(old: &[String], new: &[String], at_old: usize, at_new: usize) -> (usize, usize) {
    let (left_old, left_new) =
        (old.len() - at_old.min(old.len()), new.len() - at_new.min(new.len()));
    for passed in 0..=(left_old + left_new) {
        for in_old in 0..=passed.min(left_old) {
            let pair = (old.get(at_old + in_old), new.get(at_new + passed - in_old));
            if matches!(pair, (Some(one), Some(two)) if one == two) {
                return (at_old + in_old, at_new + passed - in_old);
            }
        }
    }
    (old.len(), new.len())
}
