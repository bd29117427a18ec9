//! `think config`: the configuration file.

use super::asking::env;
use crate::config::{Report, check};
use crate::failure::Failure;
use crate::printed::for_output;
use clap::{Args, Subcommand};
use std::io::Write;
use std::path::PathBuf;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_json::Writer;

/// Look after the configuration file
#[derive(Debug, Args)]
pub(crate) struct Configuration {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Say everything that is wrong with the configuration file at once
    ///
    /// Errors are what every command refuses: broken TOML, unknown keys, values that make no sense, names that lead
    /// nowhere. Warnings are what it works without, such as a variable for a key that is not set. The exit code is 1
    /// if there is an error.
    Check {
        /// The file, in place of the usual one
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

impl Configuration {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let What::Check { file, json } = &self.what;
        let report = check(file.as_deref(), &env).map_err(Failure::Failed)?;
        if *json {
            writeln!(out, "{}", for_output(&as_json(&report)))?;
        } else {
            as_text(&report, out)?;
        }
        let Some(path) = report.path.as_ref().filter(|_| !report.errors.is_empty()) else {
            return Ok(());
        };
        let (count, path) = (report.errors.len(), path.display());
        let plural = if count == 1 { "" } else { "s" };
        Err(Failure::Failed(format!("`{path}` has {count} error{plural}; correct what is listed")))
    }
}

fn as_text(report: &Report, out: &mut dyn Write) -> Result<(), Failure> {
    for error in &report.errors {
        writeln!(out, "error: {}", harmless(error))?;
    }
    for warning in &report.warnings {
        writeln!(out, "warning: {}", harmless(warning))?;
    }
    match &report.path {
        None => writeln!(out, "there is no configuration file, and none is needed")?,
        Some(path) if report.errors.is_empty() => {
            writeln!(out, "`{}` is fine: {}", path.display(), report.summary)?;
        }
        Some(_) => {}
    }
    Ok(())
}

fn as_json(report: &Report) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        let path = report.path.as_ref().map(|path| path.display().to_string());
        w.str_or_null("file", path.as_deref());
        w.key("errors").array(|w| report.errors.iter().for_each(|error| w.str(error)));
        w.key("warnings").array(|w| report.warnings.iter().for_each(|warning| w.str(warning)));
    });
    w.finish()
}
