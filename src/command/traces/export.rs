//! `think traces export`

use super::{Part, Wanted};
use crate::config::Config;
use crate::failure::{Failure, say};
use clap::{Args, ValueEnum};
use std::io::Write;
use thinkthrough_chat::export::{Exported, ThoughtForm, to_html, to_markdown};
use thinkthrough_core::content::{Block, Content, Speaker, Text, Thinking};
use thinkthrough_core::json::Writer;
use thinkthrough_store::{Trace, TraceFilter, Traces};

/// So many traces are read at once.
const PAGE: u32 = 200;

/// Write traces to standard output, the earliest first
#[derive(Debug, Args)]
pub(super) struct Export {
    #[command(flatten)]
    wanted: Wanted,
    /// `jsonl` has every column, a trace a line; `md` and `html` are for reading
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// Which text goes out
    #[arg(long = "in", value_enum, value_name = "WHERE", default_value_t = Part::All)]
    within: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
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
        let mut traces = all(&store, self.wanted.filter(u32::MAX)).await?;
        traces.reverse();
        let with_thoughts = shows && self.within != Part::Answers;
        for trace in &mut traces {
            if self.within == Part::Thoughts {
                trace.answer.clear();
            }
        }
        let text = match self.format {
            Format::Jsonl => {
                for trace in &traces {
                    let mut w = Writer::new();
                    trace.write(&mut w, with_thoughts);
                    writeln!(out, "{}", w.finish())?;
                }
                return Ok(());
            }
            Format::Md => to_markdown(&exported(&traces, with_thoughts), ThoughtForm::Callout),
            Format::Html => to_html(&exported(&traces, with_thoughts)),
        };
        Ok(out.write_all(text.as_bytes())?)
    }
}

/// Page by page, so that the store is free for others in between.
async fn all(store: &Traces, mut filter: TraceFilter) -> Result<Vec<Trace>, Failure> {
    let (mut traces, limit) = (Vec::new(), filter.limit as usize);
    loop {
        let left = u32::try_from(limit - traces.len()).unwrap_or(u32::MAX);
        filter.limit = left.min(PAGE);
        let page = store.list(filter.clone()).await?;
        let Some(last) = page.last() else { return Ok(traces) };
        filter.after = Some((last.numbers.created_at, last.id.clone()));
        traces.extend(page);
        if traces.len() >= limit {
            return Ok(traces);
        }
    }
}

fn exported(traces: &[Trace], with_thoughts: bool) -> Exported {
    let contents = traces.iter().map(|trace| {
        let mut blocks = Vec::new();
        if with_thoughts && !trace.thought.is_empty() {
            let mut thinking = Thinking::new(&*trace.thought, "trace");
            thinking.duration_ms = None;
            blocks.push(Block::Thinking(thinking));
        }
        let sealed = trace.numbers.sealed_bytes;
        if with_thoughts && trace.thought.is_empty() && sealed > 0 {
            let note = format!("[sealed, {sealed} bytes, by {}]\n\n", trace.provider);
            blocks.push(Block::Text(Text::new(&*note)));
        }
        blocks.push(Block::Text(Text::new(&*trace.answer)));
        Content::new(Speaker::Ai, blocks)
    });
    Exported { title: None, contents: contents.collect() }
}
