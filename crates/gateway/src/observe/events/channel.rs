//! The last events of one scope, and its listeners.
//!
//! A listener has a position in the ring and reads from there at its own pace. A listener that falls behind by more
//! than the ring loses the oldest events, and receives their number. It does not slow down others.

use super::event::{Event, lost};
use super::filter::{Filter, Subscription};
use super::{Events, Scope};
use crate::load::Place;
use crate::names::random_id;
use crate::observe::summary::now;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

/// The most events that a scope holds, and the most bytes.
const EVENTS: usize = 8_192;
const BYTES: usize = 1 << 20;
/// The time that a scope's events outlive its last listener, so that a listener that was cut off can go on.
const LINGER: Duration = Duration::from_secs(60);
/// The most bytes that a listener gets at a time.
const PIECE: usize = 64 * 1024;

/// One scope with listeners.
pub(super) struct Channel {
    pub(super) scope: Scope,
    /// Prefix of all event ids. No other channel, of this or another process, has the same.
    token: String,
    ring: Mutex<Ring>,
    /// The number of the next event.
    came: watch::Sender<u64>,
}

struct Ring {
    events: VecDeque<Arc<Event>>,
    /// The number of the first of them.
    first: u64,
    bytes: usize,
    listeners: usize,
    /// The time at which the last listener left.
    left: Instant,
}

impl Ring {
    fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }
}

impl Channel {
    pub(super) fn new(scope: Scope) -> Self {
        let token = random_id().chars().take(12).collect();
        let ring = Ring {
            events: VecDeque::new(),
            first: 1,
            bytes: 0,
            listeners: 0,
            left: Instant::now(),
        };
        Channel { scope, token, ring: Mutex::new(ring), came: watch::Sender::new(1) }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn listeners(&self) -> usize {
        self.ring().listeners
    }

    /// The channel had no listeners for a while.
    pub(super) fn is_forgotten(&self) -> bool {
        let ring = self.ring();
        ring.listeners == 0 && ring.left.elapsed() >= LINGER
    }

    /// Appends an event.
    pub(super) fn tell(&self, event: &Arc<Event>) {
        let mut ring = self.ring();
        ring.bytes += event.size();
        ring.events.push_back(Arc::clone(event));
        while ring.events.len() > EVENTS || ring.bytes > BYTES {
            let Some(old) = ring.events.pop_front() else { break };
            ring.bytes -= old.size();
            ring.first += 1;
        }
        let next = ring.next();
        drop(ring);
        self.came.send_replace(next);
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.token)
    }

    /// The number that an id of this channel names.
    fn number(&self, id: &str) -> Option<u64> {
        id.strip_prefix(&self.token)?.strip_prefix('-')?.parse().ok()
    }
}

/// An event for a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) id: String,
    pub(crate) json: String,
}

/// A listener.
pub(crate) struct Listener {
    events: Events,
    channel: Arc<Channel>,
    filter: Filter,
    /// The number of the next event to deliver.
    at: u64,
    /// It went on from an event that this channel does not know.
    is_lost: bool,
    came: watch::Receiver<u64>,
    /// Counts it among the listeners.
    _place: Option<Place>,
}

impl Listener {
    pub(super) fn new(events: Events, channel: Arc<Channel>, subscription: Subscription) -> Self {
        let Subscription { filter, after } = subscription;
        let mut ring = channel.ring();
        ring.listeners += 1;
        let (first, next) = (ring.first, ring.next());
        drop(ring);
        let known = after.as_deref().and_then(|id| channel.number(id));
        let known = known.and_then(|number| number.checked_add(1)).filter(|at| *at <= next);
        let is_lost = after.is_some() && known.is_none();
        // After an unknown id the listener gets all events that are still in the ring.
        let at = known.unwrap_or(if is_lost { first } else { next });
        let came = channel.came.subscribe();
        Listener { events, channel, filter, at, is_lost, came, _place: None }
    }

    /// The same listener, with a place of the pool for as long as it listens.
    pub(crate) fn in_place(mut self, place: Place) -> Self {
        self._place = Some(place);
        self
    }

    /// The id of the last delivered event.
    pub(crate) fn id(&self) -> String {
        self.channel.id(self.at.saturating_sub(1))
    }

    /// The next undelivered events. Waits until there are some.
    pub(crate) async fn next(&mut self) -> Vec<Encoded> {
        loop {
            // Marked as seen before the look, so that no event is missed in between.
            self.came.borrow_and_update();
            let told = self.take();
            if !told.is_empty() {
                return told;
            }
            if self.came.changed().await.is_err() {
                // The listener owns its channel, so that this never happens.
                std::future::pending::<()>().await;
            }
        }
    }

    fn take(&mut self) -> Vec<Encoded> {
        let (mut all, mut size) = (Vec::new(), 0);
        loop {
            let ring = self.channel.ring();
            let missed = ring.first.saturating_sub(self.at);
            self.at = self.at.max(ring.first);
            let index = usize::try_from(self.at - ring.first).unwrap_or(usize::MAX);
            let some: Vec<Arc<Event>> = ring.events.iter().skip(index).take(64).cloned().collect();
            drop(ring);
            if missed > 0 || self.is_lost {
                let count = (!self.is_lost).then_some(missed);
                self.is_lost = false;
                let id = self.id();
                all.push(Encoded { json: lost(&id, now(), count), id });
            }
            if some.is_empty() {
                return all;
            }
            for event in some {
                let number = self.at;
                self.at += 1;
                if self.filter.wants(&event) {
                    let id = self.channel.id(number);
                    size += event.size();
                    all.push(Encoded { json: event.json(&id), id });
                }
            }
            if size > PIECE {
                return all;
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut ring = self.channel.ring();
        ring.listeners -= 1;
        ring.left = Instant::now();
        let is_last = ring.listeners == 0;
        drop(ring);
        if let (true, Ok(runtime)) = (is_last, Handle::try_current()) {
            let (events, channel) = (self.events.clone(), Arc::clone(&self.channel));
            runtime.spawn(async move {
                tokio::time::sleep(LINGER).await;
                events.forget(&channel);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{About, Happening, Stream};
    use super::super::tell;
    use super::*;
    use thinkthrough_core::plane::Tenant;
    use thinkthrough_mask::{Masker, Tiers};

    fn events() -> Events {
        Events::masked_by(Arc::new(|| Masker::new(Tiers::ALL, &[7; 32])))
    }

    fn scope() -> Scope {
        Scope::Tenants(vec![Tenant::local()])
    }

    fn say(events: &Events, text: &str) {
        let data = |w: &mut thinkthrough_json::Writer| w.field_str("delta", text);
        let happening = Happening { stream: Stream::Thinking, kind: "text_delta", data: &data };
        tell(&events.answer_events(&Tenant::local()), &Arc::new(About::default()), happening);
    }

    fn number(told: &Encoded) -> u64 {
        told.id.rsplit_once('-').unwrap().1.parse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_listener_is_told_what_it_lost_and_a_quick_one_loses_nothing() {
        let events = events();
        let mut slow = events.listen(scope(), Subscription::default());
        let mut quick = events.listen(scope(), Subscription::default());
        let mut heard = 0;
        for at in 0..EVENTS + 500 {
            say(&events, "x");
            if at % 100 == 0 {
                heard += quick.next().await.len();
            }
        }
        heard += quick.next().await.len();
        while heard < EVENTS + 500 {
            heard += quick.next().await.len();
        }
        assert_eq!(heard, EVENTS + 500);
        let told = slow.next().await;
        assert!(told[0].json.contains("\"events_lost\""), "{}", told[0].json);
        let lost = number(&told[1]) - 1;
        assert!(told[0].json.contains(&format!("{{\"count\":{lost}}}")) && lost >= 500, "{lost}");
        assert_eq!(number(&told[0]), lost);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_was_cut_off_goes_on_where_it_was() {
        let events = events();
        let mut first = events.listen(scope(), Subscription::default());
        say(&events, "one");
        let one = first.next().await.pop().unwrap();
        drop(first);
        say(&events, "two");
        let after =
            |id: &str| Subscription { after: Some(id.to_owned()), ..Subscription::default() };
        let mut again = events.listen(scope(), after(&one.id));
        let told = again.next().await;
        assert!(told.len() == 1 && told[0].json.contains("two"), "{told:?}");
        let mut stranger = events.listen(scope(), after("somebody-7"));
        let told = stranger.next().await;
        assert!(told[0].json.contains("{\"count\":null}") && told.len() == 3, "{told:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_listens_to_is_forgotten() {
        let events = events();
        assert_eq!(events.generation(), 0);
        let listener = events.listen(scope(), Subscription::default());
        assert_eq!(events.answer_events(&Tenant::local()).len(), 1);
        assert!(events.answer_events(&Tenant::named("alice").unwrap()).is_empty());
        drop(listener);
        tokio::time::sleep(LINGER / 2).await;
        assert_eq!(events.answer_events(&Tenant::local()).len(), 1);
        tokio::time::sleep(LINGER).await;
        assert!(events.answer_events(&Tenant::local()).is_empty());
    }

    #[tokio::test]
    async fn there_is_an_end_to_channels() {
        let events = events();
        let listen = |number: usize| {
            let tenant = Tenant::named(&format!("t{number}")).unwrap();
            events.listen(Scope::Tenants(vec![tenant]), Subscription::default())
        };
        let stays = listen(0);
        (1..3 * super::super::CHANNELS).for_each(|number| drop(listen(number)));
        assert!(events.inner.channels.read().unwrap().len() <= super::super::CHANNELS);
        assert_eq!(events.answer_events(&Tenant::named("t0").unwrap()).len(), 1);
        drop(stays);
    }
}
