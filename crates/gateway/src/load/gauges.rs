//! Metrics of the load.

use super::fair::PoolMetrics;
use super::scope::Scope;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The label of a reached limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Whose {
    scope: &'static str,
}

/// Counters and gauges of the load. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauges {
    bytes: Gauge,
    refused: Family<Whose, Counter>,
    pub(super) pools: PoolMetrics,
}

impl Gauges {
    /// Registers them in the metrics.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let new = Gauges { pools: PoolMetrics::register(registry), ..Gauges::default() };
        for scope in Scope::ALL {
            drop(new.refused.get_or_create(&Whose { scope: scope.as_str() }));
        }
        let help = "Bytes that requests and unread answers hold";
        registry.register("bytes_in_flight", help, new.bytes.clone());
        let help = "Requests for whose bytes there was no room, by whose limit it was";
        registry.register("bytes_refused", help, new.refused.clone());
        new
    }

    pub(super) fn held(&self, bytes: usize) {
        self.bytes.inc_by(signed(bytes));
    }

    pub(super) fn freed(&self, bytes: usize) {
        self.bytes.dec_by(signed(bytes));
    }

    pub(super) fn refused(&self, scope: Scope) {
        self.refused.get_or_create(&Whose { scope: scope.as_str() }).inc();
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
