//! A question before something is destroyed.

use crate::failure::{Failure, say};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use thinkthrough_chat::harmless::harmless;

/// Whether a user can be asked: standard input and standard error are terminals.
fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Refuses `command` without `--yes` if there is no user to ask.
pub(crate) fn may_ask(command: &str, yes: bool) -> Result<(), Failure> {
    if yes || is_attended() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "`{command}` cannot be undone and nobody is at a terminal to be asked; add `--yes` if it is meant"
    )))
}

/// Names the data that will be destroyed, and asks for a yes. Any other answer is a refusal.
pub(crate) fn confirm(what: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let mut err = io::stderr().lock();
    // If the prompt cannot be shown, the user cannot confirm it.
    drop(write!(err, "{} This cannot be undone. [y/N] ", harmless(what)));
    drop(err.flush());
    drop(err);
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return Ok(());
    }
    if !answer.ends_with('\n') {
        say(format_args!(""));
    }
    Err(Failure::Failed("nothing was destroyed".to_owned()))
}
