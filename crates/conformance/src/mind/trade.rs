//! What a tool is for, as far as its name tells.

use super::Tool;
use super::words::{bare, keys};

/// The trades that the mind knows how to use without being told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trade {
    /// Lists what is in a folder.
    Lister,
    /// Reads a file.
    Reader,
    /// Runs a command.
    Shell,
    /// Anything else; its own words must tell.
    Other,
}

impl Trade {
    pub(super) fn of(tool: &Tool) -> Self {
        let name = keys(&tool.name);
        let has = |words: &[&str]| name.iter().any(|key| words.contains(&key.as_str()));
        if has(&["dir"]) {
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

/// The clause is about what is in a folder or a project.
pub(super) fn asks_about_place(clause: &str) -> bool {
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
    asks_here || keys(clause).iter().any(|key| PLACES.contains(&key.as_str()))
}
