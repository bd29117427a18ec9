//! Formats of exported conversations, with the names that `think sessions export` has for them.

use crate::export::ThoughtForm;
use std::ffi::OsStr;
use std::path::Path;

/// The format of an exported conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A page for reading.
    Html,
    /// Neutral contents, one a line.
    Jsonl,
    /// Markdown that can be edited and imported.
    Markdown,
}

impl Format {
    /// The formats, with their names and descriptions.
    pub const ALL: [(&'static str, Format, &'static str); 3] = [
        ("md", Format::Markdown, "Markdown, can be edited and imported"),
        ("html", Format::Html, "a page for reading"),
        ("jsonl", Format::Jsonl, "everything, for programs"),
    ];

    /// The format of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, ..)| *known == name).map(|(_, format, _)| format)
    }

    /// The format for a file's extension.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension().and_then(OsStr::to_str) {
            Some("md" | "markdown") => Some(Format::Markdown),
            Some("html" | "htm") => Some(Format::Html),
            Some("jsonl") => Some(Format::Jsonl),
            _ => None,
        }
    }
}

/// The values of `--thoughts`, with their descriptions. `None` leaves thoughts out.
pub(super) const THOUGHTS: [(&str, Option<ThoughtForm>, &str); 4] = [
    ("callout", Some(ThoughtForm::Callout), "as callouts in Markdown"),
    ("details", Some(ThoughtForm::Details), "as sections that open in Markdown"),
    ("fenced", Some(ThoughtForm::Fenced), "in fences in Markdown"),
    ("off", None, "left out of any format"),
];
