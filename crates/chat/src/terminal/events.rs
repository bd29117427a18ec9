//! Events from outside: keys, signals, counts.

use super::engine::Inbound;
use crate::session::{Count, Counter, Message};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crossterm::event::{self, Event};
use rustix::process::{Signal, getpid, kill_process};
use std::io::{self, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use thinkthrough_core::tokens::Tokenizer;
use tokio::signal::unix::{Signal as Listener, SignalKind, signal};
use tokio::sync::mpsc;

/// The terminal's events, read by a thread that can be paused.
pub(super) struct Keys {
    events: mpsc::UnboundedReceiver<Event>,
    reader: Arc<Reader>,
}

#[derive(Debug, Default)]
struct Reader {
    state: Mutex<Reading>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Reading {
    is_to_pause: bool,
    is_paused: bool,
}

/// How long the reader may take to pause.
const PAUSE: Duration = Duration::from_secs(1);

impl Keys {
    /// Starts to read. The thread ends with the program, or when the terminal is gone.
    pub(super) fn start() -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let reader = Arc::new(Reader::default());
        let reads = Arc::clone(&reader);
        thread::spawn(move || {
            loop {
                reads.wait();
                let Ok(event) = event::read() else { return };
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        Keys { events, reader }
    }

    /// The next event. `None` if the terminal is gone.
    pub(super) async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Stops reading, so that another program can read the terminal. Returns false if that takes too long.
    pub(super) fn pause(&self) -> bool {
        let mut state = self.reader.lock();
        state.is_to_pause = true;
        // A new size of the terminal wakes the reader.
        let _ = kill_process(getpid(), Signal::WINCH);
        let waits = |state: &mut Reading| !state.is_paused;
        let waited = self.reader.changed.wait_timeout_while(state, PAUSE, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_paused
    }

    /// Reads again.
    pub(super) fn go_on(&self) {
        self.reader.lock().is_to_pause = false;
        self.reader.changed.notify_all();
    }
}

impl Reader {
    fn lock(&self) -> MutexGuard<'_, Reading> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while reading is paused.
    fn wait(&self) {
        let mut state = self.lock();
        while state.is_to_pause {
            state.is_paused = true;
            self.changed.notify_all();
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_paused = false;
    }
}

/// Counts requests in a thread of its own, because a tokenizer takes a while to load.
pub(super) fn counter(
    tokenizer: &'static dyn Tokenizer,
    inbox: mpsc::UnboundedSender<Inbound>,
) -> std::sync::mpsc::Sender<Count> {
    let (sender, receiver) = std::sync::mpsc::channel::<Count>();
    thread::spawn(move || {
        let mut counter = Counter::new(Some(tokenizer));
        while let Ok(mut count) = receiver.recv() {
            // Only the newest request is counted.
            while let Ok(newer) = receiver.try_recv() {
                count = newer;
            }
            let counted = counter.count(count);
            if inbox.send(Inbound::Message(Message::Counted(counted))).is_err() {
                return;
            }
        }
    });
    sender
}

/// Passes on the notices of tool servers.
pub(super) async fn pass_on(
    mut notices: mpsc::UnboundedReceiver<String>,
    inbox: mpsc::UnboundedSender<Inbound>,
) {
    while let Some(notice) = notices.recv().await {
        drop(inbox.send(Inbound::Message(Message::Warned(notice))));
    }
}

/// Puts a text on the clipboard by the terminal's own means (OSC 52), which also works over SSH.
pub(super) fn copy(text: &str) {
    let mut out = io::stdout();
    // A failed write means that the terminal is gone, and needs no handling.
    drop(write!(out, "\u{1b}]52;c;{}\u{7}", STANDARD.encode(text)).and_then(|()| out.flush()));
}

/// The signals that end the program. Ctrl-C is a key here; an interrupt comes from another process.
pub(super) struct Ending {
    hangup: Listener,
    interrupt: Listener,
    quit: Listener,
    terminate: Listener,
}

impl Ending {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Ending {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Forgets interrupts that came while another program had the terminal.
    pub(super) fn forget_interrupts(&mut self) -> io::Result<()> {
        self.interrupt = signal(SignalKind::interrupt())?;
        self.quit = signal(SignalKind::quit())?;
        Ok(())
    }

    pub(super) async fn wait(&mut self) {
        tokio::select! {
            _ = self.hangup.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.quit.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
