//! `think models`: which models have rules, and what they demand.

use std::io::Write;

use clap::Args;
use thinkthrough_conformance::list;
use thinkthrough_core::json::Writer;
use thinkthrough_core::provider;

use crate::failure::Failure;

/// List what is known about models, and what they demand of the thoughts sent back
///
/// A name with `*` in it is a pattern: the rule holds for every model of the provider that matches it; the first that
/// matches counts.
#[derive(Debug, Args)]
pub(crate) struct Models {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One line of the list.
struct Row {
    name: String,
    provider: &'static str,
    model: &'static str,
    wire: &'static str,
    contract: String,
}

/// Where the built-in rules come from.
const SOURCE: &str = "built-in";

impl Models {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let rows = rows();
        if self.json { print_json(&rows, out) } else { print_table(&rows, out) }
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for provider in provider::ALL {
        for endpoint in provider.endpoints {
            rows.extend(endpoint.models.iter().map(|rule| Row {
                name: format!("{}/{}", provider.id, rule.pattern),
                provider: provider.id,
                model: rule.pattern,
                wire: endpoint.wire,
                contract: rule.contract.summary(),
            }));
        }
    }
    rows.extend(list().into_iter().map(|simulator| Row {
        name: format!("sim/{}", simulator.id),
        provider: "sim",
        model: simulator.model,
        wire: simulator.wire,
        contract: simulator.rule.to_owned(),
    }));
    rows
}

fn print_table(rows: &[Row], out: &mut dyn Write) -> Result<(), Failure> {
    let width = |cell: fn(&Row) -> &str| rows.iter().map(|row| cell(row).len()).max().unwrap_or(0);
    let (names, wires) = (width(|row| &row.name), width(|row| row.wire));
    for row in rows {
        writeln!(out, "{:names$}  {:wires$}  {}", row.name, row.wire, row.contract)?;
    }
    Ok(())
}

fn print_json(rows: &[Row], out: &mut dyn Write) -> Result<(), Failure> {
    let mut json = Writer::new();
    json.array(|w| {
        for row in rows {
            w.object(|w| {
                w.field_str("name", &row.name);
                w.field_str("provider", row.provider);
                w.field_str("model", row.model);
                w.field_str("wire", row.wire);
                w.field_str("contract", &row.contract);
                w.field_str("source", SOURCE);
            });
        }
    });
    writeln!(out, "{}", json.finish())?;
    Ok(())
}
