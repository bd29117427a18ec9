//! Protects all callers from the load of one: caps for the parts of a request, a budget of the bytes in flight, and
//! work on large bodies beside the async workers.

mod budget;
mod caps;
mod fair;
mod gauges;
mod offload;
mod queue;
mod room;
mod scope;

use crate::rejection::Rejection;

pub use budget::InFlight;
pub(crate) use budget::{Budget, PASSED, READ, Reservation, Share, VALUE, place};
#[cfg(test)]
pub(crate) use caps::MESSAGES;
pub(crate) use caps::{CAPS, Caps};
pub(crate) use fair::{Denied, FairPool, Holder, Place, Room};
pub(crate) use gauges::Gauges;
pub(crate) use offload::{LARGE, Offload};
pub(crate) use room::{AnswerRoom, BASE, NoRoom};

use fair::{Bounds, Pool};
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

/// The reason in metrics for an answer that was cut because there was no memory for it.
pub(crate) const NO_ROOM: &str = "memory";

/// The fair pools of a gateway.
#[derive(Debug)]
pub(crate) struct Pools {
    pub(crate) bodies: FairPool,
    pub(crate) masking: FairPool,
    /// Texts that wait to be masked for listeners.
    pub(crate) live: Arc<Room>,
    pub(crate) listeners: FairPool,
    pub(crate) sign_ins: FairPool,
    pub(crate) questions: FairPool,
}

impl Pools {
    pub(crate) fn new(gauges: &Gauges) -> Self {
        // One tenant holds half of the places, so that the other half of the cores goes on answering.
        let places = available_parallelism().map_or(1, NonZero::get).max(2);
        let threads = |long, bytes| Bounds { places, operator: 1, long, bytes };
        let held = |places, operator| Bounds { places, operator, long: usize::MAX, bytes: 0 };
        let pool = |pool, bounds, seconds| {
            FairPool::new(bounds, Duration::from_secs(seconds), gauges.pools.of(pool))
        };
        let questions = Bounds { places: 2, operator: 1, long: usize::MAX, bytes: QUESTIONS };
        Pools {
            bodies: pool(Pool::Bodies, threads(4 << 20, 128 << 20), 30),
            // No request waits for a trace.
            masking: pool(Pool::Masking, threads(64 << 10, 64 << 20), 60 * 60),
            live: Arc::new(Room::new(32 << 20)),
            listeners: pool(Pool::Listeners, held(LISTENERS - 1, 1), 0),
            sign_ins: pool(Pool::SignIns, held(GUESTS - 8, 8), 0),
            questions: pool(Pool::Questions, questions, 10),
        }
    }
}

/// The most listeners at a time, the operator included.
pub(crate) const LISTENERS: usize = 128;
/// The most people who are signed in at a time, the operator included.
pub(crate) const GUESTS: usize = 256;
/// The most questions of the viewer that may wait.
const QUESTIONS: usize = 64;

/// The share of one request.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// Runs work on large bodies.
    pub(crate) offload: Offload,
    /// The memory that it may hold.
    pub(crate) share: Share,
    pub(crate) pools: Arc<Pools>,
    /// The memory that was granted to its answer, until the answer begins.
    room: Arc<Mutex<Option<AnswerRoom>>>,
}

impl Load {
    pub(crate) fn new(offload: Offload, share: Share, pools: Arc<Pools>) -> Self {
        Load { offload, share, pools, room: Arc::default() }
    }

    /// The same for a caller that is known by its key.
    pub(crate) fn of(&self, share: Share, offload: Offload) -> Self {
        Load { offload, share, ..self.clone() }
    }

    /// The holder of its places.
    pub(crate) fn holder(&self) -> &Holder {
        self.offload.holder()
    }

    /// Grants the memory of the answer, or refuses the request.
    pub(crate) fn admit(&self) -> Result<(), Rejection> {
        let room = self.share.answer()?;
        *self.room.lock().unwrap_or_else(PoisonError::into_inner) = Some(room);
        Ok(())
    }

    /// The memory of the answer that begins now.
    pub(crate) fn begin(&self) -> AnswerRoom {
        let granted = self.room.lock().unwrap_or_else(PoisonError::into_inner).take();
        granted.unwrap_or_else(|| AnswerRoom::empty(&self.share))
    }
}
