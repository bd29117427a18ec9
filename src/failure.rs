//! How a command ends when it does not succeed.

use std::fmt;
use std::io;
use std::process::ExitCode;
use thinkthrough_chat::harmless::harmless;

/// The exit code of a program that was interrupted, as shells count it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has gone, which is no error.
    ReaderGone,
    /// The command failed: one sentence that names the problem, its place and the remedy.
    Failed(String),
    /// The user stopped it; the output up to then is kept.
    Interrupted,
    /// The command line makes no sense: one sentence likewise.
    Usage(String),
}

impl Failure {
    /// Says it on standard error, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::ReaderGone => ExitCode::SUCCESS,
            Failure::Failed(message) => {
                say(format_args!("error: {message}"));
                ExitCode::from(1)
            }
            Failure::Interrupted => ExitCode::from(INTERRUPTED),
            Failure::Usage(message) => {
                say(format_args!("error: {message}"));
                ExitCode::from(2)
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::ReaderGone => f.write_str("nobody reads the output any more"),
            Failure::Interrupted => f.write_str("it was interrupted"),
            Failure::Failed(message) | Failure::Usage(message) => f.write_str(message),
        }
    }
}

impl From<io::Error> for Failure {
    /// An error of the output.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::Failed(format!(
                "the output cannot be written: {error}; make room or write it elsewhere"
            )),
        }
    }
}

/// Prints a line on standard error, and ignores a failure of that. The line may hold a provider's or a model's words.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let line = harmless(&line.to_string());
    drop(io::Write::write_fmt(&mut io::stderr().lock(), format_args!("{line}\n")));
}
