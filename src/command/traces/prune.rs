//! `think traces prune`

use super::time::Time;
use crate::config::Config;
use crate::confirm::{confirm, may_ask};
use crate::failure::Failure;
use clap::Args;
use std::io::Write;

/// Delete old traces; conversations and thoughts that go back to models stay
///
/// On a terminal it asks first; elsewhere it wants `--yes`.
#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Those before then: an age (`7d`) or a date (`2026-11-23`); else those that are older than `[traces] keep_days`
    #[arg(long, value_name = "TIME")]
    until: Option<Time>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

impl Prune {
    pub(super) async fn run(&self, config: &Config, out: &mut dyn Write) -> Result<(), Failure> {
        let before = match (self.until, config.traces.keep) {
            (Some(time), _) => time.millis(),
            (None, Some(keep)) => {
                let keep = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
                Time::now().saturating_sub(keep)
            }
            (None, None) => {
                let why = "`[traces] keep_days` says that traces are kept for ever; say until when \
                           with `--until`";
                return Err(Failure::Usage(why.to_owned()));
            }
        };
        may_ask("think traces prune", self.yes)?;
        let Some(traces) = super::existing(config).await? else {
            return Ok(writeln!(out, "0 traces deleted")?);
        };
        let count = traces.older_than(before).await?;
        if count > 0 {
            confirm(&format!("Delete {count} traces?"), self.yes)?;
        }
        let gone = traces.prune_older_than(before).await?;
        Ok(writeln!(out, "{gone} traces deleted")?)
    }
}
