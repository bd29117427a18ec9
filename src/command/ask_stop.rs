//! Handles Ctrl-C during an answer: the first one stops the answer and keeps the received part, the second ends the
//! program.

use crate::failure::{Failure, INTERRUPTED};
use thinkthrough_chat::Control;
use tokio::signal::unix::{SignalKind, signal};

/// Stops what `control` holds when the program is interrupted or told to end.
pub(super) fn stopped_by_signals(control: &Control) -> Result<(), Failure> {
    let refuse = |error| Failure::Failed(format!("signals cannot be heard: {error}; try again"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(refuse)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(refuse)?;
    let control = control.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if control.is_stopped() {
                std::process::exit(i32::from(INTERRUPTED));
            }
            control.stop();
        }
    });
    Ok(())
}
