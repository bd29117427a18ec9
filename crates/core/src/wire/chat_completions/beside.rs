//! What servers add beside the message: members of the body and of a choice that nobody here knows.
//!
//! They are kept as they stand. In a stream the first value of a member of the body counts, as it does for the id, and
//! of a choice what stands beside its end; the members of other chunks belong to those chunks.

use super::choice::Out;
use crate::event::{Event, Fact, Sink};
use crate::json::{Extra, Raw, Val, Writer};

/// Members of a choice that have a place of their own in the neutral answer, or are written anew.
const CHOICE: [&str; 6] = ["index", "delta", "message", "finish_reason", "usage", "error"];
/// Noise that hides the lengths of pieces.
const NOISE: [&str; 2] = ["obfuscation", "padding"];
/// The time of the answer: a member that every body must have.
const CREATED: &str = "created";
/// Extra field of an answer: the members of its choice.
const OF_CHOICE: &str = "~choice";
/// More members than this are a hostile upstream's; in a stream each is looked for again in every chunk.
const MAX: usize = 256;

/// The members of the body that were said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Said(Vec<String>);

impl Said {
    /// Says a member, unless it was said.
    pub(super) fn member(
        &mut self,
        wire: &'static str,
        (key, value): (&str, Val<'_>),
        sink: &mut dyn Sink,
    ) {
        if self.0.iter().any(|said| said == key) || self.0.len() >= MAX || NOISE.contains(&key) {
            return;
        }
        // A time of 0 is one that nobody knew.
        if key == CREATED && value.raw() == "0" {
            return;
        }
        self.0.push(key.to_owned());
        sink.event(Event::Fact(Fact::Field { wire, key, value: &Raw::from(value) }));
    }
}

/// The members of a choice, if there are any.
pub(super) fn of_choice(choice: Val<'_>) -> Option<Raw> {
    let others = || {
        let is_other = |key: &str| !CHOICE.contains(&key) && !NOISE.contains(&key);
        choice.entries().filter(move |(key, value)| is_other(key) && !value.is_null())
    };
    others().next()?;
    Some(Raw::build(|w| {
        w.object(|w| others().for_each(|(key, value)| w.key(&key).raw_str(value.raw())));
    }))
}

/// Says the members of a choice.
pub(super) fn say_choice(members: &Raw, out: &mut Out<'_>) {
    out.event(Event::Fact(Fact::Field { wire: out.wire, key: OF_CHOICE, value: members }));
}

/// Writes the members of the body. There is no clock here: a time that nobody said is 0, and callers that want it have
/// it from the transport.
pub(super) fn write(w: &mut Writer, extra: &Extra, wire: &str) {
    if extra.get(wire, CREATED).is_none() {
        w.field_u64(CREATED, 0);
    }
    for (key, value) in extra.of(wire).iter().filter(|(key, _)| key != OF_CHOICE) {
        w.field_raw(key, value);
    }
}

/// Writes the members of a choice.
pub(super) fn write_choice(w: &mut Writer, extra: &Extra, wire: &str) {
    if let Some(members) = extra.get(wire, OF_CHOICE) {
        members.doc().root().entries().for_each(|(key, value)| w.key(&key).raw_str(value.raw()));
    }
}

/// What stands beside the choices of a stream: each member is written once, the time in every chunk.
#[derive(Debug, Default)]
pub(super) struct Beside {
    created: Option<Raw>,
    /// Members that were not written yet.
    new: Extra,
}

impl Beside {
    /// Takes a member; one of a choice is given back.
    pub(super) fn take(&mut self, wire: &'static str, key: &str, value: &Raw) -> Option<Extra> {
        if key == OF_CHOICE {
            let mut of_choice = Extra::default();
            of_choice.insert(wire, key, value.clone());
            return Some(of_choice);
        }
        if key == CREATED {
            self.created = Some(value.clone());
        }
        self.new.insert(wire, key, value.clone());
        None
    }

    /// Whether there is something that was not written yet.
    pub(super) fn has_news(&self) -> bool {
        !self.new.is_empty()
    }

    /// Writes into a chunk what was not written yet.
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
