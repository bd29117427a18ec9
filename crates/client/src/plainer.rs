//! Servers that refused a request for an optional part of it, so that it is left out from then on.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a refusal counts; servers are replaced by newer ones.
const HOLDS: Duration = Duration::from_secs(24 * 60 * 60);
/// More servers than this are not kept; callers name none, so there are as many as are configured.
const MOST: usize = 1_024;

static REFUSED: Mutex<Option<HashMap<String, Instant>>> = Mutex::new(None);

/// Whether this server took a request only without its optional part.
pub(crate) fn is_needed(server: &str) -> bool {
    let refused = lock();
    let since = refused.as_ref().and_then(|known| known.get(server));
    since.is_some_and(|since| since.elapsed() < HOLDS)
}

/// This server took a request only without its optional part.
pub(crate) fn remember(server: String) {
    let mut refused = lock();
    let known = refused.get_or_insert_default();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(server, Instant::now());
}

fn lock() -> MutexGuard<'static, Option<HashMap<String, Instant>>> {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner)
}
