//! Waits for the place of a trace before its answer ends, for callers that ask for it.

use super::{Audit, Place};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The longest wait of an answer for its trace: traffic goes first.
const LONGEST: Duration = Duration::from_millis(20);
/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(1);

/// A trace on its way to a place where it is safe.
pub(crate) struct Confirming {
    id: String,
    state: Pin<Box<dyn Future<Output = &'static str> + Send>>,
}

impl Confirming {
    pub(super) fn of(audit: Audit, tenant: String, id: String) -> Self {
        let of = id.clone();
        let state = async move {
            let began = Instant::now();
            loop {
                match audit.place(&tenant, &of) {
                    // It was taken and waits no longer, so that it is stored.
                    None if audit.traces().is_some() => return "stored",
                    None | Some(Place::Waiting) if began.elapsed() < LONGEST => sleep(PAUSE).await,
                    place => return place.unwrap_or(Place::Waiting).as_str(),
                }
            }
        };
        Confirming { id, state: Box::pin(state) }
    }

    /// The id of the trace.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

/// Resolves to the state that `GET /v1/traces/{id}` would give.
impl Future for Confirming {
    type Output = &'static str;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.state.as_mut().poll(cx)
    }
}

impl fmt::Debug for Confirming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Confirming").field("id", &self.id).finish_non_exhaustive()
    }
}
