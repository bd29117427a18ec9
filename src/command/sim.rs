//! `think sim`: the simulated providers behind a socket.

use std::io::Write;
use std::sync::Arc;

use clap::Args;
use thinkthrough_conformance::{Fault, LogEntry, SimOptions, list, serve};
use thinkthrough_core::json::Writer;
use tokio::net::TcpListener;

use crate::failure::{Failure, say};

/// Run strict simulated providers, to test clients without keys or costs
///
/// Every simulator is served under `/<id>` followed by its API's own path, so that one base URL is enough. They refuse
/// what the real providers refuse, in the same words. Any credential but an empty one is accepted. A line for each
/// request goes to standard error; it says which thoughts came back, never what is in them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think sim --list
  think sim --listen 127.0.0.1:0
  think sim --fault cut=400                 every answer breaks off after 400 bytes
  think sim --fault status=429,retry-after=2

A single request can ask for a fault with the header `x-sim-fault`.")]
pub(crate) struct Sim {
    /// Where to listen; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4115")]
    listen: String,
    /// What goes wrong: `cut=BYTES`, `stall=MS`, `stall-at=EVENTS`, `status=CODE`, `retry-after=S`, `error-at=EVENTS`, joined by commas
    #[arg(long, value_name = "SPEC")]
    fault: Option<Fault>,
    /// Print the simulators with their wires and rules, and exit
    #[arg(long)]
    list: bool,
    /// With --list: print JSON
    #[arg(long, requires = "list")]
    json: bool,
}

impl Sim {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.list {
            return if self.json { print_json(out) } else { print_table(out) };
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
                Failure::Failed(format!("no thread can be started: {error}; close other programs"))
            })?;
        runtime.block_on(self.serve(out))
    }

    async fn serve(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let listener = TcpListener::bind(&self.listen).await.map_err(|error| {
            Failure::Failed(format!(
                "cannot listen on `{}`: {error}; name another address with `--listen`",
                self.listen
            ))
        })?;
        let log = Arc::new(|entry: &LogEntry| say(format_args!("{entry}")));
        let options = SimOptions { fault: self.fault.clone(), log: Some(log) };
        let running = serve(listener, options).map_err(|error| {
            Failure::Failed(format!(
                "cannot serve on `{}`: {error}; name another address with `--listen`",
                self.listen
            ))
        })?;
        writeln!(out, "listening on http://{}", running.addr())?;
        out.flush()?;
        let abort = running.abort_handle();
        tokio::select! {
            () = running.stopped() => {}
            _ = tokio::signal::ctrl_c() => abort.abort(),
        }
        Ok(())
    }
}

fn print_table(out: &mut dyn Write) -> Result<(), Failure> {
    let rows = list();
    let width = |cell: fn(&thinkthrough_conformance::Listed) -> &str| {
        rows.iter().map(|row| cell(row).len()).max().unwrap_or_default()
    };
    let (ids, wires) = (width(|row| row.id), width(|row| row.wire));
    for row in &rows {
        writeln!(out, "{:ids$}  {:wires$}  {}", row.id, row.wire, row.rule)?;
    }
    Ok(())
}

fn print_json(out: &mut dyn Write) -> Result<(), Failure> {
    let mut json = Writer::new();
    json.array(|w| {
        for row in list() {
            w.object(|w| {
                w.field_str("id", row.id);
                w.field_str("provider", row.provider);
                w.field_str("model", row.model);
                w.field_str("wire", row.wire);
                w.field_str("rule", row.rule);
            });
        }
    });
    writeln!(out, "{}", json.finish())?;
    Ok(())
}
