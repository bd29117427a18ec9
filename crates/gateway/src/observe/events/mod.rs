//! Live events for listeners at `/v1/events`: the beginning and end of requests, and the thoughts and texts of models
//! meanwhile, masked.
//!
//! Events never come from the store. Only the latest ones are held, in memory, so that a listener that was cut off
//! can go on where it was ([`channel`]). Without listeners, no event is written, masked or held: a request looks at
//! one number. A text is masked once for all listeners ([`announcer`]), and a long one on a thread of its own
//! ([`outbox`]).

mod announced;
mod announcer;
mod answer_events;
mod channel;
mod event;
mod filter;
mod outbox;

pub(crate) use announced::Whose;
pub(crate) use answer_events::AnswerEvents;
pub(crate) use channel::{Encoded, Listener};
pub(crate) use filter::Subscription;
pub(crate) use outbox::Outbox;

use crate::load::LISTENERS;
use crate::observe::summary::now;
use channel::Channel;
use event::{About, Event, Happening};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use thinkthrough_core::plane::Tenant;
use thinkthrough_mask::Masker;

/// The most scopes that are held, including scopes whose listeners were cut off.
const CHANNELS: usize = LISTENERS;

/// Gives the current masker. Called for each text, because its key may come from a store that opens late.
pub type FindMasker = Arc<dyn Fn() -> Masker + Send + Sync>;

/// The requests that a listener receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Requests of these tenants: a caller without a gateway key may be one tenant at each upstream.
    Tenants(Vec<Tenant>),
    /// All requests, for the operator.
    All,
}

impl Scope {
    fn holds(&self, tenant: &Tenant) -> bool {
        match self {
            Scope::Tenants(tenants) => tenants.contains(tenant),
            Scope::All => true,
        }
    }
}

/// Announces events to listeners. Clones are handles to the same place.
#[derive(Clone)]
pub struct Events {
    inner: Arc<Inner>,
}

struct Inner {
    /// Changes whenever a channel comes or goes; 0 until there is one.
    generation: AtomicU64,
    channels: RwLock<Vec<Arc<Channel>>>,
    masker: FindMasker,
}

impl Events {
    /// Events without listeners.
    #[must_use]
    pub fn masked_by(masker: FindMasker) -> Self {
        let (generation, channels) = (AtomicU64::new(0), RwLock::default());
        Events { inner: Arc::new(Inner { generation, channels, masker }) }
    }

    /// The generation of listeners. It changes when one comes or goes, and is 0 before the first.
    pub(crate) fn generation(&self) -> u64 {
        self.inner.generation.load(Ordering::Acquire)
    }

    /// The channels that receive events of this tenant.
    fn answer_events(&self, tenant: &Tenant) -> Vec<Arc<Channel>> {
        let channels = self.inner.channels.read().unwrap_or_else(PoisonError::into_inner);
        channels.iter().filter(|channel| channel.scope.holds(tenant)).map(Arc::clone).collect()
    }

    /// The current masker.
    fn masker(&self) -> Masker {
        (self.inner.masker)()
    }

    /// Begins to listen. The pool of listeners limits their number.
    pub(crate) fn listen(&self, scope: Scope, subscription: Subscription) -> Listener {
        let mut channels = self.inner.channels.write().unwrap_or_else(PoisonError::into_inner);
        let known = channels.iter().find(|channel| channel.scope == scope).map(Arc::clone);
        let channel = match known {
            Some(channel) => channel,
            None => {
                // Each listener has one channel at most, so that the others are without any.
                let idle = channels.iter().position(|channel| channel.listeners() == 0);
                if let Some(idle) = idle.filter(|_| channels.len() >= CHANNELS) {
                    channels.remove(idle);
                }
                let channel = Arc::new(Channel::new(scope));
                channels.push(Arc::clone(&channel));
                self.changed();
                channel
            }
        };
        // Joins while the list is locked, so that the channel cannot be removed in between.
        Listener::new(self.clone(), channel, subscription)
    }

    /// Removes a channel whose listeners did not come back in time.
    fn forget(&self, channel: &Arc<Channel>) {
        let mut channels = self.inner.channels.write().unwrap_or_else(PoisonError::into_inner);
        if channel.is_forgotten() {
            channels.retain(|known| !Arc::ptr_eq(known, channel));
            self.changed();
        }
    }

    fn changed(&self) {
        self.inner.generation.fetch_add(1, Ordering::AcqRel);
    }
}

/// Sends an event to all these channels.
fn tell(channels: &[Arc<Channel>], about: &Arc<About>, happening: Happening<'_>) {
    if !channels.is_empty() {
        let event = Arc::new(Event::new(now(), about, happening));
        channels.iter().for_each(|channel| channel.tell(&event));
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("generation", &self.generation()).finish_non_exhaustive()
    }
}
