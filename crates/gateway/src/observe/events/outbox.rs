//! The events of one request on their way to its listeners, in their order.
//!
//! An async worker that masks a long text cannot answer others meanwhile. So a thread with a place of the masking
//! pool masks it, and all events that come meanwhile wait behind it.

use super::announcer::{Announcer, OpenBlock, PIECE, pieces};
use super::channel::Channel;
use super::event::Event as Told;
use crate::load::{FairPool, Holder, Pools, Room};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thinkthrough_core::content::{Block, Text, Thinking, ToolCall};
use thinkthrough_core::event::Event;
use thinkthrough_core::plane::Tenant;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

/// The bytes of text that are masked at once, without a thread, between two pauses.
const SHORT: usize = 8 * 1024;

/// The announcer of an answer.
pub(super) type SharedAnnouncer = Arc<Mutex<Announcer>>;

/// An order to an announcer.
pub(super) enum Order {
    Tune(Vec<Arc<Channel>>),
    Join(Box<OpenBlock>),
    Event(Owned),
    Pause,
    Flush,
    End,
    /// Nothing more: its text could not be masked in time.
    Lose,
}

/// A copy of an event of the answer that has to wait. Events that are not announced have no copy.
pub(super) enum Owned {
    ThinkingStart(usize, String),
    ThinkingDelta(usize, String),
    ThinkingEnd(usize, Box<Thinking>, Option<String>),
    TextStart(usize),
    TextDelta(usize, String),
    TextEnd(usize, Option<String>),
    ToolCallStart(usize),
    Whole(usize, Box<Block>),
}

impl Owned {
    /// A copy of anything but a delta, which is copied in pieces.
    fn of(event: Event<'_>) -> Option<Self> {
        Some(match event {
            Event::ThinkingStart { block, source_field } => {
                Owned::ThinkingStart(block, source_field.to_owned())
            }
            Event::ThinkingEnd { block, thinking, thought } => {
                Owned::ThinkingEnd(block, Box::new(thinking.clone()), thought.map(str::to_owned))
            }
            Event::TextStart { block } => Owned::TextStart(block),
            Event::TextEnd { block, whole, .. } => Owned::TextEnd(block, whole.map(str::to_owned)),
            Event::ToolCallStart { block, .. } => Owned::ToolCallStart(block),
            Event::Whole { block, value } => Owned::Whole(block, Box::new(value.clone())),
            _ => return None,
        })
    }

    fn say(&self, announcer: &mut Announcer) {
        let event = match self {
            Owned::ThinkingStart(block, field) => {
                Event::ThinkingStart { block: *block, source_field: field }
            }
            Owned::ThinkingDelta(block, delta) => Event::ThinkingDelta { block: *block, delta },
            Owned::ThinkingEnd(block, thinking, thought) => {
                let thought = thought.as_deref();
                Event::ThinkingEnd { block: *block, thinking, thought }
            }
            Owned::TextStart(block) => Event::TextStart { block: *block },
            Owned::TextDelta(block, delta) => Event::TextDelta { block: *block, delta },
            Owned::TextEnd(block, whole) => {
                let (text, whole) = (Text::new(""), whole.as_deref());
                return announcer.event(Event::TextEnd { block: *block, text: &text, whole });
            }
            Owned::ToolCallStart(block) => {
                let call = ToolCall::new(None, "");
                return announcer.event(Event::ToolCallStart { block: *block, call: &call });
            }
            Owned::Whole(block, value) => Event::Whole { block: *block, value },
        };
        announcer.event(event);
    }
}

/// The bytes of an event that are masked.
fn size(event: &Event<'_>) -> usize {
    match event {
        Event::ThinkingDelta { delta, .. } | Event::TextDelta { delta, .. } => delta.len(),
        Event::ThinkingEnd { thought, .. } => thought.map_or(0, str::len),
        Event::TextEnd { whole, .. } => whole.map_or(0, str::len),
        Event::Whole { value: Block::Thinking(thinking), .. } => thinking.thought.len(),
        Event::Whole { value: Block::Text(text), .. } => text.text.len(),
        _ => 0,
    }
}

/// A step of the outbox, with the bytes that are masked in it.
enum Step {
    Say(SharedAnnouncer, Order, usize),
    Tell(Vec<Arc<Channel>>, Arc<Told>),
}

impl Step {
    fn size(&self) -> usize {
        match self {
            Step::Say(_, _, size) => *size,
            Step::Tell(..) => 0,
        }
    }

    fn take(self) {
        match self {
            Step::Say(announcer, said, _) => said.say(&mut locked(&announcer)),
            Step::Tell(channels, event) => {
                channels.iter().for_each(|channel| channel.tell(&event));
            }
        }
    }

    /// Replaces a text that cannot be masked: its announcer stops.
    fn lose(self) {
        match self {
            Step::Say(announcer, Order::Event(_) | Order::Join(_), _) => {
                Order::Lose.say(&mut locked(&announcer));
            }
            other => other.take(),
        }
    }
}

impl Order {
    fn say(self, announcer: &mut Announcer) {
        match self {
            Order::Tune(channels) => announcer.tune(channels),
            Order::Join(open) => announcer.join(&open),
            Order::Event(event) => event.say(announcer),
            Order::Pause => announcer.say(),
            Order::Flush => announcer.flush(),
            Order::End => announcer.end(),
            Order::Lose => announcer.lose(),
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The outbox of one request. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct Outbox {
    inner: Arc<Inner>,
}

struct Inner {
    pool: FairPool,
    room: Arc<Room>,
    holder: Holder,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    steps: VecDeque<Step>,
    /// The bytes that were masked at once since the last pause.
    short: usize,
    /// A step is being taken, or a task takes one after the other.
    is_busy: bool,
    /// An announcer has stopped, because there was no room for its text.
    is_lost: bool,
}

impl Outbox {
    /// The outbox of a tenant's request.
    pub(crate) fn new(pools: &Pools, tenant: &Tenant) -> Self {
        let holder = Holder::Tenant(tenant.as_str().to_owned());
        let (pool, room) = (pools.masking.clone(), Arc::clone(&pools.live));
        let inner = Inner { pool, room, holder, state: Mutex::default() };
        Outbox { inner: Arc::new(inner) }
    }

    /// Sends an event that is masked already.
    pub(super) fn tell(&self, channels: Vec<Arc<Channel>>, event: Arc<Told>) {
        self.put(Step::Tell(channels, event));
    }

    /// Passes on an event of the answer. Copies it only if it has to wait.
    pub(super) fn event(&self, announcer: &SharedAnnouncer, event: Event<'_>) {
        let size = size(&event);
        let mut state = self.inner.state();
        if !state.is_busy && state.short + size <= SHORT {
            state.short += size;
            // The events of one request come one after the other, so that this lock is free.
            return locked(announcer).event(event);
        }
        drop(state);
        let put =
            |event, size| self.put(Step::Say(Arc::clone(announcer), Order::Event(event), size));
        match event {
            Event::ThinkingDelta { block, delta } => pieces(delta)
                .for_each(|it| put(Owned::ThinkingDelta(block, it.to_owned()), it.len())),
            Event::TextDelta { block, delta } => {
                pieces(delta).for_each(|it| put(Owned::TextDelta(block, it.to_owned()), it.len()));
            }
            event => Owned::of(event).into_iter().for_each(|event| put(event, size)),
        }
    }

    /// Passes an order to an announcer.
    pub(super) fn say(&self, announcer: &SharedAnnouncer, said: Order) {
        let size = match &said {
            // Joining masks the open block so far, to find a secret that began in it. This size sends it to a thread.
            Order::Join(open) if open.is_open() => SHORT + 1,
            _ => 0,
        };
        if matches!(said, Order::Pause) {
            self.inner.state().short = 0;
        }
        self.put(Step::Say(Arc::clone(announcer), said, size));
    }

    /// Whether an announcer holds back the end of a text. A busy one may.
    pub(super) fn holds_back(&self, announcer: &SharedAnnouncer) -> bool {
        self.inner.state().is_busy || locked(announcer).holds_back()
    }

    fn put(&self, step: Step) {
        let mut state = self.inner.state();
        let size = step.size();
        if !state.is_busy && state.short + size <= SHORT {
            state.short += size;
            return step.take();
        }
        match step {
            Step::Say(announcer, ..) if !self.inner.room.take(&self.inner.holder, size) => {
                // A thread may hold the announcer and mask for it, so that the order waits in the queue.
                if !std::mem::replace(&mut state.is_lost, true) {
                    state.steps.push_back(Step::Say(announcer, Order::Lose, 0));
                }
            }
            step => state.steps.push_back(step),
        }
        if !state.is_busy {
            state.is_busy = true;
            let inner = Arc::clone(&self.inner);
            match Handle::try_current() {
                Ok(runtime) => drop(runtime.spawn(inner.work())),
                // Without a runtime there are no listeners.
                Err(_) => drop(std::mem::take(&mut state.steps)),
            }
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Takes the next steps out, as many as one place serves. Without any, the outbox is idle from now on.
    fn some(&self) -> Vec<Step> {
        let mut state = self.state();
        let (mut steps, mut bytes) = (Vec::new(), 0);
        while bytes < PIECE
            && let Some(step) = state.steps.pop_front()
        {
            bytes += step.size();
            steps.push(step);
        }
        self.room.give(&self.holder, bytes);
        state.is_busy = !steps.is_empty();
        steps
    }

    /// Takes all steps that wait, one turn after the other.
    async fn work(self: Arc<Self>) {
        loop {
            let steps = self.some();
            if steps.is_empty() {
                return;
            }
            let bytes = steps.iter().map(Step::size).sum();
            match self.pool.enter(&self.holder, bytes).await {
                Ok(place) => {
                    let taken = spawn_blocking(move || {
                        steps.into_iter().for_each(Step::take);
                        drop(place);
                    });
                    // A masker that breaks shows nothing, and the others go on.
                    drop(taken.await);
                }
                Err(_) => steps.into_iter().for_each(Step::lose),
            }
        }
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox")
            .field("steps", &self.inner.state().steps.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{About, Happening, Stream};
    use super::super::{Events, Scope, Subscription};
    use super::*;
    use crate::load::{Gauges, Pools};
    use thinkthrough_mask::{Masker, Tiers};

    #[tokio::test]
    async fn a_long_text_is_masked_elsewhere_and_all_behind_it_stays_behind_it() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let covers = masker.clone();
        let events = Events::masked_by(Arc::new(move || covers.clone()));
        let tenant = Tenant::local();
        let mut listener = events.listen(Scope::All, Subscription::default());
        let outbox = Outbox::new(&Pools::new(&Gauges::default()), &tenant);
        let (about, channels) = (Arc::new(About::default()), events.answer_events(&tenant));
        let announcer = Announcer::new(&masker, Arc::clone(&about), channels.clone());
        let announcer = Arc::new(Mutex::new(announcer));
        outbox.event(&announcer, Event::TextDelta { block: 0, delta: "short" });
        let long = "password: ".repeat(20_000);
        let began = std::time::Instant::now();
        outbox.event(&announcer, Event::TextDelta { block: 0, delta: &long });
        outbox.event(&announcer, Event::TextDelta { block: 0, delta: "the end" });
        outbox.say(&announcer, Order::End);
        let data = |_: &mut thinkthrough_json::Writer| {};
        let happening = Happening { stream: Stream::Lifecycle, kind: "over", data: &data };
        outbox.tell(channels, Arc::new(Told::new(0, &about, happening)));
        let took = began.elapsed();
        let mut told = String::new();
        while !told.contains("\"over\"") {
            listener.next().await.iter().for_each(|event| told.push_str(&event.json));
        }
        let masked = began.elapsed();
        assert!(took < masked / 4, "masked where it came: {took:?} of {masked:?}");
        assert!(told.find("the end").unwrap() < told.find("\"over\"").unwrap(), "{told:.300}");
        assert!(!told.contains("events_lost"));
    }

    #[tokio::test]
    async fn an_answer_that_comes_too_fast_falls_silent_and_says_so() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let covers = masker.clone();
        let events = Events::masked_by(Arc::new(move || covers.clone()));
        let mut listener = events.listen(Scope::All, Subscription::default());
        let tenant = Tenant::local();
        let outbox = Outbox::new(&Pools::new(&Gauges::default()), &tenant);
        let channels = events.answer_events(&tenant);
        let announcer = Announcer::new(&masker, Arc::new(About::default()), channels);
        let announcer = Arc::new(Mutex::new(announcer));
        let piece = "word ".repeat(100_000);
        for _ in 0..40 {
            outbox.event(&announcer, Event::TextDelta { block: 0, delta: &piece });
        }
        let mut told = String::new();
        while !told.contains("events_lost") {
            listener.next().await.iter().for_each(|event| told.push_str(&event.json));
        }
    }
}
