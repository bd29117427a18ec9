//! `think health`: whether a gateway takes work, for whoever balances load or restarts what fails.

use super::asking::env;
use crate::config;
use crate::failure::Failure;
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thinkthrough_client::{Client, ClientConfig, Request};

/// How long a gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than any gateway says of its health.
const MOST: usize = 4096;

/// Ask a gateway whether it takes work
///
/// Prints `ok`, or `degraded` where its store is away or takes nothing, and traffic goes on all the same. The exit code is 1
/// where nobody answers, and where the gateway is closing or cannot know yet who may come in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think health
  think health https://think.example:4114")]
pub(crate) struct Health {
    /// The gateway's address, `HOST:PORT` or a URL without a path; that of the configuration where none is given
    url: Option<String>,
    /// The configuration file, in place of the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Health {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let (url, client) = target(self.url.as_deref(), self.config.as_deref())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(
            |error| {
                Failure::Failed(format!("the runtime cannot start: {error}; close other programs"))
            },
        )?;
        let said = runtime.block_on(async {
            let asked = tokio::time::timeout(PATIENCE, ask(&url, client)).await;
            asked.unwrap_or_else(|_| Err(format!("it says nothing within {PATIENCE:?}")))
        });
        let said = said.map_err(|why| {
            Failure::Failed(format!(
                "the gateway at `{url}` takes no work: {why}; start it, or give its address without a path"
            ))
        })?;
        Ok(writeln!(out, "{said}")?)
    }
}

/// Returns the address of a gateway, or of the configured one by default, and its connection settings.
pub(super) fn target(
    url: Option<&str>,
    file: Option<&Path>,
) -> Result<(String, ClientConfig), Failure> {
    let config = config::read(file, &env).map_err(Failure::Failed)?;
    let scheme = if config.server.tls.is_some() { "https" } else { "http" };
    let listen = config.server.listen.replace("0.0.0.0:", "127.0.0.1:").replace("[::]:", "[::1]:");
    let url = url.unwrap_or(&listen);
    let url = if url.contains("://") { url.to_owned() } else { format!("{scheme}://{url}") };
    Ok((url.trim_end_matches('/').to_owned(), config.client))
}

/// Returns the gateway's answer, or the reason why it takes no work.
pub(super) async fn ask(url: &str, config: ClientConfig) -> Result<String, String> {
    let client = Client::new(config).map_err(|error| error.to_string())?;
    let request = Request::new(http::Method::GET, &format!("{url}/readyz"));
    let request = request.map_err(|error| error.to_string())?;
    let response = client.send(&request).await.map_err(|error| error.to_string())?;
    let status = response.status;
    let said = response.body.collect_up_to(MOST).await.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    match (status.as_u16(), said.as_str()) {
        (200, "ok" | "degraded") => Ok(said),
        (503, why)
            if why.starts_with("store_displaced")
                || matches!(why, "closing" | "keys_unavailable") =>
        {
            Err(format!("it says `{why}`"))
        }
        (status, _) => Err(format!("what answers there with {status} is no gateway")),
    }
}
