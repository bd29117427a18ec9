//! One value of a parsed text.

use super::string::unescape;
use std::borrow::Cow;
use std::ops::Range;

/// The six kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `[...]`
    Array,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
    /// Any number, of any size.
    Number,
    /// `{...}`
    Object,
    /// `"..."`
    String,
}

/// One value: its range, and the index of the next value after its subtree in the node list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) kind: Kind,
    /// Strings: whether a backslash occurs. Objects' keys are nodes of their own, before their values.
    pub(super) escaped: bool,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) next: u32,
}

/// One value of a [`Doc`](super::Doc). Missing things are `None`, never a panic.
#[derive(Clone, Copy, Debug)]
pub struct Val<'d> {
    text: &'d str,
    /// This value's node first, then its subtree, then the following nodes.
    nodes: &'d [Node],
    /// The index of the first of `nodes` within the whole list.
    base: u32,
}

impl Node {
    /// It is this string of a text, escaped or not.
    fn is_string(self, text: &str, expected: &str) -> bool {
        let inner = self.start as usize + 1..(self.end as usize).saturating_sub(1);
        match text.as_bytes().get(inner.clone()) {
            Some(written) if !self.escaped => written == expected.as_bytes(),
            Some(_) => text.get(inner).is_some_and(|inner| unescape(inner) == expected),
            None => false,
        }
    }
}

impl<'d> Val<'d> {
    pub(super) fn new(text: &'d str, nodes: &'d [Node]) -> Self {
        Val { text, nodes, base: 0 }
    }

    fn node(self) -> Node {
        const NOTHING: Node = Node { kind: Kind::Null, escaped: false, start: 0, end: 0, next: 0 };
        self.nodes.first().copied().unwrap_or(NOTHING)
    }

    /// The value at node `index` of the whole list.
    fn at(self, index: u32) -> Option<Self> {
        let nodes = self.nodes.get((index - self.base) as usize..)?;
        Some(Val { text: self.text, nodes, base: index })
    }

    /// The kind of this value.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.node().kind
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether this is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.kind() == Kind::Object
    }

    /// Whether this is an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.kind() == Kind::Array
    }

    /// The byte range of this value in the input.
    #[must_use]
    pub fn span(self) -> Range<usize> {
        let node = self.node();
        node.start as usize..node.end as usize
    }

    /// The value as it was written.
    #[must_use]
    pub fn raw(self) -> &'d str {
        self.text.get(self.span()).unwrap_or_default()
    }

    /// The text of a string; lone surrogates become U+FFFD.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        let node = self.node();
        if node.kind != Kind::String {
            return None;
        }
        let inner = self.text.get(node.start as usize + 1..(node.end as usize).checked_sub(1)?)?;
        Some(if node.escaped { Cow::Owned(unescape(inner)) } else { Cow::Borrowed(inner) })
    }

    /// A number that is a non-negative integer; `12.0` and `1.2e1` count as 12.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        if self.kind() != Kind::Number {
            return None;
        }
        self.raw().parse().ok().or_else(|| {
            let float: f64 = self.raw().parse().ok()?;
            // 2^53: beyond it a float is no exact count any more.
            let exact = (0.0..=9_007_199_254_740_992.0).contains(&float) && float.fract() == 0.0;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            exact.then_some(float as u64)
        })
    }

    /// Any number as a float.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        if self.kind() != Kind::Number { None } else { self.raw().parse().ok() }
    }

    /// `true` or `false`.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        if self.kind() != Kind::Bool { None } else { Some(self.raw() == "true") }
    }

    /// The member `key` of an object; of duplicate keys the last. `null` members are `Some`.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Val<'d>> {
        let node = self.node();
        let end = if node.kind == Kind::Object { node.next } else { self.base };
        let (mut next, mut found) = (self.base + 1, None);
        while next < end {
            let at = (next - self.base) as usize;
            let &[name, value, ..] = self.nodes.get(at..)? else { return None };
            if name.is_string(self.text, key) {
                found = Some(next + 1);
            }
            next = value.next;
        }
        self.at(found?)
    }

    /// The member `key` unless it is missing or `null`.
    #[must_use]
    pub fn some(self, key: &str) -> Option<Val<'d>> {
        self.get(key).filter(|value| !value.is_null())
    }

    /// The member reached by `keys`, one after the other.
    #[must_use]
    pub fn path(self, keys: &[&str]) -> Option<Val<'d>> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The value at a path of members joined by dots, unless it is null.
    #[must_use]
    pub fn dotted(self, path: &str) -> Option<Val<'d>> {
        path.split('.').try_fold(self, Val::some)
    }

    /// The string member `key`.
    #[must_use]
    pub fn text(self, key: &str) -> Option<Cow<'d, str>> {
        self.get(key)?.as_str()
    }

    /// The string member `key`, owned.
    #[must_use]
    pub fn string(self, key: &str) -> Option<String> {
        self.text(key).map(Cow::into_owned)
    }

    /// The integer member `key`.
    #[must_use]
    pub fn u64(self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// The boolean member `key`.
    #[must_use]
    pub fn bool(self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    /// The elements of an array; empty for other values.
    #[must_use]
    pub fn items(self) -> Items<'d> {
        let node = self.node();
        let end = if node.kind == Kind::Array { node.next } else { self.base + 1 };
        Items { parent: self, next: self.base + 1, end }
    }

    /// The elements of an array; an object counts as a list of one.
    pub fn each(self) -> impl Iterator<Item = Val<'d>> + Clone {
        self.items().chain(Some(self).filter(|value| value.is_object()))
    }

    /// The members of an object in order, each as the values of its key and its value; empty for other values.
    pub fn members(self) -> impl Iterator<Item = (Val<'d>, Val<'d>)> {
        let Entries { parent, mut next, end } = self.entries();
        std::iter::from_fn(move || {
            let key = parent.at(next).filter(|_| next < end)?;
            let value = parent.at(next + 1)?;
            next = value.node().next;
            Some((key, value))
        })
    }

    /// The members of an object in order, keys unescaped; empty for other values.
    #[must_use]
    pub fn entries(self) -> Entries<'d> {
        let node = self.node();
        let end = if node.kind == Kind::Object { node.next } else { self.base + 1 };
        Entries { parent: self, next: self.base + 1, end }
    }
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub struct Items<'d> {
    parent: Val<'d>,
    next: u32,
    end: u32,
}

impl<'d> Iterator for Items<'d> {
    type Item = Val<'d>;

    fn next(&mut self) -> Option<Val<'d>> {
        if self.next >= self.end {
            return None;
        }
        let value = self.parent.at(self.next)?;
        self.next = value.node().next;
        Some(value)
    }
}

/// The members of an object.
#[derive(Clone, Debug)]
pub struct Entries<'d> {
    parent: Val<'d>,
    next: u32,
    end: u32,
}

impl<'d> Iterator for Entries<'d> {
    type Item = (Cow<'d, str>, Val<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let key = self.parent.at(self.next)?;
        let value = self.parent.at(self.next + 1)?;
        self.next = value.node().next;
        Some((key.as_str()?, value))
    }
}
