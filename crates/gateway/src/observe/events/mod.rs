//! What happens at this moment, for whoever listens at `/v1/events`: requests as they come and go, and what models think
//! and say meanwhile, masked.
//!
//! Nothing of it comes from the store, and nothing is kept but the last of it, in memory, so that a listener that was cut
//! off can go on where it was ([`channel`]). While nobody listens, none of it is written, masked or kept: a request looks
//! at one number. A text is masked once, however many listen ([`announcer`]), and a long one on a thread of its own
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

/// So many scopes are kept, those included whose listeners were cut off.
const CHANNELS: usize = LISTENERS;

/// Gives what covers secrets. It is asked for each text, because its key may be read from a store that opens late.
pub type FindMasker = Arc<dyn Fn() -> Masker + Send + Sync>;

/// Whose requests a listener hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those of these tenants: a caller without a key of the gateway may be one at each upstream.
    Tenants(Vec<Tenant>),
    /// Everybody's, for whoever runs the gateway.
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

/// Where everything that happens is announced. Clones are handles to the same place.
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
    /// Nobody listens yet.
    #[must_use]
    pub fn masked_by(masker: FindMasker) -> Self {
        let (generation, channels) = (AtomicU64::new(0), RwLock::default());
        Events { inner: Arc::new(Inner { generation, channels, masker }) }
    }

    /// What stands for who listens now. As long as it is the same, nobody came or went; 0: nobody ever came.
    pub(crate) fn generation(&self) -> u64 {
        self.inner.generation.load(Ordering::Acquire)
    }

    /// Where somebody hears this tenant.
    fn answer_events(&self, tenant: &Tenant) -> Vec<Arc<Channel>> {
        let channels = self.inner.channels.read().unwrap_or_else(PoisonError::into_inner);
        channels.iter().filter(|channel| channel.scope.holds(tenant)).map(Arc::clone).collect()
    }

    /// What covers the secrets in events now.
    fn masker(&self) -> Masker {
        (self.inner.masker)()
    }

    /// Begins to listen. The pool of listeners says how many may.
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
        // While the list is locked, so that nobody takes the channel away in between.
        Listener::new(self.clone(), channel, subscription)
    }

    /// Forgets a channel that nobody came back to.
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

/// Tells it to all these channels.
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
