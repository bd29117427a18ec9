//! `think traces export`

use super::pages::Pages;
use super::{Part, Wanted};
use crate::config::Config;
use crate::failure::{Failure, say};
use clap::{Args, ValueEnum};
use std::collections::HashSet;
use std::io::Write;
use thinkthrough_store::{Trace, TraceFilter, Traces};

/// The number of traces that are read at once.
const PAGE: usize = 200;

/// Write traces to standard output, the earliest first
#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    wanted: Wanted,
    /// `jsonl` has every column and the items, a trace a line; `md` and `html` are for reading
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Which text goes out; questions, calls and results only with both
    #[arg(long = "in", value_enum, value_name = "WHERE", default_value_t = Part::All)]
    within: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Jsonl,
    Md,
    Html,
}

impl Export {
    pub(super) async fn run(
        &self,
        config: &Config,
        shows: bool,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if !shows && self.within != Part::Answers {
            say(format_args!(
                "thoughts are left out, because `reasoning.includeInResponse` is false"
            ));
        }
        let Some(store) = super::existing(config).await? else { return Ok(()) };
        let with_thoughts = shows && self.within != Part::Answers;
        let pages = Pages { form: self.format, with_thoughts };
        pages.begin(out)?;
        let (keys, mut number) = (keys(&store, self.wanted.filter(u32::MAX)).await?, 0);
        for chunk in keys.rchunks(PAGE) {
            let mut page = page(&store, self.wanted.filter(u32::MAX), chunk).await?;
            if self.within == Part::All {
                store.read_items(&mut page).await?;
            }
            for mut trace in page {
                if self.within == Part::Thoughts {
                    trace.answer.clear();
                }
                pages.trace(number, &trace, out)?;
                number += 1;
            }
        }
        pages.end(out)
    }
}

/// The sort key of a trace: its time and its id.
type Key = (u64, String);

/// Returns the keys of the exported traces, the latest first. Lists begin with the latest trace and an export with
/// the earliest. This reads the keys first, so that only a page of texts is in memory at a time.
async fn keys(store: &Traces, mut filter: TraceFilter) -> Result<Vec<Key>, Failure> {
    let (mut keys, limit) = (Vec::new(), filter.limit as usize);
    filter.brief = Some(1);
    while keys.len() < limit {
        let left = limit - keys.len();
        filter.limit = u32::try_from(left.min(PAGE)).unwrap_or(u32::MAX);
        let page = store.list(filter.clone()).await?;
        let page = page.into_iter().map(|trace| (trace.numbers.created_at, trace.id));
        keys.extend(page);
        let last = keys.last().cloned();
        if last.is_none() || last == filter.after {
            break;
        }
        filter.after = last;
    }
    Ok(keys)
}

/// Returns these traces, the earliest first, without the traces that were deleted meanwhile.
async fn page(store: &Traces, filter: TraceFilter, chunk: &[Key]) -> Result<Vec<Trace>, Failure> {
    let (Some((latest, _)), Some((earliest, _))) = (chunk.first(), chunk.last()) else {
        return Ok(Vec::new());
    };
    let mut filter = TraceFilter {
        since: Some(*earliest),
        until: Some(latest.saturating_add(1)),
        limit: u32::try_from(PAGE).unwrap_or(u32::MAX),
        ..filter
    };
    let wanted: HashSet<&str> = chunk.iter().map(|(_, id)| id.as_str()).collect();
    let mut traces: Vec<Trace> = Vec::with_capacity(chunk.len());
    // Many traces of one moment may be of other chunks.
    while traces.len() < chunk.len() {
        let found = store.list(filter.clone()).await?;
        let Some(last) = found.last() else { break };
        filter.after = Some((last.numbers.created_at, last.id.clone()));
        traces.extend(found.into_iter().filter(|trace| wanted.contains(trace.id.as_str())));
    }
    traces.reverse();
    Ok(traces)
}
