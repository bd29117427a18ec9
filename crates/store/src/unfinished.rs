//! Writes of kept responses that are not finished. A look-up of this process waits for the write of its response.
//!
//! The end of an answer waits only some milliseconds for its write. The caller's next request may name the response
//! before the write is finished.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thinkthrough_core::plane::Tenant;
use tokio::sync::watch;

type Id = (Tenant, String);

/// The unfinished writes of a process.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    writes: Mutex<HashMap<Id, Vec<Arc<watch::Sender<()>>>>>,
}

impl Unfinished {
    /// Begins a write. It is finished when the returned value is dropped.
    pub(crate) fn write(&self, tenant: &Tenant, id: &str) -> Write<'_> {
        let (id, sender) = ((tenant.clone(), id.to_owned()), Arc::new(watch::Sender::new(())));
        self.writes().entry(id.clone()).or_default().push(Arc::clone(&sender));
        Write { all: self, id, sender: Some(sender) }
    }

    /// The unfinished writes of a response. Empty if there are none.
    pub(crate) fn of(&self, tenant: &Tenant, id: &str) -> Vec<watch::Receiver<()>> {
        let writes = self.writes();
        let of = writes.get(&(tenant.clone(), id.to_owned()));
        of.into_iter().flatten().map(|sender| sender.subscribe()).collect()
    }

    fn writes(&self) -> MutexGuard<'_, HashMap<Id, Vec<Arc<watch::Sender<()>>>>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One unfinished write.
pub(crate) struct Write<'a> {
    all: &'a Unfinished,
    id: Id,
    sender: Option<Arc<watch::Sender<()>>>,
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        let mut writes = self.all.writes();
        if let (Some(of), Some(own)) = (writes.get_mut(&self.id), self.sender.take()) {
            of.retain(|sender| !Arc::ptr_eq(sender, &own));
            if of.is_empty() {
                writes.remove(&self.id);
            }
        }
    }
}

/// Waits until these writes are finished.
pub(crate) async fn finished(writes: Vec<watch::Receiver<()>>) {
    for mut write in writes {
        // Fails once the write is dropped, which is its end.
        while write.changed().await.is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_response_is_waited_for_until_all_of_its_writes_are_finished() {
        let (unfinished, tenant) = (Unfinished::default(), Tenant::local());
        assert!(unfinished.of(&tenant, "resp_1").is_empty());
        let (one, other) =
            (unfinished.write(&tenant, "resp_1"), unfinished.write(&tenant, "resp_1"));
        assert!(unfinished.of(&tenant, "resp_2").is_empty());
        let mut waiting = Box::pin(finished(unfinished.of(&tenant, "resp_1")));
        let mut is_over = || futures_poll(&mut waiting);
        assert!(!is_over());
        drop(one);
        assert!(!is_over());
        drop(other);
        assert!(is_over());
        assert!(unfinished.writes().is_empty());
    }

    fn futures_poll(future: &mut (impl Future<Output = ()> + Unpin)) -> bool {
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::Pin::new(future).poll(&mut cx).is_ready()
    }
}
