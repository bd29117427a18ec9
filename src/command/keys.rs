//! `think keys`: who may use the gateway, and the master key.

use super::asking::env;
use crate::config;
use crate::failure::{Failure, say};
use crate::printed::for_output;
use crate::stored::{self, Place};
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thinkthrough_json::Writer;
use thinkthrough_store::{GatewayKey, NewKey, Store};

/// Make, list and revoke keys of the gateway, and rotate the master key or back it up
///
/// Each key is a tenant of its own: what is kept for one is never found for another. Only a digest of a key is stored.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think keys create alice
  think keys list --json
  think keys revoke alice
  think keys rotate
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
    /// Change the master key, and lock what comes from now on with new keys; gateways go on meanwhile
    #[command(
        long_about = "Change the master key, and give every tenant a new key for what comes from now on.\n\nGateways go \
                      on meanwhile, and what was stored before stays readable. For an SQLite store with a key file the \
                      new key is made; otherwise it is the one that stands behind the old one in `[store] key`: two keys \
                      with white space between them, of which the one that fits is used. Keys of callers stay as they \
                      are."
    )]
    Rotate,
    /// Write the master key into a file of its own
    Backup {
        /// The file, which must not be there yet
        file: PathBuf,
    },
}

/// The name for keys from the store, as the source of a key.
const STORE: &str = "store";

impl Keys {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = config::read(self.config.as_deref(), &env).map_err(Failure::Failed)?;
        stored::block_on(async {
            match &self.what {
                What::Create { name, json } => {
                    let new_store = stored::introduction(&config);
                    let store = stored::open(&config).await?;
                    new_store.iter().for_each(|new| say(format_args!("{new}")));
                    let new = store.gateway_keys().create(name).await?;
                    store.close().await;
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
                    store.close().await;
                    say(format_args!("key `{name}` is revoked; what it was used for is kept"));
                    Ok(())
                }
                What::Rotate => rotate(&config).await,
                What::Backup { file } => backup(&config, file).await,
            }
        })
    }
}

/// Opens the store, which must already exist for a change of its keys.
async fn with_keys(config: &config::Config) -> Result<Store, Failure> {
    let location = stored::place(config)?.location;
    stored::existing(config).await?.ok_or_else(|| {
        Failure::Failed(format!("the store `{location}` does not exist yet, and so has no key"))
    })
}

async fn rotate(config: &config::Config) -> Result<(), Failure> {
    let Place { location, key: source, .. } = stored::place(config)?;
    let rotation = with_keys(config).await?.rotate_keys(&location).await?;
    match rotation.tenants {
        Some(tenants) => say(format_args!(
            "the master key of `{location}` is new, and so are the keys of {} for what comes from now on",
            if tenants == 1 { "1 tenant".to_owned() } else { format!("{tenants} tenants") }
        )),
        None => say(format_args!(
            "the master key of `{location}` had been changed before; the one before it is put away now"
        )),
    }
    if rotation.has_old {
        say(format_args!(
            "{source} gives the old key still; take it out, so that only the new one is left"
        ));
    }
    if rotation.lingers {
        say(format_args!(
            "the log of `{location}` shows how keys were locked before until no other process reads it"
        ));
    }
    say(format_args!(
        "back the new key up with `think keys backup FILE`; a copy of the store that was made before opens with the old \
         key only"
    ));
    Ok(())
}

/// The store is opened with the key first, so that no wrong one is backed up.
async fn backup(config: &config::Config, file: &Path) -> Result<(), Failure> {
    let location = stored::place(config)?.location;
    with_keys(config).await?.backup_key(file)?;
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
        writeln!(out, "{}", for_output(&w.finish()))?;
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
    writeln!(out, "{}", for_output(&w.finish()))?;
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
