//! What keeps one caller's load from becoming everybody's: caps for the parts of a request, a budget of the bytes in
//! flight, and work on large bodies beside the async workers.

mod budget;
mod caps;
mod gauges;
mod offload;
mod scope;

pub use budget::InFlight;
pub(crate) use budget::{Budget, PASSED, READ, Reservation, Share, VALUE};
#[cfg(test)]
pub(crate) use caps::MESSAGES;
pub(crate) use caps::{CAPS, Caps};
pub(crate) use gauges::Gauges;
pub(crate) use offload::{LARGE, Offload};

use std::sync::Arc;

/// What one request has of it.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// Where work on large bodies is done.
    pub(crate) offload: Arc<Offload>,
    /// How much it may hold.
    pub(crate) share: Share,
}
