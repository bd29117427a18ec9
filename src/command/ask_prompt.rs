//! The question of `think ask`: the words of the command line, then standard input.

use crate::failure::{Failure, say};
use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use thinkthrough_chat::attachment::{Files, joined};

/// After this time a message explains the wait. An inherited pipe without a writer may never end.
const PATIENCE: Duration = Duration::from_secs(2);

/// More than any model accepts, but small enough that an endless stream does not fill the memory.
const MOST: u64 = 64 << 20;

/// Joins the words, standard input and the text files. Reads standard input if it is piped, unless `leaves_stdin`
/// leaves it to another command. The word `-` always reads it.
pub(super) fn prompt(
    words: &[String],
    leaves_stdin: bool,
    files: &Files,
) -> Result<String, Failure> {
    let is_asked_for = words.iter().any(|word| word == "-");
    let is_read = is_asked_for || !leaves_stdin && is_piped();
    let piped = if is_read { read(is_asked_for)? } else { String::new() };
    let question = joined(joined(said(words), piped), files.text.clone());
    if question.trim().is_empty() && files.is_empty() {
        return Err(Failure::Usage(
            "there is no question; write it behind `think ask`, or pipe it in".to_owned(),
        ));
    }
    Ok(question)
}

pub(super) fn said(words: &[String]) -> String {
    let said = words.iter().filter(|word| *word != "-");
    said.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Returns true if standard input is a pipe, a socket or a file, and false for terminals and other devices.
pub(crate) fn is_piped() -> bool {
    let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let kind = file.and_then(|file| file.metadata()).map(|it| it.file_type());
    kind.is_ok_and(|kind| kind.is_file() || kind.is_fifo() || kind.is_socket())
}

fn read(is_asked_for: bool) -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        say(format_args!("reading from the terminal; end with Ctrl-D on a line of its own"));
    }
    let (sender, receiver) = mpsc::channel();
    // The thread ends with standard input, or with the program.
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
        sender.send(read.map(|_| bytes))
    });
    let read = match receiver.recv_timeout(PATIENCE) {
        Err(RecvTimeoutError::Timeout) => {
            if !io::stdin().is_terminal() {
                let remedy = if is_asked_for { "" } else { "; `-n` leaves it out" };
                say(format_args!("still reading standard input, which has not ended{remedy}"));
            }
            receiver.recv().ok()
        }
        Err(RecvTimeoutError::Disconnected) => None,
        Ok(read) => Some(read),
    };
    let failed = |why: &str| Failure::Failed(format!("standard input cannot be read: {why}"));
    let bytes = read.ok_or_else(|| failed("its reader broke down"))?;
    let bytes = bytes.map_err(|error| failed(&error.to_string()))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST {
        return Err(failed("it has more than 64 MiB; give the part that matters"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        failed(&format!("byte {at} is not UTF-8; convert it to UTF-8 text first"))
    })
}
