//! `think settings`: what holds, and where it comes from.

use super::asking::{Asking, env};
use crate::choose::choose_named;
use crate::failure::Failure;
use crate::printed::for_output;
use clap::Args;
use std::io::Write;
use thinkthrough_core::settings::Key;
use thinkthrough_json::Writer;

/// Show every setting with its value and where it comes from
///
/// Settings come in layers: built-in, model rule, configuration, profile, session (`--set`), request. The strongest
/// layer that says something wins.
#[derive(Debug, Args)]
pub(crate) struct Settings {
    #[command(flatten)]
    asking: Asking,
    /// Print what each setting does and which values it takes
    #[arg(long)]
    reference: bool,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

impl Settings {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.reference {
            return reference(out);
        }
        let config = self.asking.config()?;
        let chosen = match self.asking.named(&config)? {
            Some(name) => Some(choose_named(&config, name, &env)?),
            None => None,
        };
        let resolved = self.asking.settings(&config, chosen.as_ref())?;
        if self.json {
            let mut w = Writer::new();
            w.array(|w| {
                for key in Key::ALL {
                    let (value, source) = resolved.get(key);
                    w.object(|w| {
                        w.field_str("key", key.as_str());
                        w.field_str("value", &value);
                        w.field_str("source", source.as_str());
                    });
                }
            });
            writeln!(out, "{}", for_output(&w.finish()))?;
            return Ok(());
        }
        for key in Key::ALL {
            let (value, source) = resolved.get(key);
            writeln!(out, "{:<28} {value:<12} {}", key.as_str(), source.as_str())?;
        }
        Ok(())
    }
}

fn reference(out: &mut dyn Write) -> Result<(), Failure> {
    for key in Key::ALL {
        writeln!(out, "{}\n    {}\n    values: {}\n", key.as_str(), key.about(), key.allowed())?;
    }
    Ok(())
}
