//! Permissions of tools: the rule, the question that it may lead to, and the answer.

use crate::tools::Pending;
use std::path::PathBuf;

/// The rule for a tool, from the configuration or by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The call runs.
    Allow,
    /// The user is asked first.
    Ask,
    /// The call does not run.
    Deny,
}

impl Permission {
    /// Parses the value of a configuration.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "allow" => Some(Permission::Allow),
            "ask" => Some(Permission::Ask),
            "deny" => Some(Permission::Deny),
            _ => None,
        }
    }

    /// The word that [`Permission::parse`] reads.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Permission::Allow => "allow",
            Permission::Ask => "ask",
            Permission::Deny => "deny",
        }
    }
}

/// The kind of effect that a tool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// Changes files.
    Edit,
    /// Runs programs.
    Execute,
    /// Reads files.
    Read,
    /// Looks for something.
    Search,
    /// Unknown: a tool of a server.
    Other,
}

/// The text of a file before and after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// The old text; `None` for a new file.
    pub old: Option<String>,
    /// The new text.
    pub new: String,
}

/// The question to the user before a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The provider's id of the call.
    pub call_id: Option<String>,
    /// Its place among the calls of the answer, from 0.
    pub index: usize,
    /// The tool's name.
    pub tool: String,
    /// The kind of effect.
    pub kind: ToolKind,
    /// The effect, in a line: ``edit `src/main.rs` ``.
    pub title: String,
    /// Why the user must be asked although the tool is allowed, such as a path outside the working folder.
    pub reason: Option<String>,
    /// The change to a file, if the tool makes one.
    pub change: Option<FileChange>,
    /// The scope of "always in this session", in words. Equal words mean the same permission.
    pub grant: String,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This call runs.
    Once,
    /// This call runs, and all of its kind until the session ends.
    Always,
    /// This call does not run. The text, which may be empty, goes to the model.
    Deny(String),
}

/// Asks the user before a call runs. Questions come one at a time. A stopped run drops its open question.
pub trait Approve: Send + Sync {
    /// Answers a question. The future is ready when the user has answered.
    fn approve<'a>(&'a self, question: &'a Question) -> Pending<'a, Verdict>;
}

/// Answers every question with a refusal, because no user can be asked. The refusal tells the model why.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Approve for Nobody {
    fn approve<'a>(&'a self, question: &'a Question) -> Pending<'a, Verdict> {
        let why = question.reason.as_deref().unwrap_or("it needs a permission");
        let text = format!(
            "{why}, and nobody is there to give one; go on without it, or say what you would have done"
        );
        Box::pin(std::future::ready(Verdict::Deny(text)))
    }
}
