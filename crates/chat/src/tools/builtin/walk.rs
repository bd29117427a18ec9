//! The files in a folder and below.

use std::fs::{self, Metadata};
use std::path::PathBuf;

/// Visits the files of a folder in the order of their names. It leaves out hidden files, build output and links,
/// because a link may lead out of the folder, or in a circle.
#[derive(Debug)]
pub(crate) struct Walk {
    open: Vec<PathBuf>,
}

impl Walk {
    /// Starts in a folder, or at a single file.
    pub(crate) fn new(start: PathBuf) -> Self {
        Walk { open: vec![start] }
    }
}

impl Iterator for Walk {
    type Item = (PathBuf, Metadata);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(path) = self.open.pop() {
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if found.is_file() {
                return Some((path, found));
            }
            if found.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                let wanted =
                    entries.filter(|entry| !is_skipped(&entry.file_name().to_string_lossy()));
                let mut below: Vec<PathBuf> = wanted.map(|entry| entry.path()).collect();
                below.sort_by(|a, b| b.cmp(a));
                self.open.append(&mut below);
            }
        }
        None
    }
}

/// Hidden folders and build output contain no text that a person wrote.
fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || name == "target" || name == "node_modules"
}
