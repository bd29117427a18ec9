//! `think traces import`

use crate::audit::masker;
use crate::config::Config;
use crate::failure::Failure;
use crate::stored;
use clap::Args;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// Add the traces of another program, masked
///
/// Reads a SQLite file with a table `reasoning_traces` and does not change it. Its traces get the tenant `local`; one that
/// was added before is not added again.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The SQLite file
    file: PathBuf,
}

impl Import {
    pub(super) async fn run(&self, config: &Config, out: &mut dyn Write) -> Result<(), Failure> {
        let store = stored::open(config).await?;
        let masker = masker(config, &store);
        let count = store.import_traces(&self.file, &masker, &mut progress).await?;
        show("");
        let traces = if count == 1 { "trace is" } else { "traces are" };
        let age = config.traces.keep.map_or_else(String::new, |keep| {
            let days = keep.as_secs() / (24 * 60 * 60);
            format!("; `think serve` deletes those older than {days} days (`[traces] keep_days`)")
        });
        Ok(writeln!(out, "{count} {traces} in the store now{age}")?)
    }
}

fn progress(count: u64) {
    show(&format!("{count} traces"));
}

/// Overwrites the current line of standard error, if it is a terminal.
fn show(line: &str) {
    let mut err = std::io::stderr().lock();
    if err.is_terminal() {
        // The terminal may be gone.
        drop(write!(err, "\r\x1b[K{line}").and_then(|()| err.flush()));
    }
}
