//! The output of `think doctor`.

use crate::failure::{Failure, say};
use crate::printed::for_output;
use std::io::Write;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_conformance::doctor::{Model, Row};
use thinkthrough_json::Writer;

/// The scenarios, each with its sentence.
pub(super) fn list(
    chosen: &[(String, String)],
    as_json: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if as_json {
        let mut json = Writer::new();
        json.array(|w| {
            for (id, says) in chosen {
                w.object(|w| {
                    w.field_str("scenario", id);
                    w.field_str("says", says);
                });
            }
        });
        writeln!(out, "{}", for_output(&json.finish()))?;
        return Ok(());
    }
    let width = chosen.iter().map(|(id, _)| id.len()).max().unwrap_or_default();
    for (id, says) in chosen {
        writeln!(out, "{id:width$}  {says}")?;
    }
    Ok(())
}

/// The rows.
pub(super) fn print(rows: &[Row], as_json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if as_json {
        let mut json = Writer::new();
        json.array(|w| {
            for row in rows {
                w.object(|w| {
                    w.field_str("scenario", &row.scenario);
                    w.field_str("direct", row.direct.word());
                    w.field_str("naive", row.naive.word());
                    w.field_str("gateway", row.gateway.word());
                    w.field_str("reason", &row.reason);
                });
            }
        });
        writeln!(out, "{}", for_output(&json.finish()))?;
        return Ok(());
    }
    let width = rows.iter().map(|row| row.scenario.len()).max().unwrap_or_default();
    let width = width.max("scenario".len());
    writeln!(out, "  {:width$}  direct  naive  gateway  reason", "scenario")?;
    for row in rows {
        let mark = if row.is_expected { ' ' } else { '!' };
        let (direct, naive, gateway) = (row.direct.word(), row.naive.word(), row.gateway.word());
        let (scenario, reason) = (&row.scenario, harmless(&row.reason));
        writeln!(out, "{mark} {scenario:width$}  {direct:6}  {naive:5}  {gateway:7}  {reason}")?;
    }
    Ok(())
}

/// Prints the models that a gateway has to know if the doctor did not start it.
pub(super) fn models(models: &[Model]) {
    say(format_args!(
        "the gateway needs these models; where its base URLs end in `/v1`, add that:"
    ));
    let width = |cell: fn(&Model) -> &str| {
        models.iter().map(|model| cell(model).len()).max().unwrap_or_default()
    };
    let (names, wires) = (width(|it| it.name), width(|it| it.simulator.wire));
    let bases = width(|it| &it.base_url);
    for Model { name, simulator, base_url, key } in models {
        let (wire, model) = (simulator.wire, simulator.model);
        let key = key.unwrap_or("that of the caller");
        say(format_args!(
            "  {name:names$}  {wire:wires$}  {base_url:bases$}  model {model}, key {key}"
        ));
    }
}
