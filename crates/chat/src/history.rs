//! A conversation in a file: neutral contents, one JSON value a line.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thinkthrough_core::content::Content;
use thinkthrough_core::shape::{read_content, write_content};
use thinkthrough_json::{Doc, Writer};

/// A conversation that is read from a file and extends it.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    /// Open for writing at its end, so that the question can be stored too.
    file: File,
    /// The messages of the file.
    pub contents: Vec<Content>,
    /// The file ends without a line feed, so that one must be written before the next message.
    is_open_line: bool,
}

/// Why a history file could not be used.
#[derive(Debug)]
pub enum HistoryError {
    /// A line is no content.
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error.
        message: String,
    },
    /// The file cannot be read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HistoryError::Line { path, line, message } => write!(
                f,
                "line {line} of `{}` is no content: {message}; correct it or take it out",
                path.display()
            ),
            HistoryError::Io { path, error } => {
                write!(
                    f,
                    "cannot use the history file `{}`: {error}; name one in a folder that is there and may be \
                     written",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for HistoryError {}

impl History {
    /// Reads a file and opens it for writing. A missing file is an empty conversation and is created now, so that an
    /// unwritable path fails before a question is asked.
    ///
    /// # Errors
    /// When the file cannot be read or written, or a line is no content.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(HistoryError::Io { path: path.to_owned(), error }),
        };
        let mut contents = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let bad = |message: String| HistoryError::Line {
                path: path.to_owned(),
                line: index + 1,
                message,
            };
            let doc = Doc::parse_str(line).map_err(|error| bad(error.to_string()))?;
            contents.push(read_content(doc.root()).map_err(|error| bad(error.to_string()))?);
        }
        let io = |error| HistoryError::Io { path: path.to_owned(), error };
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(io)?;
        let is_open_line = !text.is_empty() && !text.ends_with('\n');
        Ok(History { path: path.to_owned(), file, contents, is_open_line })
    }

    /// Adds contents to the end of the file, in one write.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn append(&mut self, added: &[Content]) -> Result<(), HistoryError> {
        let mut lines = String::new();
        if self.is_open_line {
            lines.push('\n');
        }
        for content in added {
            let mut line = Writer::new();
            write_content(&mut line, content);
            lines.push_str(&line.finish_line());
            lines.push('\n');
        }
        let io = |error| HistoryError::Io { path: self.path.clone(), error };
        self.file.write_all(lines.as_bytes()).map_err(io)?;
        self.file.sync_data().map_err(io)?;
        self.is_open_line = false;
        self.contents.extend_from_slice(added);
        Ok(())
    }
}
