//! The simulators of an examination: they answer over a socket, and everything that arrives is written down.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;

use crate::exchange::{SimRequest, SimResponse};
use crate::fault::Fault;
use crate::log::LogEntry;
use crate::server::{Running, SimOptions, serve_before};
use crate::simulator::Simulator;

/// One request that arrived, and what became of it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) body: Vec<u8>,
    pub(super) log: LogEntry,
    /// The pieces of the answer, had nothing gone wrong.
    pub(super) events: usize,
}

/// The running simulators.
#[derive(Debug)]
pub(super) struct Stage {
    running: Running,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    seen: Vec<Seen>,
    /// The next answer breaks off after so many events.
    cut: Option<usize>,
}

impl Stage {
    pub(super) fn open(listener: TcpListener) -> io::Result<Self> {
        let shared: Arc<Mutex<Shared>> = Arc::default();
        let inner = Arc::clone(&shared);
        let witness = Arc::new(move |simulator: &Simulator, request: &SimRequest| {
            answer(&inner, simulator, request)
        });
        let running = serve_before(listener, SimOptions::default(), witness)?;
        Ok(Self { running, shared })
    }

    /// The address of the simulators, `http://` included.
    pub(super) fn base(&self) -> String {
        format!("http://{}", self.running.addr())
    }

    /// Lets the next answer break off after so many events.
    pub(super) fn cut_next(&self, events: usize) {
        self.lock().cut = Some(events);
    }

    /// What arrived since the last call.
    pub(super) fn seen(&self) -> Vec<Seen> {
        let mut shared = self.lock();
        shared.cut = None;
        std::mem::take(&mut shared.seen)
    }

    /// Forgets what arrived, not what is to be cut.
    pub(super) fn forget(&self) {
        self.lock().seen.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(shared: &Mutex<Shared>, simulator: &Simulator, request: &SimRequest) -> SimResponse {
    let whole = simulator.handle(request);
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let (log, events) = (whole.log.clone(), whole.body.len());
    shared.seen.push(Seen { body: request.body.clone(), log, events });
    let Some(events) = shared.cut.take().filter(|_| whole.status == 200) else { return whole };
    let bytes = whole.body.iter().take(events).map(|chunk| chunk.bytes.len()).sum();
    let fault = Fault { cut: Some(bytes), ..Fault::default() };
    simulator.clone().with_fault(Some(fault)).handle(request)
}
