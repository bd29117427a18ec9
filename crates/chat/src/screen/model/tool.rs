//! A tool call with its result, as the screen knows it.

use std::time::Duration;

/// A call of a tool, and its result. It is folded to two lines unless the user opens it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tool {
    /// The tool's name.
    pub name: String,
    /// The subject of the call in a few words, such as a path or a command; shown after the name.
    pub summary: String,
    /// The arguments in full, shown when it is open.
    pub arguments: String,
    /// How far it is.
    pub state: ToolState,
    /// The user's choice: `Some(true)` is open; otherwise it is folded.
    pub choice: Option<bool>,
    /// How long it ran, once it has.
    pub spent: Option<Duration>,
    /// The language of the result for its colours, such as `diff`; empty for plain text.
    pub language: String,
    result: String,
    lines: usize,
}

/// How far a tool call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolState {
    /// The user or a rule refused it.
    Denied,
    /// It failed.
    Error,
    /// It succeeded.
    Ok,
    /// It runs.
    #[default]
    Running,
    /// It waits for the user's permission.
    Waiting,
}

impl Tool {
    /// A call that begins.
    #[must_use]
    pub fn call(name: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { name: name.into(), summary: summary.into(), ..Self::default() }
    }

    /// Sets the result.
    pub fn set_result(&mut self, result: impl Into<String>, state: ToolState) {
        self.result = result.into();
        self.lines = self.result.lines().count();
        self.state = state;
    }

    /// The result as text; empty before the call ends.
    #[must_use]
    pub fn result(&self) -> &str {
        &self.result
    }

    /// How many lines the result has.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines
    }
}
