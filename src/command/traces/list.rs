//! `think traces list`

use super::{Wanted, thought_of};
use crate::config::Config;
use crate::failure::{Failure, say};
use crate::printed::for_output;
use clap::Args;
use std::io::Write;
use thinkthrough_chat::ago;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_json::Writer;
use thinkthrough_store::{Trace, TraceState};

/// The default number of listed traces.
const USUAL: u32 = 50;
/// The number of letters of a thought on a line.
const SHORT: usize = 60;

/// List traces, the latest first
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    wanted: Wanted,
    /// Print a JSON array without the texts; `created_at` is in Unix milliseconds
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) async fn run(
        &self,
        config: &Config,
        shows: bool,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let traces = match super::existing(config).await? {
            Some(traces) => traces.list(self.wanted.filter(USUAL)).await?,
            None => Vec::new(),
        };
        if self.json {
            return print_json(&traces, out);
        }
        if traces.is_empty() {
            say(format_args!("{}", super::NONE));
        }
        for trace in &traces {
            writeln!(out, "{}", line(trace, shows, super::time::Time::now()))?;
        }
        Ok(())
    }
}

fn print_json(traces: &[Trace], out: &mut dyn Write) -> Result<(), Failure> {
    let mut w = Writer::new();
    w.array(|w| {
        for trace in traces {
            let without = Trace { answer: String::new(), why: String::new(), ..trace.clone() };
            without.write(w, false);
        }
    });
    Ok(writeln!(out, "{}", for_output(&w.finish()))?)
}

/// A trace on one line.
fn line(trace: &Trace, shows: bool, now: u64) -> String {
    let numbers = &trace.numbers;
    let age = ago(now.saturating_sub(numbers.created_at) / 1000);
    let thought = thought_of(trace, shows);
    let first: String = thought.lines().next().unwrap_or_default().chars().take(SHORT).collect();
    let ended = match trace.state {
        TraceState::Whole => String::new(),
        state => format!("  [{}]", state.as_str()),
    };
    let (id, model) = (harmless(&trace.id), harmless(&trace.model));
    let tokens = numbers.reasoning_tokens;
    format!("{id}  {age:>10}  {tokens:>6} tokens  {model}{ended}  {}", harmless(&first))
}
