//! A server that runs as a child process.

use crate::guardian::{Guardian, group_of};
use crate::tools::speaks_of_secrets;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thinkthrough_client::Secret;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// How long a server may take to end after its input is closed, and again after it is asked to end. On a busy machine
/// one second is not enough.
const GRACE: Duration = Duration::from_secs(2);
/// How many bytes of its error output are kept.
const LAST_WORDS: usize = 2048;

/// A running program. Dropping it kills it with all processes that it started.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    group: Option<Pid>,
    said: Arc<Mutex<Vec<u8>>>,
    /// Ends the group if our process is killed, because not every server ends with its input.
    _guardian: Option<Guardian>,
}

impl Program {
    /// Starts the program, and returns it with its output and input, over which the protocol runs.
    pub(super) fn start(
        command: &[String],
        env: &[(String, Secret)],
        folder: &Path,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| io::Error::other("no program is named"))?;
        // Without a guardian the server still runs, in a group of its own.
        let guardian = Guardian::start().ok();
        let group = guardian.as_ref().map(Guardian::group);
        let mut start = Command::new(program);
        start
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(group.map_or(0, |group| group.as_raw_nonzero().get()))
            .kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            if speaks_of_secrets(&name.to_string_lossy()) {
                start.env_remove(&name);
            }
        }
        start.envs(env.iter().map(|(name, value)| (name, value.expose())));
        let mut child = start.spawn()?;
        let lost = || io::Error::other("its streams are lost");
        let stdout = child.stdout.take().ok_or_else(lost)?;
        let stdin = child.stdin.take().ok_or_else(lost)?;
        let mut stderr = child.stderr.take().ok_or_else(lost)?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        // This task ends when the program closes its error stream, at the latest when the program ends.
        tokio::spawn(async move {
            let mut buffer = [0; 1024];
            while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
                let over = kept.len().saturating_sub(LAST_WORDS);
                kept.drain(..over);
            }
        });
        let group = group.or_else(|| group_of(&child));
        Ok((Program { child, group, said, _guardian: guardian }, stdout, stdin))
    }

    /// The last line of its error output.
    pub(super) fn last_words(&self) -> Option<String> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said).into_owned();
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    }

    /// Waits for its end, then asks it to end, then kills it.
    pub(super) async fn end(mut self) {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.signal(Signal::TERM);
            let _ = timeout(GRACE, self.child.wait()).await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
