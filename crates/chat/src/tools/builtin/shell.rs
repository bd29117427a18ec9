//! Runs a command in the user's shell, in a process group of its own.

use super::Plan;
use super::capped::Capped;
use super::secrets::speaks_of_secrets;
use crate::guardian::{Guardian, group_of};
use crate::tools::source::{Given, Job};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use thinkthrough_core::content::Parameters;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Child;
use tokio::time::{Instant, sleep_until, timeout};

pub(in crate::tools) const NAME: &str = "shell";
pub(super) const DESCRIPTION: &str = "Run a command in the user's shell, in the working directory. Gives what it \
     prints, errors included, and its exit code. It has no terminal and no input.";
pub(super) const PARAMETERS: &str = r#"{"type":"object","properties":{"command":{"type":"string","description":"The command line."},"timeout_seconds":{"type":"integer","description":"How long it may take, at most 600.","default":120}},"required":["command"]}"#;

const DEFAULT_SECONDS: u64 = 120;
pub(in crate::tools) const MAX_SECONDS: u64 = 600;
/// How long a group may take to end after it was asked to.
const GRACE: Duration = Duration::from_millis(250);
/// How long output is read after the command has ended, because processes in the background may hold the pipe open.
const REST: Duration = Duration::from_millis(200);

pub(super) fn plan(parameters: &Parameters) -> Result<Plan, String> {
    let (command, _) = command(parameters)?;
    let title = format!("run `{command}`");
    Ok(Plan { grant: title.clone(), title, reason: None, change: None })
}

fn command(parameters: &Parameters) -> Result<(String, Duration), String> {
    let Parameters::Json(arguments) = parameters else {
        return Err("the arguments are not JSON; call again with an object".to_owned());
    };
    let doc = arguments.doc();
    let arguments = doc.root();
    let command = arguments.string("command").filter(|command| !command.trim().is_empty());
    let command = command.ok_or("`command` is missing; say what to run")?;
    let seconds = arguments.u64("timeout_seconds").unwrap_or(DEFAULT_SECONDS);
    Ok((command, Duration::from_secs(seconds.clamp(1, MAX_SECONDS))))
}

pub(super) async fn run(
    folder: &Path,
    hidden: &[String],
    parameters: &Parameters,
    job: Job<'_>,
) -> Given {
    let (command, limit) = match command(parameters) {
        Ok(asked) => asked,
        Err(error) => return Given::error(&error),
    };
    match Running::start(folder, hidden, &command) {
        Ok(mut running) => running.finish(limit, job).await,
        Err(error) => Given::error(&format!("the shell cannot be started: {error}")),
    }
}

/// A running command. Dropping it kills it with all processes that it started.
struct Running {
    child: Child,
    group: Option<Pid>,
    pipe: Receiver,
    output: Capped,
    /// Ends the group if our process is killed.
    _guardian: Option<Guardian>,
}

enum End {
    Exited(ExitStatus),
    Stopped,
    TimedOut,
}

impl Running {
    fn start(folder: &Path, hidden: &[String], command: &str) -> io::Result<Self> {
        // Both streams share a pipe, so that their lines keep their order.
        let (reader, writer) = io::pipe()?;
        // Without a guardian the command still runs, in a group of its own.
        let guardian = Guardian::start().ok();
        let group = guardian.as_ref().map(Guardian::group);
        let shell = std::env::var_os("SHELL").filter(|shell| Path::new(shell).is_absolute());
        let mut start = tokio::process::Command::new(shell.unwrap_or_else(|| "/bin/sh".into()));
        start
            .arg("-c")
            .arg(command)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(group.map_or(0, |group| group.as_raw_nonzero().get()))
            .kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if speaks_of_secrets(&text) || hidden.iter().any(|hidden| *hidden == text) {
                start.env_remove(&name);
            }
        }
        start.envs([("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat")]);
        let child = start.spawn()?;
        // The command holds the writing ends of the pipe, so that the pipe ends when all of them are closed.
        drop(start);
        let group = group.or_else(|| group_of(&child));
        let pipe = Receiver::from_owned_fd(reader.into())?;
        Ok(Running { child, group, pipe, output: Capped::default(), _guardian: guardian })
    }

    async fn finish(&mut self, limit: Duration, job: Job<'_>) -> Given {
        let deadline = Instant::now() + limit;
        let end = loop {
            tokio::select! {
                biased;
                () = job.stop.cancelled() => break End::Stopped,
                () = sleep_until(deadline) => break End::TimedOut,
                more = read(&mut self.pipe, &mut self.output, job) => if !more {
                    break match timeout(deadline - Instant::now(), self.child.wait()).await {
                        Ok(Ok(status)) => End::Exited(status),
                        Ok(Err(error)) => return Given::error(&format!("the command was lost: {error}")),
                        Err(_) => End::TimedOut,
                    };
                },
                Ok(status) = self.child.wait() => {
                    let rest = async { while read(&mut self.pipe, &mut self.output, job).await {} };
                    // A process that still writes was left in the background on purpose.
                    let _ = timeout(REST, rest).await;
                    break End::Exited(status);
                }
            }
        };
        let note = match &end {
            End::Exited(status) if status.success() => return self.give("", false),
            End::Exited(status) => format!("[{status}]"),
            End::Stopped => "[stopped by the user]".to_owned(),
            End::TimedOut => format!("[stopped after {} s]", limit.as_secs()),
        };
        if !matches!(end, End::Exited(_)) {
            self.kill(job).await;
        }
        self.give(&note, true)
    }

    /// Asks the group to end, then kills it.
    async fn kill(&mut self, job: Job<'_>) {
        self.signal(Signal::TERM);
        let rest = async {
            while read(&mut self.pipe, &mut self.output, job).await {}
            let _ = self.child.wait().await;
        };
        let _ = timeout(GRACE, rest).await;
        self.signal(Signal::KILL);
        let _ = timeout(GRACE, self.child.wait()).await;
        self.group = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // An error means that the group has already ended.
            let _ = kill_process_group(group, signal);
        }
    }

    fn give(&mut self, note: &str, is_error: bool) -> Given {
        if note.is_empty() {
            self.group = None;
        }
        let mut text = self.output.text();
        if text.is_empty() && note.is_empty() {
            text.push_str("[no output]");
        }
        if !text.is_empty() && !text.ends_with('\n') && !note.is_empty() {
            text.push('\n');
        }
        text.push_str(note);
        Given { is_error, ..Given::text(&text) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Reads once, and returns whether there may be more.
async fn read(pipe: &mut Receiver, output: &mut Capped, job: Job<'_>) -> bool {
    let mut buffer = [0; 8192];
    match pipe.read(&mut buffer).await {
        Ok(0) | Err(_) => false,
        Ok(count) => {
            let bytes = buffer.get(..count).unwrap_or_default();
            output.push(bytes);
            (job.output)(&String::from_utf8_lossy(bytes));
            true
        }
    }
}
