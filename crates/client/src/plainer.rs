//! Remembers servers that refused the optional part of a request, so that later requests leave it out.

use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The lifetime of a refusal. It expires because servers are updated.
const HOLDS: Duration = Duration::from_secs(24 * 60 * 60);
/// The map is cleared when it has this many servers. Callers cannot name servers, so it has only configured ones.
const MOST: usize = 1_024;

static REFUSED: Mutex<Option<HashMap<String, Refused>>> = Mutex::new(None);

struct Refused {
    said: Bytes,
    since: Instant,
}

/// The remembered refusal of a server that accepts requests only without their optional part.
pub(crate) fn refusal(server: &str) -> Option<Bytes> {
    let refused = lock();
    let refused = refused.as_ref()?.get(server)?;
    (refused.since.elapsed() < HOLDS).then(|| refused.said.clone())
}

/// Remembers that a server accepted a request only without its optional part.
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
