//! `think doctor`: examines a gateway, three ways for each scenario.

mod served;
mod table;

use crate::failure::{Failure, say};
use clap::Args;
use served::{Own, Theirs};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use thinkthrough_conformance::doctor::{Gateway, Row, Ward, scenarios};
use tokio::net::TcpListener;

/// The address of the simulators for a gateway that the doctor did not start.
const KNOWN: &str = "127.0.0.1:4115";

/// Examine a gateway: does a client that loses thoughts get through?
///
/// Every scenario is played three ways: by a client that does everything right at a strict simulated provider, by a
/// naive one at the same, and by the naive one through a gateway. The gateway is `think serve`, started for this with
/// a fresh store, or somebody else's with --gateway. The exit code is 1 where a row is not as expected.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think doctor
  think doctor --only edge-04
  think doctor --only switch
  think doctor --gateway http://127.0.0.1:4000

With --gateway, the simulated providers listen on 127.0.0.1:4115, and the models to configure are printed first.")]
pub(crate) struct Doctor {
    /// A configuration file whose settings for reasoning and connections the gateway takes
    #[arg(long, value_name = "FILE", conflicts_with = "gateway")]
    config: Option<PathBuf>,
    /// Examine the gateway at this address instead of our own
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
    /// Only this scenario, or those whose ids begin with this word
    #[arg(long, value_name = "SCENARIO")]
    only: Option<String>,
    /// Print the scenarios, and exit
    #[arg(long)]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let chosen = self.chosen()?;
        if self.list {
            return table::list(&chosen, self.json, out);
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
                Failure::Failed(format!("no thread can be started: {error}; close other programs"))
            })?;
        let rows = runtime.block_on(self.examine(&chosen))?;
        table::print(&rows, self.json, out)?;
        out.flush()?;
        let wrong: Vec<&str> =
            rows.iter().filter(|row| !row.is_expected).map(|row| row.scenario.as_str()).collect();
        if wrong.is_empty() {
            say(format_args!("{} scenarios, all as expected", rows.len()));
            return Ok(());
        }
        let (count, all) = (wrong.len(), rows.len());
        Err(Failure::Failed(format!(
            "{count} of {all} scenarios are not as expected: {}",
            wrong.join(", ")
        )))
    }

    /// The scenarios that are asked for.
    fn chosen(&self) -> Result<Vec<(String, String)>, Failure> {
        let all = scenarios();
        let Some(only) = &self.only else { return Ok(all) };
        let family = format!("{only}-");
        let chosen: Vec<_> =
            all.into_iter().filter(|(id, _)| id == only || id.starts_with(&family)).collect();
        if chosen.is_empty() {
            return Err(Failure::Usage(format!(
                "`--only {only}` names no scenario; `think doctor --list` prints them"
            )));
        }
        Ok(chosen)
    }

    async fn examine(&self, chosen: &[(String, String)]) -> Result<Vec<Row>, Failure> {
        let ward = self.ward().await?;
        let gateway: Box<dyn Gateway> = match &self.gateway {
            Some(url) => {
                table::models(&ward.models());
                Box::new(Theirs::at(url).await?)
            }
            None => {
                let (config, models) = (self.config.clone(), ward.models());
                let begun =
                    tokio::task::spawn_blocking(move || Own::start(config.as_deref(), &models));
                Box::new(begun.await.map_err(|error| Failure::Failed(error.to_string()))??)
            }
        };
        let mut rows = Vec::new();
        for (index, (id, _)) in chosen.iter().enumerate() {
            progress(index, chosen.len(), id);
            rows.extend(ward.examine(id, Some(&*gateway)).await);
        }
        progress(chosen.len(), chosen.len(), "");
        Ok(rows)
    }

    async fn ward(&self) -> Result<Ward, Failure> {
        let address = if self.gateway.is_some() { KNOWN } else { "127.0.0.1:0" };
        let refuse = |error: std::io::Error| {
            Failure::Failed(format!(
                "the simulated providers cannot listen on `{address}`: {error}; end what listens there, such as `think sim`"
            ))
        };
        Ward::open(TcpListener::bind(address).await.map_err(refuse)?).map_err(refuse)
    }
}

/// One line that is written over, on a terminal; a line now and then elsewhere.
fn progress(done: usize, all: usize, id: &str) {
    let mut err = std::io::stderr().lock();
    // Standard error may be redirected to a file.
    if err.is_terminal() {
        let line = if id.is_empty() { String::new() } else { format!("{}/{all} {id}", done + 1) };
        drop(write!(err, "\r\x1b[K{line}"));
        drop(err.flush());
    } else if done.is_multiple_of(20) && !id.is_empty() {
        drop(writeln!(err, "{done} of {all} scenarios"));
    }
}
