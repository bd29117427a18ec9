//! The purpose of a tool, by its name.

use std::collections::HashSet;

use super::words::bare;

/// The purposes of tools that the mind knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trade {
    /// Lists the content of a folder.
    Lister,
    /// Reads a file.
    Reader,
    /// Runs a command.
    Shell,
    /// Any other purpose. The words of the tool must describe it.
    Other,
}

impl Trade {
    /// The trade of a tool with these words in its name.
    pub(super) fn of(name: &HashSet<String>) -> Self {
        let has = |words: &[&str]| words.iter().any(|word| name.contains(*word));
        if has(&["dir", "glob"]) {
            Self::Lister
        } else if has(&["read"]) {
            Self::Reader
        } else if has(&["bash", "shell", "terminal", "cmd", "exec", "command"]) {
            Self::Shell
        } else {
            Self::Other
        }
    }
}

/// Whether a clause asks about the content of a folder or a project.
pub(super) fn asks_about_place(clause: &str, words: &HashSet<String>) -> bool {
    const PLACES: &[&str] = &[
        "dir",
        "file",
        "project",
        "repo",
        "repository",
        "workspace",
        "codebase",
        "licence",
        "license",
        "readme",
    ];
    let lower = clause.to_lowercase();
    let asks_here = bare(&lower).any(|word| word == "here")
        && bare(&lower).any(|word| word.starts_with("what"));
    asks_here || PLACES.iter().any(|place| words.contains(*place))
}
