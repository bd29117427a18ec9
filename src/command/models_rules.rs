//! `think models --rules`: lists models and their contracts.

use std::io::Write;

use thinkthrough_conformance::list;
use thinkthrough_core::provider;
use thinkthrough_json::Writer;

use super::asking::env;
use crate::choose::choose_named;
use crate::config::{Config, ModelEntry};
use crate::failure::Failure;
use crate::printed::for_output;

struct Row {
    name: String,
    provider: String,
    model: String,
    wire: &'static str,
    contract: String,
    source: &'static str,
    rule: String,
}

const BUILT_IN: &str = "built-in";

/// Source of rules for models that are newer than the tables.
const ASSUMED: &str = "assumed";

const CONFIG: &str = "config";

/// Lists the rules whose name and provider match.
pub(super) fn print(
    config: &Config,
    is_wanted: &dyn Fn(&str) -> bool,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut rows = configured(config)?;
    rows.extend(built_in());
    rows.retain(|row| is_wanted(&format!("{} {}", row.name, row.provider)));
    if as_json { print_json(&rows, out) } else { print_table(&rows, out) }
}

/// The models of the configuration, in its order.
fn configured(config: &Config) -> Result<Vec<Row>, Failure> {
    let row = |entry: &ModelEntry| {
        let target = choose_named(config, &entry.name, &env)?.target;
        Ok(Row {
            name: entry.name.clone(),
            provider: entry.provider.clone(),
            wire: target.wire.id(),
            contract: target.rule.contract.summary(),
            model: target.model,
            source: CONFIG,
            rule: target.rule_source,
        })
    };
    config.models.iter().map(row).collect()
}

fn built_in() -> Vec<Row> {
    let mut rows = Vec::new();
    for provider in provider::ALL {
        for endpoint in provider.endpoints {
            rows.extend(endpoint.models.iter().map(|rule| Row {
                name: format!("{}/{}", provider.id, rule.pattern),
                provider: provider.id.to_owned(),
                model: rule.pattern.to_owned(),
                wire: endpoint.wire.as_str(),
                contract: rule.contract.summary(),
                source: if rule.assumed { ASSUMED } else { BUILT_IN },
                rule: format!("{} {}", provider.id, rule.pattern),
            }));
        }
    }
    rows.extend(list().into_iter().map(|simulator| Row {
        name: format!("sim/{}", simulator.id),
        provider: "sim".to_owned(),
        model: simulator.model.to_owned(),
        wire: simulator.wire,
        contract: simulator.rule.to_owned(),
        source: BUILT_IN,
        rule: "simulator".to_owned(),
    }));
    rows
}

fn print_table(rows: &[Row], out: &mut dyn Write) -> Result<(), Failure> {
    let width = |cell: fn(&Row) -> &str| rows.iter().map(|row| cell(row).len()).max().unwrap_or(0);
    let (names, wires) = (width(|row| &row.name), width(|row| row.wire));
    for row in rows {
        write!(out, "{:names$}  {:wires$}  {}", row.name, row.wire, row.contract)?;
        match row.source {
            CONFIG => writeln!(out, "  (rule: {})", row.rule)?,
            ASSUMED => writeln!(out, "  (assumed)")?,
            _ => writeln!(out)?,
        }
    }
    Ok(())
}

fn print_json(rows: &[Row], out: &mut dyn Write) -> Result<(), Failure> {
    let mut json = Writer::new();
    json.array(|w| {
        for row in rows {
            w.object(|w| {
                w.field_str("name", &row.name);
                w.field_str("provider", &row.provider);
                w.field_str("model", &row.model);
                w.field_str("wire", row.wire);
                w.field_str("contract", &row.contract);
                w.field_str("source", row.source);
                w.field_str("rule", &row.rule);
            });
        }
    });
    writeln!(out, "{}", for_output(&json.finish()))?;
    Ok(())
}
