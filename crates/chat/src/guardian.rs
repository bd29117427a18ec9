//! Ends our child processes after we are gone. A killed process cannot clean up, so that another process has to
//! watch.

use rustix::process::Pid;
use std::io;
use std::process::Stdio;
use tokio::process::{Child, Command};

/// Waits for the end of its input, then ends its own process group.
const SCRIPT: &str = "trap '' HUP INT QUIT TERM; read -r _; kill -s KILL 0";

/// A small process that outlives us for a moment. It starts before the processes that it guards, and they join its
/// process group.
#[derive(Debug)]
pub(crate) struct Guardian {
    child: Child,
    group: Pid,
}

impl Guardian {
    /// Starts a process group, and kills it when our process ends.
    pub(crate) fn start() -> io::Result<Self> {
        // Only we hold the writing end of its input, and we never write. So the input ends when we end, whether we
        // exit or are killed.
        let child = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = group_of(&child).ok_or(io::ErrorKind::NotFound)?;
        Ok(Guardian { child, group })
    }

    /// Its process group.
    pub(crate) fn group(&self) -> Pid {
        self.group
    }
}

/// The process group that a child leads.
pub(crate) fn group_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Kill the guardian before its input ends, so that processes left in the background on purpose survive.
        let _ = self.child.start_kill();
    }
}
