//! The simulators of an examination. They listen on a socket and record every request.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpListener;

use crate::exchange::{SimRequest, SimResponse};
use crate::fault::Fault;
use crate::log::LogEntry;
use crate::server::{Running, SimOptions, serve_before};
use crate::simulator::Simulator;

/// One request at a simulator, and its log.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) body: Vec<u8>,
    pub(super) log: LogEntry,
    /// Number of pieces of the whole answer, without any cut.
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
    /// The next answer breaks off after this many events.
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

    /// The address of the simulators, with `http://`.
    pub(super) fn base(&self) -> String {
        format!("http://{}", self.running.addr())
    }

    /// Makes the next answer break off after this many events.
    pub(super) fn cut_next(&self, events: usize) {
        self.lock().cut = Some(events);
    }

    /// Returns the requests since the last call. An unused cut is dropped.
    pub(super) fn seen(&self) -> Vec<Seen> {
        let mut shared = self.lock();
        shared.cut = None;
        std::mem::take(&mut shared.seen)
    }

    /// Drops the recorded requests, but keeps a planned cut.
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
