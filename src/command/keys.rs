//! `think keys`: who may use the gateway, and the master key.

use super::asking::env;
use crate::config;
use crate::failure::{Failure, say};
use crate::stored;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thinkthrough_core::json::Writer;
use thinkthrough_store::{GatewayKey, NewKey};

/// Make, list and revoke keys of the gateway, and back the master key up
///
/// Each key is a tenant of its own: what is kept for one is never found for another. Only a digest of a key is stored.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think keys create alice
  think keys list --json
  think keys revoke alice
  think keys backup /media/stick/thinkthrough.key")]
pub(crate) struct Keys {
    #[command(subcommand)]
    what: What,
    /// The configuration file, in place of the usual one
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make a key; it and its digest are printed once, and never again
    Create {
        /// Whose key it is
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the keys, without the keys themselves
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a key back; every gateway refuses it within five seconds
    Revoke {
        /// Whose key it is
        name: String,
    },
    /// Write the master key into a file of its own
    Backup {
        /// The file, which must not be there yet
        file: PathBuf,
    },
}

/// Where keys of the store come from.
const STORE: &str = "store";

impl Keys {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = config::read(self.config.as_deref(), &env).map_err(Failure::Failed)?;
        stored::block_on(async {
            match &self.what {
                What::Create { name, json } => {
                    let new = stored::open(&config).await?.gateway_keys().create(name).await?;
                    print_new(name, &new, *json, out)
                }
                What::List { json } => {
                    let keys = match stored::existing(&config).await? {
                        Some(store) => store.gateway_keys().list().await?,
                        None => Vec::new(),
                    };
                    if *json { print_json(&keys, out) } else { print_table(&keys, out) }
                }
                What::Revoke { name } => {
                    let store = stored::existing(&config).await?.ok_or_else(|| {
                        Failure::Failed(format!("there is no store yet, and so no key `{name}`"))
                    })?;
                    store.gateway_keys().revoke(name).await?;
                    say(format_args!("key `{name}` is revoked; what it was used for is kept"));
                    Ok(())
                }
                What::Backup { file } => backup(&config, file).await,
            }
        })
    }
}

/// The store is opened with the key first, so that no wrong one is backed up.
async fn backup(config: &config::Config, file: &Path) -> Result<(), Failure> {
    let (location, key) = stored::place(config)?;
    let store = stored::existing(config).await?.ok_or_else(|| {
        Failure::Failed(format!("the store `{location}` does not exist yet, and so has no key"))
    })?;
    drop(store);
    key.backup(&location.to_string(), file)?;
    say(format_args!("the master key of `{location}` is in `{}`", file.display()));
    say(format_args!(
        "keep it apart from the store: whoever has both can read everything, and without the key nobody can, \
         not even you: a lost key is a lost vault"
    ));
    Ok(())
}

fn print_new(name: &str, new: &NewKey, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if json {
        let mut w = Writer::new();
        w.object(|w| {
            w.field_str("name", name);
            w.field_str("key", &new.secret);
            w.field_str("hash", &new.hash.to_string());
        });
        writeln!(out, "{}", w.finish())?;
    } else {
        writeln!(out, "key   {}\nhash  {}", *new.secret, new.hash)?;
    }
    say(format_args!("the key is shown this once; clients send it as their API key"));
    Ok(())
}

fn print_json(keys: &[GatewayKey], out: &mut dyn Write) -> Result<(), Failure> {
    let mut w = Writer::new();
    w.array(|w| {
        for key in keys {
            w.object(|w| {
                w.field_str("name", &key.name);
                w.field_u64("createdAt", key.created_at);
                w.field_bool("revoked", key.is_revoked);
                w.field_str("source", STORE);
            });
        }
    });
    writeln!(out, "{}", w.finish())?;
    Ok(())
}

fn print_table(keys: &[GatewayKey], out: &mut dyn Write) -> Result<(), Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let widest = keys.iter().map(|key| key.name.chars().count()).max().unwrap_or_default();
    for key in keys {
        let days = now.saturating_sub(key.created_at.into()) / (24 * 60 * 60 * 1000);
        let made = match days {
            0 => "made today".to_owned(),
            1 => "made yesterday".to_owned(),
            days => format!("made {days} days ago"),
        };
        let state = if key.is_revoked { "revoked" } else { "holds" };
        writeln!(out, "{:<widest$}  {state:<7}  {made}", key.name)?;
    }
    Ok(())
}
