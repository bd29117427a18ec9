//! Conversations as JSON lines.

use super::ImportError;
use thinkthrough_core::content::Content;
use thinkthrough_core::shape::{read_content, write_content};
use thinkthrough_json::{Doc, Writer};

/// Neutral contents, one JSON value a line.
#[must_use]
pub fn to_jsonl(contents: &[Content]) -> String {
    let mut lines = String::new();
    for content in contents {
        let mut line = Writer::new();
        write_content(&mut line, content);
        lines.push_str(&line.finish_line());
        lines.push('\n');
    }
    lines
}

/// Reads neutral contents, one a line; empty lines are skipped.
///
/// # Errors
/// When a line is no content. The error has the line's number.
pub fn from_jsonl(text: &str) -> Result<Vec<Content>, ImportError> {
    let mut contents = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad = |message: String| ImportError { line: index + 1, message };
        let doc = Doc::parse_str(line).map_err(|error| bad(error.to_string()))?;
        contents.push(read_content(doc.root()).map_err(|error| bad(error.to_string()))?);
    }
    Ok(contents)
}
