//! Changes of the configuration: written beside everything else, in the order in which the user made them.

use super::engine::Inbound;
use super::host::Host;
use crate::session::{Message, Write};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::sync::{mpsc::UnboundedSender, oneshot};
use tokio::time::timeout;

/// Changes that are written, or wait for those before them.
pub(super) struct Writes {
    queue: mpsc::Sender<Write>,
    /// Gone when all are written and no more can come.
    is_over: oneshot::Receiver<()>,
}

impl Writes {
    /// Tells the session of each change that was written.
    pub(super) fn new(host: Arc<dyn Host>, inbox: UnboundedSender<Inbound>) -> Self {
        let (queue, waiting) = mpsc::channel::<Write>();
        let (ends, is_over) = oneshot::channel();
        thread::spawn(move || {
            for write in waiting {
                drop(inbox.send(Inbound::Message(Message::Written(host.write(&write)))));
            }
            drop(ends);
        });
        Writes { queue, is_over }
    }

    pub(super) fn push(&self, write: Write) {
        drop(self.queue.send(write));
    }

    /// Waits until all are written: who changes something and leaves finds it changed.
    pub(super) async fn finish(self, limit: Duration) {
        let Writes { queue, is_over } = self;
        drop(queue);
        drop(timeout(limit, is_over).await);
    }
}
