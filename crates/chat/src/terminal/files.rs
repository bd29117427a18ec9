//! Conversations as files.

use crate::export::{self, Exported};
use crate::session::Form;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use thinkthrough_core::content::Content;

/// Writes a conversation; never over another file.
pub(super) fn export(
    path: &Path,
    form: Form,
    contents: &[Content],
    title: &str,
    with_thoughts: bool,
) -> Result<String, String> {
    let contents =
        if with_thoughts { contents.to_vec() } else { export::without_thoughts(contents) };
    let exported = Exported { title: Some(title.to_owned()), contents };
    let text = match form {
        Form::Markdown(thoughts) => export::to_markdown(&exported, thoughts),
        Form::Html => export::to_html(&exported),
        Form::Jsonl => export::to_jsonl(&exported.contents),
    };
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(format!("written to `{}`", path.display())),
        Err(error) => Err(format!("`{}` cannot be written: {error}", path.display())),
    }
}

/// Reads an exported conversation.
pub(super) fn import(path: &Path) -> Result<(String, Vec<Content>), String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    let read = match path.extension().and_then(OsStr::to_str) {
        Some("jsonl") => {
            export::from_jsonl(&text).map(|contents| Exported { title: None, contents })
        }
        _ => export::from_markdown(&text),
    };
    let Exported { title, contents } =
        read.map_err(|error| format!("`{shown}` is no exported conversation: {error}"))?;
    let name = path.file_stem().and_then(OsStr::to_str).unwrap_or("imported").to_owned();
    Ok((title.unwrap_or(name), contents))
}
