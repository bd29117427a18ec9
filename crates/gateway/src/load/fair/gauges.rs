//! The pools of a gateway, and their metrics.

use crate::rejection::{Rejection, rejection};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The five pools of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pool {
    /// Threads for work on large bodies.
    Bodies,
    /// Threads that mask texts for listeners and traces.
    Masking,
    /// Listeners at `/v1/events`.
    Listeners,
    /// People who are signed in at the viewer.
    SignIns,
    /// Questions of the viewer to the store.
    Questions,
}

impl Pool {
    const ALL: [Pool; 5] =
        [Pool::Bodies, Pool::Masking, Pool::Listeners, Pool::SignIns, Pool::Questions];

    fn as_str(self) -> &'static str {
        match self {
            Pool::Bodies => "bodies",
            Pool::Masking => "masking",
            Pool::Listeners => "listeners",
            Pool::SignIns => "sign_ins",
            Pool::Questions => "questions",
        }
    }
}

/// Why an item gets no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Too much waits already.
    Full,
    /// Its turn did not come in time.
    Late,
}

impl Denied {
    /// The refusal of a request, which may be sent again.
    pub(crate) fn rejection(self) -> Rejection {
        let message = match self {
            Denied::Full => "too many requests of this kind wait already; ask again",
            Denied::Late => "the turn of this request did not come in time; ask again",
        };
        rejection(503, "overloaded", message)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    pool: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refusal {
    pool: &'static str,
    why: &'static str,
}

/// Counters and gauges of all pools; clones are the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolMetrics {
    waiting: Family<Of, Gauge>,
    held: Family<Of, Gauge>,
    denied: Family<Refusal, Counter>,
}

impl PoolMetrics {
    /// Registers them in the metrics.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let new = PoolMetrics::default();
        Pool::ALL.into_iter().for_each(|pool| drop(new.of(pool)));
        registry.register("pool_waiting", "What waits for a place", new.waiting.clone());
        registry.register("pool_held", "Places that are held", new.held.clone());
        let help = "What got no place, because too much waited or its turn came too late";
        registry.register("pool_refused", help, new.denied.clone());
        new
    }

    /// The metrics of one pool.
    pub(crate) fn of(&self, pool: Pool) -> PoolGauges {
        let pool = pool.as_str();
        let of = Of { pool };
        let denied = |why| self.denied.get_or_create(&Refusal { pool, why }).clone();
        PoolGauges {
            waiting: self.waiting.get_or_create(&of).clone(),
            held: self.held.get_or_create(&of).clone(),
            full: denied("full"),
            late: denied("late"),
        }
    }
}

/// The counters and gauges of one pool.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolGauges {
    waiting: Gauge,
    held: Gauge,
    full: Counter,
    late: Counter,
}

impl PoolGauges {
    /// So many items wait, and so many places are held.
    pub(super) fn see(&self, waiting: usize, held: usize) {
        let signed = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.waiting.set(signed(waiting));
        self.held.set(signed(held));
    }

    pub(super) fn denied(&self, denied: Denied) {
        match denied {
            Denied::Full => self.full.inc(),
            Denied::Late => self.late.inc(),
        };
    }
}
