//! `think traces`: masked copies of requests and answers, for people.

mod export;
mod import;
mod items;
mod list;
mod pages;
mod prune;
mod search;
mod show;
mod time;
mod why;

use super::asking::Asking;
use crate::config::Config;
use crate::failure::Failure;
use crate::stored;
use clap::{Args, Subcommand, ValueEnum};
use std::io::Write;
use std::path::PathBuf;
use thinkthrough_store::{Trace, TraceFilter, Traces as Store};
use time::Time;

/// List, show, search, export and import what models thought
///
/// Each request through the gateway leaves a trace: what the model thought and answered, what it cost, and how it ended.
/// Secrets are masked before a trace is written. Traces are for people; what goes back to a model is kept apart, sealed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think traces list --since 2h
  think traces show 56f068b34d102302a6b4b271f82c91f9
  think traces search --in thoughts \"race condition\"
  think traces export --session nightly --format md > nightly.md")]
pub(crate) struct Traces {
    #[command(subcommand)]
    what: What,
    /// The configuration file, in place of the usual one
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum What {
    List(list::List),
    Show(show::Show),
    Search(search::Search),
    Export(export::Export),
    Import(import::Import),
    Prune(prune::Prune),
}

/// Which traces are wanted.
#[derive(Clone, Debug, Default, Args)]
struct Wanted {
    /// Of this session only
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Of this model only
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Of this provider only
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// From then on: an age (`30m`, `2h`, `7d`) or a date (`2026-11-23`, `2026-11-23T08:30:00Z`)
    #[arg(long, value_name = "TIME")]
    since: Option<Time>,
    /// Until then
    #[arg(long, value_name = "TIME")]
    until: Option<Time>,
    /// At most this many
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

/// The message on standard error if no trace matches.
const NONE: &str = "no trace was found";

/// Which text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Part {
    /// What models thought
    Thoughts,
    /// What models answered
    Answers,
    /// Both
    #[default]
    All,
}

impl Wanted {
    fn filter(&self, usual: u32) -> TraceFilter {
        TraceFilter {
            session: self.session.clone(),
            model: self.model.clone(),
            provider: self.provider.clone(),
            since: self.since.map(Time::millis),
            until: self.until.map(Time::millis),
            limit: self.limit.unwrap_or(usual),
            ..TraceFilter::default()
        }
    }
}

impl Traces {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        stored::block_on(self.act(out))
    }

    async fn act(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let asking =
            Asking { model: None, config: self.config.clone(), profile: None, set: Vec::new() };
        let config = asking.config()?;
        // `includeInResponse = false` hides thoughts in this command as well.
        let shows = asking.settings(&config, None)?.include_in_response.value;
        match &self.what {
            What::List(list) => list.run(&config, shows, out).await,
            What::Show(show) => show.run(&config, shows, out).await,
            What::Search(search) => search.run(&config, shows, out).await,
            What::Export(export) => export.run(&config, shows, out).await,
            What::Import(import) => import.run(&config, out).await,
            What::Prune(prune) => prune.run(&config, out).await,
        }
    }
}

/// The traces of the store, if a store exists.
async fn existing(config: &Config) -> Result<Option<Store>, Failure> {
    Ok(stored::existing(config).await?.map(|store| store.traces()))
}

/// The text for a thought in a list: its first words, or the reason why it has none.
fn thought_of(trace: &Trace, shows: bool) -> String {
    let sealed = trace.numbers.sealed_bytes;
    match trace.thought.trim() {
        _ if !shows => "(thoughts are not shown)".to_owned(),
        "" if sealed > 0 => format!("sealed, {sealed} bytes, by {}", trace.provider),
        "" if trace.numbers.reasoning_tokens > 0 => "thought, text withheld".to_owned(),
        "" => "no thought".to_owned(),
        thought => thought.to_owned(),
    }
}
