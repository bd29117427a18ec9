//! `think traces show`

use super::{items, thought_of};
use crate::config::Config;
use crate::failure::{Failure, say};
use crate::printed::for_output;
use clap::Args;
use std::io::Write;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_core::price::Dollars;
use thinkthrough_json::{Raw, Writer};
use thinkthrough_store::Trace;

/// Show one trace: what was thought and answered, what it cost, and why the request went out as it did
///
/// The id is the one that the answer's `x-thinkthrough` header names behind `trace=`.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The trace
    #[arg(value_name = "ID")]
    id: String,
    /// Print a JSON object with the names of the columns
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) async fn run(
        &self,
        config: &Config,
        shows: bool,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let found = match super::existing(config).await? {
            Some(traces) => traces.get(&self.id).await?,
            None => None,
        };
        let trace = found.ok_or_else(|| {
            let id = harmless(&self.id);
            Failure::Failed(format!("there is no trace `{id}`; `think traces list` shows them"))
        })?;
        if self.json {
            let mut w = Writer::new();
            trace.write(&mut w, shows);
            return Ok(writeln!(out, "{}", for_output(&w.finish()))?);
        }
        out.write_all(page(&trace, shows).as_bytes())?;
        say(format_args!("in the viewer: {}/ui/#/trace/{}", viewer(config), trace.id));
        Ok(())
    }
}

/// Returns the address of the viewer of `think serve` with this configuration.
fn viewer(config: &Config) -> String {
    let server = &config.server;
    let scheme = if server.tls.is_some() { "https" } else { "http" };
    let address = server.admin_listen.as_ref().unwrap_or(&server.listen);
    format!("{scheme}://{address}")
}

/// Returns the cost, and the date of its price.
fn cost_of(trace: &Trace) -> String {
    let Some(cost) = trace.numbers.cost else { return "not known".to_owned() };
    let metadata = Raw::parse(&trace.metadata).ok();
    let day = metadata.and_then(|raw| raw.doc().root().string("price_as_of"));
    let day = day.map(|day| format!(", at the price of {day}")).unwrap_or_default();
    format!("${}{day}", Dollars(cost))
}

/// A trace as a person reads it.
fn page(trace: &Trace, shows: bool) -> String {
    let numbers = &trace.numbers;
    let count = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |it| it.to_string());
    let mut page = String::new();
    let [asked, effort] = items::asked(trace);
    let given = [("asked", asked), ("effort", effort)];
    let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let facts = [
        ("trace", trace.id.clone()),
        ("model", format!("{} ({})", trace.model, trace.provider)),
        ("session", trace.session.clone()),
        ("run", trace.run.clone()),
        ("tenant", trace.tenant.clone()),
        ("ended", trace.state.as_str().to_owned()),
        (
            "tokens",
            format!(
                "{} of thoughts, {} in, {} out, {} in all",
                numbers.reasoning_tokens,
                count(numbers.input_tokens),
                count(numbers.output_tokens),
                numbers.total_tokens
            ),
        ),
        ("cost", cost_of(trace)),
        ("took", format!("{} ms", numbers.duration)),
    ];
    for (name, value) in facts.into_iter().chain(given) {
        page.push_str(&format!("{name:<8} {}\n", harmless(&value)));
    }
    let mut add = |heading: &str, text: &str| {
        page.push_str(&format!("\n{}:\n{}\n", harmless(heading), harmless(text)));
    };
    let [before, behind] = items::parts(trace);
    before.iter().for_each(|part| add(&part.heading, part.text));
    add("thought", &thought_of(trace, shows));
    add("answer", &trace.answer);
    behind.iter().for_each(|part| add(&part.heading, part.text));
    items::left_out(trace).iter().for_each(|note| page.push_str(&format!("\n{note}\n")));
    let why = super::why::lines(trace, shows);
    if !why.is_empty() {
        page.push_str(&format!("\nwhy:\n  {}\n", why.join("\n  ")));
    }
    page
}
