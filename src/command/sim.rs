//! `think sim`: serves the simulated providers over HTTP.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use thinkthrough_conformance::{Fault, Left, LogEntry, SimOptions, SimTls, list, serve};
use thinkthrough_json::Writer;

use crate::failure::{Failure, say};
use crate::listen::bind;
use crate::printed::for_output;

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
    /// Where to listen; a port alone is on this machine only, and 0 is any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4115")]
    listen: String,
    /// What goes wrong: `cut=BYTES`, `goaway=BYTES`, `stall=MS`, `stall-at=EVENTS`, `status=CODE`, `retry-after=S`, `error-at=EVENTS`, joined by commas
    #[arg(long, value_name = "SPEC")]
    fault: Option<Fault>,
    /// Speak HTTPS with this certificate, a PEM file; HTTP/2 is spoken with or without it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's key, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Print the simulators with their wires and rules, and exit
    #[arg(long)]
    list: bool,
    /// With --list: print JSON
    #[arg(long, requires = "list")]
    json: bool,
}

impl Sim {
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
        let (listener, _) = bind(&self.listen, "--listen").await?;
        let tls = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        let tls = tls.map(|(cert, key)| SimTls::read(cert, key)).transpose();
        let tls = tls.map_err(Failure::Failed)?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let options = SimOptions {
            fault: self.fault.clone(),
            log: Some(Arc::new(|entry: &LogEntry| say(format_args!("{entry}")))),
            left: Some(Arc::new(|left: &Left| say(format_args!("{left}")))),
            tls,
        };
        let running = serve(listener, options).map_err(|error| {
            Failure::Failed(format!(
                "cannot serve on `{}`: {error}; name another address with `--listen`",
                self.listen
            ))
        })?;
        writeln!(out, "listening on {scheme}://{}", running.addr())?;
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
    writeln!(out, "{}", for_output(&json.finish()))?;
    Ok(())
}
