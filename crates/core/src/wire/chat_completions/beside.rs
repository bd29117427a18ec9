//! Unknown members beside the message: of the body and of a choice.
//!
//! They are kept unchanged. In a stream the first value of a member of the body counts, as for the id. Unknown
//! members of a choice are reported with its pieces, and repeated members only if they continue a text.

use super::fields::is_unknown;
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val, Writer};

/// Members of a choice that have a place of their own in the neutral answer, or are written anew.
const CHOICE: [&str; 6] = ["index", "delta", "message", "finish_reason", "usage", "error"];
/// The key for the unknown members of the message itself.
const MESSAGE: &str = "message";
/// Noise that hides the lengths of pieces.
pub(super) const NOISE: [&str; 2] = ["obfuscation", "padding"];
/// The time of the answer: a member that every body must have.
const CREATED: &str = "created";
/// A hostile upstream may send more members; in a stream each is searched for in every chunk.
const MAX: usize = 256;

/// The members of the body that were reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said(Vec<String>);

impl Said {
    /// Reports a member, unless it was reported before.
    pub(super) fn member(
        &mut self,
        wire: &'static str,
        (key, value): (&str, Val<'_>),
        sink: &mut dyn Sink,
    ) {
        if self.0.iter().any(|said| said == key) || self.0.len() >= MAX || NOISE.contains(&key) {
            return;
        }
        if is_unknown_time(key, value) {
            return;
        }
        self.0.push(key.to_owned());
        sink.event(Event::Fact(Fact::Field { wire, key, value: &Raw::from(value) }));
    }
}

/// Whether a member is a time of 0, which means unknown: it is not reported, but a later time is.
pub(super) fn is_unknown_time(key: &str, value: Val<'_>) -> bool {
    key == CREATED && value.raw() == "0"
}

/// The unknown members of a choice, and below [`MESSAGE`] the unknown ones of its message or delta.
pub(super) fn of_choice(
    choice: Val<'_>,
    message: Option<Val<'_>>,
    custom: Option<&str>,
) -> Option<Raw> {
    let is_said = |key: &str, value: Val<'_>| !value.is_null() && !NOISE.contains(&key);
    let others = || {
        choice.entries().filter(|(key, value)| !CHOICE.contains(&&**key) && is_said(key, *value))
    };
    let inner = || {
        let members = message.into_iter().flat_map(Val::entries);
        members.filter(|(key, value)| is_unknown(key, custom) && is_said(key, *value))
    };
    let has_inner = inner().next().is_some();
    (has_inner || others().next().is_some()).then(|| {
        Raw::build(|w| {
            w.object(|w| {
                others().for_each(|(key, value)| w.key(&key).raw_str(value.raw()));
                if has_inner {
                    w.key(MESSAGE).object(|w| {
                        inner().for_each(|(key, value)| w.key(&key).raw_str(value.raw()));
                    });
                }
            });
        })
    })
}

/// Whether members may have lists, which go on from chunk to chunk: the same one again is more of it.
pub(super) fn goes_on(members: &str) -> bool {
    members.contains('[')
}

/// Writes the members of the body. There is no clock here: an unknown time is written as 0, and the transport knows
/// the time for callers that need it.
pub(super) fn write(w: &mut Writer, extra: &Extra, wire: &str) {
    if extra.get(wire, CREATED).is_none() {
        w.field_u64(CREATED, 0);
    }
    w.extra(extra, wire);
}

/// Writes the members of a choice.
pub(super) fn write_choice(w: &mut Writer, beside: Option<&Raw>) {
    if let Some(beside) = beside {
        w.members(beside, MESSAGE);
    }
}

/// Writes the members of a message or delta.
pub(super) fn write_message(w: &mut Writer, beside: Option<&Raw>) {
    if let Some(members) = beside.and_then(|beside| beside.doc().root().get(MESSAGE).map(Raw::from))
    {
        w.members(&members, "");
    }
}

/// The unknown members beside the choices of a stream: each member is written once, the time in every chunk.
#[derive(Debug, Default)]
pub(super) struct Beside {
    created: Option<Raw>,
    /// Members that were not written yet.
    new: Extra,
}

impl Beside {
    /// Takes a member.
    pub(super) fn take(&mut self, wire: &'static str, key: &str, value: &Raw) {
        if key == CREATED {
            self.created = Some(value.clone());
        }
        self.new.insert(wire, key, value.clone());
    }

    /// Whether there are unwritten members.
    pub(super) fn has_news(&self) -> bool {
        !self.new.is_empty()
    }

    /// Writes the members that are not written yet into a chunk.
    pub(super) fn write(&mut self, w: &mut Writer, wire: &str) {
        let new = std::mem::take(&mut self.new);
        match &self.created {
            Some(created) if new.get(wire, CREATED).is_none() => {
                w.field_raw(CREATED, created);
                w.extra(&new, wire);
            }
            _ => write(w, &new, wire),
        }
    }
}
