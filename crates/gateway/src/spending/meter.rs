//! Meters an answer that passes unchanged, from a copy of its bytes.

use super::allow::Room;
use super::came::{Came, text};
use super::charges::RequestCharges;
use crate::load::{AnswerRoom, BASE, READ};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use thinkthrough_core::event::{Event, Fact};
use thinkthrough_core::price::tier;
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::tokens::AnswerEstimate;
use thinkthrough_core::usage::Usage;
use thinkthrough_core::wire::{Dialect, Wire};

/// The parts of a meter before the answer begins.
#[derive(Clone)]
pub(crate) struct Metering {
    pub(crate) wire: &'static dyn Wire,
    pub(crate) dialect: Dialect,
    /// The amount to book if no usage can be read from the answer.
    pub(crate) room: Room,
    /// It is a whole answer to a key whose budget blocks.
    pub(crate) is_booked: bool,
}

/// Reads one answer, and settles its reservation when it is over or its caller stops reading.
pub(crate) struct Meter {
    reader: Reader,
    spent: Spent,
    room: Room,
    charges: Arc<RequestCharges>,
    /// There was no memory to read it.
    is_blind: bool,
}

#[derive(Default)]
struct Spent {
    usage: Option<Usage>,
    thoughts: AnswerEstimate,
    /// Bytes of text that came.
    heard: usize,
    is_whole: bool,
    /// A tier with a price of its own was reported.
    is_priced_apart: bool,
}

impl Meter {
    pub(crate) fn new(metering: &Metering, charges: &Arc<RequestCharges>) -> Self {
        let Metering { wire, dialect, room, .. } = metering;
        let reader = Reader::new(*wire, dialect, Form::Auto);
        let (spent, charges) = (Spent::default(), Arc::clone(charges));
        Meter { reader, spent, room: *room, charges, is_blind: false }
    }

    /// Waits until there is memory for the buffered part of a whole answer. Without memory it stops reading.
    pub(crate) fn poll_room(&mut self, memory: &mut AnswerRoom, cx: &mut Context<'_>) -> Poll<()> {
        let held = self.reader.holds();
        if held > 0 {
            let bytes = BASE + held.saturating_mul(READ + 1);
            if ready!(memory.poll_grow(bytes, cx)).is_err() {
                self.is_blind = true;
                self.reader = self.reader.anew();
                memory.shrink_to(BASE);
            }
        }
        Poll::Ready(())
    }

    /// Reads bytes that go to the caller.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        if self.is_blind {
            return;
        }
        let spent = &mut self.spent;
        self.reader.push(bytes, &mut |event: Event<'_>| spent.hear(event));
    }
}

impl Spent {
    fn hear(&mut self, event: Event<'_>) {
        self.heard += text(event);
        self.thoughts.hear(event);
        match event {
            Event::Usage(usage) => self.usage = Some(usage.clone()),
            Event::Finish { .. } => self.is_whole = true,
            Event::Fact(Fact::Field { key, value, .. }) => {
                self.is_priced_apart |= tier::is_member(key, value);
            }
            _ => {}
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let spent = &mut self.spent;
        let is_read = self.reader.end(&mut |event: Event<'_>| spent.hear(event));
        let (Room { thought, all }, is_whole) = (self.room, spent.is_whole);
        let came = match is_read {
            true => Came::of(spent.thoughts, spent.heard, is_whole),
            false => Came { thought, all, is_whole },
        };
        let mut settled = came.settled(spent.usage.as_ref());
        settled.usage.is_priced_apart |= spent.is_priced_apart;
        self.charges.settle(&settled, came);
    }
}
