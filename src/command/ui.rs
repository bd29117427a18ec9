//! `think ui`: a link to the viewer of a running gateway.

use super::asking::env;
use crate::config;
use crate::failure::Failure;
use crate::{operator, stored};
use clap::Args;
use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

/// Print a link that signs a browser in to the viewer of the gateway on this machine
///
/// The link lets one browser in within ten minutes, and ends the link before it. Run this as the user of the gateway, in
/// its container if it has one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think ui
  think ui 127.0.0.1:4114
  docker exec my-gateway think ui --config /etc/thinkthrough/config.toml")]
pub(crate) struct Ui {
    /// The address of the viewer; the configuration's `[server] admin_listen` or `listen` if left out
    address: Option<String>,
    /// The configuration file, in place of the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Ui {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let address = self.address()?;
        let refuse = |why: &str| {
            Failure::Failed(format!(
                "the gateway at `{address}` gives no link to its viewer: {why}"
            ))
        };
        let doors = address.to_socket_addrs().map_err(|error| refuse(&error.to_string()))?;
        let link = stored::block_on(async {
            let asked = first(doors).await;
            asked.map_err(|why| refuse(&why))
        })?;
        Ok(writeln!(out, "{link}")?)
    }

    fn address(&self) -> Result<String, Failure> {
        if let Some(given) = &self.address {
            let address = given.trim_start_matches("http://").trim_start_matches("https://");
            return Ok(address.trim_end_matches('/').to_owned());
        }
        let config = config::read(self.config.as_deref(), &env).map_err(Failure::Failed)?;
        Ok(config.server.admin_listen.unwrap_or(config.server.listen))
    }
}

/// The link of the first of these addresses that gives one: a name may stand for several.
async fn first(doors: impl Iterator<Item = SocketAddr>) -> Result<String, String> {
    let mut why = "the name has no address".to_owned();
    for door in doors {
        match operator::ask(door).await {
            Ok(link) => return Ok(link),
            Err(error) => why = error,
        }
    }
    Err(why)
}
