//! Tools that the model may call: reading files inside one folder.

mod folder;
mod list;
mod read;
mod search;

pub use folder::ToolboxError;

use folder::Folder;
use std::path::Path;
use thinkthrough_core::content::{Parameters, ToolCall, ToolResponse};
use thinkthrough_core::json::{Doc, Extra, Raw, Val};
use thinkthrough_core::request::Tool;

/// The read-only tools, bound to one folder.
#[derive(Debug)]
pub struct Toolbox {
    folder: Folder,
}

/// One tool: what the model is told about it, and what it does.
struct Spec {
    name: &'static str,
    description: &'static str,
    parameters: &'static str,
    run: fn(&Folder, Val<'_>) -> Result<String, String>,
}

const TOOLS: [Spec; 3] = [list::SPEC, read::SPEC, search::SPEC];

impl Toolbox {
    /// Tools that see `folder` and what is below it.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn new(folder: &Path) -> Result<Self, ToolboxError> {
        Ok(Toolbox { folder: Folder::open(folder)? })
    }

    /// What a request offers.
    #[must_use]
    pub fn offers(&self) -> Vec<Tool> {
        TOOLS
            .iter()
            .map(|tool| Tool::Function {
                name: tool.name.to_owned(),
                description: Some(tool.description.to_owned()),
                parameters: Raw::parse(tool.parameters).ok(),
                extra: Extra::default(),
            })
            .collect()
    }

    /// Runs a call. What goes wrong is told to the model.
    #[must_use]
    pub fn call(&self, call: &ToolCall) -> ToolResponse {
        let outcome = self.outcome(call);
        let is_error = outcome.is_err();
        let text = outcome.unwrap_or_else(|error| error);
        ToolResponse {
            call_id: call.id.clone(),
            name: Some(call.name.clone()),
            result: Raw::string(&text),
            is_error,
            extra: Extra::default(),
        }
    }

    fn outcome(&self, call: &ToolCall) -> Result<String, String> {
        let tool = TOOLS.iter().find(|tool| tool.name == call.name).ok_or_else(|| {
            let known: Vec<_> = TOOLS.iter().map(|tool| tool.name).collect();
            format!("there is no tool `{}`; there are {}", call.name, known.join(", "))
        })?;
        let Parameters::Json(arguments) = &call.parameters else {
            return Err("the arguments are not JSON; call again with an object".to_owned());
        };
        let doc: Doc<'_> = arguments.doc();
        (tool.run)(&self.folder, doc.root())
    }
}

/// A text that is at most `limit` bytes long, cut at a character, with a note if it was cut.
fn clipped(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let total = text.len();
        let mut end = limit;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(&format!("\n[cut here: {total} bytes in all]"));
    }
    text
}

#[cfg(test)]
mod tests;
