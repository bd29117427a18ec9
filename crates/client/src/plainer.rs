//! Servers that refused a request for an optional part of it, so that it is left out from then on.

use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a refusal counts; servers are replaced by newer ones.
const HOLDS: Duration = Duration::from_secs(24 * 60 * 60);
/// More servers than this are not kept; callers name none, so there are as many as are configured.
const MOST: usize = 1_024;

static REFUSED: Mutex<Option<HashMap<String, Refused>>> = Mutex::new(None);

/// A refusal, and when it came.
struct Refused {
    said: Bytes,
    since: Instant,
}

/// The refusal of a server that takes requests only without their optional part.
pub(crate) fn refusal(server: &str) -> Option<Bytes> {
    let refused = lock();
    let refused = refused.as_ref()?.get(server)?;
    (refused.since.elapsed() < HOLDS).then(|| refused.said.clone())
}

/// This server took a request only without its optional part.
pub(crate) fn remember(server: String, said: Bytes) {
    let mut refused = lock();
    let known = refused.get_or_insert_default();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(server, Refused { said, since: Instant::now() });
}

fn lock() -> MutexGuard<'static, Option<HashMap<String, Refused>>> {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner)
}
