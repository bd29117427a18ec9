//! The folder that tools may look into, and nothing outside it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A folder; every path that is resolved in it stays in it, links included.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
}

/// There is no such folder.
#[derive(Debug)]
pub struct ToolboxError {
    folder: PathBuf,
    error: io::Error,
}

impl fmt::Display for ToolboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tools cannot look into `{}`: {}", self.folder.display(), self.error)
    }
}

impl std::error::Error for ToolboxError {}

impl Folder {
    pub(super) fn open(folder: &Path) -> Result<Self, ToolboxError> {
        match folder.canonicalize() {
            Ok(root) => Ok(Folder { root }),
            Err(error) => Err(ToolboxError { folder: folder.to_owned(), error }),
        }
    }

    /// The real path of something in the folder.
    pub(super) fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        let path = if path.is_empty() { "." } else { path };
        let real = self
            .root
            .join(path)
            .canonicalize()
            .map_err(|error| format!("cannot open `{path}`: {error}"))?;
        if real.starts_with(&self.root) {
            Ok(real)
        } else {
            Err(format!("`{path}` is outside the working folder, and only that may be read"))
        }
    }

    /// A path as the model knows it.
    pub(super) fn shown(&self, path: &Path) -> String {
        let shown = path.strip_prefix(&self.root).unwrap_or(path).display().to_string();
        if shown.is_empty() { ".".to_owned() } else { shown }
    }
}
