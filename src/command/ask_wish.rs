//! Further parameters of `think ask`: a temperature, and the format of the answer.

use crate::failure::Failure;
use clap::Args;
use std::path::{Path, PathBuf};
use thinkthrough_core::request::{AnswerFormat, Request};
use thinkthrough_json::{Doc, Raw};

/// Options for the request itself.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct Wish {
    /// The sampling temperature, as the model's provider counts it
    #[arg(long, value_name = "T", value_parser = temperature)]
    temperature: Option<String>,
    /// Ask for an answer in JSON of the JSON schema in this file
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
}

impl Wish {
    pub(super) fn has_schema(&self) -> bool {
        self.schema.is_some()
    }

    /// The request parameters, without messages.
    pub(super) fn read(&self) -> Result<Request, Failure> {
        let temperature = self.temperature.as_deref().and_then(|it| Raw::parse(it).ok());
        let format = self.schema.as_deref().map(format).transpose()?;
        Ok(Request { temperature, format, ..Request::default() })
    }
}

/// Checks for a JSON number of at least 0.
fn temperature(text: &str) -> Result<String, String> {
    let number = text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
    let is_json = Raw::parse(text).is_ok();
    number
        .filter(|_| is_json)
        .map(|_| text.to_owned())
        .ok_or_else(|| "it must be a number from 0 on, such as 0.7".to_owned())
}

fn format(path: &Path) -> Result<AnswerFormat, Failure> {
    let failed = |why: &str| {
        Failure::Failed(format!(
            "`{}` is no JSON schema: {why}; give a file with a JSON object",
            path.display()
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error.to_string()))?;
    let doc = Doc::parse_str(&text).map_err(|error| failed(&format!("it is {error}")))?;
    if !doc.root().is_object() {
        return Err(failed("it is no object"));
    }
    let schema = Raw::parse(&text).map_err(|error| failed(&error.to_string()))?;
    Ok(AnswerFormat::Schema { name: None, schema, strict: None })
}
