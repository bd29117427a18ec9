//! What comes from outside: keys, signals, counts.

use super::engine::Inbound;
use crate::session::{Count, Counter, Message};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crossterm::event::{self, Event};
use std::io::{self, Write as _};
use std::thread;
use thinkthrough_core::tokens::Tokenizer;
use tokio::sync::mpsc;

/// Reads the terminal's events beside everything else.
pub(super) fn keys() -> mpsc::UnboundedReceiver<Event> {
    let (sender, receiver) = mpsc::unbounded_channel();
    // It ends with the program, or when the terminal is gone.
    thread::spawn(move || {
        while let Ok(event) = event::read() {
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Counts requests beside everything else: the tables of a tokenizer take a while to load.
pub(super) fn counter(
    tokenizer: &'static dyn Tokenizer,
    inbox: mpsc::UnboundedSender<Inbound>,
) -> std::sync::mpsc::Sender<Count> {
    let (sender, receiver) = std::sync::mpsc::channel::<Count>();
    thread::spawn(move || {
        let mut counter = Counter::new(Some(tokenizer));
        while let Ok(mut count) = receiver.recv() {
            // Only the newest is of interest.
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

/// Passes on what the servers of tools have to say.
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
    // Nothing can be done about a terminal that is gone.
    drop(write!(out, "\u{1b}]52;c;{}\u{7}", STANDARD.encode(text)).and_then(|()| out.flush()));
}

/// The signals that end the program. Ctrl-C is a key here; an interrupt comes from another process.
#[cfg(unix)]
pub(super) struct Ending {
    hangup: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    quit: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Ending {
    pub(super) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Ending {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
        })
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

/// The signals that end the program.
#[cfg(not(unix))]
pub(super) struct Ending(());

#[cfg(not(unix))]
impl Ending {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Ending(()))
    }

    pub(super) async fn wait(&mut self) {
        drop(tokio::signal::ctrl_c().await);
    }
}
